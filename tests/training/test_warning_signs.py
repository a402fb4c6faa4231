"""What people overlook in their data and losses, and are told of."""

import warnings

import numpy as np
import pytest

import varigrad as vg

from .models import line


def distance(y, p):
    return (y - p.sum(-1, True)).square().mean(-1)


@pytest.mark.parametrize("kind", ["numbers", "one-hot", "values"])
def test_sorted_data_brings_a_warning_and_shuffled_data_none(kind):
    labels = np.repeat(np.arange(5), 20)
    y = {"numbers": labels, "one-hot": np.eye(5)[labels], "values": labels + 0.5}[kind]
    model = vg.sequential(layers=[vg.layers.dense(units=5, activation="softmax", input_shape=[1])])
    loss = {"numbers": "sparse_categorical_crossentropy", "one-hot": "categorical_crossentropy", "values": distance}[
        kind
    ]
    model.compile(optimizer="sgd", loss=loss)
    x = np.ones(100)
    with pytest.warns(UserWarning, match="as if the data were sorted"):
        model.fit(x, y, validation_split=0.2, verbose=0)
    order = np.random.default_rng(0).permutation(100)
    model.fit(x, y[order], validation_split=0.2, verbose=0)


def test_a_diverging_fit_says_so_and_a_converging_one_does_not():
    y = [1.0, 4.0, 7.0, 10.0, 91.0]
    model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="zeros", input_shape=[1])])
    model.compile(optimizer="sgd", loss="mean_squared_error")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        history = model.fit([0, 1, 2, 3, 30], y, epochs=60, batch_size=5, shuffle=False, verbose=0).history["loss"]
    assert [warning.filename for warning in told] == [__file__]
    for hint in ("the loss keeps rising (1689, ", "scale the inputs", "smaller learning rate"):
        assert hint in str(told[0].message)
    np.testing.assert_allclose(history[:2], [1689.4, 11965.4], rtol=1e-4)
    assert np.isinf(history[59])

    model = vg.sequential(layers=[vg.layers.dense(units=1, kernel_initializer="zeros", input_shape=[1])])
    model.compile(optimizer="sgd", loss="mean_squared_error")
    y = [1.0, 4.0, 7.0, 10.0, 31.0]
    history = model.fit([0, 1, 2, 3, 10], y, epochs=60, batch_size=5, shuffle=False, verbose=0).history["loss"]
    assert history[0] == pytest.approx(225.4)
    assert history[59] == pytest.approx(0.0475, rel=1e-2)


def test_a_loss_that_is_not_finite_brings_a_warning():
    model = line()
    model.compile(optimizer="sgd", loss="mean_squared_error")
    with pytest.warns(UserWarning, match=r"the loss became NaN in epoch 1\. Look for NaN in the data"):
        model.fit([np.nan], [1.0], verbose=0)


def test_noise_about_a_small_loss_brings_no_warning():
    losses = [0.0059, 0.008, 0.01, 0.0216, 0.03, 0.008]
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss=lambda y, p: (p * 0.0).sum(-1) + y.sum(-1))
    targets = [(np.ones([1, 1]), np.array([[loss]])) for loss in losses]
    history = model.fit_dataset(targets, epochs=6, batches_per_epoch=1, verbose=0).history
    assert history["loss"] == pytest.approx(losses)


def test_a_loss_that_rises_by_the_same_factor_brings_a_warning_in_the_end():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.0), loss=lambda y, p: (p * 0.0).sum(-1) + y.sum(-1))
    targets = [(np.ones([1, 1]), np.array([[1.5**epoch]])) for epoch in range(9)]
    with pytest.warns(UserWarning, match=r"keeps rising \(7.594, 11.39, 17.09, 25.63\)"):
        model.fit_dataset(targets, epochs=9, batches_per_epoch=1, verbose=0)
