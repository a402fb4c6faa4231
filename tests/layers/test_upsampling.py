"""Up-sampling layers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=30)
LAYERS = [vg.layers.up_sampling1d, vg.layers.up_sampling2d, vg.layers.up_sampling3d]


@SETTINGS
@given(axes=st.integers(1, 3), sizes=st.tuples(*[st.integers(1, 3)] * 3), first=st.booleans(), batch=st.integers(0, 2))
def test_each_value_is_repeated_along_each_axis(axes, sizes, first, batch):
    x = np.random.default_rng(0).normal(size=[batch, *(3, 1, 2)[:axes], 2]).astype(np.float32)
    expected = x
    for axis, times in enumerate(sizes[:axes], 1):
        expected = np.repeat(expected, times, axis)
    options = {}
    if first and axes > 1:
        options["data_format"] = "channels_first"
        x, expected = np.moveaxis(x, -1, 1), np.moveaxis(expected, -1, 1)
    layer = LAYERS[axes - 1](size=sizes[0] if axes == 1 else sizes[:axes], **options)
    np.testing.assert_array_equal(layer(x).numpy(), expected)
    assert layer.compute_output_shape((None, *x.shape[1:])) == (None, *expected.shape[1:])
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


@pytest.mark.parametrize("make", LAYERS)
def test_gradients_are_right_and_unknown_lengths_stay_so(make):
    axes = LAYERS.index(make) + 1
    layer = make(size=2)
    x = np.random.default_rng(0).normal(size=[1, *(2,) * axes, 2])
    vg.testing.check_gradients(lambda x: layer(x), x)
    assert layer.compute_output_shape((None, *(None,) * axes, 2)) == (None, *(None,) * axes, 2)
    assert make().compute_output_shape((1, *(3,) * axes, 2)) == (1, *(6,) * axes, 2)


def test_integers_are_repeated_as_they_are():
    assert vg.layers.up_sampling2d()(vg.ones([1, 1, 1, 1], "int32")).dtype == "int32"
    assert vg.layers.up_sampling1d()(vg.ones([1, 1, 1], "bool")).dtype == "bool"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.up_sampling1d(size=0), "up_sampling1d: size must be a positive integer, got 0"),
        (lambda: vg.layers.up_sampling2d(size=[1, 2, 3]), "up_sampling2d: size must be an integer or 2 of them"),
        (lambda: vg.layers.up_sampling2d(interpolation="cubic"), "interpolation must be one of nearest, bilinear"),
        (
            lambda: vg.layers.up_sampling3d(name="u")(vg.ones([1, 2, 2])),
            "u: takes inputs of rank 5, got shape [1, 2, 2]",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()
