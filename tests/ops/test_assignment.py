"""New values for variables."""

import numpy as np
import pytest

import varigrad as vg


def test_assign_takes_tensors_and_arrays_and_returns_the_variable():
    w = vg.variable([1.0, 2.0], name="w")
    assert w.assign(vg.tensor([3.0, 4.0])) is w
    assert w.tolist() == [3, 4]
    assert w.assign(np.array([5.0, 6.0])).tolist() == [5, 6]
    assert w.assign([7, 8]).tolist() == [7, 8]
    assert w.assign(vg.variable([9.0, 9.5])).tolist() == [9, 9.5]


def test_tensors_made_before_keep_their_values():
    w = vg.variable([[1.0, 2.0]])
    held = [w.clone(), w.reshape([2]), w + 0, w[0], vg.tensor(w)]
    array, copy = np.asarray(w), w.numpy()
    w.assign([[5.0, 6.0]])
    for tensor in held:
        assert tensor.flatten().tolist() == [1, 2]
    assert array.tolist() == copy.tolist() == [[1, 2]]


def test_what_is_assigned_and_the_variable_go_separate_ways():
    w, v = vg.variable([1.0]), vg.variable([2.0])
    w.assign(v)
    v.assign([3.0])
    assert w.tolist() == [2]


def test_a_variable_is_written_in_place_where_nobody_else_holds_its_memory():
    w = vg.variable([1.0, 2.0])
    place = w.storage.ctypes.data
    w.assign([3.0, 4.0])
    w += 1
    assert w.storage.ctypes.data == place
    assert w.tolist() == [4, 5]


def test_in_place_operators_assign():
    w = w0 = vg.variable([6.0, 8.0])
    w += [1.0, 1.0]
    w -= 3
    w *= vg.tensor([2.0, 1.0])
    w /= 2
    assert w is w0
    assert w.tolist() == [4, 3]
    assert w.assign_add(1).assign_sub([0.0, 1.0]).tolist() == [5, 3]


def test_the_same_operators_on_a_tensor_make_another():
    x = x0 = vg.tensor([1.0])
    x += 1
    assert x is not x0
    assert (x.tolist(), x0.tolist()) == ([2], [1])


def test_the_gradient_is_that_of_the_values_at_the_time():
    w = vg.variable([2.0], name="w")

    def f():
        y = (w * w).sum()
        w.assign([5.0])
        return y

    value, grads = vg.variable_grads(f)
    assert value.item() == 4
    assert grads["w"].tolist() == [4]
    assert w.tolist() == [5]


def test_a_counter_of_integers_counts_exactly():
    counter = vg.variable(2**24, dtype="int32")
    counter += 1
    assert counter.item() == 2**24 + 1
    assert counter.assign(2**31 - 1).item() == 2**31 - 1


def test_a_half_precision_or_double_variable_keeps_its_dtype():
    for dtype in ("float16", "float64", "bool", "string"):
        values = ["b"] if dtype == "string" else [1]
        w = vg.variable(["a"] if dtype == "string" else [0], dtype=dtype)
        assert w.assign(values).dtype == dtype
        assert w.tolist() == values


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1.0, 2.0, 3.0], ValueError, r"the variable 'w' has shape \[2\] but the value has \[3\]; a variable keeps"),
        (1.0, ValueError, r"but the value has \[\]"),
        (
            vg.tensor([1, 2], dtype="int32"),
            TypeError,
            r"'w' is float32 but the value is int32; cast it with .cast\('float32'",
        ),
        (["a", "b"], TypeError, "strings"),
    ],
)
def test_what_does_not_fit_is_explained(value, error, message):
    w = vg.variable([1.0, 2.0], name="w")
    with pytest.raises(error, match=message):
        w.assign(value)
    assert w.tolist() == [1, 2]


def test_fractions_and_numbers_too_large_are_not_assigned_to_integers():
    n = vg.variable([1], name="n", dtype="int32")
    with pytest.raises(TypeError, match="'n' is int32, which cannot hold fractions"):
        n.assign([0.5])
    with pytest.raises(ValueError, match="does not fit int32"):
        n.assign([2**31])
    for value in (np.nan, np.inf, [np.inf, 0.0], np.array([np.nan], np.float16)):
        with pytest.raises(ValueError, match="does not fit int32"):
            n.assign(value)
    with pytest.raises(TypeError, match="cast it"):
        n += 0.5
    assert n.assign([2.0]).tolist() == [2]


def test_a_disposed_variable_is_not_assigned_to():
    w = vg.variable([1.0])
    w.dispose()
    with pytest.raises(vg.DisposedError):
        w.assign([2.0])
