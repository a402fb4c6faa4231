"""`compile`: names, functions and objects for optimizers, losses and metrics; and its stored form."""

import copy as copying
import pickle

import numpy as np
import pytest

import varigrad as vg


def make_model(units=1, activation="linear"):
    return vg.sequential(layers=[vg.layers.dense(units=units, activation=activation, input_shape=[2], name="out")])


def forked():
    x = vg.input(shape=[2])
    outputs = [
        vg.layers.dense(units=1, name="amount")(x),
        vg.layers.dense(units=3, activation="softmax", name="kind")(x),
    ]
    return vg.model(inputs=x, outputs=outputs)


@pytest.mark.parametrize(
    ("name", "class_name", "rate"),
    [
        ("sgd", "SGD", 0.01),
        ("SGD", "SGD", 0.01),
        ("adam", "Adam", 0.001),
        ("Adamax", "Adamax", 0.002),
        ("rmsprop", "RMSProp", 0.001),
        ("RMSprop", "RMSProp", 0.001),
        ("adagrad", "Adagrad", 0.01),
        ("adadelta", "Adadelta", 1.0),
    ],
)
def test_optimizers_by_name(name, class_name, rate):
    model = make_model()
    model.compile(optimizer=name, loss="mse")
    assert (model.optimizer.get_class_name(), model.optimizer.learning_rate) == (class_name, rate)


@pytest.mark.parametrize(
    "names",
    [
        ("meanSquaredError", "mean_squared_error", "MeanSquaredError", "mse", "MSE"),
        ("meanAbsoluteError", "mean_absolute_error", "mae", "MAE"),
        ("meanAbsolutePercentageError", "mean_absolute_percentage_error", "mape", "MAPE"),
        ("meanSquaredLogarithmicError", "mean_squared_logarithmic_error", "msle", "MSLE"),
        ("kullbackLeiblerDivergence", "kl_divergence", "KLDivergence", "kld", "KLD"),
        ("cosineProximity", "cosine_proximity", "cosine", "cosine_similarity"),
        ("logcosh", "log_cosh", "LogCosh"),
        ("binaryCrossentropy", "binary_crossentropy", "bce"),
    ],
    ids=lambda names: names[0],
)
def test_spellings_of_one_loss(names):
    y, p = np.array([[0.2, 0.8]]), np.array([[0.6, 0.4]])
    values = set()
    for name in names:
        model = vg.sequential(layers=[vg.layers.activation(activation="linear", input_shape=[2])])
        model.compile(loss=name)
        values.add(model.evaluate(p, y).item())
    assert len(values) == 1


@pytest.mark.parametrize(
    ("model", "loss", "metrics", "names"),
    [
        (make_model, "mse", None, ["loss"]),
        (make_model, "mse", "mae", ["loss", "mae"]),
        (make_model, "mse", ["mae", "MSE", "acc", "crossentropy"], ["loss", "mae", "MSE", "acc", "ce"]),
        (make_model, "mse", ["meanAbsoluteError"], ["loss", "mean_absolute_error"]),
        (make_model, "mse", [vg.metrics.mean_absolute_error], ["loss", "mean_absolute_error"]),
        (make_model, "mse", [vg.metrics.AUC(), vg.metrics.Recall(0.3, "hits")], ["loss", "auc", "hits"]),
        (make_model, "mse", ["precision", vg.metrics.Recall], ["loss", "precision", "recall"]),
        (make_model, "mse", ["mse", "mse", "mae"], ["loss", "mse_0", "mse_1", "mae"]),
        (forked, "mse", ["mae"], ["loss", "amount_loss", "kind_loss", "amount_mae", "kind_mae"]),
        (forked, ["mse", "mse"], {"kind": "acc"}, ["loss", "amount_loss", "kind_loss", "kind_acc"]),
        (forked, ["mse", "mse"], [["mae"], ["acc"]], ["loss", "amount_loss", "kind_loss", "amount_mae", "kind_acc"]),
    ],
)
def test_names_of_what_is_reported(model, loss, metrics, names):
    model = model()
    model.compile(loss=loss, metrics=metrics)
    assert model.metrics_names == names


@pytest.mark.parametrize(
    ("units", "loss", "y", "accuracy"),
    [
        (1, "mean_squared_error", [[1.0]], 1.0),  # one number: more than a half, as the target
        (2, "binary_crossentropy", [[1.0, 1.0]], 0.5),
        (3, "categorical_crossentropy", [[0, 0, 1]], 1.0),
        (3, "mean_squared_error", [[0, 0, 1]], 1.0),
        (3, "sparse_categorical_crossentropy", [2], 1.0),
        (3, "sparse_categorical_crossentropy", [0], 0.0),
    ],
)
def test_accuracy_is_that_which_the_output_and_the_loss_call_for(units, loss, y, accuracy):
    x = {1: [[0.7]], 2: [[0.2, 0.6]], 3: [[0.1, 0.2, 0.7]]}[units]
    model = vg.sequential(layers=[vg.layers.activation(activation="linear", input_shape=[units])])
    model.compile(loss=loss, metrics=["accuracy"])
    assert model.evaluate(x, y)[1].item() == accuracy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "mean_squared_err"}, "unknown loss 'mean_squared_err'; did you mean 'mean_squared_error'"),
        ({"loss": "meanSquareError"}, "unknown loss 'meanSquareError'; did you mean 'mean_squared_error'"),
        ({"loss": "softmaxCrossEntropy"}, "vg.losses.softmax_cross_entropy"),
        ({"loss": 5}, "a loss is a name or a function"),
        ({}, "there must be a loss"),
        ({"loss": "mse", "optimizer": "adm"}, "unknown optimizer 'adm'; did you mean 'adam'"),
        ({"loss": "mse", "optimizer": 0.1}, "an optimizer is a name or one of vg.train"),
        ({"loss": "mse", "metrics": ["acuracy"]}, "unknown metric 'acuracy'; did you mean 'accuracy'"),
        ({"loss": "mse", "metrics": [3]}, "a metric is a name"),
        ({"loss": ["mse", "mse"]}, "loss must have one entry for each output"),
        ({"loss": {"nothing": "mse"}}, "loss names 'nothing', but the outputs are out"),
        ({"loss": "mse", "metrics": {"nothing": "mae"}}, "metrics names 'nothing'"),
        ({"loss": "mse", "loss_weights": [1, 2]}, "loss_weights must have one entry"),
        ({"loss": "mse", "loss_weights": ["a"]}, "loss_weights must be a number for each output, got 'a'"),
        ({"loss": "mse", "loss_weights": [float("nan")]}, "loss_weights must be a number for each output, got nan"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_model().compile(**options)


def test_a_counting_metric_belongs_to_one_output():
    with pytest.raises(ValueError, match="counts for one only"):
        forked().compile(loss="mse", metrics=[vg.metrics.AUC()])
    forked().compile(loss="mse", metrics={"amount": vg.metrics.AUC()})


def test_a_failed_compile_leaves_the_one_before():
    model = make_model()
    model.compile(optimizer="sgd", loss="mse")
    with pytest.raises(ValueError, match="unknown loss"):
        model.compile(optimizer="adam", loss="nothing")
    assert (model.loss, model.optimizer.get_class_name()) == ("mse", "SGD")


@pytest.mark.parametrize("method", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_a_model_must_be_compiled_first(method):
    with pytest.raises(ValueError, match=f"{method}: sequential_.* must be compiled first"):
        getattr(make_model(), method)([[1.0, 2.0]], [1.0])


def test_a_model_without_layers_cannot_be_compiled():
    with pytest.raises(ValueError, match="has no layers yet"):
        vg.sequential().compile(loss="mse")


def test_another_optimizer_may_be_assigned():
    model = make_model()
    model.compile(optimizer="sgd", loss="mse")
    model.optimizer = vg.train.adam(0.5)
    assert model.optimizer.learning_rate == 0.5


# On a batch


def test_means_over_batches_until_they_are_reset():
    model = vg.sequential(layers=[vg.layers.dense(units=1, use_bias=False, kernel_initializer="ones", input_shape=[1])])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mse", metrics=["mae"])
    assert model.test_on_batch([1.0], [0.0]) == [1.0, 1.0]
    assert model.test_on_batch([3.0, 3.0], [0.0, 0.0], reset_metrics=False) == [
        pytest.approx(19 / 3),
        pytest.approx(7 / 3),
    ]
    model.reset_metrics()
    assert model.train_on_batch([2.0], [0.0], reset_metrics=False) == [4.0, 2.0]


def test_train_on_batch_steps_along_the_gradient():
    model = vg.sequential(layers=[vg.layers.dense(units=1, use_bias=False, kernel_initializer="ones", input_shape=[1])])
    model.compile(optimizer=vg.train.sgd(0.1), loss="mse")
    assert model.train_on_batch([2.0], [0.0]) == 4.0
    assert model.get_weights()[0].item() == pytest.approx(1 - 0.1 * 2 * 2 * 2)


# The stored form


@pytest.mark.parametrize(
    "optimizer",
    [
        vg.train.sgd(0.1),
        vg.train.momentum(0.1, 0.8, True),
        vg.train.adam(0.01, 0.8, 0.9, 1e-4),
        vg.train.adamax(0.01),
        vg.train.rmsprop(0.1, 0.8, 0.5, 1e-3, True),
        vg.train.adagrad(0.1, 0.2),
        vg.train.adadelta(0.1, 0.9),
        vg.train.adam(0.01, clip_norm=1.0),
    ],
    ids=lambda optimizer: optimizer.class_name,
)
def test_the_stored_form_brings_back_the_same(optimizer):
    model = forked()
    options = {"loss": {"amount": "meanSquaredError", "kind": "categorical_crossentropy"}, "metrics": ["acc", "mae"]}
    model.compile(optimizer=optimizer, **options)
    config = model.get_training_config()
    again = forked()
    again.load_training_config(config)
    assert again.metrics_names == model.metrics_names
    assert again.optimizer.get_config() == optimizer.get_config()
    assert again.get_training_config() == config


def test_the_stored_form_is_that_of_tensorflow_js():
    # tf.sequential, compile({loss: 'meanSquaredError', optimizer: 'adam', metrics: ['acc']}), getTrainingConfig()
    model = make_model()
    model.compile(optimizer="adam", loss="meanSquaredError", metrics=["acc"])
    config = model.get_training_config()
    assert config.keys() == {"loss", "metrics", "optimizer_config"}
    assert (config["loss"], config["metrics"]) == ("mean_squared_error", ["acc"])
    assert config["optimizer_config"] == {
        "class_name": "Adam",
        "config": {"learningRate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7},
    }


def test_a_loss_of_ones_own_cannot_be_stored():
    model = make_model()
    model.compile(loss=lambda y, p: (y - p).square())
    with pytest.raises(ValueError, match="is a function, which a file cannot store"):
        model.get_training_config()


@pytest.mark.parametrize(
    "stored", [{}, {"optimizer_config": {}}, {"optimizer_config": {"class_name": "Lion"}, "loss": "mse"}]
)
def test_a_stored_form_that_is_none_is_an_error(stored):
    with pytest.raises(ValueError, match="load_training_config"):
        make_model().load_training_config(stored)


# Compiled steps


def convolutional():
    return vg.sequential(
        layers=[
            vg.layers.conv2d(filters=3, kernel_size=3, activation="relu", input_shape=[6, 6, 1]),
            vg.layers.batch_normalization(),
            vg.layers.max_pooling2d(pool_size=2),
            vg.layers.flatten(),
            vg.layers.dense(units=3, activation="softmax", kernel_regularizer=vg.regularizers.l2()),
        ]
    )


def recurrent():
    return vg.sequential(
        layers=[
            vg.layers.masking(mask_value=0.0, input_shape=[4, 2]),
            vg.layers.lstm(units=3, return_sequences=True),
            vg.layers.time_distributed(layer=vg.layers.dense(units=1)),
        ]
    )


RANDOM = np.random.default_rng(0)
SEQUENCES = RANDOM.normal(size=(10, 4, 2)) * (np.arange(4) < RANDOM.integers(1, 5, size=10)[:, None])[..., None]
CASES = {
    "dense": (make_model, RANDOM.normal(size=(10, 2)), RANDOM.normal(size=(10, 1)), "mse"),
    "convolutional": (
        convolutional,
        RANDOM.normal(size=(10, 6, 6, 1)),
        np.arange(10) % 3,
        "sparse_categorical_crossentropy",
    ),
    "recurrent": (recurrent, SEQUENCES, RANDOM.normal(size=(10, 4, 1)), "mse"),
    "two outputs": (forked, RANDOM.normal(size=(10, 2)), [np.ones(10), np.eye(3)[np.arange(10) % 3]], "mse"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_steps_do_what_others_do(case, weighted):
    make, x, y, loss = CASES[case]
    eager, compiled = make(), make()
    compiled.set_weights([w.numpy() for w in eager.get_weights()])
    histories = []
    for model, jit in ((eager, False), (compiled, True)):
        model.compile(optimizer="adam", loss=loss, metrics=["ce" if make is convolutional else "mae"], jit=jit)
        weights = np.arange(10.0) / 5 if weighted else None
        history = model.fit(x, y, batch_size=4, epochs=4, shuffle=False, sample_weight=weights, verbose=0).history
        histories.append(history)
    for name, values in histories[0].items():
        np.testing.assert_allclose(values, histories[1][name], rtol=1e-4, atol=1e-6, err_msg=name)
    for a, b in zip(eager.get_weights(), compiled.get_weights(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-5)


def test_compiled_steps_follow_frozen_layers_rates_and_new_optimizers():
    x, y = np.ones([2, 2]), np.zeros([2, 1])
    eager, compiled = (
        vg.sequential(
            layers=[
                vg.layers.dense(units=2, kernel_initializer="ones", input_shape=[2]),
                vg.layers.dense(units=1, kernel_initializer="ones"),
            ]
        )
        for _ in range(2)
    )
    for model, jit in ((eager, False), (compiled, True)):
        model.compile(optimizer=vg.train.sgd(0.01), loss="mse", jit=jit)
        for _ in range(3):
            model.train_on_batch(x, y)
        model.optimizer.learning_rate = 0.001
        model.train_on_batch(x, y)
        model.layers[0].trainable = False
        for _ in range(3):
            model.train_on_batch(x, y)
        model.optimizer = vg.train.momentum(0.01, 0.9)
        model.layers[0].trainable = True
        for _ in range(3):
            model.train_on_batch(x, y)
    for a, b in zip(eager.get_weights(), compiled.get_weights(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_dropout_of_compiled_steps_is_drawn_anew():
    model = vg.sequential(layers=[vg.layers.dropout(rate=0.5, input_shape=[50]), vg.layers.dense(units=1)])
    model.compile(optimizer=vg.train.sgd(0.0), loss="mse", jit=True)
    losses = [model.train_on_batch(np.ones([1, 50]), [1.0]) for _ in range(5)]
    assert len(set(losses)) == 5


# Copies


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("how", ["copy", "pickle"])
def test_a_copy_trains_apart(how, jit):
    model = make_model()
    model.compile(optimizer="adam", loss="mse", metrics=["mae", "auc"], jit=jit)
    model.fit([[1.0, 2.0]], [1.0], epochs=3, verbose=0)
    before = [w.numpy() for w in model.get_weights()]
    copy = copying.deepcopy(model) if how == "copy" else pickle.loads(pickle.dumps(model))
    assert copy.optimizer.iterations == 3
    copy.fit([[1.0, 2.0]], [1.0], verbose=0)
    for ours, theirs, was in zip(model.get_weights(), copy.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours.numpy(), was)
        assert not (theirs.numpy() == was).any()
    assert copy.metrics_names == model.metrics_names
    model.fit([[1.0, 2.0]], [1.0], verbose=0)  # the copy went on as the model does
    for ours, theirs in zip(model.get_weights(), copy.get_weights(), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_an_output_without_a_loss_has_no_metrics():
    model = forked()
    with pytest.warns(UserWarning, match="no loss for output 'kind'"):
        model.compile(loss={"amount": "mse"}, metrics=["mae"])
    assert model.metrics_names == ["loss", "amount_loss", "amount_mae"]
    told = pytest.warns(UserWarning, match="no loss for output 'kind'")
    with told, pytest.raises(ValueError, match="metrics for output 'kind', but there is no loss"):
        model.compile(loss={"amount": "mse"}, metrics={"kind": "acc"})
