"""Layers that change the shape of their inputs, or the order of their axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

from .reference_values import ramp

SETTINGS = settings(max_examples=30)


def close(y, expected):
    np.testing.assert_allclose(y.numpy().reshape(-1), expected, rtol=2e-5, atol=1e-6)


def test_flatten_and_reshape():
    assert vg.layers.flatten()(ramp([2, 3, 4])).shape == (2, 12)
    assert vg.layers.flatten()(ramp([2, 3])).shape == (2, 3)
    assert vg.layers.flatten()(ramp([0, 3, 4])).shape == (0, 12)
    assert vg.layers.flatten()(ramp([5])).shape == (5, 1)
    # flatten({dataFormat: 'channelsFirst'}) on ramp([1, 2, 2, 2], .3, -.5) in tfjs 4.22
    close(
        vg.layers.flatten(data_format="channelsFirst")(ramp([1, 2, 2, 2], 0.3, -0.5)),
        [-0.5, 0.7, -0.2, 1, 0.1, 1.3, 0.4, 1.6],
    )
    layer = vg.layers.reshape(target_shape=[2, -1])
    assert layer(ramp([5, 6])).shape == (5, 2, 3)
    assert layer.compute_output_shape((None, 6)) == (None, 2, 3)
    assert layer.compute_output_shape((None, None)) == (None, 2, None)
    assert vg.layers.reshape(target_shape=[3, 2], name="r")(ramp([5, 6])).shape == (5, 3, 2)
    with pytest.raises(ValueError, match=r"r: inputs of shape \[5, 6\] do not fill target_shape \[4, \?\]"):
        vg.layers.reshape(target_shape=[4, -1], name="r")(ramp([5, 6]))
    with pytest.raises(ValueError, match=r"f: every axis of its inputs but the batch must be known, got \[\?, \?, 3\]"):
        vg.layers.flatten(name="f").compute_output_shape((None, None, 3))


@SETTINGS
@given(dims=st.permutations([1, 2, 3]), batch=st.integers(0, 3))
def test_permute_is_a_transpose_that_leaves_the_batch_first(dims, batch):
    x = np.random.default_rng(0).normal(size=[batch, 2, 3, 4]).astype(np.float32)
    layer = vg.layers.permute(dims=dims)
    np.testing.assert_array_equal(layer(x).numpy(), x.transpose(0, *dims))
    assert layer.compute_output_shape((None, 2, 3, 4)) == (None, *(x.shape[d] for d in dims))


def test_repeat_vector_repeats():
    x = ramp([2, 3])
    np.testing.assert_array_equal(vg.layers.repeat_vector(n=4)(x).numpy(), np.repeat(x[:, None], 4, 1))
    assert vg.layers.repeat_vector(n=4).compute_output_shape((None, 3)) == (None, 4, 3)
    np.testing.assert_array_equal(
        vg.grad(lambda x: vg.layers.repeat_vector(n=4)(x).sum())(x).numpy(), np.full([2, 3], 4)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.reshape(target_shape=[-1, None]), "only one length of target_shape"),
        (lambda: vg.layers.flatten(data_format="last"), "data_format must be one of channels_last"),
        (lambda: vg.layers.flatten(name="f")(vg.scalar(1)), "f: takes inputs of rank 1 or more, got []"),
        (
            lambda: vg.layers.reshape(target_shape=[1], name="r")(vg.scalar(1)),
            "r: takes inputs of rank 1 or more, got []",
        ),
        (lambda: vg.layers.permute(dims=[1, 1]), "permute: dims must name one axis or several different ones"),
        (lambda: vg.layers.permute(dims=[0, 1]), "permute: dims must hold each of 1, 2, … once, got [0, 1]"),
        (
            lambda: vg.layers.permute(dims=[2, 1], name="p")(vg.ones([2, 3])),
            "p: takes inputs of rank 3, got shape [2, 3]",
        ),
        (lambda: vg.layers.repeat_vector(n=0), "repeat_vector: n must be a positive integer, got 0"),
        (lambda: vg.layers.repeat_vector(n=2, name="r")(vg.ones([2])), "r: takes inputs of rank 2, got shape [2]"),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert message in str(caught.value)
