"""Models saved in the middle of their training, and trained on: report R29 for models in files."""

import json
import subprocess
import sys

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.weights import ModelFileError

X = np.random.default_rng(0).normal(size=[8, 3]).astype(np.float32)
Y = np.random.default_rng(1).normal(size=[8, 1]).astype(np.float32)

OPTIMIZERS = {
    "sgd": lambda: vg.train.sgd(0.01),
    "momentum": lambda: vg.train.momentum(0.01, 0.9),
    "nesterov": lambda: vg.train.momentum(0.01, 0.9, use_nesterov=True),
    "adagrad": lambda: vg.train.adagrad(0.01),
    "adadelta": lambda: vg.train.adadelta(0.1),
    "adam": lambda: vg.train.adam(0.01),
    "adamax": lambda: vg.train.adamax(0.01),
    "rmsprop": lambda: vg.train.rmsprop(0.01),
    "centered": lambda: vg.train.rmsprop(0.01, centered=True, momentum=0.5),
    "clipped": lambda: vg.train.adam(0.01, global_clip_norm=0.5),
    "schedule": lambda: vg.train.adam(vg.train.exponential_decay(0.1, decay_steps=2, decay_rate=0.5)),
}


def make(optimizer):
    layers = [
        vg.layers.dense(units=4, activation="tanh", input_shape=[3], name="a"),
        vg.layers.batch_normalization(name="n"),
        vg.layers.dense(units=1, name="b"),
    ]
    model = vg.sequential(name="m", layers=layers)
    rng = np.random.default_rng(2)
    model.set_weights([rng.uniform(0.1, 1, w.shape) for w in model.weights])
    model.compile(optimizer=optimizer, loss="meanSquaredError", metrics=["mae"])
    return model


def train(model, steps=5):
    for _ in range(steps):
        model.train_on_batch(X, Y)


def values(model):
    return [w.tolist() for w in model.get_weights()]


CONTINUE = """
import json, sys
from pathlib import Path
import numpy as np
import varigrad as vg
given = json.load(sys.stdin)
results = {}
for folder in sorted(Path(given["folder"]).iterdir()):
    model = vg.load_layers_model(folder)
    for _ in range(5):
        model.train_on_batch(np.float32(given["x"]), np.float32(given["y"]))
    results[folder.name] = [model.optimizer.iterations, [w.tolist() for w in model.get_weights()]]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def continued(tmp_path_factory):
    """What models that were saved after five steps are after five more, in a process of their own."""
    folder = tmp_path_factory.mktemp("models")
    straight = {}
    for name, optimizer in OPTIMIZERS.items():
        model = make(optimizer())
        train(model)
        model.save(folder / name, include_optimizer=True)
        train(model)
        straight[name] = values(model)
        vg.dispose_variables()
    given = json.dumps({"folder": str(folder), "x": X.tolist(), "y": Y.tolist()})
    run = subprocess.run([sys.executable, "-c", CONTINUE], input=given, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return straight, json.loads(run.stdout)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_model_trains_on_in_another_process_as_if_it_had_never_been_away(name, continued):
    straight, results = continued
    iterations, weights = results[name]
    assert iterations == 10
    assert weights == straight[name]


def document_of(folder):
    return json.loads((folder / "model.json").read_text())


def test_the_file_has_what_tensorflow_js_has(tmp_path):
    model = make(vg.train.adam(0.01))
    train(model, 2)
    model.save(tmp_path, include_optimizer=True)
    document = document_of(tmp_path)
    # The keys of tf.io.getModelJSONForModelArtifacts, in its order.
    assert list(document) == [
        "modelTopology",
        "format",
        "generatedBy",
        "convertedBy",
        "trainingConfig",
        "weightsManifest",
    ]
    assert document["trainingConfig"] == {
        "loss": "mean_squared_error",
        "metrics": ["mae"],
        "optimizer_config": {
            "class_name": "Adam",
            "config": {"learningRate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7},
        },
    }
    state = [s for s in document["weightsManifest"][0]["weights"] if s.get("group") == "optimizer"]
    trained = ["a/kernel", "a/bias", "n/gamma", "n/beta", "b/kernel", "b/bias"]
    assert [s["name"] for s in state] == ["iter", *(f"{w}/m" for w in trained), *(f"{w}/v" for w in trained)]
    assert state[0]["dtype"] == "int32"


@pytest.mark.parametrize(
    ("loss", "metrics", "written_loss", "written_metrics"),
    [  # written: keys of lossesMap and metricsMap in tfjs-layers 4.22, all that it opens a file with
        ("mse", ["mean_absolute_error", "acc"], "mean_squared_error", ["mae", "acc"]),
        ("bce", ["r2Score", vg.metrics.AUC(), "binaryAccuracy"], "binary_crossentropy", ["binaryAccuracy"]),
        ({"b": "KLD"}, {"b": ["cosineSimilarity", "recall"]}, {"b": "kullback_leibler_divergence"}, {"b": ["cosine"]}),
        (["mape"], {"b": "recall"}, ["mean_absolute_percentage_error"], {}),
        ("poisson", {"b": "MSE"}, "poisson", {"b": "mse"}),
    ],
)
def test_losses_and_metrics_are_written_in_words_that_tensorflow_js_has(
    tmp_path, loss, metrics, written_loss, written_metrics
):
    model = make(vg.train.adam(0.01))
    model.compile(optimizer="adam", loss=loss, metrics=metrics)
    model.save(tmp_path, include_optimizer=True)
    written = document_of(tmp_path)["trainingConfig"]
    assert (written["loss"], written["metrics"]) == (written_loss, written_metrics)
    again = vg.load_layers_model(tmp_path)
    assert again.metrics_names == model.metrics_names
    assert again.get_training_config() == model.get_training_config()


def test_the_state_of_frozen_weights_is_behind_that_of_the_others(tmp_path):
    model = make(vg.train.momentum(0.01, 0.9))
    train(model, 2)
    model.layers[0].trainable = False
    model.save(tmp_path, include_optimizer=True)
    state = [s["name"] for s in document_of(tmp_path)["weightsManifest"][0]["weights"] if "group" in s]
    wanted = ["n/gamma", "n/beta", "b/kernel", "b/bias", "a/kernel", "a/bias"]
    assert state == ["iter", *(f"{w}/momentum" for w in wanted)]
    loaded = vg.load_layers_model(tmp_path)
    for each in (model, loaded):
        each.layers[0].trainable = True
        train(each, 1)
    assert values(loaded) == values(model)


def test_a_schedule_is_a_number_for_tensorflow_js_and_a_schedule_here(tmp_path):
    model = make(OPTIMIZERS["schedule"]())
    train(model, 2)
    model.save(tmp_path, include_optimizer=True)
    config = document_of(tmp_path)["trainingConfig"]["optimizer_config"]["config"]
    assert config["learningRate"] == pytest.approx(0.05)
    assert vg.load_layers_model(tmp_path).optimizer.current_learning_rate == pytest.approx(0.05)


def test_loss_weights_are_where_tensorflow_js_does_not_stumble_over_them(tmp_path):
    x = vg.input(shape=[3])
    outputs = [vg.layers.dense(units=1, name=name)(x) for name in "pq"]
    model = vg.model(inputs=x, outputs=outputs)
    model.compile(optimizer="sgd", loss="mse", loss_weights=[0.25, 2.0])
    model.save(tmp_path, include_optimizer=True)
    assert "loss_weights" not in document_of(tmp_path)["trainingConfig"]
    assert vg.load_layers_model(tmp_path).loss_weights == [0.25, 2.0]


@pytest.mark.parametrize("options", [{}, {"include_optimizer": False}])
def test_without_being_asked_nothing_of_the_training_is_stored(tmp_path, options):
    model = make("adam")
    train(model, 1)
    model.save(tmp_path, **options)
    assert "trainingConfig" not in document_of(tmp_path)
    assert not vg.load_layers_model(tmp_path).is_compiled


def test_a_model_that_was_never_compiled_has_nothing_to_store(tmp_path):
    vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[3])]).save(tmp_path, include_optimizer=True)
    assert "trainingConfig" not in document_of(tmp_path)


def test_a_loss_of_ones_own_has_no_name_in_files(tmp_path):
    model = make("adam")
    model.compile(optimizer="adam", loss=lambda y, p: (y - p).abs().mean())
    with pytest.raises(ValueError, match="is a function, which a file cannot store"):
        model.save(tmp_path, include_optimizer=True)
    assert not (tmp_path / "model.json").exists()
    model.save(tmp_path)


def changed(folder, change):
    document = document_of(folder)
    change(document)
    (folder / "model.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["trainingConfig"].update(loss="my_loss"),
        lambda d: d["trainingConfig"]["optimizer_config"].update(class_name="Lion"),
        lambda d: d["trainingConfig"].pop("optimizer_config"),
        lambda d: d["trainingConfig"]["optimizer_config"].update(config={"nonsense": 1}),
    ],
)
def test_what_is_unknown_here_leaves_a_model_that_predicts(tmp_path, change):
    model = make("adam")
    train(model, 1)
    model.save(tmp_path, include_optimizer=True)
    changed(tmp_path, change)
    with pytest.warns(UserWarning, match="the model is loaded but not compiled"):
        loaded = vg.load_layers_model(tmp_path)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert not loaded.is_compiled


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spec: spec.update(name="x/kernel/m") if spec["name"] == "a/kernel/m" else None, "'x/kernel'"),
        (lambda spec: spec.update(shape=[2, 6]) if spec["name"] == "a/kernel/m" else None, "shape"),
        (lambda spec: spec.update(name="iteration") if spec["name"] == "iter" else None, "iter"),
        (lambda spec: spec.update(name="a/kernel/q") if spec["name"] == "a/kernel/m" else None, "no slot of Adam"),
    ],
)
def test_a_state_that_does_not_fit_the_model_is_an_error(tmp_path, change, message):
    model = make("adam")
    train(model, 1)
    model.save(tmp_path, include_optimizer=True)
    changed(tmp_path, lambda d: [change(spec) for spec in d["weightsManifest"][0]["weights"]])
    with pytest.raises(ModelFileError, match=f"the state of the optimizer does not fit the model: .*{message}"):
        vg.load_layers_model(tmp_path)


def test_a_state_under_unknown_names_is_taken_by_position(tmp_path):
    # TensorFlow.js gives the variables of a model that was loaded twice other names.
    model = make("adam")
    train(model)
    model.save(tmp_path, include_optimizer=True)

    def rename(document):
        for spec in document["weightsManifest"][0]["weights"]:
            if spec.get("group") and "/" in spec["name"]:
                name, _, slot = spec["name"].rpartition("/")
                spec["name"] = f"{name.replace('a/', 'v/').replace('b/', 'w/').replace('n/', 'u/')}/{slot}"

    changed(tmp_path, rename)
    loaded = vg.load_layers_model(tmp_path)
    train(model)
    train(loaded)
    assert values(loaded) == values(model)
