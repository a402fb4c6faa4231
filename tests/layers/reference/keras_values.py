"""Prints what Keras 3 gives for cases, as an entry of `differences.json`: `python keras_values.py NAME…`.

For a case where TensorFlow.js is wrong or cannot run it. Takes Keras with any backend (KERAS_BACKEND).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from tests.layers.reference.cases_data import all_cases, case_of, input_values, weight_values


class Named:
    """A weight's shape and name, as `weight_values` wants it."""

    def __init__(self, weight: Any) -> None:
        self.shape = tuple(weight.shape)
        self.original_name = weight.name


def keras_layer(case: dict[str, Any]) -> Any:
    """The layer of a case, by its class's name without underscores."""
    import keras  # heavy, and needs a backend: only for this script

    classes = {name.lower(): value for name, value in vars(keras.layers).items() if isinstance(value, type)}
    return classes[case["layer"].replace("_", "")](**case.get("args", {}))


def outputs_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a case with one input."""
    layer = keras_layer(case)
    dtype = case["inputs"][0].get("dtype", "float32")
    x = input_values(case["inputs"][0], 0).astype(dtype)
    keywords = {"training": case["training"]} if "training" in case else {}
    if "mask" in case:
        keywords["mask"] = np.array(case["mask"], bool)
    layer(x)
    layer.set_weights(weight_values([Named(weight) for weight in layer.weights]))
    y = np.asarray(layer(x, **keywords))
    values = [float(f"{value:.8g}") for value in y.reshape(-1)]
    return [{"shape": list(y.shape), "dtype": str(y.dtype), "values": values}]


def main(names: list[str]) -> None:
    """Prints an entry for each of the cases."""
    for family, name in all_cases():
        if name in names:
            print(f"{json.dumps(name)}: {json.dumps({'outputs': outputs_of(case_of(family, name))})}")


if __name__ == "__main__":
    main(sys.argv[1:])
