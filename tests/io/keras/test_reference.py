"""Files that real Keras wrote (by `make_reference.py`), read without Keras."""

import sys
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

from .running import difference, listed

REFERENCE = Path(__file__).parent / "reference"
FILES = sorted(path.name for path in REFERENCE.iterdir() if path.suffix in (".keras", ".h5"))


@pytest.mark.parametrize("file", FILES)
def test_files_of_keras_predict_what_keras_predicted(file):
    arrays = np.load(REFERENCE / f"{Path(file).stem}.npz")
    x = [arrays[name] for name in sorted(arrays) if name.startswith("x")]
    expected = [arrays[name] for name in sorted(arrays) if name.startswith("y")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "h5py", None)  # reading needs no HDF5 library
        model = vg.load_layers_model(REFERENCE / file)
    assert difference(listed(model.predict(x if len(x) > 1 else x[0])), expected) < 1e-5


def test_weights_have_the_names_of_tensorflow_js():
    model = vg.load_layers_model(REFERENCE / "text_classifier.h5")
    names = [w.original_name.partition("/")[2] for w in model.weights]
    directions = [
        f"{way}_lstm/{name}" for way in ("forward", "backward") for name in ("kernel", "recurrent_kernel", "bias")
    ]
    assert [name.replace("embeddings", "") for name in names] == ["", *directions, "kernel", "bias"]


def test_a_compiled_model_has_its_optimizer_again():
    model = vg.load_layers_model(REFERENCE / "partly_frozen.h5")
    assert model.is_compiled
    assert type(model.bare_optimizer).__name__ == "AdamOptimizer"
    assert [layer.trainable for layer in model.layers[1].layers if layer.weights] == [False, True, True, False]


def test_the_optimizer_of_keras_2_goes_on_from_where_it_was():
    model = vg.load_layers_model(REFERENCE / "keras_2_frozen.h5")
    assert model.bare_optimizer.iterations == 3
    slots = {w.name: w.tensor.numpy() for w in model.bare_optimizer.get_weights() if w.name.endswith("/m")}
    assert len(slots) == 6  # the first layer is frozen
    assert all(np.abs(values).max() > 0 for values in slots.values())
