"""Losses, metrics and whole fits against the numbers of TensorFlow.js in reference.json, which reference.js writes."""

import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg
from varigrad.keywords import snake_case

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())


def array(stored):
    return np.array(stored["values"], stored["dtype"]).reshape(stored["shape"])


def one_or_list(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def optimizer(stored):
    return stored if isinstance(stored, str) else getattr(vg.train, stored["name"])(*stored["args"])


def compiled_model(case):
    """The model with its first weights, compiled."""
    model = vg.models.model_from_json(case["topology"])
    model.set_weights([array(weight) for weight in case["before"]])
    options = {**case["compile"], "optimizer": optimizer(case["compile"]["optimizer"])}
    model.compile(**options)
    return model


FITS = REFERENCE["fits"]


@pytest.mark.parametrize("name", REFERENCE["losses"])
def test_each_loss(name):
    case = REFERENCE["losses"][name]
    losses = getattr(vg.metrics, snake_case(name))(array(case["y_true"]), array(case["y_pred"]))
    np.testing.assert_allclose(losses.numpy(), case["values"], rtol=2e-5, atol=2e-7)


@pytest.mark.parametrize("name", REFERENCE["metrics"])
def test_each_metric(name):
    case = REFERENCE["metrics"][name]
    values = getattr(vg.metrics, snake_case(name))(array(case["y_true"]), array(case["y_pred"]))
    expected = array(case["values"])
    assert values.shape == expected.shape
    np.testing.assert_allclose(values.numpy(), expected, rtol=2e-5, atol=2e-7)


def fit(case):
    model = compiled_model(case)
    options = dict(case["fit"])
    if "class_weight" in options:
        options["class_weight"] = with_class_numbers(options["class_weight"])
    if "validation_data" in options:
        options["validation_data"] = [array(each) for each in options["validation_data"]]
    x, y = (one_or_list([array(each) for each in case[name]]) for name in ("x", "y"))
    return model, model.fit(x, y, shuffle=False, verbose=0, **options), x, y


def with_class_numbers(weights):
    """JSON has strings where class numbers are meant."""
    return {
        int(key) if key.isdigit() else key: value if not isinstance(value, dict) else with_class_numbers(value)
        for key, value in weights.items()
    }


def with_names_of_ours(history):
    return {snake_case(name) if name.islower() is False else name: values for name, values in history.items()}


@pytest.mark.parametrize("name", FITS)
def test_each_fit(name):
    case = FITS[name]
    model, history, x, y = fit(case)
    expected = with_names_of_ours(case["history"])
    assert history.epoch == case["epoch"]
    assert set(history.history) == set(expected)
    for quantity, values in expected.items():
        np.testing.assert_allclose(history.history[quantity], values, rtol=2e-5, atol=2e-6, err_msg=quantity)
    for weight, value, after in zip(model.weights, model.get_weights(), case["after"], strict=True):
        np.testing.assert_allclose(value.numpy(), array(after), rtol=2e-4, atol=2e-6, err_msg=weight.name)
    predicted = model.predict(x)
    for ours, theirs in zip(predicted if isinstance(predicted, list) else [predicted], case["predicted"], strict=True):
        np.testing.assert_allclose(ours.numpy(), array(theirs), rtol=2e-4, atol=2e-6)
    if "evaluated" in case:
        evaluated = model.evaluate(x, y, batch_size=4)
        evaluated = evaluated if isinstance(evaluated, list) else [evaluated]
        assert len(evaluated) == len(model.metrics_names)
        np.testing.assert_allclose([value.item() for value in evaluated], case["evaluated"], rtol=2e-4, atol=2e-6)


def test_every_loss_and_optimizer_name_is_among_the_fits():
    assert {f"loss {name}" for name in REFERENCE["losses"]} <= set(FITS)
    assert {f"optimizer {name}" for name in ("sgd", "adam", "adamax", "rmsprop", "adagrad", "adadelta")} <= set(FITS)


def test_fit_dataset_evaluate_dataset_and_train_on_batch():
    case = REFERENCE["dataset"]
    model = compiled_model(case)
    batches = [{"xs": array(batch["xs"]), "ys": array(batch["ys"])} for batch in case["batches"]]
    first = model.fit_dataset(
        batches,
        epochs=2,
        class_weight={0: 2, 1: 1, 2: 0.5},
        validation_data=batches,
        validation_batches=2,
        verbose=0,
    )
    second = model.fit_dataset(
        lambda: iter(batches),
        epochs=2,
        batches_per_epoch=2,
        validation_data=(array(case["x"]), array(case["y"])),
        validation_batch_size=4,
        verbose=0,
    )
    for ours, theirs in ((first.history, case["first"]), (second.history, case["second"])):
        assert set(ours) == set(theirs)
        for quantity, values in theirs.items():
            np.testing.assert_allclose(ours[quantity], values, rtol=2e-5, atol=2e-6, err_msg=quantity)
    for value, after in zip(model.get_weights(), case["after"], strict=True):
        np.testing.assert_allclose(value.numpy(), array(after), rtol=2e-4, atol=2e-6)
    evaluated = model.evaluate_dataset(batches, batches=3)
    np.testing.assert_allclose([value.item() for value in evaluated], case["evaluated"], rtol=2e-5)
    for batch, expected in zip(batches, case["onBatch"], strict=True):
        np.testing.assert_allclose(model.train_on_batch(batch["xs"], batch["ys"]), expected, rtol=2e-5)
