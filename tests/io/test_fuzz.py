"""A few hundred changed files of each format; `python -m tests.io.fuzz` runs as many as one likes."""

import pytest
from tests.io.fuzz import READERS, run


@pytest.mark.parametrize("reader", READERS)
def test_changed_files_end_in_what_they_hold_or_in_one_clear_error(reader):
    ends = run(reader, 300, seed=1)
    assert ends["find"] == 0
    assert ends["read"] > 0
    assert ends["ModelFileError"] > 0
