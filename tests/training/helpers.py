"""What the tests of training share: models and arrays as TensorFlow.js stored them."""

import json
from pathlib import Path

import numpy as np

import varigrad as vg

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
