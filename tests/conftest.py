"""What all tests share."""

import pytest

import varigrad as vg


@pytest.fixture(autouse=True)
def fresh_variables():
    """Frees variable names after each test, also those that a failed test's traceback still holds."""
    yield
    vg.dispose_variables()
