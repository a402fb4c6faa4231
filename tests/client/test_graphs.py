"""Graphs of many kinds of layers, between here and TensorFlow.js in Node, in the middle of their training."""

import json

import numpy as np
import pytest

import varigrad as vg

NAMES = ["branches", "recurrent", "residual", "nested"]


@pytest.fixture(scope="module")
def made_there(tmp_path_factory, node):
    folder = tmp_path_factory.mktemp("graphs")
    node("make_graphs.js", folder)
    return folder


def arrays(given):
    each = [np.asarray(x) for x in given]
    return each[0] if len(each) == 1 else each


def predictions(model, expected):
    result = model.predict(arrays(expected["inputs"]))
    return result if isinstance(result, list) else [result]


def train(model, expected, steps=2):
    losses = [model.train_on_batch(arrays(expected["inputs"]), arrays(expected["targets"])) for _ in range(steps)]
    return [float(loss[0] if isinstance(loss, (list, tuple)) else loss) for loss in losses]


def said(config):
    """What a config says: not what is null, nor dtypes, which layers have in TensorFlow.js once they were built."""
    if isinstance(config, dict):
        return {key: said(value) for key, value in config.items() if value is not None and key != "dtype"}
    return [said(value) for value in config] if isinstance(config, list) else config


def close(ours, theirs, tolerance=1e-5):
    for y, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(y), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_of_tensorflow_js_predicts_the_same_here_and_trains_on(name, made_there):
    expected = json.loads((made_there / name / "expected.json").read_text())
    model = vg.load_layers_model(made_there / name)
    assert [w.original_name for w in model.weights] == expected["weights"]
    close(predictions(model, expected), expected["prediction"])
    assert model.optimizer.iterations == 2
    close(train(model, expected), expected["losses"], 1e-4)
    close(predictions(model, expected), expected["after"], 1e-4)
    assert model.optimizer.iterations == 4


@pytest.fixture(scope="module")
def continued(made_there, tmp_path_factory, node):
    """What models that were trained on here, and saved, do here and in TensorFlow.js."""
    folder = tmp_path_factory.mktemp("continued")
    here = {}
    for name in NAMES:
        given = json.loads((made_there / name / "expected.json").read_text())
        model = vg.load_layers_model(made_there / name)
        train(model, given)
        model.save(folder / name, include_optimizer=True, weight_shard_size_bytes=101)
        (folder / name / "given.json").write_text(json.dumps(given))
        prediction = [y.numpy() for y in predictions(model, given)]
        losses = train(model, given)
        after = [y.numpy() for y in predictions(model, given)]
        config = model.to_json(return_string=False)
        here[name] = {"prediction": prediction, "losses": losses, "after": after, "config": config}
    return here, json.loads(node("continue_graphs.js", folder, *NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_trained_here_predicts_the_same_in_tensorflow_js_and_trains_on(name, continued):
    here, there = (each[name] for each in continued)
    close(here["prediction"], there["prediction"])
    close(here["losses"], there["losses"], 1e-4)
    close(here["after"], there["after"], 1e-4)
    assert said(there["config"]) == said(here["config"])


SETTINGS = {
    "schedule": lambda: vg.train.adam(vg.train.exponential_decay(0.1, decay_steps=2, decay_rate=0.5)),
    "clipped": lambda: vg.train.momentum(0.01, 0.9, global_clip_norm=1.0),
    "weighted": lambda: vg.train.sgd(0.01),
    "adamax": lambda: vg.train.adamax(0.01),
}


def test_settings_that_tensorflow_js_does_not_know_do_not_disturb_it(tmp_path, node):
    rng = np.random.default_rng(0)
    expected = {}
    for name, optimizer in SETTINGS.items():
        x = vg.input(shape=[3])
        model = vg.model(inputs=x, outputs=[vg.layers.dense(units=1)(x), vg.layers.dense(units=2)(x)], name=name)
        weights = {"loss_weights": [0.25, 2.0]} if name == "weighted" else {}
        model.compile(optimizer=optimizer(), loss="mean_squared_error", **weights)
        given = {"inputs": [rng.normal(size=[4, 3]).tolist()], "targets": [np.zeros([4, n]).tolist() for n in (1, 2)]}
        train(model, given, 2)
        model.save(tmp_path / name, include_optimizer=True)
        (tmp_path / name / "given.json").write_text(json.dumps(given))
        expected[name] = [y.numpy() for y in predictions(model, given)]
    results = json.loads(node("continue_graphs.js", tmp_path, *SETTINGS))
    for name, prediction in expected.items():
        close(results[name]["prediction"], prediction)
        first, second = results[name]["losses"]
        assert second < first
