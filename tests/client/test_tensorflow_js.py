"""The real client: TensorFlow.js in Node opens what is saved here, and what it saves opens here.

conftest.py says what they need.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

HERE = Path(__file__).parent


def opened_in_tensorflow_js(node, model, folder, x, train=False, **options):
    """Saves the model, and returns what TensorFlow.js says about it."""
    model.save(folder, **options)
    return json.loads(node("predict.js", folder, given=json.dumps({"x": np.asarray(x).tolist(), "train": train})))


def dense():
    return [vg.layers.dense(units=10, activation="relu", input_shape=[5]), vg.layers.dense(units=1)]


def convolutional():
    return [
        vg.layers.conv2d(filters=4, kernel_size=3, padding="same", activation="relu", input_shape=[8, 8, 1]),
        vg.layers.max_pooling2d(pool_size=2),
        vg.layers.conv2d(filters=3, kernel_size=[2, 3], strides=2, activation="tanh", use_bias=False),
        vg.layers.flatten(),
        vg.layers.dropout(rate=0.25),
        vg.layers.dense(units=3, activation="softmax"),
    ]


def options():
    scaling = vg.initializers.variance_scaling(scale=2, mode="fan_out", distribution="uniform")
    return [
        vg.layers.input_layer(input_shape=[6, 6, 2], name="image"),
        vg.layers.conv2d(
            filters=2,
            kernel_size=2,
            dilation_rate=2,
            kernel_initializer=scaling,
            kernel_regularizer=vg.regularizers.l2(l2=0.01),
            kernel_constraint="max_norm",
            bias_initializer=vg.initializers.constant(value=0.5),
            activation="hard_sigmoid",
        ),
        vg.layers.average_pooling2d(pool_size=[2, 2], strides=1, padding="same"),
        vg.layers.batch_normalization(momentum=0.9),
        vg.layers.flatten(data_format="channels_first"),
        vg.layers.reshape(target_shape=[4, 8]),
        vg.layers.dense(units=2, trainable=False, kernel_initializer="orthogonal"),
        vg.layers.activation(activation="log_softmax"),
    ]


def nested():
    inner = [vg.layers.dense(units=4, activation="elu", input_shape=[3]), vg.layers.batch_normalization()]
    return [vg.sequential(name="inner", layers=inner), vg.layers.dense(units=2, activation="swish")]


MODELS = {make.__name__: make for make in (dense, convolutional, options, nested)}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_saved_here_predicts_the_same_in_tensorflow_js_and_trains_on_there(node, name, tmp_path):
    vg.set_random_seed(1)
    model = vg.sequential(layers=MODELS[name]())
    model.set_user_defined_metadata({"made": {"for": "tests", "of": [1, 2.5, None]}})
    # The moving averages of a fresh batch normalization tell nothing.
    model.set_weights([vg.random_uniform(w.shape, 0.2, 1.0) for w in model.weights])
    x = np.random.default_rng(0).normal(size=[3, *model.inputs[0].shape[1:]])
    trains = name != "options"  # TensorFlow.js has no gradient of dilated convolutions
    there = opened_in_tensorflow_js(node, model, tmp_path, x, train=trains)
    np.testing.assert_allclose(there["prediction"], model.predict(x).numpy(), rtol=1e-5, atol=1e-5)
    assert there["name"] == model.name
    assert there["layers"] == [layer.name for layer in model.layers]
    assert there["weights"] == [w.original_name for w in model.weights] or name == "options"  # one layer is frozen
    assert sorted(there["weights"]) == sorted(w.original_name for w in model.weights)
    assert there["trainable"] == [w.original_name for w in model.trainable_weights]
    assert there["outputShape"] == list(model.outputs[0].shape)
    assert there["metadata"] == model.get_user_defined_metadata()
    # What TensorFlow.js would write itself.
    assert there["config"] == model.to_json(return_string=False)
    lines = []
    model.summary(print_fn=lines.append)
    assert there["summary"] == lines
    if trains:
        first, second = there["losses"]
        assert np.isfinite(first)
        assert second != first


def test_two_models_inside_whose_layers_have_the_same_names_open_in_tensorflow_js(node, tmp_path):
    x = vg.input(shape=[3])
    stack = [vg.layers.dense(units=2, name="d", activation="tanh", input_shape=[3]), vg.layers.dense(units=2, name="e")]
    hidden = vg.layers.dense(units=2, name="d")(x)
    graph = vg.model(inputs=x, outputs=vg.layers.add(name="skip")([hidden, vg.layers.dense(units=2, name="e")(hidden)]))
    merged = vg.layers.multiply()([vg.sequential(name="p", layers=stack)(x), graph(x)])
    model = vg.model(inputs=x, outputs=vg.layers.dense(units=1, name="d")(merged))
    data = np.random.default_rng(0).normal(size=[3, 3])
    there = opened_in_tensorflow_js(node, model, tmp_path, data, train=True)
    np.testing.assert_allclose(there["prediction"], model.predict(data).numpy(), rtol=1e-5, atol=1e-5)
    assert there["weights"] == [w.original_name for w in vg.load_layers_model(tmp_path).weights]
    assert there["losses"][1] != there["losses"][0]


@pytest.mark.parametrize("name", ["dense", "convolutional"])
def test_a_model_in_many_shards_opens_in_tensorflow_js(node, name, tmp_path):
    model = vg.sequential(layers=MODELS[name]())
    x = np.random.default_rng(0).normal(size=[3, *model.inputs[0].shape[1:]])
    there = opened_in_tensorflow_js(node, model, tmp_path, x, weight_shard_size_bytes=100)
    np.testing.assert_allclose(there["prediction"], model.predict(x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def made_in_tensorflow_js(node, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_in_tensorflow_js")
    node("make_models.js", folder)
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_model_saved_by_tensorflow_js_predicts_the_same_here(name, made_in_tensorflow_js):
    folder = made_in_tensorflow_js / name
    expected = json.loads((folder / "expected.json").read_text())
    model = vg.load_layers_model(folder)
    np.testing.assert_allclose(model.predict(expected["x"]).numpy(), expected["prediction"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_there_and_back_and_there_again(node, name, made_in_tensorflow_js, tmp_path):
    expected = json.loads((made_in_tensorflow_js / name / "expected.json").read_text())
    model = vg.load_layers_model(made_in_tensorflow_js / name)
    there = opened_in_tensorflow_js(node, model, tmp_path, expected["x"])
    np.testing.assert_allclose(there["prediction"], expected["prediction"], rtol=1e-6, atol=1e-6)
    original = json.loads((made_in_tensorflow_js / name / "model.json").read_text())
    assert there["config"] == original["modelTopology"]


def test_the_stored_reference_is_what_tensorflow_js_makes(made_in_tensorflow_js):
    reference = HERE.parent / "io" / "reference"
    for name in MODELS:
        for file in ("model.json", "weights.bin", "expected.json"):
            assert (reference / name / file).read_bytes() == (made_in_tensorflow_js / name / file).read_bytes()


def test_a_model_of_keras_3_that_tensorflow_js_cannot_open_opens_once_it_has_been_here(node, tmp_path):
    # As the converter writes Keras 3: batch_shape, a dtype policy, and the model's name before the weights'.
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    layers = [
        {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 3], "name": "i"}},
        {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 2, "dtype": policy}},
    ]
    topology = {"class_name": "Sequential", "config": {"name": "s", "dtype": policy, "layers": layers}}
    weights = [
        {"name": "s/d/kernel", "shape": [3, 2], "dtype": "float32"},
        {"name": "s/d/bias", "shape": [2], "dtype": "float32"},
    ]
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "w.bin").write_bytes(np.arange(8, dtype="<f4").tobytes())
    manifest = [{"paths": ["w.bin"], "weights": weights}]
    (theirs / "model.json").write_text(
        json.dumps({"format": "layers-model", "modelTopology": {"model_config": topology}, "weightsManifest": manifest})
    )
    with pytest.raises(AssertionError, match="Error"):
        node("predict.js", theirs, given=json.dumps({"x": [[1, 1, 1]]}))
    model = vg.load_layers_model(theirs)
    assert opened_in_tensorflow_js(node, model, tmp_path / "ours", [[1, 1, 1]])["prediction"] == [[12, 16]]
