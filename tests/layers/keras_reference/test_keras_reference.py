"""What TensorFlow.js lacks or does wrong, against Keras 3. README.md describes the cases."""

import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

from ..reference.cases_data import coefficients, input_tensor, weight_values

HERE = Path(__file__).parent
CASES = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def mask(rows):
    return None if rows is None else vg.tensor(np.array(rows, bool))


class Run:
    def __init__(self, case, dtype="float32"):
        self.layer = getattr(vg.layers, case["layer"])(name=case["name"], dtype=dtype, **case["args"])
        self.inputs = [input_tensor(spec, k, dtype) for k, spec in enumerate(case["inputs"])]
        self.keywords = dict(case.get("arguments", {}))
        self.keywords |= {name: mask(case[name]) for name in ("mask", "attention_mask") if name in case}
        if "masks" in case:
            self.keywords["mask"] = [mask(rows) for rows in case["masks"]]
        if "initial_state" in case:
            shapes = [{"shape": shape} for shape in case["initial_state"]]
            self.keywords["initial_state"] = [input_tensor(spec, 20 + i, dtype) for i, spec in enumerate(shapes)]
        self.outputs(self.inputs)
        self.layer.set_weights(weight_values(self.layer.weights))

    def outputs(self, inputs):
        result = self.layer(inputs if len(inputs) > 1 else inputs[0], **self.keywords)
        return result if isinstance(result, list) else [result]

    def loss(self, inputs):
        return vg.add_n([vg.sum(y * coefficients(y, k)) for k, y in enumerate(self.outputs(inputs))])


def test_every_case_has_what_keras_gives():
    assert [case["name"] for case in CASES] == list(EXPECTED)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_outputs_gradients_and_weights_are_those_of_keras(case):
    expected, run = EXPECTED[case["name"]], Run(case)
    weights = run.layer.weights
    # Keras keeps weights of a recurrent layer in its cell, under its name.
    names = [w["name"].replace("gru_cell/", "").replace("lstm_cell/", "") for w in expected["weights"]]
    found = [w.original_name.removeprefix(f"{case['name']}/") for w in weights]
    if case["layer"].startswith("depthwise"):  # here as in TensorFlow.js
        names = [name.replace("kernel", "depthwise_kernel") for name in names]
    assert found == [name.removeprefix("conv_").removeprefix("simple_rnn_cell/") for name in names]
    assert [list(w.shape) for w in weights] == [w["shape"] for w in expected["weights"]]
    for y, reference in zip(run.outputs(run.inputs), expected["outputs"], strict=True):
        assert list(y.shape) == reference["shape"]
        np.testing.assert_allclose(y.numpy().reshape(-1), reference["values"], rtol=1e-4, atol=1e-5)
    inputs = [vg.variable(x) for x in run.inputs]
    wanted = [*inputs, *run.layer.trainable_weights]
    _, grads = vg.variable_grads(lambda: run.loss(inputs), wanted)
    for variable, reference in zip(wanted, expected["gradients"], strict=True):
        np.testing.assert_allclose(grads[variable.name].numpy().reshape(-1), reference, rtol=1e-3, atol=2e-5)
    if "mask" in expected:
        assert run.layer.compute_mask(run.inputs, run.keywords["mask"]).numpy().reshape(-1).tolist() == expected["mask"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_in_float64_the_gradient_is_that_of_finite_differences(case):
    run = Run(case, "float64")
    assert all(weight.dtype == "float64" for weight in run.layer.weights)
    assert all(y.dtype == "float64" for y in run.outputs(run.inputs))
    vg.testing.check_gradients(lambda *inputs: run.loss(list(inputs)), *[x.numpy() for x in run.inputs])


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_layer_made_from_the_config_gives_the_same(case):
    run = Run(case)
    before = [y.numpy() for y in run.outputs(run.inputs)]
    config = json.loads(json.dumps(run.layer.get_config()))
    values = run.layer.get_weights()
    run.layer = type(run.layer).from_config(config)
    run.outputs(run.inputs)
    run.layer.set_weights(values)
    for y, expected in zip(run.outputs(run.inputs), before, strict=True):
        np.testing.assert_array_equal(y.numpy(), expected)
