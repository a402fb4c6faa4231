"""Weights alone, optimizers and odd models, between here and real Keras 3."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.weights import ModelFileError

keras = pytest.importorskip("keras", reason="Keras is not installed: pip install -e '.[test-keras]'")

from .running import difference, predicted_by_keras, randomize  # noqa: E402  (it needs Keras)

pytestmark = pytest.mark.filterwarnings("ignore")  # Keras's own
X = np.random.default_rng(0).normal(size=[3, 4]).astype(np.float32)


def in_keras():
    stack = [keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
    return randomize(keras.Sequential([keras.layers.Input([4]), *stack]))


def here():
    return vg.sequential(
        layers=[
            vg.layers.dense(units=3, input_shape=[4]),
            vg.layers.batch_normalization(),
            vg.layers.dense(units=2),
        ]
    )


def test_weights_alone_are_found_by_their_place(tmp_path):
    theirs, ours = in_keras(), here()
    theirs.save_weights(tmp_path / "x.weights.h5")
    ours.load_weights(tmp_path / "x.weights.h5")
    assert difference(ours.predict(X), predicted_by_keras(theirs, X)) < 1e-6
    ours.set_weights([w.numpy() * 0.5 for w in ours.get_weights()])
    ours.save_weights(tmp_path / "y.weights.h5")
    theirs.load_weights(tmp_path / "y.weights.h5")
    assert difference(ours.predict(X), predicted_by_keras(theirs, X)) < 1e-6


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_weights_are_taken_from_the_file_of_a_whole_model(tmp_path, suffix):
    theirs, ours = in_keras(), here()
    theirs.save(tmp_path / f"x{suffix}")
    ours.load_weights(tmp_path / f"x{suffix}")
    assert difference(ours.predict(X), predicted_by_keras(theirs, X)) < 1e-6


def test_weights_of_another_model_are_an_error(tmp_path):
    in_keras().save_weights(tmp_path / "x.weights.h5")
    other = vg.sequential(layers=[vg.layers.dense(units=3, input_shape=[4]), vg.layers.dense(units=2)])
    before = [w.tolist() for w in other.get_weights()]
    with pytest.raises(ModelFileError):
        other.load_weights(tmp_path / "x.weights.h5")
    assert [w.tolist() for w in other.get_weights()] == before


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_two_models_inside_whose_layers_have_the_same_names_open_in_keras(tmp_path, suffix):
    def tower(name):
        return vg.sequential(
            name=name,
            layers=[vg.layers.dense(units=4, name="d", input_shape=[4]), vg.layers.batch_normalization(name="norm")],
        )

    x = vg.input(shape=[4])
    deeper = vg.sequential(name="q", layers=[tower("inner"), vg.layers.dense(units=4, name="d")])
    y = vg.layers.add()([tower("p")(x), deeper(x)])
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=2, name="d")(y))
    random = np.random.default_rng(2)
    model.set_weights([random.uniform(0.2, 1, w.shape) for w in model.weights])
    model.save(tmp_path / f"x{suffix}")
    theirs = keras.models.load_model(tmp_path / f"x{suffix}", compile=False)
    assert difference(model.predict(X), predicted_by_keras(theirs, X)) < 1e-6
    model.save_weights(tmp_path / "w.weights.h5")
    theirs.set_weights([np.zeros_like(w) for w in theirs.get_weights()])
    theirs.load_weights(tmp_path / "w.weights.h5")
    assert difference(model.predict(X), predicted_by_keras(theirs, X)) < 1e-6


OPTIMIZERS = {
    "Adam": keras.optimizers.Adam(0.01, beta_1=0.8),
    "AdamW": keras.optimizers.AdamW(0.01, weight_decay=0.02),
    "Adamax": keras.optimizers.Adamax(0.01, weight_decay=0.03),
    "RMSprop": keras.optimizers.RMSprop(0.01, rho=0.8, momentum=0.5, centered=True),
    "Adagrad": keras.optimizers.Adagrad(0.01),
    "Adadelta": keras.optimizers.Adadelta(0.5, rho=0.9),
    "SGD": keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True),
    "plain SGD": keras.optimizers.SGD(0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_goes_to_here_and_back_with_its_state(tmp_path, name):
    theirs = in_keras()
    optimizer = type(OPTIMIZERS[name]).from_config(OPTIMIZERS[name].get_config())
    theirs.compile(optimizer, "mse")
    optimizer.build(theirs.trainable_variables)
    random = np.random.default_rng(0)
    for variable in optimizer.variables[2:]:
        variable.assign(random.uniform(0.1, 1, variable.shape))
    optimizer.iterations.assign(7)
    theirs.save(tmp_path / "x.keras")
    ours = vg.load_layers_model(tmp_path / "x.keras")
    assert ours.bare_optimizer.iterations == 7
    ours.save(tmp_path / "y.keras", include_optimizer=True)
    back = keras.models.load_model(tmp_path / "y.keras").optimizer
    assert int(back.iterations) == 7
    for variable, original in zip(back.variables[1:], optimizer.variables[1:], strict=True):
        np.testing.assert_allclose(np.asarray(variable), np.asarray(original), rtol=1e-6)
    same = ("beta_1", "beta_2", "epsilon", "rho", "momentum", "centered", "nesterov", "initial_accumulator_value")
    same += ("weight_decay",)
    theirs_config, back_config = optimizer.get_config(), back.get_config()
    assert {key: back_config.get(key) for key in same} == {key: theirs_config.get(key) for key in same}


def test_a_step_here_is_the_step_that_keras_makes(tmp_path):
    """Adam by hand, from the state that Keras stored: w -= rate * m' / (sqrt(v') + epsilon), bias-corrected."""
    theirs = keras.Sequential([keras.layers.Input([1]), keras.layers.Dense(1, use_bias=False)])
    theirs.set_weights([np.float32([[2.0]])])
    theirs.compile(keras.optimizers.Adam(0.1), "mse")
    theirs.optimizer.build(theirs.trainable_variables)
    theirs.optimizer.variables[2].assign([[0.5]])
    theirs.optimizer.variables[3].assign([[0.25]])
    theirs.optimizer.iterations.assign(4)
    theirs.save(tmp_path / "x.keras")
    ours = vg.load_layers_model(tmp_path / "x.keras")
    ours.train_on_batch(np.float32([[1.0]]), np.float32([[0.0]]))  # the loss is w², its gradient 4
    m, v = 0.9 * 0.5 + 0.1 * 4, 0.999 * 0.25 + 0.001 * 16
    step = 0.1 * (m / (1 - 0.9**5)) / (np.sqrt(v / (1 - 0.999**5)) + 1e-7)
    assert ours.get_weights()[0].item() == pytest.approx(2.0 - step, rel=1e-5)


# In Keras the powers of Adam's betas are float32, in which those of 0.999 are far off, and its epsilon is that of the
# corrected formula of section 2 (arXiv:1412.6980); here it is that of algorithm 1, as in TensorFlow.js.
DECAYING = {
    "AdamW": {"beta_2": 0.9, "epsilon": 1e-12},
    "Adamax": {},
    "SGD": {"momentum": 0.5},
}


@pytest.mark.parametrize("name", DECAYING)
def test_steps_with_weight_decay_are_those_of_keras(tmp_path, name):
    layers = [keras.layers.Dense(3, "tanh"), keras.layers.Dense(2)]
    theirs = randomize(keras.Sequential([keras.layers.Input([4]), *layers]))
    theirs.compile(getattr(keras.optimizers, name)(0.05, weight_decay=0.3, **DECAYING[name]), "mse")
    theirs.save(tmp_path / "x.keras")
    ours = vg.load_layers_model(tmp_path / "x.keras")
    y = np.ones((len(X), 2), np.float32)
    for _ in range(4):
        grads = vg.variable_grads(lambda: (ours(X) - y).square().mean()).grads
        gradients = [grads[weight.name].numpy() for weight in ours.trainable_weights]
        theirs.optimizer.apply(gradients, theirs.trainable_variables)  # with NumPy, Keras computes none itself
        ours.train_on_batch(X, y)
    for weight, expected in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_weight_decay_by_names_is_nothing_that_keras_has(tmp_path):
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2])])
    model.compile(optimizer=vg.train.adam(0.1, weight_decay={"*/kernel": 0.1}), loss="mean_squared_error")
    with pytest.raises(ValueError, match="save: Keras has one weight_decay for all variables"):
        model.save(tmp_path / "x.keras", include_optimizer=True)
    model.save(tmp_path / "x.keras")


def test_models_inside_may_have_layers_of_one_name(tmp_path):
    def tower(name):
        x = keras.layers.Input([4])
        return keras.Model(x, keras.layers.Dense(3, name="same")(x), name=name)

    a, b = keras.layers.Input([4]), keras.layers.Input([4])
    joined = keras.layers.Concatenate()([tower("one")(a), tower("two")(b)])
    theirs = randomize(keras.Model([a, b], joined))
    for suffix in (".keras", ".h5"):
        theirs.save(tmp_path / f"x{suffix}")
        ours = vg.load_layers_model(tmp_path / f"x{suffix}")
        assert difference(ours.predict([X, X]), predicted_by_keras(theirs, [X, X])) < 1e-6


def test_tensorflow_js_s_hard_sigmoid_is_itself_in_keras(tmp_path):
    layers = [
        vg.layers.lstm(units=3, recurrent_activation="hard_sigmoid", input_shape=[5, 4]),
        vg.layers.dense(units=2, activation="hard_sigmoid"),
    ]
    ours = vg.sequential(layers=layers)
    x = 3 * np.random.default_rng(0).normal(size=[2, 5, 4]).astype(np.float32)
    for suffix in (".keras", ".h5"):
        ours.save(tmp_path / f"x{suffix}")
        theirs = keras.models.load_model(tmp_path / f"x{suffix}", compile=False)
        assert difference(ours.predict(x), predicted_by_keras(theirs, x)) < 1e-5
        theirs.save(tmp_path / f"y{suffix}")
        again = vg.load_layers_model(tmp_path / f"y{suffix}")
        assert again.layers[-1].get_config()["activation"] == "hard_sigmoid"
        assert difference(again.predict(x), [ours.predict(x).numpy()]) < 1e-6


def test_a_layer_with_a_state_keeps_it_out_of_the_file(tmp_path):
    x = keras.layers.Input(batch_shape=[2, 5, 3])
    theirs = randomize(keras.Model(x, keras.layers.LSTM(3, stateful=True)(x)))
    theirs.save(tmp_path / "x.keras")
    ours = vg.load_layers_model(tmp_path / "x.keras")
    batch = np.ones([2, 5, 3], np.float32)
    assert difference(ours.predict(batch), predicted_by_keras(theirs, batch)) < 1e-6


def test_bfloat16_weights_are_read(tmp_path):
    theirs = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(2, dtype="bfloat16")])
    theirs.save_weights(tmp_path / "x.weights.h5")
    ours = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[4])])
    ours.load_weights(tmp_path / "x.weights.h5")
    expected = np.asarray(theirs.get_weights()[0]).astype(np.float32)
    assert ours.get_weights()[0].tolist() == expected.tolist()
