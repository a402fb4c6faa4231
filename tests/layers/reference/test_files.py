"""Every layer in a model file: saved and loaded here, and opened by TensorFlow.js in Node.

The cases are those of the comparison with TensorFlow.js, each as a model of one layer. Node is found as in
`tests/client`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg
from varigrad.io.compatibility import tensorflow_js_problems
from varigrad.io.for_tensorflow_js import for_tensorflow_js

from .cases_data import Run, all_cases, case_of, differences, expected_of, table

pytestmark = pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")

HERE = Path(__file__).parent
PACKAGES = Path(os.environ.get("VARIGRAD_NODE_MODULES") or HERE.parents[1] / "client" / "node_modules")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    not os.environ.get("VARIGRAD_REQUIRE_NODE") and (NODE is None or not (PACKAGES / "@tensorflow").is_dir()),
    reason="needs Node and the packages of tests/client: run npm install there, or set VARIGRAD_NODE_MODULES",
)

# Files hold no masks and no further tensors of a call, and predict does not train.
MODELS = [
    (family, name)
    for family, name in all_cases()
    if not {"mask", "keywords", "calls", "as_list"} & case_of(family, name).keys()
    and not case_of(family, name).get("training")
]


def model_of(family, name):
    """A model of the layer alone, and the inputs of the case."""
    run = Run(family, name)
    symbols = [vg.input(batch_shape=x.shape, dtype=x.dtype) for x in run.inputs]
    model = vg.model(inputs=symbols, outputs=run.layer(run.one_or_list(symbols)))
    run.restart()
    return model, run


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """For each case, the folder of its model, its inputs, and what the model predicts here."""
    root, found = tmp_path_factory.mktemp("models"), {}
    for family, name in MODELS:
        model, run = model_of(family, name)
        model.save(root / name)
        prediction = model.predict(run.one_or_list(run.inputs), batch_size=1000)
        run.restart()
        outputs = list(prediction) if isinstance(prediction, (list, tuple)) else [prediction]
        found[name] = (root / name, [x.numpy() for x in run.inputs], [y.numpy() for y in outputs])
        vg.dispose_variables()
    return found


@pytest.mark.parametrize(("family", "name"), MODELS, ids=[name for _, name in MODELS])
def test_a_loaded_model_predicts_the_same(saved, family, name):
    folder, inputs, outputs = saved[name]
    model = vg.load_layers_model(folder)
    prediction = model.predict(inputs[0] if len(inputs) == 1 else inputs, batch_size=1000)
    again = list(prediction) if isinstance(prediction, (list, tuple)) else [prediction]
    for y, expected in zip(again, outputs, strict=True):
        np.testing.assert_array_equal(y.numpy(), expected)


# What TensorFlow.js does not run from a file, not even from its own, by the beginning of the case's name.
FAILS_THERE = {
    "activation_gelu_new": "it reads the name as geluNew, which it does not know",
    "category_encoding": "making the graph, the layer changes the shape of its input",
    "center_crop": "making the graph, the layer changes the shape of its input",
    "resizing": "the layer does not look into the list of inputs that models give it",
    "simple_rnn_stateful": "the layer runs once for each of its outputs, so that its state moves on twice",
    "lstm_stateful": "likewise",
    "gru_stateful": "likewise",
}


def runs_there(family, name):
    """Whether TensorFlow.js can run the model, and the comparison has no better outputs than its own."""
    if any(name.startswith(beginning) for beginning in FAILS_THERE):
        return False
    return "error" not in table("expected", family)[name] and "outputs" not in differences().get(name, {})


@pytest.fixture(scope="module")
def predicted_there(saved):
    names = [name for family, name in MODELS if runs_there(family, name)]
    given = [
        {
            "folder": str(saved[name][0]),
            "inputs": [
                {"shape": x.shape, "dtype": str(x.dtype), "values": x.reshape(-1).tolist()} for x in saved[name][1]
            ],
        }
        for name in names
    ]
    finished = subprocess.run(
        [NODE or "node", str(HERE / "predict_each.js")],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NODE_PATH": str(PACKAGES)},
    )
    assert finished.returncode == 0, finished.stderr
    return dict(zip(names, json.loads(finished.stdout), strict=True))


THERE = [(family, name) for family, name in MODELS if runs_there(family, name)]


@needs_node
@pytest.mark.parametrize(("family", "name"), THERE, ids=[name for _, name in THERE])
def test_tensorflow_js_opens_the_file_and_predicts_the_same(saved, predicted_there, family, name):
    there = predicted_there[name]
    assert "error" not in there, there["error"]
    for found, expected in zip(there["outputs"], saved[name][2], strict=True):
        assert found["shape"] == list(expected.shape)
        np.testing.assert_allclose(found["values"], expected.reshape(-1), rtol=1e-5, atol=1e-5)


# TensorFlow.js has another default axis.
NOT_FORESEEN = {"softmax_default_rank_3"}


@pytest.mark.parametrize(("family", "name"), MODELS, ids=[name for _, name in MODELS])
def test_it_is_known_beforehand_what_tensorflow_js_does_not_run(family, name):
    model, _ = model_of(family, name)
    problems = tensorflow_js_problems(for_tensorflow_js(model.to_json(return_string=False), model), model)
    assert bool(problems) != (runs_there(family, name) or name in NOT_FORESEEN), problems


def test_most_cases_are_compared_in_files():
    assert len(MODELS) > 200
    assert len(THERE) > 190
    assert all("outputs" in expected_of(family, name) for family, name in MODELS)
