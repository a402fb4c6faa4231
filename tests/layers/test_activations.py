"""Activations by name."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.layers.activations import ACTIVATIONS, fused_name, get_activation

# tf.layers.activation({activation}).apply(tf.tensor([[-3, -1, 0, .5, 2]])) in tfjs 4.22.
EXPECTED = {
    "linear": [-3, -1, 0, 0.5, 2],
    "relu": [0, 0, 0, 0.5, 2],
    "relu6": [0, 0, 0, 0.5, 2],
    "elu": [-0.950213, -0.6321205, 0, 0.5, 2],
    "selu": [-1.670569, -1.111331, 0, 0.5253505, 2.101402],
    "sigmoid": [0.04742587, 0.2689414, 0.5, 0.6224594, 0.8807971],
    "hard_sigmoid": [0, 0.3, 0.5, 0.6, 0.9],
    "softplus": [0.04858735, 0.3132617, 0.6931472, 0.974077, 2.126928],
    "softsign": [-0.75, -0.5, 0, 0.3333333, 0.6666667],
    "tanh": [-0.9950548, -0.7615942, 0, 0.4621172, 0.9640276],
    "softmax": [0.004761832, 0.03518545, 0.09564395, 0.1576902, 0.7067186],
    "log_softmax": [-5.347123, -3.347123, -2.347123, -1.847123, -0.3471228],
    "swish": [-0.1422776, -0.2689414, 0, 0.3112297, 1.761594],
    "mish": [-0.1456475, -0.3034015, 0, 0.3752452, 1.943959],
    "gelu": [-0.004049867, -0.1586553, 0, 0.3457312, 1.9545],
    "gelu_new": [-0.003637433, -0.158808, 0, 0.345714, 1.954598],
}


# Those that only Keras 3 has, by their formulas. It calls the first hard_sigmoid.
FORMULAS = {
    "hard_sigmoid_relu6": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "exponential": np.exp,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
}


def test_every_activation_is_checked():
    assert EXPECTED.keys() | FORMULAS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_those_of_the_formulas_of_keras(name):
    x = np.array([[-7, -3, -1, 0, 0.5, 2, 7]])
    y = vg.layers.activation(activation=name)(vg.tensor(x, dtype="float64"))
    np.testing.assert_allclose(y.numpy(), FORMULAS[name](x), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_those_of_tensorflow_js(name):
    y = vg.layers.activation(activation=name)([[-3, -1, 0, 0.5, 2]])
    np.testing.assert_allclose(y.numpy()[0], EXPECTED[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradients_in_a_dense_layer_are_right(name):
    layer = vg.layers.dense(units=3, activation=name, dtype="float64", input_shape=[4])
    vg.sequential(layers=[layer])
    x = np.random.default_rng(0).normal(size=[2, 4])
    vg.testing.check_gradients(lambda x: layer(x), x)


@pytest.mark.parametrize(
    ("spellings", "stored"),
    [
        (["hardSigmoid", "hard_sigmoid"], "hard_sigmoid"),
        (["logSoftmax", "log_softmax"], "log_softmax"),
        (["swish", "silu"], "swish"),
        ([None, "linear"], "linear"),
        ([{"class_name": "relu", "config": {}}], "relu"),
    ],
)
def test_spellings_mean_one_activation_and_are_stored_as_tensorflow_js_stores_it(spellings, stored):
    for spelling in spellings:
        assert vg.layers.activation(activation=spelling).get_config()["activation"] == stored


def test_a_function_is_an_activation_and_is_stored_by_its_name():
    def doubled(x):
        return x * 2

    layer = vg.layers.dense(units=1, activation=doubled, kernel_initializer="ones", input_shape=[2])
    model = vg.sequential(layers=[layer])
    assert model([[1, 2]]).tolist() == [[6]]
    assert layer.get_config()["activation"] == "doubled"
    again = vg.models.model_from_json(model.to_json(), custom_objects={"doubled": doubled})
    assert again([[1, 2]]).shape == (1, 1)
    with pytest.raises(ValueError, match="unknown activation 'doubled'"):
        vg.models.model_from_json(model.to_json())


def test_a_function_with_the_name_of_a_fused_activation_is_still_itself():
    def relu(x):
        return x + 100

    assert fused_name(get_activation("relu")) == "relu"
    assert fused_name(get_activation(relu)) is None
    assert vg.layers.dense(units=1, activation=relu, kernel_initializer="ones")([[1]]).item() == 101


def test_unknown_ones_are_errors():
    with pytest.raises(ValueError, match=r"unknown activation 'rellu'; did you mean 'relu'\?"):
        vg.layers.dense(units=1, activation="rellu")
    with pytest.raises(TypeError, match="an activation is a name or a function"):
        vg.layers.dense(units=1, activation=3)
