"""Weights of samples, steps and classes, and masks, against Keras 3: reference_keras.py wrote the numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

REFERENCE = json.loads((Path(__file__).parent / "reference_keras.json").read_text())
X = np.array(REFERENCE["x"])


def dense(units, activation):
    return vg.layers.dense(units=units, activation=activation)


def recurrent(first):
    return vg.sequential(
        layers=[
            *first,
            vg.layers.simple_rnn(units=3, return_sequences=True, input_shape=[4, 2]),
            vg.layers.time_distributed(layer=dense(1, "linear")),
        ]
    )


def flat(units, activation):
    return vg.sequential(layers=[vg.layers.flatten(input_shape=[4, 2]), dense(units, activation)])


MODELS = {
    "masks": lambda: recurrent([vg.layers.masking(mask_value=0.0, input_shape=[4, 2])]),
    "weights of steps": lambda: recurrent([]),
    "weights of samples": lambda: flat(3, "softmax"),
    "weights of classes": lambda: flat(3, "softmax"),
    "metrics that count": lambda: flat(1, "sigmoid"),
}
# Keras has it under its whole name, and names of classes in capitals.
OUR_NAMES = {"accuracy": "acc"}


@pytest.mark.parametrize("name", REFERENCE["cases"])
@pytest.mark.parametrize("jit", [False, True])
def test_a_fit_of_keras(name, jit):
    case = REFERENCE["cases"][name]
    model = MODELS[name]()
    model.set_weights([np.array(w) for w in case["before"]])
    model.compile(optimizer=vg.train.sgd(0.1), jit=jit, **case["compile"])
    options = dict(case["fit"])
    if "class_weight" in options:
        options["class_weight"] = {int(number): weight for number, weight in options["class_weight"].items()}
    held_out = (X, case["y"], options["sample_weight"]) if "sample_weight" in options else (X, case["y"])
    history = model.fit(
        X, case["y"], batch_size=4, epochs=3, shuffle=False, verbose=0, validation_data=held_out, **options
    ).history
    assert len(history) == len(case["history"])
    for theirs, values in case["history"].items():
        prefix = "val_" if theirs.startswith("val_") else ""
        quantity = theirs.removeprefix("val_")
        ours = prefix + OUR_NAMES.get(quantity, quantity.lower())
        np.testing.assert_allclose(history[ours], values, rtol=1e-4, atol=1e-6, err_msg=ours)
    for ours, theirs in zip(model.get_weights(), case["after"], strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-5)
