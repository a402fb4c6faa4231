"""Writes reference_keras.json: what Keras 3 makes of weights, masks, metrics that count, and callbacks.

pip install keras jax && KERAS_BACKEND=jax python reference_keras.py
"""

import json
from pathlib import Path

import numpy as np

RANDOM = np.random.default_rng(0)
LENGTHS = np.array([4, 2, 3, 1, 4, 2])
SEQUENCES = RANDOM.normal(size=(6, 4, 2)) * (np.arange(4) < LENGTHS[:, None])[..., None]
STEPS = RANDOM.normal(size=(6, 4, 1))
CLASSES = np.arange(6) % 3
BITS = (np.arange(6) % 2)[:, None]
SAMPLE_WEIGHT, STEP_WEIGHT = RANDOM.uniform(0.1, 2, 6), RANDOM.uniform(0.1, 2, (6, 4))


def make_cases(keras):
    """Models, targets, options of compile and of fit, by name."""

    def recurrent(masked):
        layers = [keras.layers.Masking(0.0)] if masked else []
        layers += [
            keras.layers.SimpleRNN(3, return_sequences=True),
            keras.layers.TimeDistributed(keras.layers.Dense(1)),
        ]
        return keras.Sequential([keras.Input([4, 2]), *layers])

    def flat(units, activation):
        layers = [keras.layers.Flatten(), keras.layers.Dense(units, activation=activation)]
        return keras.Sequential([keras.Input([4, 2]), *layers])

    return {
        "masks": (recurrent(True), STEPS, {"loss": "mse"}, {}),
        "weights of steps": (
            recurrent(False),
            STEPS,
            {"loss": "mse", "metrics": ["mae"], "weighted_metrics": ["mse"]},
            {"sample_weight": STEP_WEIGHT},
        ),
        "weights of samples": (
            flat(3, "softmax"),
            CLASSES,
            {"loss": "sparse_categorical_crossentropy", "weighted_metrics": ["sparse_categorical_accuracy"]},
            {"sample_weight": SAMPLE_WEIGHT},
        ),
        "weights of classes": (
            flat(3, "softmax"),
            CLASSES,
            {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]},
            {"class_weight": {0: 3.0, 1: 0.5, 2: 1.0}},
        ),
        "metrics that count": (
            flat(1, "sigmoid"),
            BITS,
            {"loss": "binary_crossentropy", "weighted_metrics": ["auc", "precision", "recall"]},
            {"sample_weight": SAMPLE_WEIGHT},
        ),
    }


def run(keras, model, y, compiled_with, options):
    random = np.random.default_rng(1)
    model.set_weights([random.normal(size=w.shape) for w in model.weights])
    before = [w.numpy().tolist() for w in model.weights]
    counting = {"auc": "AUC", "precision": "Precision", "recall": "Recall"}
    weighted = [counting.get(name, name) for name in compiled_with.get("weighted_metrics", [])]
    model.compile(keras.optimizers.SGD(0.1), **{**compiled_with, "weighted_metrics": weighted})
    given = {name: np.asarray(value) if name == "sample_weight" else value for name, value in options.items()}
    held_out = (SEQUENCES, y) if "sample_weight" not in options else (SEQUENCES, y, given["sample_weight"])
    history = model.fit(
        SEQUENCES, y, batch_size=4, epochs=3, shuffle=False, verbose=0, validation_data=held_out, **given
    ).history
    return {
        "before": before,
        "y": y.tolist(),
        "compile": compiled_with,
        "fit": {name: np.asarray(v).tolist() if name == "sample_weight" else v for name, v in options.items()},
        "history": history,
        "after": [w.numpy().tolist() for w in model.weights],
    }


def main():
    import keras  # which tests that look through this file need not have

    cases = {name: run(keras, *case) for name, case in make_cases(keras).items()}
    Path(__file__).with_suffix(".json").write_text(json.dumps({"x": SEQUENCES.tolist(), "cases": cases}))


if __name__ == "__main__":
    main()
