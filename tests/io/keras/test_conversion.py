"""Models of real Keras 3: to here, to TensorFlow.js, to here, and back to Keras; predictions are equal at each stop."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.compatibility import tensorflow_js_problems

keras = pytest.importorskip("keras", reason="Keras is not installed: pip install -e '.[test-keras]'")

from .models import MODELS, WITHOUT_TENSORFLOW_JS  # noqa: E402  (they need Keras)
from .running import difference, listed, predicted_by_keras, random_inputs, randomize  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Keras's own
TOLERANCE = 1e-5
CLIENT = Path(__file__).parents[2] / "client"
PACKAGES = Path(os.environ.get("VARIGRAD_NODE_MODULES") or CLIENT / "node_modules")
NODE = shutil.which("node")
_optional = not os.environ.get("VARIGRAD_REQUIRE_NODE")


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_keras_s_here_and_back_in_keras(name, suffix, tmp_path):
    original = randomize(MODELS[name]())
    x = random_inputs(original)
    expected = predicted_by_keras(original, x)
    original.save(tmp_path / f"original{suffix}")
    here = vg.load_layers_model(tmp_path / f"original{suffix}")
    assert difference(here.predict(x), expected) < TOLERANCE
    assert here.name == original.name
    assert [layer.name for layer in here.layers if layer.weights] == [
        layer.name for layer in original.layers if layer.weights
    ]
    here.save(tmp_path / f"back{suffix}")
    back = keras.models.load_model(tmp_path / f"back{suffix}", compile=False)
    assert difference(predicted_by_keras(back, x), expected) < TOLERANCE
    again = vg.load_layers_model(tmp_path / f"back{suffix}")
    assert all((a.numpy() == b.numpy()).all() for a, b in zip(again.get_weights(), here.get_weights(), strict=True))


def stack(*layers):
    return vg.sequential(layers=list(layers))


def graph_of_calls(inner, outputs):
    x = vg.input(shape=[4])
    first = inner(x)
    return vg.model(inputs=x, outputs=outputs(first, inner(first), inner(vg.layers.dense(units=4)(x))))


def dense(units=4, **options):
    return vg.layers.dense(units=units, activation="tanh", **options)


def with_a_needless_input():
    a, b = vg.input(shape=[4]), vg.input(shape=[3])
    return vg.model(inputs=[a, b], outputs=dense()(a))


MADE_HERE = {
    "stack": lambda: stack(dense(input_shape=[4]), dense()),
    "stack of a stack": lambda: stack(stack(dense(input_shape=[4]), dense()), dense()),
    "stack on a layer": lambda: stack(dense(input_shape=[4]), stack(dense(input_shape=[4]), dense())),
    "needless input": with_a_needless_input,
    "last call": lambda: graph_of_calls(stack(dense(input_shape=[4])), lambda first, second, other: second),
    "calls": lambda: graph_of_calls(
        stack(dense(input_shape=[4])), lambda first, second, other: [first, other, second, dense(1)(other)]
    ),
    "calls of a graph": lambda: graph_of_calls(
        vg.model(inputs=(x := vg.input(shape=[4])), outputs=dense()(x)),
        lambda first, second, other: [first, other, second, dense(1)(other)],
    ),
}


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", MADE_HERE)
def test_models_made_here_predict_the_same_in_keras(name, suffix, tmp_path):
    here = MADE_HERE[name]()
    x = random_inputs(here)
    here.save(tmp_path / f"here{suffix}")
    there = keras.models.load_model(tmp_path / f"here{suffix}", compile=False)
    assert difference(here.predict(x), predicted_by_keras(there, x)) < TOLERANCE


def as_json(x):
    return {"shape": list(x.shape), "dtype": str(x.dtype), "values": x.ravel().tolist()}


@pytest.mark.skipif(
    _optional and (NODE is None or not (PACKAGES / "@tensorflow").is_dir()), reason="TensorFlow.js is not installed"
)
def test_from_keras_to_tensorflow_js_and_back(tmp_path):
    models, folders = {}, tmp_path / "models"
    for name in MODELS:
        original = randomize(MODELS[name]())
        x = random_inputs(original)
        original.save(tmp_path / "original.keras")
        vg.load_layers_model(tmp_path / "original.keras").save(folders / name)
        (folders / name / "inputs.json").write_text(json.dumps([as_json(each) for each in listed(x)]))
        models[name] = x, predicted_by_keras(original, x)
    finished = subprocess.run(
        [NODE or "node", str(Path(__file__).with_name("chain.js")), str(folders)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NODE_PATH": str(PACKAGES), "CLIENT": str(CLIENT)},
    )
    assert finished.returncode == 0, finished.stderr
    failures, passed = {}, []
    for name, (x, expected) in models.items():
        if name not in WITHOUT_TENSORFLOW_JS:
            try:
                assert stops(folders / name, x, expected) < TOLERANCE
                passed.append(name)
            except Exception as error:
                failures[name] = error
    assert not failures
    assert len(passed) >= 40


def stops(folder, x, expected):
    """The largest difference at the stops after `model.json`: in TensorFlow.js, here, and in Keras."""
    error = folder / "error.txt"
    assert not error.exists(), error.read_text()
    predicted = json.loads((folder / "predictions.json").read_text())
    there = [np.array(each["values"]).reshape(each["shape"]) for each in predicted]
    here = vg.load_layers_model(folder / "tensorflow_js")
    here.save(folder / "back.keras")
    back = keras.models.load_model(folder / "back.keras", compile=False)
    results = there, here.predict(x), predicted_by_keras(back, x)
    return max(difference(each, expected) for each in results)


@pytest.mark.parametrize("name", MODELS)
def test_what_tensorflow_js_cannot_do_is_known(name, tmp_path):
    MODELS[name]().save(tmp_path / "original.keras")
    here = vg.load_layers_model(tmp_path / "original.keras")
    here.save(tmp_path)  # which writes other layers where that helps
    there = vg.load_layers_model(tmp_path)
    assert bool(tensorflow_js_problems(there.to_json(return_string=False), there)) == (name in WITHOUT_TENSORFLOW_JS)


def test_what_keras_3_passes_over_in_h5_files_is_told(tmp_path):
    ours = vg.sequential(layers=[vg.layers.layer_normalization(axis=[1, 2], input_shape=[3, 3])])
    ours.set_weights([[[1.0, 2.0, 3.0]] * 3, np.zeros([3, 3])])
    x = np.random.default_rng(0).normal(size=[2, 3, 3]).astype(np.float32)
    ours.save(tmp_path / "x.keras")
    theirs = keras.models.load_model(tmp_path / "x.keras", compile=False)
    assert difference(ours.predict(x), predicted_by_keras(theirs, x)) < 1e-5
    with pytest.warns(vg.CompatibilityWarning, match="passes over the axes of LayerNormalization"):
        ours.save(tmp_path / "x.h5")
    again = vg.load_layers_model(tmp_path / "x.h5")
    assert again.predict(x).tolist() == ours.predict(x).tolist()
    with pytest.raises(ValueError, match="Shape mismatch"):
        keras.models.load_model(tmp_path / "x.h5", compile=False)
