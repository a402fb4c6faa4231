"""Two hundred steps of training, compiled and as written, for models of many kinds: the same losses and weights.

Steps differ in rounding alone, which two hundred of them make larger; so the bounds are wider than for one step. Where
an optimizer makes steps of one size of gradients of any, as rmsprop does near a minimum, eager mode itself is as far
from eager mode for inputs a unit in the last place away: such trainings are not here.
"""

import numpy as np
import pytest

import varigrad as vg
from varigrad import layers

STEPS = 200
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(8, 6)).astype("float32")
SERIES = RANDOM.normal(size=(4, 5, 3)).astype("float32")
IMAGES = RANDOM.normal(size=(4, 8, 8, 2)).astype("float32")
WORDS = RANDOM.integers(0, 11, size=(4, 5)).astype("int32")


def error(model, x, training=True):
    """The mean square of what is between the outputs and ones that the inputs tell of."""
    y = model(x, training=training)
    wanted = vg.tanh(vg.cast(x, "float32").reshape([x.shape[0], -1]).sum(1, keep_dims=True))
    return (y - wanted).square().mean()


def supervised(make_layers, x, optimizer):
    """A step on one batch of a sequential model."""

    def make():
        first = layers.input_layer(input_shape=x.shape[1:], dtype=str(x.dtype))
        model = vg.sequential(layers=[first, *make_layers()])
        chosen = optimizer()
        x_ = vg.tensor(x)
        model(x_)

        def step():
            value, grads = vg.variable_grads(lambda: error(model, x_) + sum(model.calculate_losses(), vg.scalar(0.0)))
            chosen.apply_gradients(grads)
            return value

        return step, model.weights

    return make


def dense(units, **options):
    return layers.dense(units=units, kernel_initializer=vg.initializers.glorot_uniform(seed=units), **options)


def last():
    return [layers.flatten(), dense(1)]


def gradient_penalty():
    model = vg.sequential(layers=[dense(9, activation="tanh", input_shape=[6]), dense(1)])
    optimizer = vg.train.adam(0.003)
    x = vg.tensor(ROWS)

    def loss():
        steepness = vg.grad(lambda x: model(x).sum())(x).square().sum(1)
        return error(model, x) + (steepness - 1).square().mean() * 0.1

    def step():
        value, grads = vg.variable_grads(loss)
        optimizer.apply_gradients(grads)
        return value

    return step, model.weights


def two_players():
    maker = vg.sequential(layers=[dense(7, activation="relu", input_shape=[4]), dense(6)])
    judge = vg.sequential(layers=[dense(5, activation="tanh", input_shape=[6]), dense(1)])
    maker_optimizer, judge_optimizer = vg.train.adam(0.002), vg.train.rmsprop(0.002)
    real, noise = vg.tensor(ROWS), vg.tensor(ROWS[:, :4] * 0.5)

    def judged(x, wanted):
        return vg.losses.sigmoid_cross_entropy(vg.fill([8, 1], wanted), judge(x))

    def step():
        value, grads = vg.variable_grads(lambda: judged(real, 1.0) + judged(maker(noise), 0.0), judge.trainable_weights)
        judge_optimizer.apply_gradients(grads)
        other, grads = vg.variable_grads(lambda: judged(maker(noise), 1.0), maker.trainable_weights)
        maker_optimizer.apply_gradients(grads)
        return value + other

    return step, [*maker.weights, *judge.weights]


def tied_and_averaged():
    w = vg.variable(ROWS[:6, :4] * 0.3)
    optimizer = vg.train.momentum(0.05, 0.9, True)
    average = vg.train.exponential_moving_average([w], 0.95)
    x = vg.tensor(ROWS)

    def losses():
        code = vg.tanh(x.mat_mul(w))
        return {"again": (code.mat_mul(w, False, True) - x).square().mean(), "small": w.square().sum() * 0.01}

    def step():
        value, grads = vg.variable_grads(losses)
        optimizer.apply_gradients(vg.train.clip_by_global_norm(grads, 1.0))
        average.update()
        return value.value if hasattr(value, "value") else value

    return step, [w, *average._averages]


def accumulated():
    model = vg.sequential(layers=[dense(5, activation="elu", input_shape=[6]), dense(1)])
    optimizer = vg.train.accumulate(vg.train.adam(0.01), every=4)
    parts = [vg.tensor(ROWS[at : at + 2]) for at in (0, 2, 4, 6)]

    def step():
        total = vg.scalar(0.0)
        for part in parts:
            value, grads = vg.variable_grads(lambda part=part: error(model, part))
            optimizer.sums.add(grads, batch_size=2)
            total = total + value
        optimizer.flush()
        return total

    return step, model.weights


def penalized(units):
    return dense(units, kernel_regularizer="l1l2", bias_regularizer=vg.regularizers.l2(l2=0.02), activation="selu")


def recurrent(layer, **options):
    start = {"kernel_initializer": vg.initializers.glorot_uniform(seed=1)}
    start["recurrent_initializer"] = vg.initializers.orthogonal(seed=2)
    return layer(units=4, **start, **options)


def adam():
    return vg.train.adam(0.005)


TRAININGS = {
    "dense, sgd": supervised(lambda: [dense(8, activation="gelu"), dense(1)], ROWS, lambda: vg.train.sgd(0.02)),
    "regularized, adadelta": supervised(lambda: [penalized(8), dense(1)], ROWS, lambda: vg.train.adadelta(0.5)),
    "batch norm, adamax": supervised(
        lambda: [
            dense(8, use_bias=False),
            layers.batch_normalization(),
            layers.activation(activation="relu"),
            dense(1),
        ],
        ROWS,
        lambda: vg.train.adamax(0.01),
    ),
    "layer norm, adagrad": supervised(
        lambda: [dense(8, activation="swish"), layers.layer_normalization(), dense(1)],
        ROWS,
        lambda: vg.train.adagrad(0.05),
    ),
    "dropout with a seed": supervised(
        lambda: [dense(16, activation="relu"), layers.dropout(rate=0.3, seed=4), dense(1)], ROWS, adam
    ),
    "convolution and pooling": supervised(
        lambda: [
            layers.conv2d(
                filters=4, kernel_size=3, activation="relu", kernel_initializer=vg.initializers.he_normal(seed=1)
            ),
            layers.max_pooling2d(pool_size=2),
            *last(),
        ],
        IMAGES,
        adam,
    ),
    "separable convolution": supervised(
        lambda: [
            layers.separable_conv2d(
                filters=3,
                kernel_size=3,
                padding="same",
                activation="tanh",
                depthwise_initializer=vg.initializers.he_normal(seed=1),
                pointwise_initializer=vg.initializers.he_normal(seed=2),
            ),
            *last(),
        ],
        IMAGES,
        lambda: vg.train.momentum(0.02, 0.9),
    ),
    "lstm": supervised(lambda: [recurrent(layers.lstm), dense(1)], SERIES, adam),
    "gru": supervised(lambda: [recurrent(layers.gru), dense(1)], SERIES, adam),
    "bidirectional": supervised(
        lambda: [layers.bidirectional(layer=recurrent(layers.simple_rnn, return_sequences=True)), *last()], SERIES, adam
    ),
    "embedding": supervised(
        lambda: [
            layers.embedding(input_dim=11, output_dim=3, embeddings_initializer=vg.initializers.random_uniform(seed=5)),
            recurrent(layers.lstm),
            dense(1),
        ],
        WORDS,
        adam,
    ),
    "a penalty on a gradient": gradient_penalty,
    "two players with an optimizer each": two_players,
    "tied weights, two losses, averages": tied_and_averaged,
    "gradients accumulated": accumulated,
}


def trained(make, compile_function):
    """The losses of all steps, and the weights in the end."""
    vg.set_random_seed(1)
    step, weights = make()
    called = compile_function(step)
    losses = [called() for _ in range(STEPS)]
    return called, [loss.item() for loss in losses], [weight.numpy() for weight in weights]


@pytest.mark.parametrize("name", TRAININGS)
def test_a_whole_training_compiled_is_that_as_written(name):
    _, right, right_weights = trained(TRAININGS[name], lambda step: step)
    compiled, losses, weights = trained(TRAININGS[name], vg.jit)
    assert compiled.compilations == 1, compiled.explain()
    np.testing.assert_allclose(losses[:3], right[:3], rtol=1e-5)
    np.testing.assert_allclose(losses, right, rtol=1e-3, atol=1e-5)
    assert right[-1] != right[0]
    for ours, theirs in zip(weights, right_weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max())
