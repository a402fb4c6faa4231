"""How much each sample counts in `fit`: weights of samples, steps and classes, and masks."""

import numpy as np
import pytest

import varigrad as vg

from .models import line


def test_sample_weights_multiply_losses_whose_sum_is_divided_by_the_samples():
    for loss in ("mean_squared_error", vg.losses.mean_squared_error):
        model = line()
        model.compile(optimizer=vg.train.sgd(0.0), loss=loss, metrics=["mae"], weighted_metrics=["mae"])
        history = model.fit([1, 2, 3], [1, 2, 3], sample_weight=[1, 1, 0], verbose=0).history
        assert history["loss"] == [pytest.approx(5 / 3)]
        assert history["mae_0"] == [2.0]
        assert history["mae_1"] == [1.5]
        assert model.evaluate([1, 2, 3], [1, 2, 3], sample_weight=[1, 1, 0])[0].item() == pytest.approx(5 / 3)
        assert model.train_on_batch([1, 2, 3], [1, 2, 3], sample_weight=[1, 1, 0])[0] == pytest.approx(5 / 3)


def test_a_sample_of_weight_0_does_not_count_even_if_its_loss_is_infinite():
    model = line()
    model.compile(optimizer=vg.train.sgd(0.5), loss="mean_squared_error")
    model.fit([[1.0], [2.0]], [[1.0], [np.inf]], sample_weight=[1.0, 0.0], verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0].numpy(), [[0.5]])


def test_weights_of_steps():
    model = vg.sequential(layers=[vg.layers.activation(activation="linear", input_shape=[2, 1]), unit()])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    x = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    history = model.fit(x, np.zeros_like(x), sample_weight=[[1, 0], [0, 0.5]], verbose=0).history
    assert history["loss"] == [(1 + 8) / 4]
    assert model.fit(x, np.zeros_like(x), sample_weight=[1, 0], verbose=0).history["loss"] == [(1 + 4) / 4]


def unit():
    return vg.layers.dense(units=1, kernel_initializer="ones", use_bias=False)


def test_weights_by_output_and_of_classes_multiply():
    x = vg.input(shape=[1])
    model = vg.model(
        inputs=x,
        outputs=[
            vg.layers.dense(units=1, name="amount", kernel_initializer="ones", use_bias=False)(x),
            vg.layers.dense(units=2, name="kind", activation="softmax", kernel_initializer="zeros")(x),
        ],
    )
    model.compile(optimizer=vg.train.sgd(0.0), loss=["mean_squared_error", "sparse_categorical_crossentropy"])
    targets = [[0.0, 0.0], [0, 1]]
    history = model.fit(
        [1.0, 2.0],
        targets,
        sample_weight={"amount": [1.0, 0.0], "kind": [2.0, 1.0]},
        class_weight={"kind": {0: 10, 1: 1}},
        verbose=0,
    ).history
    assert history["amount_loss"] == [0.5]
    assert history["kind_loss"] == [pytest.approx(21 / 2 * np.log(2))]


@pytest.mark.parametrize("labels", [[0, 1, 1], [[1, 0], [0, 1], [0, 1]]], ids=["numbers", "one-hot"])
def test_class_weights(labels):
    model = vg.sequential(
        layers=[vg.layers.dense(units=2, activation="softmax", kernel_initializer="zeros", input_shape=[1])]
    )
    sparse = not isinstance(labels[0], list)
    loss = "sparse_categorical_crossentropy" if sparse else "categorical_crossentropy"
    model.compile(optimizer=vg.train.sgd(0.0), loss=loss)
    history = model.fit([1, 2, 3], labels, class_weight={0: 10, 1: 1}, verbose=0).history
    assert history["loss"] == [pytest.approx(2.7725887)]
    with pytest.raises(ValueError, match="no weight for class 1"):
        model.fit([1, 2, 3], labels, class_weight={0: 10}, verbose=0)


def test_masked_steps_do_not_count():
    model = vg.sequential(layers=[vg.layers.masking(mask_value=0.0, input_shape=[4, 1])])
    model.add(vg.layers.time_distributed(layer=unit()))
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error", metrics=["mae"])
    x = np.array([1.0, 2.0, 0.0, 0.0]).reshape(1, 4, 1)
    history = model.fit(x, np.zeros_like(x), validation_data=(x, np.zeros_like(x)), verbose=0).history
    assert history == {"loss": [2.5], "mae": [1.5], "val_loss": [2.5], "val_mae": [1.5]}


def test_weights_do_not_fit_a_scalar_loss():
    model = line()
    model.compile(optimizer="sgd", loss=lambda y, p: (y - p).square().mean())
    with pytest.raises(ValueError, match=r"the loss of .* needs a loss for each sample, not a scalar"):
        model.fit([1.0, 2.0], [1.0, 2.0], sample_weight=[1.0, 0.0], verbose=0)


def test_masks_and_weights_count_together():
    model = vg.sequential(layers=[vg.layers.masking(mask_value=0.0, input_shape=[3, 1])])
    model.add(vg.layers.time_distributed(layer=unit()))
    model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error", metrics=["mae"], weighted_metrics=["mae"])
    x = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]])[..., None]
    history = model.fit(x, np.zeros_like(x), sample_weight=[1.0, 3.0], verbose=0).history
    assert history["loss"] == [pytest.approx((1 + 4 + 3 * 9) / 3)]  # three steps count
    assert history["mae_0"] == [pytest.approx((1 + 2 + 3) / 3)]
    assert history["mae_1"] == [pytest.approx((1 + 2 + 3 * 3) / (1 + 1 + 3))]


def test_class_weights_do_not_count_in_the_validation_split_and_sample_weights_do():
    model = vg.sequential(
        layers=[vg.layers.dense(units=2, activation="softmax", kernel_initializer="zeros", input_shape=[1])]
    )
    model.compile(optimizer=vg.train.sgd(0.0), loss="sparse_categorical_crossentropy")
    history = model.fit(
        np.ones(4),
        [0, 1, 0, 1],
        sample_weight=[1, 1, 1, 3],
        class_weight={0: 10, 1: 1},
        validation_split=0.5,
        verbose=0,
    ).history
    assert history["loss"] == [pytest.approx(11 / 2 * np.log(2))]
    assert history["val_loss"] == [pytest.approx(4 / 2 * np.log(2))]
