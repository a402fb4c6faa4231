"""Penalties on what layers give."""

import numpy as np
import pytest

import varigrad as vg

L2 = vg.regularizers.l2(l2=0.5)


def gradient_of(layer, x):
    """The gradient of the layer's penalties alone with respect to x."""

    def f(x):
        layer(x, training=True)
        return vg.add_n(layer.calculate_losses())

    return vg.grad(f)(vg.tensor(x, dtype="float32")).numpy()


def test_the_penalty_is_that_of_the_result_over_the_batch():
    layer = vg.layers.dense(units=2, kernel_initializer="ones", activity_regularizer=L2)
    x = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
    with_penalty = []

    def loss():
        layer(x, training=True)
        with_penalty.extend(p.item() for p in layer.calculate_losses())
        return vg.sum(layer.calculate_losses()[0])

    vg.variable_grads(loss)
    # y is [[3, 3], [2, 2]]: 0.5 (9 + 9 + 4 + 4) / 2
    assert with_penalty == [pytest.approx(6.5)]


ONES = {"kernel_initializer": "ones"}
DEEP_ONES = {"depthwise_initializer": "ones"}
LAYERS = {
    "dense": {"units": 1, **ONES},
    "conv1d": {"filters": 1, "kernel_size": 1, **ONES},
    "conv2d": {"filters": 1, "kernel_size": 1, **ONES},
    "conv2d_transpose": {"filters": 1, "kernel_size": 1, **ONES},
    "depthwise_conv2d": {"kernel_size": 1, **DEEP_ONES},
    "separable_conv2d": {"filters": 1, "kernel_size": 1, "pointwise_initializer": "ones", **DEEP_ONES},
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_that_takes_one_applies_it(name):
    layer = getattr(vg.layers, name)(**LAYERS[name], activity_regularizer=L2)
    rank = {"dense": 2, "conv1d": 3}.get(name, 4)
    x = np.array([3.0, -1.0], np.float32).reshape(2, *(1,) * (rank - 1))
    # All weights are 1, so y is x, and the penalty sum(y^2) / 2 / batch.
    np.testing.assert_allclose(gradient_of(layer, x), x / 2)


def test_an_embedding_is_penalized_too():
    layer = vg.layers.embedding(input_dim=2, output_dim=1, activity_regularizer=L2, weights=[[[3.0], [5.0]]])
    layer([[1]])

    def loss():
        layer([[1, 1]], training=True)
        return layer.calculate_losses()[0]

    value, grads = vg.variable_grads(loss)
    assert value.item() == 25.0  # 0.5 (25 + 25) / 1
    assert grads[layer.weights[0].name].tolist() == [[0.0], [10.0]]


def test_a_layer_used_twice_counts_twice_and_the_next_step_begins_anew():
    layer = vg.layers.dense(units=1, kernel_initializer="ones", activity_regularizer=L2)
    counts = []

    def loss():
        layer([[2.0]], training=True)
        layer([[4.0]], training=True)
        penalties = layer.calculate_losses()
        counts.append([p.item() for p in penalties])
        return vg.add_n(penalties)

    layer([[1.0]])
    for _ in range(3):
        vg.variable_grads(loss)
    assert counts == [[2.0, 8.0]] * 3


def test_outside_of_training_and_of_a_gradient_there_is_none():
    layer = vg.layers.dense(units=1, activity_regularizer=L2)
    layer([[2.0]], training=True)
    assert layer.calculate_losses() == []
    seen = []

    def loss():
        y = layer([[2.0]], training=False)
        seen.append(layer.calculate_losses())
        return y.sum()

    vg.variable_grads(loss)
    assert seen == [[]]


def test_steps_that_never_ask_leave_nothing_behind():
    layer = vg.layers.dense(units=1, activity_regularizer=L2)
    layer([[2.0]])

    def step():
        vg.variable_grads(lambda: layer([[2.0]], training=True).sum())

    step()
    before = vg.memory().num_tensors
    for _ in range(20):
        step()
    assert vg.memory().num_tensors == before


def test_fit_trains_on_it():
    layer = vg.layers.dense(units=1, input_shape=[1], use_bias=False, activity_regularizer=L2)
    model = vg.sequential(layers=[layer])
    model.set_weights([[[3.0]]])
    model.compile(optimizer=vg.train.sgd(0.1), loss="mean_squared_error")
    model.fit([[1.0], [1.0]], [[3.0], [3.0]], epochs=1, batch_size=2, shuffle=False, verbose=0)
    # The error is 0; the penalty is 0.5 (w^2 + w^2) / 2, whose slope is w: 3 - 0.1 * 3.
    assert model.get_weights()[0].item() == pytest.approx(2.7)


@pytest.mark.parametrize("name", ["simple_rnn", "lstm", "gru"])
@pytest.mark.parametrize("return_sequences", [False, True])
@pytest.mark.parametrize("return_state", [False, True])
def test_recurrent_layers_are_penalized_for_all_that_they_give(name, return_sequences, return_state):
    layer = getattr(vg.layers, name)(
        units=2, return_sequences=return_sequences, return_state=return_state, activity_regularizer=L2
    )
    x = vg.tensor(np.linspace(-1, 1, 18).reshape(3, 3, 2), dtype="float32")
    seen = []

    def loss():
        results = layer(x, training=True)
        penalties = layer.calculate_losses()
        seen.extend((results if return_state else [results], penalties))
        return vg.add_n(penalties)

    vg.variable_grads(loss)
    results, penalties = seen
    # 0.5 sum(y^2) / batch for each result: what Keras adds to the loss
    assert [p.item() for p in penalties] == [pytest.approx((y.numpy() ** 2).sum() / 6, rel=1e-5) for y in results]


def test_attention_is_penalized_for_its_result():
    layer = vg.layers.multi_head_attention(num_heads=1, key_dim=2, activity_regularizer=L2)
    x = vg.tensor(np.linspace(-1, 1, 12).reshape(2, 3, 2), dtype="float32")
    seen = []

    def loss():
        seen.append(layer([x, x], training=True))
        return vg.add_n(layer.calculate_losses())

    value, _ = vg.variable_grads(loss)
    assert value.item() == pytest.approx((seen[0].numpy() ** 2).sum() / 4, rel=1e-5)
