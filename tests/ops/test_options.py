"""Arguments that are no tensors."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.ops.options import flag, integer, items_of, number, one_of

NO_NUMBERS = [None, "1", b"1", [1.0], [], {}, 1j, object(), np.array([1.0]), vg.tensor([1.0, 2.0]), vg.scalar("a")]


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), vg.scalar(2.0)])
def test_numbers_of_all_makes(value):
    assert number("op", "alpha", value) == 2
    assert type(number("op", "alpha", value)) in (int, float)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_refused_by_name(value):
    with pytest.raises(TypeError, match=r"^op: alpha must be a number, got "):
        number("op", "alpha", value)


def test_a_disposed_tensor_says_so():
    x = vg.scalar(1.0)
    x.dispose()
    with pytest.raises(vg.DisposedError):
        number("op", "alpha", x)


@pytest.mark.parametrize("value", [3, np.int8(3), np.array(3), vg.scalar(3, dtype="int32")])
def test_integers_of_all_makes(value):
    assert integer("op", "size", value) == 3


@pytest.mark.parametrize("value", [*NO_NUMBERS, 1.0, np.float64(1)])
def test_what_is_no_integer_is_refused_by_name(value):
    with pytest.raises(TypeError, match=r"^op: size must be an integer, got "):
        integer("op", "size", value)


def test_integers_have_limits():
    with pytest.raises(ValueError, match="op: size must not be negative, got -1"):
        integer("op", "size", -1)
    with pytest.raises(ValueError, match="op: size must be 2 or more, got 1"):
        integer("op", "size", 1, 2)
    with pytest.raises(ValueError, match=r"op: size 1180591620717411303424 is too large"):
        integer("op", "size", 2**70)
    assert integer("op", "k", -5, None) == -5


@pytest.mark.parametrize("value", [True, 1, np.bool_(True)])
def test_flags(value):
    assert flag("op", "keep_dims", value) is True


@pytest.mark.parametrize("value", [None, "no", 2, [], [True], np.array([True]), vg.tensor([True])])
def test_what_is_neither_true_nor_false_is_refused_by_name(value):
    with pytest.raises(TypeError, match=r"^op: keep_dims must be True or False, got "):
        flag("op", "keep_dims", value)


def test_words():
    assert one_of("op", "mode", "b", ("a", "b", "c")) == "b"
    for value in (None, "d", ["a"], np.array(["a", "b"]), vg.tensor(["a", "b"])):
        with pytest.raises(ValueError, match=r"^op: mode must be 'a', 'b' or 'c', got "):
            one_of("op", "mode", value, ("a", "b", "c"))


def test_items():
    assert list(items_of("op", "tensors", (n for n in [1, 2]))) == [1, 2]
    for value in (None, 3, "ab", np.array(1.0)):
        with pytest.raises(TypeError, match=r"^op: tensors must be a list, got "):
            items_of("op", "tensors", value)
