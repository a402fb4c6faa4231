"""GRU whose reset gate works after the product: the default of Keras, which TensorFlow.js cannot load.

Numbers of both kinds are in tests/layers/reference and tests/layers/keras_reference.
"""

import numpy as np
import pytest

import varigrad as vg

WEIGHTS = [np.ones([1, 3]), np.ones([1, 3]), [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]]
X = [[[1.0], [2.0]]]


def model_of(reset_after):
    layer = vg.layers.gru(units=1, recurrent_activation="sigmoid", reset_after=reset_after, input_shape=[2, 1])
    return vg.sequential(layers=[layer])


@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_field_report_41_the_default_gru_of_keras_is_built_loaded_and_trained(tmp_path):
    model = model_of(True)
    assert [w.shape for w in model.weights] == [(1, 3), (1, 3), (2, 3)]
    model.set_weights(WEIGHTS)
    assert model.predict(X).item() == pytest.approx(0.2259873, abs=1e-7)
    before = model_of(False)
    before.set_weights([*WEIGHTS[:2], [0.5, 0.7, 0.9]])
    assert before.predict(X).item() == pytest.approx(0.2274092, abs=1e-7)

    model.save(tmp_path)
    again = vg.load_layers_model(tmp_path)
    assert again.predict(X).item() == model.predict(X).item()
    optimizer = vg.train.sgd(0.1)
    optimizer.minimize(lambda: again.predict(X).square().sum(), var_list=again.trainable_weights)
    # By hand: the derivative of the square by the inputs' bias of the candidate, with finite differences.
    step = 1e-3
    values = []
    for sign in (1, -1):
        bias = np.array(WEIGHTS[2])
        bias[0, 2] += sign * step
        model.set_weights([*WEIGHTS[:2], bias])
        values.append(model.predict(X).item() ** 2)
    slope = (values[0] - values[1]) / (2 * step)
    assert again.weights[2].numpy()[0, 2] == pytest.approx(0.3 - 0.1 * slope, abs=1e-4)


def test_the_two_kinds_differ_only_where_there_is_a_recurrent_bias_or_a_reset():
    # With a reset gate that is always 1, both compute the same.
    outputs = []
    for reset_after in (True, False):
        layer = vg.layers.gru(units=2, reset_after=reset_after, recurrent_activation="sigmoid")
        x = np.sin(np.arange(12, dtype=np.float32)).reshape(2, 3, 2)
        layer(x)
        values = [np.cos(np.arange(np.prod(w.shape))).reshape(w.shape) for w in layer.weights[:2]]
        bias = np.array([0.1, 0.2, 50, 50, 0.3, 0.4])
        layer.set_weights([*values, np.stack([bias, np.zeros(6)]) if reset_after else bias])
        outputs.append(layer(x).numpy())
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)
