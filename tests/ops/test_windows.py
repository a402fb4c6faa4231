"""Convolution and pooling of any geometry, against loops over every place of the window."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=40)


def geometry(lengths, window, strides, pad, dilations, rounding):
    """The output's lengths and what is added before each axis, by TensorFlow's formulas."""
    outputs, befores = [], []
    for axis, (n, w, s, d) in enumerate(zip(lengths, window, strides, dilations, strict=True)):
        span = (w - 1) * d + 1
        if pad == "same":
            output = int(np.ceil(n / s))
            before = max(0, (output - 1) * s + span - n) // 2
        else:
            before, after = (0, 0) if pad == "valid" else (pad, pad) if isinstance(pad, int) else pad[axis + 1]
            whole = {"ceil": np.ceil, "round": lambda v: np.floor(v + 0.5)}.get(rounding, np.floor)
            output = int(whole((n + before + after - span) / s)) + 1
        outputs.append(output)
        befores.append(before)
    return outputs, befores


def windows(lengths, window, strides, pad, dilations, rounding):
    """For each index of the output, what comes under the window: pairs of a place in the window and an input index."""
    outputs, befores = geometry(lengths, window, strides, pad, dilations, rounding)
    found = defaultdict(list)
    for at, place in itertools.product(np.ndindex(*outputs), np.ndindex(*window)):
        index = tuple(np.array(at) * strides - befores + np.array(place) * dilations)
        if all(0 <= i < n for i, n in zip(index, lengths, strict=True)):
            found[at].append((place, index))
    return outputs, found


@st.composite
def arrangements(draw, axes, dilate=True, round_up=True):
    """Lengths, window, strides, pad, dilations and rounding that fit each other, and a batch and channels."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=axes, max_size=axes))
    pairs = [[0, 0], *draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=axes, max_size=axes)), [0, 0]]
    pad = draw(st.sampled_from(["same", "valid", 0, 1, 2, pairs]))
    window, dilations = [], []
    for axis, n in enumerate(lengths):
        room = (
            {"same": 9, "valid": n}[pad]
            if isinstance(pad, str)
            else n + (2 * pad if pad != pairs else sum(pad[axis + 1]))
        )
        window.append(draw(st.integers(1, min(3, room))))
        dilations.append(draw(st.integers(1, min(2, (room - 1) // max(1, window[-1] - 1) or 1))) if dilate else 1)
    strides = [draw(st.integers(1, 3)) if max(dilations) == 1 else 1 for _ in lengths]
    rounding = None
    if not isinstance(pad, str) and round_up:
        rounding = draw(st.sampled_from([None, "floor", "ceil", "round"]))
    return (
        (lengths, window, strides, pad, dilations, rounding),
        draw(st.integers(0, 2)),
        draw(st.sampled_from([1, 2, 13])),
    )


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def close(result, expected):
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


def convolved(x, w, arrangement):
    outputs, found = windows(*arrangement)
    y = np.zeros((len(x), *outputs, w.shape[-1]))
    for at, pairs in found.items():
        for place, index in pairs:
            y[(slice(None), *at)] += x[(slice(None), *index)] @ w[place]
    return y


@given(arrangements(2), st.sampled_from(["NHWC", "NCHW"]))
@SETTINGS
def test_conv2d(arranged, data_format):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, dilations, rounding = arrangement
    x, w = normal(batch, *lengths, channels), normal(*window, channels, 3)
    if data_format == "NCHW":
        if isinstance(pad, list):
            pad = [pad[0], pad[-1], *pad[1:-1]]
        y = vg.conv2d(x.transpose(0, 3, 1, 2), w, strides, pad, data_format, dilations, rounding)
        y = y.transpose([0, 2, 3, 1])
    else:
        y = vg.conv2d(x, w, strides, pad, data_format, dilations, rounding)
    close(y, convolved(x, w, arrangement))


@given(arrangements(1))
@SETTINGS
def test_conv1d(arranged):
    arrangement, batch, channels = arranged
    (length,), (window,), (stride,), pad, (dilation,), rounding = arrangement
    x, w = normal(batch, length, channels), normal(window, channels, 3)
    close(vg.conv1d(x, w, stride, pad, "NWC", dilation, rounding), convolved(x, w, arrangement))


@given(arrangements(3, round_up=False))
@SETTINGS
def test_conv3d(arranged):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, dilations, _ = arrangement
    x, w = normal(batch, *lengths, channels), normal(*window, channels, 2)
    close(vg.conv3d(x, w, strides, pad, "NDHWC", dilations), convolved(x, w, arrangement))


@given(arrangements(2), st.integers(1, 2))
@SETTINGS
def test_depthwise_conv2d(arranged, multiplier):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, dilations, rounding = arrangement
    x, w = normal(batch, *lengths, channels), normal(*window, channels, multiplier)
    # Each channel convolved by itself, the results side by side.
    parts = [convolved(x[..., [c]], w[:, :, [c]], arrangement) for c in range(channels)]
    close(
        vg.depthwise_conv2d(x, w, strides, pad, "NHWC", dilations, rounding),
        np.concatenate(parts, axis=-1),
    )


@pytest.mark.parametrize(("op", "axes"), [(vg.conv2d_transpose, 2), (vg.conv3d_transpose, 3)])
@given(data=st.data())
@SETTINGS
def test_a_transposed_convolution_spreads_what_the_convolution_gathers(op, axes, data):
    arrangement, batch, channels = data.draw(arrangements(axes, dilate=False, round_up=False))
    lengths, window, strides, pad, *_ = arrangement
    outputs, found = windows(*arrangement)
    x, w = normal(batch, *outputs, 3), normal(*window, channels, 3)
    expected = np.zeros((batch, *lengths, channels))
    for at, pairs in found.items():
        for place, index in pairs:
            expected[(slice(None), *index)] += x[(slice(None), *at)] @ w[place].T
    close(op(x, w, [batch, *lengths, channels], strides, pad), expected)


def pooled(x, arrangement, reduce):
    outputs, found = windows(*arrangement)
    y = np.empty((len(x), *outputs, x.shape[-1]))
    for at in np.ndindex(*outputs):
        under = [x[(slice(None), *index)] for _, index in found[at]]
        y[(slice(None), *at)] = reduce(under) if under else np.nan
    return y


def mean(under):
    return np.mean(np.float64(under), axis=0)


def largest(under):
    return np.max(under, axis=0)


@pytest.mark.parametrize(("pooling_type", "reduce"), [("max", largest), ("avg", mean)])
@given(arranged=arrangements(2))
@SETTINGS
def test_pool(pooling_type, reduce, arranged):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, dilations, rounding = arrangement
    x = normal(batch, *lengths, channels)
    y = vg.pool(x, window, pooling_type, pad, dilations, strides, rounding)
    if max(window) == 1 and y.shape == x.shape:
        return  # x itself, as TensorFlow.js has it
    expected = pooled(x, arrangement, reduce)
    # Windows that lie wholly beyond the edge hold nothing.
    close(vg.where(np.isnan(expected), 0.0, y), np.nan_to_num(expected))


@pytest.mark.parametrize(("op", "reduce"), [(vg.max_pool3d, largest), (vg.avg_pool3d, mean)])
@given(arranged=arrangements(3, dilate=False))
@SETTINGS
def test_pool3d(op, reduce, arranged):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, _, rounding = arrangement
    x = normal(batch, *lengths, channels)
    y = op(x, window, strides, pad, rounding)
    expected = pooled(x, arrangement, reduce)
    close(vg.where(np.isnan(expected), 0.0, y), np.nan_to_num(expected))


@given(arrangements(2), st.booleans())
@SETTINGS
def test_max_pool_with_argmax_points_at_what_it_took(arranged, include_batch):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, dilations, rounding = arrangement
    if max(dilations) > 1 or rounding or not isinstance(pad, str):
        pad = "same"
    x = normal(batch, *lengths, channels)
    result, indexes = vg.max_pool_with_argmax(x, window, strides, pad, include_batch)
    close(result, vg.max_pool(x, window, strides, pad).numpy())
    image = np.arange(batch).reshape(-1, 1, 1, 1) * (0 if include_batch else x[:1].size)
    np.testing.assert_array_equal(x.ravel()[indexes.numpy() + image], result.numpy())


@given(arrangements(2))
@SETTINGS
def test_dilation2d(arranged):
    arrangement, batch, channels = arranged
    lengths, window, strides, pad, dilations, _ = arrangement
    arrangement = (lengths, window, strides, pad, dilations, None)
    x, w = normal(batch, *lengths, channels), normal(*window, channels)
    outputs, found = windows(*arrangement)
    expected = np.full((batch, *outputs, channels), -np.inf)
    for at, pairs in found.items():
        expected[(slice(None), *at)] = np.max([x[(slice(None), *index)] + w[place] for place, index in pairs], axis=0)
    close(vg.dilation2d(x, w, strides, pad, dilations), expected)
