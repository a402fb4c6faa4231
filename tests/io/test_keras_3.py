"""Models that Keras 3 made, in the layout of TensorFlow.js's converter. Expected values are Keras's.

The files are made by keras_3/make.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

HERE = Path(__file__).parent / "keras_3"
NAMES = sorted(path.parent.name for path in HERE.glob("*/model.json"))


def predict(model, expected):
    inputs = [np.asarray(x) for x in expected["inputs"]]
    result = model.predict(inputs[0] if len(inputs) == 1 else inputs)
    return result if isinstance(result, list) else [result]


def test_there_are_models():
    assert len(NAMES) == 8


# Reports R47 and R54.
@pytest.mark.parametrize("file", ["model.json", "by_place.json"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_model_of_keras_3_predicts_the_same_and_is_written_as_tensorflow_js_wants_it(name, file, tmp_path):
    expected = json.loads((HERE / name / "expected.json").read_text())
    model = vg.load_layers_model(HERE / name / file)
    for ours, theirs in zip(predict(model, expected), expected["outputs"], strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-6)
    model.save(tmp_path)
    written = json.loads((tmp_path / "model.json").read_text())
    text = json.dumps(written)
    for foreign in ("batch_shape", "__keras_tensor__", "DTypePolicy", "registered_name", "keras_history"):
        assert foreign not in text
    again = vg.load_layers_model(tmp_path)
    for before, after in zip(predict(model, expected), predict(again, expected), strict=True):
        assert before.tolist() == after.tolist()
