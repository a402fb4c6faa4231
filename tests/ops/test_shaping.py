"""Changes of shape, layout and dtype, against NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

OFTEN = settings(max_examples=50)
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def same(result, expected):
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


@st.composite
def arrays(draw, max_rank=4, min_side=0):
    shape = draw(st.lists(st.integers(min_side, 4), max_size=max_rank))
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


# cast


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1.7, -1.7, 0.0], "int32", [1, -1, 0]),
        ([0.5, 0.0, math.nan], "bool", [True, False, True]),
        ([True, False], "float32", [1.0, 0.0]),
        ([1 + 2j], "float32", [1.0]),
        ([1.5], "complex64", [1.5 + 0j]),
        ([1.5], "float64", [1.5]),
        ([3.0], "int64", [3]),
    ],
)
def test_cast_converts_values(values, dtype, expected):
    result = vg.cast(values, dtype)
    assert result.dtype == dtype
    assert result.tolist() == expected


def test_cast_to_the_same_dtype_is_a_tensor_of_its_own():
    x = vg.tensor([1.0])
    y = x.cast("float32")
    assert y is not x
    x.dispose()
    assert y.tolist() == [1]


def test_strings_are_not_cast():
    with pytest.raises(TypeError, match="cast: string cannot become float32"):
        vg.cast(["1"], "float32")
    with pytest.raises(TypeError, match="cast: float32 cannot become string"):
        vg.cast([1], "string")
    with pytest.raises(ValueError, match="cast: unknown dtype 'float'"):
        vg.cast([1], "float")


# reshape and its kin


@OFTEN
@given(arrays(), st.data())
def test_reshape_keeps_the_order_of_values(array, data):
    shape = list(data.draw(st.permutations(array.shape)))
    if shape and data.draw(st.booleans()) and (array.size or shape.count(0) == 1):
        place = shape.index(0) if not array.size else data.draw(st.integers(0, len(shape) - 1))
        if array.size:
            shape[place] = -1
    same(vg.reshape(array, shape), array.reshape(shape))


def test_reshape_works_out_one_length():
    same(vg.reshape(X, [-1, 6]), X.reshape(-1, 6))
    same(vg.reshape(X, (4, np.int64(6))), X.reshape(4, 6))
    same(vg.reshape(5.0, [1, -1]), [[5.0]])
    assert vg.reshape(np.zeros((0, 3)), [3, -1]).shape == (3, 0)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ([5, 5], ValueError, r"reshape: x has 24 elements, which do not fill shape \[5, 5\] \(x: \[2, 3, 4\]\)"),
        ([-1, 5], ValueError, r"do not fill shape \[-1, 5\]"),
        ([-1, -1], ValueError, "more than one length"),
        ([-2, -12], ValueError, "negative"),
        ([2.0, 12], TypeError, "integers"),
        (24, TypeError, "list of integers"),
    ],
)
def test_reshape_explains_what_does_not_fit(shape, error, message):
    with pytest.raises(error, match=message):
        vg.reshape(X, shape)


def test_methods_give_shapes_by_rank():
    x = vg.tensor(X)
    assert x.flatten().shape == x.as1d().shape == (24,)
    assert x.as2d(4, 6).shape == (4, 6)
    assert x.as3d(2, 2, 6).shape == (2, 2, 6)
    assert x.as4d(2, 2, 3, 2).shape == (2, 2, 3, 2)
    assert x.as5d(1, 2, 2, 3, 2).shape == (1, 2, 2, 3, 2)
    assert x.reshape_as(np.zeros((6, 4))).shape == (6, 4)
    assert vg.tensor([[5.0]]).as_scalar().shape == ()
    assert x.as_type("int32").dtype == "int32"
    with pytest.raises(ValueError, match="as_scalar"):
        x.as_scalar()


def test_a_reshaped_tensor_shares_memory_and_lives_on():
    x = vg.tensor(X)
    y = x.reshape([6, 4])
    assert y.storage.base is not None
    x.dispose()
    same(y, X.reshape(6, 4))


@OFTEN
@given(arrays(), st.data())
def test_expand_dims_puts_in_an_axis_and_squeeze_takes_it_out(array, data):
    axis = data.draw(st.integers(-array.ndim - 1, array.ndim))
    expanded = vg.expand_dims(array, axis)
    same(expanded, np.expand_dims(array, axis))
    same(vg.squeeze(expanded, axis), array)
    same(vg.squeeze(expanded), np.squeeze(array))


def test_squeeze_without_axes_takes_out_all_of_length_1():
    assert vg.squeeze(vg.zeros([2, 1, 3, 1]), []).shape == (2, 3)
    assert vg.squeeze(vg.zeros([2, 1, 3, 1]), np.int64(1)).shape == (2, 3, 1)


def test_squeeze_explains_an_axis_that_is_longer():
    with pytest.raises(ValueError, match=r"squeeze: axis 1 has length 3, not 1 \(x: \[2, 3, 4\]\)"):
        vg.squeeze(X, 1)
    with pytest.raises(ValueError, match="expand_dims: axis 4 is out of range"):
        vg.expand_dims(X, 4)


def test_ensure_shape_lets_through_what_fits():
    x = vg.tensor(X)
    assert vg.ensure_shape(x, [2, None, 4]) is x
    with pytest.raises(ValueError, match=r"ensure_shape: x must have shape \[2, \?, 5\], got \[2, 3, 4\]"):
        vg.ensure_shape(x, [2, None, 5])
    with pytest.raises(ValueError, match="ensure_shape"):
        vg.ensure_shape(x, [2, None])


# transpose, reverse, tile, broadcast


@OFTEN
@given(arrays(), st.data())
def test_transpose_reorders_axes(array, data):
    perm = data.draw(st.permutations(range(array.ndim)))
    same(vg.transpose(array, perm), array.transpose(perm))
    same(vg.transpose(array, [axis - array.ndim for axis in perm]), array.transpose(perm))
    same(vg.transpose(array), array.T)


def test_transpose_conjugates_if_asked():
    z = np.array([[1 + 2j, 3 - 1j]], np.complex64)
    same(vg.transpose(z, conjugate=True), z.conj().T)
    same(vg.transpose(z), z.T)


@pytest.mark.parametrize("perm", [[0, 0, 1], [0, 1], [0, 1, 3]])
def test_transpose_wants_each_axis_once(perm):
    with pytest.raises(ValueError, match="perm"):
        vg.transpose(X, perm)


@OFTEN
@given(arrays(), st.data())
def test_reverse_turns_axes_round(array, data):
    axes = data.draw(st.lists(st.integers(0, max(array.ndim - 1, 0)), unique=True, max_size=array.ndim))
    same(vg.reverse(array, axes), np.flip(array, axes))
    same(vg.reverse(array), np.flip(array))


def test_reverse_by_rank():
    same(vg.reverse1d([1, 2, 3]), [3, 2, 1])
    same(vg.reverse2d(X[0], 0), X[0][::-1])
    same(vg.reverse3d(X, [-1]), X[..., ::-1])
    same(vg.reverse4d(X[None], [1, 2]), X[None, ::-1, ::-1])
    with pytest.raises(ValueError, match="reverse1d: x must have rank 1"):
        vg.reverse1d(X)


@OFTEN
@given(arrays(max_rank=3), st.data())
def test_tile_repeats_the_whole(array, data):
    reps = data.draw(st.lists(st.integers(0, 3), min_size=array.ndim, max_size=array.ndim))
    same(vg.tile(array, reps), np.tile(array, reps) if reps else array)


def test_tile_wants_one_number_for_each_axis():
    with pytest.raises(ValueError, match=r"tile: reps \[2\] must have one number for each of the 3 axes"):
        vg.tile(X, [2])


@OFTEN
@given(arrays(max_rank=3), st.data())
def test_broadcast_to_repeats_axes_of_length_one(array, data):
    front = data.draw(st.lists(st.integers(0, 3), max_size=2))
    shape = (*front, *[data.draw(st.integers(0, 3)) if n == 1 else n for n in array.shape])
    result = vg.broadcast_to(array, shape)
    same(result, np.broadcast_to(array, shape))
    assert result.storage.flags.c_contiguous


def test_broadcast_to_explains_what_does_not_fit():
    with pytest.raises(ValueError, match=r"broadcast_to: shape \[2, 3, 4\] does not broadcast to \[2, 2, 4\]"):
        vg.broadcast_to(X, [2, 2, 4])
    with pytest.raises(ValueError, match="does not broadcast"):
        vg.broadcast_to(X, [4])


def test_broadcast_args_passes_an_unknown_length_on():
    assert vg.broadcast_args([1, 6, -1], [3, 1, 1, 1]).tolist() == [3, 1, 6, -1]
    assert vg.broadcast_args([], [2, 0]).tolist() == [2, 0]
    with pytest.raises(ValueError, match="broadcast"):
        vg.broadcast_args([-1], [3])


def test_broadcast_args_of_int64_keeps_long_lengths():
    result = vg.broadcast_args(vg.tensor([2**40, 1], dtype="int64"), [3])
    assert result.dtype == "int64"
    assert result.tolist() == [2**40, 3]


def test_broadcast_args_gives_the_common_shape():
    result = vg.broadcast_args([4, 1, 3], [2, 1])
    assert result.dtype == "int32"
    assert result.tolist() == [4, 2, 3]
    with pytest.raises(ValueError, match=r"^broadcast_args: \[2\] and \[3\] do not broadcast"):
        vg.broadcast_args([2], [3])
    with pytest.raises(ValueError, match="s0 must be a vector"):
        vg.broadcast_args([[2]], [3])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: vg.reshape(x, [4]),
        lambda x: vg.transpose(x),
        lambda x: vg.reverse(x),
        lambda x: vg.tile(x, [2, 1]),
        lambda x: vg.broadcast_to(x, [2, 2, 2]),
        lambda x: vg.expand_dims(x),
        lambda x: vg.clone(x),
        lambda x: vg.concat([x, x]),
        lambda x: vg.stack([x, x]),
        lambda x: vg.unstack(x)[0],
        lambda x: vg.slice(x, 0, 1),
        lambda x: vg.gather(x, [1, 0]),
    ],
)
@pytest.mark.parametrize("values", [[["a", "b"], ["c", "d"]], [[True, False], [False, True]], [[1j, 2], [3, 4]]])
def test_shapes_of_any_dtype_can_be_changed(f, values):
    x = vg.tensor(values)
    assert f(x).dtype == x.dtype


def test_a_scalar_string_reversed_is_itself():
    assert vg.reverse(vg.tensor("ab")).item() == "ab"
