"""Models of random graphs predict the same here and in TensorFlow.js.

A few by default; `VARIGRAD_RANDOM_MODELS=300` tries as many.
"""

import json
import os

import numpy as np

import varigrad as vg

from .random_models import random_model, with_random_weights

COUNT = int(os.environ.get("VARIGRAD_RANDOM_MODELS", "15"))


def test_random_models_predict_the_same_in_tensorflow_js(node, tmp_path):
    models = {}
    for seed in range(COUNT):
        model = with_random_weights(random_model(seed), seed)
        folder = tmp_path / str(seed)
        model.save(folder)
        random = np.random.default_rng(seed)
        x = [random.normal(size=[3, *each.shape[1:]]).astype(np.float32) for each in model.inputs]
        (folder / "inputs.json").write_text(json.dumps([as_json(each) for each in x]))
        models[str(seed)] = model, x
    found = json.loads(node("predict_all.js", tmp_path))
    wrong = {seed: problem(found[seed], *models[seed]) for seed in models}
    assert {seed: each for seed, each in wrong.items() if each} == {}


def test_a_layer_s_calls_are_numbered_in_the_order_in_which_tensorflow_js_makes_them(node, tmp_path):
    x = vg.input(shape=[4])
    shared = vg.layers.dense(units=4, activation="tanh")
    late = shared(vg.layers.dense(units=4)(shared(x)))  # waits for a layer that comes after the shared one
    early = shared(x)
    inner = vg.sequential(layers=[vg.layers.dense(units=4, activation="tanh", input_shape=[4])])
    late_inner = inner(vg.layers.dense(units=4)(inner(late)))
    model = vg.model(inputs=x, outputs=[vg.layers.dense(units=2)(late), early, late_inner, inner(x)])
    values = np.random.default_rng(0).normal(size=[3, 4]).astype(np.float32)
    model.save(tmp_path / "m")
    (tmp_path / "m" / "inputs.json").write_text(json.dumps([as_json(values)]))
    found = json.loads(node("predict_all.js", tmp_path))["m"]
    assert problem(found, model, [values]) is None
    for suffix in ("", ".keras", ".h5"):
        model.save(tmp_path / f"again{suffix}")
        loaded = vg.load_layers_model(tmp_path / f"again{suffix}")
        for got, expected in zip(loaded.predict(values), model.predict(values), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())


def as_json(x):
    return {"shape": x.shape, "values": x.reshape(-1).tolist()}


def problem(found, model, x):
    """What is wrong with the predictions of TensorFlow.js, or None."""
    if "error" in found:
        return found["error"]
    results = model.predict(x)
    for there, here in zip(found["predictions"], results if isinstance(results, list) else [results], strict=True):
        if there["shape"] != list(here.shape):
            return f"the shape is {there['shape']} in TensorFlow.js, but {here.shape} here"
        expected = np.array(there["values"]).reshape(here.shape)
        difference = np.abs(here.numpy() - expected).max()
        if not difference <= 1e-5 * max(1, np.abs(expected).max()):
            return f"results differ by {difference}"
    return None


def test_loading_them_gives_them_back(tmp_path):
    for seed in range(COUNT):
        model = with_random_weights(random_model(seed), seed)
        x = [vg.random_normal([3, *each.shape[1:]], seed=seed) for each in model.inputs]
        expected = [each.numpy() for each in listed(model.predict(x))]
        for suffix in ("", ".keras", ".h5"):
            model.save(tmp_path / f"{seed}{suffix}")
            loaded = vg.load_layers_model(tmp_path / f"{seed}{suffix}")
            for got, wanted in zip(listed(loaded.predict(x)), expected, strict=True):
                np.testing.assert_array_equal(got.numpy(), wanted)


def listed(results):
    return results if isinstance(results, list) else [results]
