"""The masking layer."""

import numpy as np
import pytest

import varigrad as vg

X = np.array([[[1, 2], [0, 0], [3, 0]], [[0, 0], [4, 5], [6, 7]]], np.float32)


def test_steps_of_one_value_are_zeros_and_masked():
    layer = vg.layers.masking()
    x = vg.tensor(X)
    assert layer(x).tolist() == X.tolist()
    assert layer.compute_mask(x, None).tolist() == [[True, False, True], [False, True, True]]


def test_another_value_is_replaced_by_zeros():
    # tf.layers.masking({maskValue: 5}).apply(…) in tfjs 4.22
    y = vg.layers.masking(mask_value=5)(vg.tensor([[[5, 5], [5, 1]]]))
    assert y.tolist() == [[[0, 0], [5, 1]]]


def test_more_axes():
    x = vg.tensor(np.stack([X, np.zeros_like(X)], 1))
    mask = vg.layers.masking().compute_mask(x, None)
    assert mask.shape == (2, 2, 3)
    assert not mask.numpy()[:, 1].any()


def test_the_gradient_reaches_what_counts():
    x = vg.variable(X)
    _, grads = vg.variable_grads(lambda: (vg.layers.masking()(x) * 2).sum())
    assert grads[x.name].tolist() == np.where((X != 0).any(-1, keepdims=True), 2.0, 0.0 * X).tolist()


def test_the_config_round_trip_and_errors():
    layer = vg.layers.masking(mask_value=-1)
    assert vg.layers.Masking.from_config(layer.get_config()).get_config() == layer.get_config()
    with pytest.raises(ValueError, match="mask_value must be a number"):
        vg.layers.masking(mask_value="0")
    with pytest.raises(ValueError, match="of rank 2 or more"):
        vg.layers.masking()(vg.tensor([1.0]))
