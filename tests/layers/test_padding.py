"""Zero padding and cropping layers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=40)
PADDING = [vg.layers.zero_padding1d, vg.layers.zero_padding2d, vg.layers.zero_padding3d]
CROPPING = [vg.layers.cropping1d, vg.layers.cropping2d, vg.layers.cropping3d]


@st.composite
def margins(draw):
    """How many axes, margins in one of the forms that are taken, and the same as pairs."""
    axes = draw(st.integers(1, 3))
    number = st.integers(0, 2)
    form = draw(st.sampled_from(["number", "each axis", "each side"]))
    if form == "number":
        n = draw(number)
        return axes, n, [(n, n)] * axes
    if form == "each axis" and axes > 1:
        each = [draw(number) for _ in range(axes)]
        return axes, each, [(n, n) for n in each]
    pairs = [(draw(number), draw(number)) for _ in range(axes)]
    given_pairs = [list(pair) for pair in pairs]
    return axes, given_pairs[0] if axes == 1 else given_pairs, pairs


@SETTINGS
@given(margins=margins(), first=st.booleans())
def test_padding_is_that_of_numpy_and_cropping_undoes_it(margins, first):
    axes, value, pairs = margins
    x = np.random.default_rng(0).normal(size=[2, *(3, 1, 2)[:axes], 2]).astype(np.float32)
    data_format = "channels_first" if first else "channels_last"
    around = [(0, 0), (0, 0), *pairs] if first else [(0, 0), *pairs, (0, 0)]
    pad = PADDING[axes - 1](padding=value, data_format=data_format)
    crop = CROPPING[axes - 1](cropping=value, data_format=data_format)
    if first:
        x = np.moveaxis(x, -1, 1)
    padded = pad(x)
    np.testing.assert_array_equal(padded.numpy(), np.pad(x, around))
    np.testing.assert_array_equal(crop(padded).numpy(), x)
    assert pad.compute_output_shape((None, *x.shape[1:])) == (None, *padded.shape[1:])
    assert crop.compute_output_shape((None, *padded.shape[1:])) == (None, *x.shape[1:])
    for layer in (pad, crop):
        config = layer.get_config()
        again = type(layer).from_config(config)
        # The format of a sequence is not stored, as in Keras.
        assert again.get_config() == config


@pytest.mark.parametrize("make", PADDING + CROPPING)
def test_gradients_are_right_and_unknown_lengths_stay_so(make):
    axes = (PADDING + CROPPING).index(make) % 3 + 1
    layer = make()
    x = np.random.default_rng(0).normal(size=[1, *(3,) * axes, 2])
    vg.testing.check_gradients(lambda x: layer(x), x)
    assert layer.compute_output_shape((None, *(None,) * axes, 2)) == (None, *(None,) * axes, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: vg.layers.zero_padding2d(padding=-1),
            "zero_padding2d: padding must be 0 or a positive integer, got -1",
        ),
        (
            lambda: vg.layers.zero_padding2d(padding=[1, 2, 3]),
            "padding must be an integer, or have 2 entries, got [1, 2, 3]",
        ),
        (lambda: vg.layers.zero_padding2d(padding=[[1, 2, 3], [1, 1]]), "padding must be an integer or 2 of them"),
        (lambda: vg.layers.zero_padding1d(padding=[0.5, 1]), "zero_padding1d: padding must be 0 or a positive integer"),
        (lambda: vg.layers.cropping3d(cropping="1"), "cropping3d: cropping must be an integer or a list, got '1'"),
        (lambda: vg.layers.cropping2d(data_format="NHWC"), "cropping2d: data_format must be one of channels_last"),
        (
            lambda: vg.layers.cropping2d(cropping=1, name="c")(vg.ones([1, 2, 5, 1])),
            "c: cropping [[1, 1], [1, 1]] leaves nothing of inputs of shape [1, 2, 5, 1]",
        ),
        (
            lambda: vg.sequential(layers=[vg.layers.cropping1d(cropping=[3, 1], input_shape=[4, 1], name="c")]),
            "c: cropping [[3, 1]] leaves nothing of inputs of shape [?, 4, 1]",
        ),
        (
            lambda: vg.layers.zero_padding2d(name="z")(vg.ones([1, 2, 2])),
            "z: takes inputs of rank 4, got shape [1, 2, 2]",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        make()
