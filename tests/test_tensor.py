"""Tensors, variables and buffers as Python objects."""

import asyncio
import copy
import math
import pickle

import numpy as np
import pytest

import varigrad as vg

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class SpeaksDLPack:
    """An array of another library: it has nothing but the protocol."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


# What it is


def test_a_tensor_knows_its_shape_dtype_rank_size_and_strides():
    x = vg.tensor(np.zeros((2, 3, 4)))
    assert (x.shape, x.dtype, x.rank, x.ndim, x.size) == ((2, 3, 4), "float32", 3, 3, 24)
    assert x.strides == (12, 4)  # as in TensorFlow.js: elements, and none for the last axis
    assert vg.scalar(1.0).strides == ()


def test_ids_are_unique():
    assert len({vg.scalar(1.0).id for _ in range(100)}) == 100


def test_an_attribute_that_is_spelt_as_in_javascript_is_hinted_at():
    with pytest.raises(AttributeError, match="it is 'mat_mul' here"):
        vg.tensor([1]).matMul  # noqa: B018
    with pytest.raises(AttributeError, match=r"Tensor has no attribute 'colour'$"):
        vg.tensor([1]).colour  # noqa: B018


def test_reading_and_writing_a_weight_as_in_a_layer_of_tensorflow_js_is_hinted_at():
    weight = vg.variable([1.0])
    with pytest.raises(AttributeError, match="Variable has no attribute 'read'; a variable is a tensor, take it as it"):
        weight.read()
    with pytest.raises(AttributeError, match="Variable has no attribute 'write'; it is 'assign' here"):
        weight.write(vg.tensor([2.0]))
    with pytest.raises(AttributeError, match=r"Tensor has no attribute 'read'$"):
        vg.tensor([1.0]).read  # noqa: B018


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("detach", r"vg\.stop_gradient\(x\)"),
        ("view", "reshape"),
        ("astype", "'as_type'"),
        ("argmax", "'arg_max'"),
        ("requires_grad", r"vg\.variable_grads\(f\)"),
    ],
)
def test_an_attribute_of_another_library_is_answered_with_what_stands_for_it(name, here):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; .*{here}"):
        getattr(vg.tensor([1.0]), name)


@pytest.mark.parametrize("values", [[1.0, 2.0], 3.0, vg.tensor([1.0])])
def test_tensors_and_variables_are_made_by_functions(values):
    with pytest.raises(TypeError, match=r"^Tensor: made by vg\.tensor\(values\), got "):
        vg.Tensor(values)
    with pytest.raises(TypeError, match=r"^Variable: made by vg\.variable\(values\), got "):
        vg.Variable(values)


def test_assigning_to_a_part_says_what_to_do():
    x, w = vg.tensor([1.0, 2.0]), vg.variable([1.0, 2.0])
    for each, kind in ((x, "Tensor"), (w, "Variable")):
        with pytest.raises(TypeError, match=f"^{kind}: is not changed in place; vg.where"):
            each[0] = 3.0


def test_the_attribute_t_is_the_transpose():
    x = vg.tensor(np.arange(24.0).reshape([2, 3, 4]))
    np.testing.assert_array_equal(x.T.numpy(), x.numpy().T)
    w = vg.variable([[1.0, 2.0]])
    assert vg.grad(lambda x: (x.T @ w.T.T).sum())(vg.tensor([[1.0, 1.0]])).tolist() == [[3.0, 3.0]]
    assert vg.jit(lambda x: x.T + 0)(vg.tensor([[1.0, 2.0]])).tolist() == [[1.0], [2.0]]


# Reading values


def test_values_are_read_in_all_forms():
    x = vg.tensor(X)
    np.testing.assert_array_equal(x.numpy(), X)
    np.testing.assert_array_equal(x.data_sync(), X.reshape(-1))
    assert x.array_sync() == x.tolist() == X.tolist()
    assert asyncio.run(x.data()).tolist() == X.reshape(-1).tolist()
    assert asyncio.run(x.array()) == X.tolist()
    assert vg.scalar(True).array_sync() is True


def test_what_is_read_can_be_changed_without_changing_the_tensor():
    x = vg.tensor(X)
    for read in (x.numpy(), x.data_sync(), np.array(x), np.asarray(x, np.float64), np.from_dlpack(x)):
        read[...] = 9
    assert x.tolist() == X.tolist()


def test_asarray_is_a_view_that_cannot_be_written_to():
    x = vg.tensor(X)
    view = np.asarray(x)
    assert np.shares_memory(view, x.storage)
    assert not view.flags.writeable
    assert x.storage.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    assert np.asarray(x, dtype=np.float32, copy=False).base is not None
    with pytest.raises(ValueError, match="float32 cannot become float64 without a copy"):
        np.asarray(x, dtype=np.float64, copy=False)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "float64", "float16", "int64"])
def test_dlpack_goes_out_and_comes_in(dtype):
    x = vg.tensor([[1, 0], [0, 1]], dtype=dtype)
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, x.numpy())
    back = vg.tensor(SpeaksDLPack(out), dtype=dtype)
    assert back.dtype == dtype
    assert back.tolist() == x.tolist()
    assert x.__dlpack_device__() == (1, 0)


def test_numpy_functions_take_tensors():
    x = vg.tensor(X)
    assert np.asarray(x).sum() == np.linalg.norm(x, 1, axis=1).sum() == 15
    assert (np.ones(3, np.float32) + x).tolist() == (X + 1).tolist()
    assert isinstance(np.ones(3, np.float32) + x, vg.Tensor)


def test_one_element_is_a_python_number():
    x = vg.tensor([[2.5]])
    assert (x.item(), float(x), int(x), complex(x), bool(x)) == (2.5, 2.5, 2, 2.5 + 0j, True)
    assert isinstance(x.item(), float)
    assert bool(vg.scalar(0.0)) is False
    assert vg.scalar("text").item() == "text"
    assert [10, 20, 30][vg.scalar(1, "int32")] == 20
    assert math.sqrt(vg.scalar(4.0)) == 2
    assert f"{x:.3f}" == "2.500"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.item(), ValueError, r"item: needs a tensor of one element, got shape \[2, 3\]"),
        (float, ValueError, "one element"),
        (bool, ValueError, r"the truth of a tensor of shape \[2, 3\] is ambiguous; use vg.any or vg.all"),
        (lambda x: [0, 1][x], TypeError, "only an integer scalar can be an index"),
        (lambda x: range(vg.scalar(2.0)), TypeError, "only an integer scalar can be an index, got float32"),
        (lambda x: len(vg.scalar(1.0)), TypeError, r"a scalar tensor has no len\(\)"),
        (lambda x: list(vg.scalar(1.0)), TypeError, "a scalar tensor cannot be iterated over"),
        (lambda x: f"{x:.2f}", ValueError, "one element"),
    ],
)
def test_what_needs_one_element_or_an_axis_says_so(call, error, message):
    with pytest.raises(error, match=message):
        call(vg.tensor(X))


# As a Python object


def test_len_and_iteration_go_along_the_first_axis():
    x = vg.tensor(X)
    assert len(x) == 2
    assert [row.tolist() for row in x] == X.tolist()
    first, second = x
    assert (first.tolist(), second.tolist()) == (X[0].tolist(), X[1].tolist())
    assert list(vg.zeros([0, 3])) == []
    assert [r.item() for r in reversed(vg.tensor([1, 2, 3]))] == [3, 2, 1]


def test_a_list_of_a_tensor_ends():
    # Iteration by index would rely on an IndexError.
    assert [x.item() for x in vg.tensor([1.0, 2.0])] == [1, 2]
    iterator = iter(vg.tensor([1.0]))
    assert next(iterator).item() == 1
    assert next(iterator, None) is None


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        (1.5, None, "Tensor(1.5, shape=[], dtype=float32)"),
        ([1, 2], "int32", "Tensor([1, 2], shape=[2], dtype=int32)"),
        ([[True], [False]], None, "Tensor([[ True], [False]], shape=[2, 1], dtype=bool)"),
        (["a", "b"], None, "Tensor(['a', 'b'], shape=[2], dtype=string)"),
        ([1 + 2j], None, "Tensor([1.+2.j], shape=[1], dtype=complex64)"),
        ([[]], None, "Tensor([], shape=[1, 0], dtype=float32)"),
    ],
)
def test_repr_shows_values_shape_and_dtype(values, dtype, text):
    x = vg.tensor(values, dtype=dtype)
    assert repr(x) == str(x) == f"{x}" == text


def test_repr_of_many_values_is_short():
    x = vg.tensor(np.arange(10_000.0))
    assert len(repr(x)) < 200
    assert "..." in repr(x)


def test_print_prints_a_tensor(capsys):
    vg.print([[1, 2]], verbose=True)
    vg.tensor([[1, 2]]).print(verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert any("float32" in line for line in lines)


def test_repr_of_a_variable_shows_its_name():
    w = vg.variable([1.0], name="w")
    assert repr(w) == "Variable([1.], shape=[1], dtype=float32, name='w')"


def test_repr_of_a_disposed_tensor_says_where():
    x = vg.tensor([1.0])
    x.dispose()
    assert x.is_disposed
    assert "disposed at " in repr(x)
    assert "test_tensor.py" in repr(x)


def test_tensors_are_keys_by_identity():
    a, b = vg.tensor([1.0]), vg.tensor([1.0])
    assert len({a, b, a}) == 2
    assert {a: 1, b: 2}[b] == 2


@pytest.mark.parametrize("values", [X, np.array([True]), np.array(["a", "é"]), np.array([1 + 2j]), np.float64(3)])
def test_pickling_keeps_values_shape_and_dtype(values):
    x = vg.tensor(values)
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is vg.Tensor
    assert (y.shape, y.dtype, y.tolist()) == (x.shape, x.dtype, x.tolist())
    assert y.id != x.id


def test_copies_are_tensors_of_their_own():
    x = vg.tensor(X)
    for other in (copy.copy(x), copy.deepcopy(x)):
        assert other is not x
        x_values = other.tolist()
        assert x_values == X.tolist()
    deep = copy.deepcopy({"x": [x, x]})
    assert deep["x"][0] is deep["x"][1]


def test_pickled_and_copied_variables_stay_variables():
    w = vg.variable([1.0, 2.0], trainable=False, name="w")
    stored = pickle.dumps(w)
    twin = copy.copy(w)
    assert isinstance(twin, vg.Variable)
    assert (twin.tolist(), twin.trainable) == ([1, 2], False)
    assert twin.name != "w"
    w.assign([5.0, 6.0])
    assert twin.tolist() == [1, 2]
    w.dispose()
    again = pickle.loads(stored)
    assert isinstance(again, vg.Variable)
    assert (again.name, again.tolist(), again.trainable) == ("w", [1, 2], False)


# Variables


def test_a_variable_is_a_copy_of_its_initial_value():
    x = vg.tensor([1.0])
    w = vg.variable(x)
    w.assign([2.0])
    assert x.tolist() == [1]
    array = np.array([1.0], np.float32)
    v = vg.variable(array)
    array[0] = 9
    assert v.tolist() == [1]


def test_variables_have_names_of_their_own():
    a, b = vg.variable(1.0), vg.variable(1.0)
    assert a.name != b.name
    named = vg.variable(1.0, name="named")
    with pytest.raises(ValueError, match="a variable named 'named' exists already"):
        vg.variable(2.0, name="named")
    named.dispose()
    assert vg.variable(2.0, name="named").item() == 2


def test_a_variable_takes_a_dtype():
    assert vg.variable([1, 0], dtype="bool").tolist() == [True, False]
    assert vg.variable(vg.tensor([1.5]), dtype="int32").tolist() == [1]
    assert vg.variable(np.array([1, 2])).dtype == "int32"
    assert vg.tensor([1.0]).variable(trainable=False, name="by_method").trainable is False


# Buffers


def test_a_buffer_is_filled_value_by_value():
    b = vg.buffer([2, 3], "int32")
    b.set(5, 1, 2)
    b.set(7)
    assert (b.get(1, 2), b.get(), b.get(0, 1)) == (5, 7, 0)
    x = b.to_tensor()
    b.set(9, 0, 0)
    assert x.tolist() == [[7, 0, 0], [0, 0, 5]]
    assert (b.shape, b.dtype, b.size, b.rank) == ((2, 3), "int32", 6, 2)


def test_a_buffer_translates_between_indices_and_locations():
    b = vg.buffer([2, 3])
    for index in range(6):
        assert b.loc_to_index(b.index_to_loc(index)) == index
    assert b.index_to_loc(4) == (1, 1)
    assert vg.buffer([]).index_to_loc(0) == ()


def test_a_buffer_begins_with_values_or_as_a_copy_of_a_tensor():
    assert vg.buffer([2], "float32", [1, 2]).to_tensor().tolist() == [1, 2]
    assert vg.buffer([2], "string").to_tensor().tolist() == ["", ""]
    x = vg.tensor(X)
    b = x.buffer_sync()
    b.set(100, 0, 0)
    assert x.tolist() == X.tolist()
    assert asyncio.run(x.buffer()).get(1, 2) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.buffer([2], "float32", [1, 2, 3]), r"buffer: 3 values do not fill shape \[2\]"),
        (lambda: vg.buffer([2]).get(2), r"index 2 on axis 0 is outside shape \[2\]"),
        (lambda: vg.buffer([2]).set(1, 0, 0), r"2 indices for shape \[2\]"),
        (lambda: vg.buffer([-2]), "negative"),
        (lambda: vg.buffer([2], "float"), "unknown dtype"),
    ],
)
def test_buffers_explain_what_does_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numpys_functions_take_tensors_as_arrays_and_its_operators_give_way():
    x = vg.tensor([1.0, 2.0])
    np.testing.assert_allclose(np.exp(x), np.exp([1.0, 2.0]), rtol=1e-6)
    for result in (np.ones(2) + x, np.float64(3) * x, np.ones(2) < x, np.eye(2) @ vg.ones([2, 1])):
        assert isinstance(result, vg.Tensor)


def test_numpys_reductions_and_joins_take_tensors_as_arrays():
    x = vg.tensor([[1.0, 2.0], [3.0, 4.0]])
    values = x.numpy()
    for f in (np.sum, np.mean, np.max, np.min, np.prod, np.any, np.all, np.std, np.argmax, np.transpose, np.sort):
        result = f(x)
        assert not isinstance(result, vg.Tensor)
        np.testing.assert_array_equal(result, f(values))
    np.testing.assert_array_equal(np.mean(x, axis=0), [2.0, 3.0])
    np.testing.assert_array_equal(np.stack([x, x]), np.stack([values, values]))
    np.testing.assert_array_equal(np.concatenate((x, values), axis=1), np.concatenate((values, values), axis=1))
    np.testing.assert_array_equal(np.sum(values, where=x > 2.0), 7.0)
