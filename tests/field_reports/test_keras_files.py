"""Reports about Keras's files and their conversion."""

import importlib.metadata
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

import varigrad as vg
from varigrad.io.weights import ModelFileError

REFERENCE = Path(__file__).parents[1] / "io" / "keras" / "reference"
SUFFIXES = [".keras", ".h5", ""]


def edited(source, target, change):
    """A Keras archive whose config `change` has changed in place."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "config.json":
                config = json.loads(content)
                change(config)
                content = json.dumps(config).encode()
            new.writestr(name, content)


# R37: weights of frozen layers change places.
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_frozen_layer_does_not_move_the_weights_of_others(tmp_path, suffix):
    def network(trainable):
        inner = [
            vg.layers.dense(units=3, input_shape=[3], name="a", trainable=trainable),
            vg.layers.batch_normalization(name="b"),
            vg.layers.dense(units=3, name="c"),
        ]
        inner_model = vg.sequential(layers=inner, name="inner")
        return vg.sequential(layers=[inner_model, vg.layers.dense(units=1, name="d")])

    first, second = network(True), network(False)
    random = np.random.default_rng(0)
    first.set_weights([random.uniform(1, 2, w.shape).astype(np.float32) for w in first.get_weights()])
    second.set_weights(first.get_weights())
    for model in (first, second):
        model.save(tmp_path / f"x{suffix}")
        loaded = vg.load_layers_model(tmp_path / f"x{suffix}")
        pairs = {w.original_name: w.numpy() for w in loaded.weights}
        assert pairs.keys() == {w.original_name for w in first.weights}
        for weight in first.weights:
            np.testing.assert_array_equal(pairs[weight.original_name], weight.numpy())


# R41: the GRU of current Keras.
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_gru_of_keras_keeps_its_second_bias(tmp_path, suffix):
    gru = vg.layers.gru(units=1, reset_after=True, recurrent_activation="sigmoid", input_shape=[2, 1])
    model = vg.sequential(layers=[gru])
    bias = np.float32([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    model.set_weights([np.ones([1, 3], np.float32), np.ones([1, 3], np.float32), bias])
    model.save(tmp_path / f"x{suffix}")
    loaded = vg.load_layers_model(tmp_path / f"x{suffix}")
    assert loaded.weights[2].shape == (2, 3)
    assert loaded.predict([[[1.0], [2.0]]]).item() == pytest.approx(0.2259873, abs=1e-6)


# R47: models of Keras 3 do not open in the browser.
@pytest.mark.parametrize("name", ["several_inputs_and_outputs.keras", "nested_and_shared.keras", "partly_frozen.h5"])
def test_a_model_of_keras_3_is_written_as_tensorflow_js_has_it(tmp_path, name):
    vg.load_layers_model(REFERENCE / name).save(tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    text = json.dumps(document["modelTopology"])
    for foreign in ("batch_shape", "keras_history", "DTypePolicy", "registered_name", "build_config"):
        assert f'"{foreign}"' not in text
    assert '"batch_input_shape"' in text
    specs = document["weightsManifest"][0]["weights"]
    layers = set(re.findall(r'"name": "([^"]+)"', text))
    assert {spec["name"].split("/")[0] for spec in specs} <= layers
    assert not any(spec["name"].startswith(("functional", "sequential")) for spec in specs)


# R54: a layer that is used at several depths is wired otherwise after a reload.
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_shared_layer_is_called_as_before(tmp_path, suffix, reverse):
    x1, x2 = vg.input(shape=[4], name="x1"), vg.input(shape=[2, 2], name="x2")
    shared = vg.layers.dense(units=4, activation="tanh", name="shared")
    deep = shared(vg.layers.reshape(target_shape=[4])(x2))
    shallow = shared(vg.layers.reshape(target_shape=[4])(shared(x1)))
    joined = vg.layers.concatenate()([deep, shallow])
    inputs = [x2, x1] if reverse else [x1, x2]
    model = vg.model(inputs=inputs, outputs=vg.layers.dense(units=2)(joined))
    random = np.random.default_rng(0)
    values = {"x1": random.normal(size=[3, 4]), "x2": random.normal(size=[3, 2, 2])}
    x = [values[each.name].astype(np.float32) for each in inputs]
    expected = model.predict(x).tolist()
    model.save(tmp_path / f"x{suffix}")
    assert vg.load_layers_model(tmp_path / f"x{suffix}").predict(x).tolist() == expected


# R55: arguments of old or new versions that change nothing, and layers that hold code.
def test_arguments_without_meaning_are_passed_over(tmp_path):
    def change(config):
        for layer in config["config"]["layers"]:
            layer["config"].update({"groups": 1, "dynamic": False, "quantization_config": None, "ragged": False})
            layer["build_config"] = {"input_shape": [None, 1]}

    edited(REFERENCE / "lenet.keras", tmp_path / "x.keras", change)
    x = np.ones([1, 16, 16, 1], np.float32)
    expected = vg.load_layers_model(REFERENCE / "lenet.keras").predict(x)
    assert vg.load_layers_model(tmp_path / "x.keras").predict(x).tolist() == expected.tolist()


def test_code_in_a_file_is_not_run_but_may_be_replaced(tmp_path):
    marker = tmp_path / "was run"
    code = {"class_name": "__lambda__", "config": {"code": "4wEAAAAA", "defaults": None, "closure": None}}

    def change(config):
        flatten = next(layer for layer in config["config"]["layers"] if layer["class_name"] == "Flatten")
        flatten["class_name"] = "Lambda"
        flatten["config"] = {"name": "mystery", "function": code, "arguments": {"path": str(marker)}}

    edited(REFERENCE / "lenet.keras", tmp_path / "x.keras", change)
    with pytest.raises(ModelFileError, match="'mystery' is a Lambda layer"):
        vg.load_layers_model(tmp_path / "x.keras")
    assert not marker.exists()
    flatten = vg.layers.flatten(name="mystery")
    model = vg.load_layers_model(tmp_path / "x.keras", custom_objects={"mystery": flatten})
    x = np.ones([1, 16, 16, 1], np.float32)
    expected = vg.load_layers_model(REFERENCE / "lenet.keras").predict(x)
    assert model.predict(x).tolist() == expected.tolist()


# R63: installing the converter drags TensorFlow in.
def test_the_package_needs_no_tensorflow():
    needed = importlib.metadata.requires("varigrad") or []
    assert not [name for name in needed if re.match(r"(tensorflow|keras|tf[-_]|jax)", name) and "extra" not in name]
    plain = {re.split(r"[><=;\[ ]", name)[0] for name in needed if "extra ==" not in name}
    assert plain <= {"numpy", "scipy", "llvmlite", "typing-extensions"}


def test_a_conversion_takes_neither_tensorflow_nor_h5py(tmp_path):
    program = (
        "import sys\n"
        "for name in ('tensorflow', 'keras', 'h5py', 'jax', 'tensorflowjs'): sys.modules[name] = None\n"
        "from varigrad.__main__ import main\n"
        "sys.argv = ['varigrad', 'convert', *sys.argv[1:]]\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, str(REFERENCE / "text_classifier.h5"), str(tmp_path / "out")]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "out" / "model.json").is_file()


# Strangers' files: what HDF5 and zip can be made to do.
def test_a_file_that_links_elsewhere_is_refused(tmp_path):
    source = io.BytesIO((REFERENCE / "text_classifier.h5").read_bytes())
    with h5py.File(source, "r+") as file:
        del file["model_weights"]
        file["model_weights"] = h5py.ExternalLink("/etc/passwd", "/")
    (tmp_path / "x.h5").write_bytes(source.getvalue())
    with pytest.raises(ModelFileError, match="link"):
        vg.load_layers_model(tmp_path / "x.h5")


def test_an_archive_that_claims_more_than_it_holds_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * (300 << 20))
        archive.writestr("model.weights.h5", b"")
    with pytest.raises(ModelFileError, match="claims 314,572,800 bytes"):
        vg.load_layers_model(tmp_path / "x.keras")
