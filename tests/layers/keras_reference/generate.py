"""Runs the cases in Keras 3, with JAX, and writes what it gives to expected.json.

python -m tests.layers.keras_reference.generate
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

os.environ["KERAS_BACKEND"] = "jax"

import jax
import jax.numpy as jnp
import keras

from ..reference.cases_data import input_values, weight_values

HERE = Path(__file__).parent
CLASSES = {name.lower(): value for name, value in vars(keras.layers).items() if isinstance(value, type)}


class Named:
    """A weight, as `weight_values` looks at it."""

    def __init__(self, weight: Any) -> None:
        self.original_name = weight.path
        self.shape = tuple(weight.shape)


def numbers(x: Any) -> list[float]:
    return [float(f"{value:.8g}") for value in np.asarray(x, np.float64).reshape(-1)]


def run(case: dict[str, Any]) -> dict[str, Any]:
    layer = CLASSES[case["layer"].replace("_", "")](name=case["name"], **case["args"])
    inputs = [jnp.asarray(input_values(spec, k), "float32") for k, spec in enumerate(case["inputs"])]

    def mask(rows: Any) -> Any:
        return None if rows is None else jnp.asarray(rows, bool)

    def positional(values: list[Any]) -> list[Any]:
        if case["layer"] == "multi_head_attention":
            return values
        return [values if len(values) > 1 else values[0]]

    keywords: dict[str, Any] = dict(case.get("arguments", {}))
    keywords |= {name: mask(case[name]) for name in ("mask", "attention_mask") if name in case}
    masks = [mask(rows) for rows in case.get("masks", [])]
    if case["layer"] == "multi_head_attention":
        keywords |= dict(zip(("query_mask", "value_mask", "key_mask"), masks))
    elif masks and case["layer"] != "add":
        keywords["mask"] = masks
    if "initial_state" in case:
        shapes = [{"shape": shape} for shape in case["initial_state"]]
        keywords["initial_state"] = [jnp.asarray(input_values(s, 20 + i), "float32") for i, s in enumerate(shapes)]
    layer(*positional(inputs), **keywords)
    layer.set_weights([np.asarray(v, np.float32) for v in weight_values([Named(w) for w in layer.weights])])
    weights = [w.value for w in layer.trainable_variables]
    others = [w.value for w in layer.non_trainable_variables]

    def outputs(values: list[Any], weights: list[Any]) -> list[Any]:
        result, _ = layer.stateless_call(weights, others, *positional(values), **keywords)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def loss(values: list[Any], weights: list[Any]) -> Any:
        total = 0.0
        for k, y in enumerate(outputs(values, weights)):
            total += jnp.sum(y * np.cos(0.7 * np.arange(y.size) + k + 1).reshape(y.shape))
        return total

    by_inputs, by_weights = jax.grad(loss, argnums=(0, 1))(inputs, weights)
    expected: dict[str, Any] = {
        "outputs": [{"shape": list(y.shape), "values": numbers(y)} for y in outputs(inputs, weights)],
        "weights": [{"name": w.path.split("/", 1)[1], "shape": list(w.shape)} for w in layer.weights],
        "gradients": [numbers(g) for g in [*by_inputs, *by_weights]],
    }
    if case["layer"] == "add":
        expected["mask"] = numbers(layer.compute_mask(inputs, masks))
    return expected


def main() -> None:
    cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    rows = [f"{json.dumps(case['name'])}: {json.dumps(run(case))}" for case in cases]
    (HERE / "expected.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
