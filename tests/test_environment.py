"""Flags, and what they switch."""

import warnings

import pytest

import varigrad as vg


@pytest.fixture(autouse=True)
def defaults():
    yield
    vg.env().reset()


def test_the_flag_of_debug_mode_follows_it_and_switches_it():
    assert vg.env().get("DEBUG") is False
    vg.enable_debug_mode()
    assert vg.env().get_bool("DEBUG") is True
    vg.env().set("DEBUG", False)
    vg.log([-1.0])
    vg.env().set("DEBUG", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", vg.NonFiniteWarning)
        with pytest.raises(vg.NonFiniteWarning):
            vg.log([-1.0])


def test_production_mode_ends_debug_mode():
    vg.enable_debug_mode()
    vg.enable_prod_mode()
    assert vg.env().get_flags() == {"DEBUG": False, "PROD": True, "DEPRECATION_WARNINGS_ENABLED": True}


def test_deprecation_warnings_point_at_the_caller_until_they_are_disabled():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vg.deprecation_warn("going")
        vg.disable_deprecation_warnings()
        vg.deprecation_warn("going")
    assert [(str(w.message), w.category, w.filename) for w in caught] == [("going", DeprecationWarning, __file__)]


def test_flags_can_be_added_and_reset():
    flags = vg.Environment()
    seen = []
    flags.register_flag("SPEED", lambda: 1.5, seen.append)
    assert flags.get_number("SPEED") == 1.5
    flags.set("SPEED", 3)
    assert (flags.get("SPEED"), flags.get_string("SPEED")) == (3, "3")
    flags.reset()
    assert flags.get("SPEED") == 1.5
    assert seen == [3, 1.5]


def test_an_unknown_flag_is_an_error_that_lists_those_there_are():
    for use in (lambda: vg.env().get("WEBGL_VERSION"), lambda: vg.env().set("WEBGL_VERSION", 2)):
        with pytest.raises(ValueError, match="env: no flag named 'WEBGL_VERSION'; there is DEBUG"):
            use()
