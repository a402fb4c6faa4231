"""`vg.backend_util` and `vg.broadcast_util`: arithmetic with shapes, for authors of kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg
from varigrad.ops import backend_util, broadcast_util
from varigrad.ops.backend_util import slice_util

QUICK = settings(max_examples=50)
SHAPES = st.lists(st.integers(0, 4), max_size=4)


@QUICK
@given(st.data(), SHAPES)
def test_reduction_axes_sum_a_gradient_to_the_shape_it_was_broadcast_from(data: st.DataObject, out_shape: list[int]):
    kept = data.draw(st.integers(0, len(out_shape)))
    in_shape = [data.draw(st.sampled_from([1, n])) for n in out_shape[kept:]]
    axes = broadcast_util.get_reduction_axes(in_shape, out_shape)
    assert np.ones(out_shape).sum(axes).size == math.prod(in_shape)
    repeated = broadcast_util.get_broadcast_dims(in_shape, out_shape)
    assert repeated == tuple(a for a, n in enumerate(in_shape) if n == 1 != out_shape[kept + a])
    assert broadcast_util.assert_and_get_broadcast_shape(in_shape, out_shape) == tuple(out_shape)


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"a: \[7, 2, 5\], b: \[7, 2, 6\]"):
        broadcast_util.assert_and_get_broadcast_shape([7, 2, 5], [7, 2, 6])
    for function in (broadcast_util.get_reduction_axes, broadcast_util.get_broadcast_dims):
        with pytest.raises(ValueError, match=r"\[3\] does not broadcast to \[1\]"):
            function([3], [1])


@QUICK
@given(st.permutations(range(4)), st.integers(0, 4))
def test_axes_moved_to_the_end_and_back(order: list[int], count: int):
    axes = order[:count]
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    perm = backend_util.get_axes_permutation(axes, 4)
    moved = x if perm is None else x.transpose(perm)
    outside, inside = backend_util.compute_out_and_reduce_shapes(x.shape, axes)
    assert moved.shape == outside + inside
    if perm is not None:
        assert (moved.transpose(backend_util.get_undo_axes_permutation(perm)) == x).all()
    last = backend_util.get_inner_most_axes(count, 4)
    assert backend_util.axes_are_inner_most_dims(axes, 4) == (tuple(axes) == last)
    assert backend_util.expand_shape_to_keep_dim(outside, axes) == x.sum(tuple(axes), keepdims=True).shape


def test_a_place_in_what_was_reduced():
    assert backend_util.combine_locations([4, 1], [3, 7], [0, 2]) == (3, 4, 7, 1)


@QUICK
@given(
    st.tuples(st.integers(4, 9), st.integers(4, 9)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 3),
    st.sampled_from(["same", "valid", 0, 2, [[0, 0], [1, 2], [0, 1], [0, 0]]]),
    st.sampled_from(["channels_last", "channels_first"]),
)
def test_windows_stand_where_conv2d_puts_them(lengths, window, stride, pad, data_format):
    first = data_format == "channels_first"
    shape = (2, 3, *lengths) if first else (2, *lengths, 3)
    if first and isinstance(pad, list):
        pad = [pad[0], pad[3], pad[1], pad[2]]
    info = backend_util.compute_conv2d_info(shape, (*window, 3, 5), stride, 1, pad, data_format=data_format)
    y = vg.conv2d(vg.zeros(shape), vg.zeros([*window, 3, 5]), stride, pad, "NCHW" if first else "NHWC")
    assert info.out_shape == y.shape
    assert (info.in_height, info.in_width) == lengths
    assert (info.filter_height, info.filter_width) == window
    sides = info.pad_info
    if pad == "same":
        assert sides.type == "SAME"
        assert sides.bottom - sides.top in (0, 1)
        assert sides.right - sides.left in (0, 1)
    elif isinstance(pad, list):
        assert sides == (1, 2, 0, 1, "EXPLICIT")
    else:
        size = 0 if pad == "valid" else pad
        assert sides == (size,) * 4 + ("NUMBER" if size else "VALID",)


def test_windows_of_pooling_volumes_and_dilation():
    pooled = backend_util.compute_pool2d_info([1, 5, 5, 3], [2, 3], 2, 1, 1, "ceil")
    assert pooled.out_shape == vg.max_pool(vg.zeros([1, 5, 5, 3]), [2, 3], 2, 1, "ceil").shape
    volume = backend_util.compute_conv3d_info([2, 5, 6, 7, 3], [2, 2, 2, 3, 4], [1, 2, 3], 1, "same")
    assert volume.out_shape == vg.conv3d(vg.zeros([2, 5, 6, 7, 3]), vg.zeros([2, 2, 2, 3, 4]), [1, 2, 3], "same").shape
    assert (volume.stride_depth, volume.stride_height, volume.stride_width) == (1, 2, 3)
    pooled = backend_util.compute_pool3d_info([2, 3, 4, 5, 6], 2, 1, 1, "valid", data_format="NCDHW")
    assert pooled.out_shape == (2, 3, 3, 4, 5)
    dilated = backend_util.compute_dilation2d_info([1, 6, 6, 2], [2, 3, 2], 1, "valid", dilations=2)
    assert dilated.out_shape == vg.dilation2d(vg.zeros([1, 6, 6, 2]), vg.zeros([2, 3, 2]), 1, "valid", 2).shape
    assert (dilated.effective_filter_height, dilated.effective_filter_width) == (3, 5)


def test_windows_refuse_what_they_cannot_place():
    with pytest.raises(ValueError, match=r"the input must have 4 axes, got \[5, 5, 3\]"):
        backend_util.compute_conv2d_info([5, 5, 3], [3, 3, 3, 8], 1, 1, "same")
    with pytest.raises(ValueError, match="data_format must be"):
        backend_util.compute_conv2d_info([1, 5, 5, 3], [3, 3, 3, 8], 1, 1, "same", data_format="last")
    with pytest.raises(ValueError, match="needs a numeric pad"):
        backend_util.check_pad_on_dim_rounding_mode("my_op", "same", "floor")
    with pytest.raises(ValueError, match="'NHWC' or 'NCHW'"):
        backend_util.convert_conv2d_data_format("NDHWC")


def test_shapes_that_join_and_those_that_do_not():
    assert backend_util.compute_out_shape([[2, 2, 3], [1, 2, 3]], 0) == (3, 2, 3)
    backend_util.assert_params_consistent([[2, 3, 3], (2, 3, 4)], -1)
    for shapes in ([[1], [1, 2, 3]], [[2, 3, 3], [2, 2, 4]]):
        with pytest.raises(ValueError, match=r"tensors\[1\] differs"):
            backend_util.assert_params_consistent(shapes, len(shapes[0]) - 1)
    with pytest.raises(ValueError, match="axis 4 is out of range"):
        backend_util.assert_params_consistent([[1, 2, 3], [1, 2, 3]], 4)
    with pytest.raises(ValueError, match="at least one shape"):
        backend_util.compute_out_shape([], 0)


def test_split_sizes_add_up():
    assert backend_util.prepare_split_size(vg.zeros([2, 6]), 3, 1) == (2, 2, 2)
    with pytest.raises(ValueError, match="prepare_split_size: axis 0 is 2 long"):
        backend_util.prepare_split_size(vg.zeros([2, 6]), 3)


@QUICK
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_block_in_one_piece_of_memory_is_contiguous_in_numpy(data: st.DataObject, shape: list[int]):
    begin = [data.draw(st.integers(0, n - 1)) for n in shape]
    size = [data.draw(st.integers(1, n - b)) for n, b in zip(shape, begin, strict=True)]
    block = np.zeros(shape)[tuple(slice(b, b + n) for b, n in zip(begin, size, strict=True))]
    assert slice_util.is_slice_continous(shape, begin, size) == block.flags.c_contiguous
    assert slice_util.parse_slice_params(vg.zeros(shape), begin, size) == (tuple(begin), tuple(size))


@QUICK
@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 3), st.booleans())
def test_strided_slices_are_as_long_as_numpy_makes_them(begin: int, end: int, step: int, backwards: bool):
    stride = -step if backwards else step
    assert slice_util.compute_out_shape([begin], [end], [stride]) == (len(np.arange(begin, end, stride)),)


@QUICK
@given(st.sets(st.integers(0, 8)))
def test_masks_name_their_axes(axes: set[int]):
    assert slice_util.mask_to_axes(sum(1 << axis for axis in axes)) == tuple(sorted(axes))


def test_the_center_of_rotation_is_x_and_y():
    assert backend_util.get_image_center([0.25, 0.5], 10, 20) == (5.0, 5.0)
    with pytest.raises(ValueError, match="one number or"):
        backend_util.get_image_center([0.5], 10, 20)
