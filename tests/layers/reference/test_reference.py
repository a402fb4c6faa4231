"""Every layer and option against TensorFlow.js: shapes, numbers, configs, gradients, weights after training.

README.md describes the cases. Each is run in float64 too, where its gradient is compared with a finite difference, so
that it counts even if TensorFlow.js has none.
"""

import re

import numpy as np
import pytest

import varigrad as vg

from .cases_data import FAMILIES, Run, all_cases, differences, expected_of, table

CASES = all_cases()
RELATIVE, ABSOLUTE = 2e-5, 2e-6
LEARNING_RATE, STEPS = 0.1, 2


def assert_close(found, numbers, what):
    expected = np.array([float(number) for number in numbers])
    found = np.asarray(found, np.float64).reshape(-1)
    assert found.shape == expected.shape, f"{what}: {found.size} numbers, not {expected.size}"
    # Sums of terms that nearly cancel are as exact as their terms.
    absolute = ABSOLUTE * max(1.0, np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=absolute, err_msg=what)


def test_each_case_has_one_entry_and_a_name_of_its_own():
    names = [name for _, name in CASES]
    assert len(names) == len(set(names))
    for family in FAMILIES:
        assert [case["name"] for case in table("cases", family)] == list(table("expected", family))
    assert set(differences()) <= set(names)


def test_each_difference_has_a_reason_and_changes_something():
    for name, difference in differences().items():
        assert len(difference["reason"]) > 20, name
        assert len(difference) > 1, name


@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_outputs_shapes_weights_and_config(family, name):
    expected = expected_of(family, name)
    run = Run(family, name)
    layer = run.layer
    outputs = run.call(run.inputs)
    assert [list(y.shape) for y in outputs] == [y["shape"] for y in expected["outputs"]]
    assert [y.dtype for y in outputs] == [y["dtype"] for y in expected["outputs"]]
    for y, reference in zip(outputs, expected["outputs"], strict=True):
        assert_close(y.numpy(), reference["values"], "output")
    shapes = [tuple(spec["shape"]) for spec in run.case["inputs"]]
    found = layer.compute_output_shape(run.one_or_list(shapes))
    assert found == (outputs[0].shape if len(outputs) == 1 else [y.shape for y in outputs])
    weights = [
        {"name": w.original_name.removeprefix(f"{name}/"), "shape": list(w.shape), "trainable": w.trainable}
        for w in layer.weights
    ]
    assert weights == expected["weights"]
    if "mask" in run.case:
        mask = layer.compute_mask(run.one_or_list(run.inputs), run.mask)
        assert described(mask) == expected["mask"]
    assert known(layer.get_config()) == known(expected["config"])


def described(mask):
    if mask is None:
        return None
    if isinstance(mask, (list, tuple)):
        return [described(m) for m in mask]
    return {"shape": list(mask.shape), "values": [int(m) for m in mask.numpy().reshape(-1)]}


def known(config):
    """The config without what is unset, which JavaScript leaves out, and without the counters of default names."""
    if isinstance(config, dict):
        return {key: known(value) for key, value in config.items() if value is not None}
    if isinstance(config, str):
        return re.sub(r"(_[A-Z]\w*?)\d+$", r"\1", config)
    if isinstance(config, list):
        return [known(item) for item in config]
    return config


@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_gradients_and_training(family, name):
    expected = expected_of(family, name)
    run = Run(family, name)
    if expected["gradients"] is not None:
        found_inputs, found_weights = run.gradients()
        for what, found, reference in (
            ("input", found_inputs, expected["gradients"]["inputs"]),
            ("weight", found_weights, expected["gradients"]["weights"]),
        ):
            for k, (gradient, numbers) in enumerate(zip(found, reference, strict=True)):
                assert (gradient is None) == (numbers is None), f"gradient of {what} {k}"
                if numbers is not None:
                    assert_close(gradient, numbers, f"gradient of {what} {k}")
    if expected.get("after") is not None:
        run.restart()
        optimizer = vg.train.sgd(LEARNING_RATE)
        for _ in range(STEPS):
            optimizer.minimize(lambda: run.loss(run.inputs), var_list=run.layer.trainable_weights)
        for weight, numbers in zip(run.layer.weights, expected["after"], strict=True):
            assert_close(weight.numpy(), numbers, f"{weight.original_name} after {STEPS} steps")


@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_the_gradient_is_that_of_the_numbers_in_float64(family, name):
    run = Run(family, name, "float64")
    gradients = [g for group in run.gradients() for g in group]
    weights = run.layer.trainable_weights
    places = [k for k, w in enumerate(run.layer.weights) if w.trainable]
    random = np.random.default_rng(0)
    points = [x.numpy() for x in run.inputs] + [run.starting[k] for k in places]
    # Integers, and weights that the result does not depend on, have no gradient.
    directions = [
        None if g is None else random.normal(size=np.shape(p)) for g, p in zip(gradients, points, strict=True)
    ]
    if all(d is None for d in directions):
        pytest.fail("nothing has a gradient") if any(np.asarray(p).dtype.kind == "f" for p in points) else None
        return

    def loss(step):
        moved = [p if d is None else p + step * d for p, d in zip(points, directions, strict=True)]
        run.restart()
        for weight, value in zip(weights, moved[len(run.inputs) :], strict=True):
            weight.assign(vg.tensor(value, dtype="float64"))
        inputs = [vg.tensor(p, dtype=x.dtype) for p, x in zip(moved, run.inputs)]
        value = run.loss(inputs)
        assert value.dtype == "float64"
        return value.item()

    step = 1e-6
    slope = (loss(step) - loss(-step)) / (2 * step)
    total = sum(float(np.sum(g * d)) for g, d in zip(gradients, directions) if d is not None)
    assert total == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_a_layer_made_from_the_config_gives_the_same(family, name):
    run = Run(family, name)
    before = [y.numpy() for y in run.call(run.inputs)]
    config = run.layer.get_config()
    copy = type(run.layer).from_config(config)
    assert copy.get_config() == config
    run.layer.dispose()
    run.layer = copy
    run.call(run.inputs)
    run.restart()
    for y, expected in zip(run.call(run.inputs), before, strict=True):
        np.testing.assert_array_equal(y.numpy(), expected)
