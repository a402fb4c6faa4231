"""Pooling layers, over windows and over everything."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=40)


def pooled(x, sizes, strides, padding, reduce):
    """Pooling as it is defined: NaN stands for places outside the input."""
    axes = len(sizes)
    around, counts = [(0, 0)], []
    for n, size, stride in zip(x.shape[1:-1], sizes, strides, strict=True):
        count = -(-n // stride) if padding == "same" else (n - size) // stride + 1
        total = max(0, (count - 1) * stride + size - n) if padding == "same" else 0
        around.append((total // 2, total - total // 2))
        counts.append(count)
    wide = np.pad(x, [*around, (0, 0)], constant_values=np.nan)
    y = np.empty([x.shape[0], *counts, x.shape[-1]], x.dtype)
    for place in np.ndindex(*counts):
        window = tuple(slice(p * s, p * s + n) for p, s, n in zip(place, strides, sizes, strict=True))
        y[(slice(None), *place)] = reduce(wide[(slice(None), *window)], axis=tuple(range(1, axes + 1)))
    return y


@SETTINGS
@given(
    axes=st.integers(1, 3),
    sizes=st.tuples(*[st.integers(1, 3)] * 3),
    strides=st.none() | st.tuples(*[st.integers(1, 3)] * 3),
    padding=st.sampled_from(["valid", "same"]),
    first=st.booleans(),
    kind=st.sampled_from(["max", "average"]),
)
def test_every_window_gives_its_maximum_or_mean(axes, sizes, strides, padding, first, kind):
    x = np.random.default_rng(0).normal(size=[2, *(5, 4, 3)[:axes], 2]).astype(np.float32)
    sizes, steps = sizes[:axes], (strides or sizes)[:axes]
    expected = pooled(x, sizes, steps, padding, np.nanmax if kind == "max" else np.nanmean)
    layer = getattr(vg.layers, f"{kind}_pooling{axes}d")(
        pool_size=sizes,
        strides=None if strides is None else steps,
        padding=padding,
        data_format="channels_first" if first else "channels_last",
    )
    if first:
        x, expected = np.moveaxis(x, -1, 1), np.moveaxis(expected, -1, 1)
    np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-5, atol=1e-6)
    assert layer.compute_output_shape((None, *x.shape[1:])) == (None, *expected.shape[1:])
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_global_pooling_reduces_all_but_batch_and_channels(axes, first, keepdims):
    x = np.random.default_rng(0).normal(size=[2, *(3, 4, 2)[:axes], 5]).astype(np.float32)
    space = tuple(range(1, axes + 1))
    for kind, reduce in (("max", np.max), ("average", np.mean)):
        expected = reduce(x, axis=space, keepdims=keepdims)
        given_x = np.moveaxis(x, -1, 1) if first else x
        if first and keepdims:
            expected = np.moveaxis(expected, -1, 1)
        layer = getattr(vg.layers, f"global_{kind}_pooling{axes}d")(
            data_format="channels_first" if first else "channels_last", keepdims=keepdims
        )
        np.testing.assert_allclose(layer(given_x).numpy(), expected, rtol=1e-5, atol=1e-6)
        assert layer.compute_output_shape(given_x.shape) == expected.shape
        config = layer.get_config()
        assert type(layer).from_config(config).get_config() == config
        assert ("keepdims" in config) == keepdims


@pytest.mark.parametrize("first", [False, True])
def test_the_mean_of_a_sequence_is_that_of_the_steps_that_count(first):
    x = np.random.default_rng(0).normal(size=[3, 4, 2]).astype(np.float32)
    mask = np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], bool)
    layer = vg.layers.global_average_pooling1d(data_format="channels_first" if first else "channels_last")
    y = layer(x.transpose(0, 2, 1) if first else x, mask=vg.tensor(mask)).numpy()
    expected = [x[i][mask[i]].mean(0) if mask[i].any() else np.zeros(2) for i in range(3)]
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    assert layer.compute_mask(x, vg.tensor(mask)) is None


def test_short_names_are_the_same_layers():
    for axes in (1, 2, 3):
        for short, name in (
            ("avg_pool", "average_pooling"),
            ("avg_pooling", "average_pooling"),
            ("max_pool", "max_pooling"),
        ):
            assert getattr(vg.layers, f"{short}{axes}d") is getattr(vg.layers, f"{name}{axes}d")
    assert vg.layers.global_max_pool1d is vg.layers.global_max_pooling1d
    assert vg.layers.global_max_pool2d is vg.layers.global_max_pooling2d


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.max_pooling1d(pool_size=[2, 2]), "max_pooling1d: pool_size must be an integer or 1 of them"),
        (
            lambda: vg.layers.average_pooling3d(strides=-1),
            "average_pooling3d: strides must be a positive integer, got -1",
        ),
        (lambda: vg.layers.max_pooling3d(padding="causal"), "padding must be one of valid, same, got 'causal'"),
        (lambda: vg.layers.max_pooling1d(name="p")(vg.ones([1, 2])), "p: takes inputs of rank 3, got shape [1, 2]"),
        (
            lambda: vg.sequential(layers=[vg.layers.max_pooling1d(pool_size=5, input_shape=[4, 1], name="p")]),
            "p: a window of 5 does not fit an input of length 4",
        ),
        (
            lambda: vg.layers.global_max_pooling2d(keepdims=1),
            "global_max_pooling2d: keepdims must be True or False, got 1",
        ),
        (
            lambda: vg.layers.global_max_pooling2d(name="g")(vg.ones([1, 2])),
            "g: takes inputs of rank 4, got shape [1, 2]",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        make()
