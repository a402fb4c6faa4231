"""What TensorFlow.js does otherwise than here, or not at all, is told where a model is saved, and nothing else is."""

import json
import warnings

import numpy as np
import pytest

import varigrad as vg

from .test_random_models import as_json, problem

L = vg.layers
# Models of one layer, by what its inputs and options are: (whether TensorFlow.js does the same, shape, layer).
MODELS = {
    "flat inputs made flat": (True, [4], lambda: L.flatten()),
    "a matrix made flat": (True, [2, 3], lambda: L.flatten()),
    "a length to be found out": (True, [2, 6], lambda: L.reshape(target_shape=[-1, 3])),
    "softmax of the last axis": (True, [2, 3], lambda: L.softmax(axis=2)),
    "softmax of rows": (True, [3], lambda: L.softmax(axis=1)),
    "softmax of several axes": (True, [2, 3], lambda: L.softmax(axis=[1, 2])),
    "softmax of another axis": (False, [2, 3], lambda: L.softmax(axis=1)),
    "normalized last axis": (True, [2, 3, 4], lambda: L.batch_normalization(axis=3)),
    "normalized other axis": (False, [2, 3, 4], lambda: L.batch_normalization(axis=1)),
    "normalized rows": (True, [4], lambda: L.batch_normalization(axis=1)),
    "normalized volume": (False, [2, 2, 2, 3], lambda: L.batch_normalization()),
    "wide windows": (True, [4, 4, 4, 1], lambda: L.max_pooling3d(pool_size=2, strides=2, padding="same")),
    "narrow windows": (False, [4, 4, 4, 1], lambda: L.max_pooling3d(pool_size=1, strides=2, padding="same")),
    "narrow means": (False, [4, 4, 4, 1], lambda: L.average_pooling3d(pool_size=1, strides=2, padding="same")),
    "narrow kernels": (False, [4, 4, 4, 1], lambda: L.conv3d(filters=2, kernel_size=1, strides=2, padding="same")),
    "narrow windows not padded": (True, [4, 4, 4, 1], lambda: L.max_pooling3d(pool_size=1, strides=2)),
}


def with_values(model):
    """The model with a different value for each element of its weights."""
    model.set_weights([0.5 + np.arange(w.size).reshape(w.shape) / 7 for w in model.get_weights()])
    return model


def saved(model, folder):
    """Whether saving the model tells of anything that TensorFlow.js does otherwise."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.save(folder)
    return any(issubclass(each.category, vg.CompatibilityWarning) for each in told)


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a model in a model"])
def test_what_tensorflow_js_does_otherwise_is_foreseen(inside, node, tmp_path):
    models, told = {}, {}
    for name, (_, shape, make) in MODELS.items():
        x = vg.input(shape=shape)
        model = with_values(vg.model(inputs=x, outputs=make()(x)))
        if inside:
            outer = vg.input(shape=shape)
            model = vg.model(inputs=outer, outputs=vg.layers.activation(activation="linear")(model(outer)))
        values = np.random.default_rng(0).normal(size=[2, *shape]).astype(np.float32)
        told[name] = saved(model, tmp_path / name)
        (tmp_path / name / "inputs.json").write_text(json.dumps([as_json(values)]))
        models[name] = model, [values]
    found = json.loads(node("predict_all.js", tmp_path))
    right = {name: problem(found[name], *models[name]) is None for name in MODELS}
    assert right == {name: same for name, (same, _, _) in MODELS.items()}
    assert told == {name: not same for name, (same, _, _) in MODELS.items()}


def test_what_is_written_otherwise_is_the_same_here(tmp_path):
    for name, (_, shape, make) in MODELS.items():
        model = with_values(vg.sequential(layers=[vg.layers.input_layer(input_shape=shape), make()]))
        values = np.random.default_rng(0).normal(size=[2, *shape]).astype(np.float32)
        saved(model, tmp_path / name)
        again = vg.load_layers_model(tmp_path / name)
        np.testing.assert_array_equal(again.predict(values).numpy(), model.predict(values).numpy())
