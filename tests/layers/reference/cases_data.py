"""The cases, what TensorFlow.js gives for them, and the numbers that both sides make alike."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import varigrad as vg

HERE = Path(__file__).parent
FAMILIES = sorted(path.stem for path in (HERE / "cases").glob("*.json"))


@cache
def table(kind: str, family: str) -> Any:
    return json.loads((HERE / kind / f"{family}.json").read_text(encoding="utf-8"))


def all_cases() -> list[tuple[str, str]]:
    return [(family, case["name"]) for family in FAMILIES for case in table("cases", family)]


def case_of(family: str, name: str) -> dict[str, Any]:
    return next(case for case in table("cases", family) if case["name"] == name)


@cache
def differences() -> dict[str, Any]:
    return json.loads((HERE / "differences.json").read_text(encoding="utf-8"))


def expected_of(family: str, name: str) -> dict[str, Any]:
    """What TensorFlow.js gives, except where `differences.json` has something better."""
    return table("expected", family)[name] | differences().get(name, {})


def make_layer(spec: dict[str, Any], name: str, **options: Any) -> Any:
    """A layer, and those inside it, named like those of reference.js."""
    arguments = {key: _argument(value, f"{name}_{key}") for key, value in spec.get("args", {}).items()}
    return getattr(vg.layers, spec["layer"])(**{"name": name, **arguments, **options})


def _argument(value: Any, owner: str) -> Any:
    if isinstance(value, dict):
        return make_layer(value, owner) if {"layer", "args"} <= value.keys() else value
    if isinstance(value, list):
        return [_argument(item, f"{owner}_{i}") for i, item in enumerate(value)]
    return value


def _fill(shape: Any, f: Any) -> Any:
    return f(np.arange(math.prod(shape), dtype=np.float64)).reshape(tuple(shape))


def input_values(spec: dict[str, Any], k: int) -> Any:
    if "values" in spec:
        return np.array(spec["values"], np.float64).reshape(spec["shape"])
    if spec.get("dtype") == "int32":
        return _fill(spec["shape"], lambda i: (7 * i + 3 * k) % spec.get("below", 5))
    return _fill(spec["shape"], lambda i: np.sin(1.7 * i + k + spec.get("shift", 0)))


def input_tensor(spec: dict[str, Any], k: int, dtype: str = "float32") -> Any:
    """The input; `dtype` is that of inputs which are floating-point."""
    given = spec.get("dtype", "float32")
    return vg.tensor(input_values(spec, k), dtype=dtype if given == "float32" else given)


def weight_values(weights: Any) -> list[Any]:
    values = [_fill(weight.shape, lambda i, k=k: np.sin(1.3 * i + k) / 2) for k, weight in enumerate(weights)]
    return [1 + v if w.original_name.endswith("variance") else v for v, w in zip(values, weights, strict=True)]


def coefficients(tensor: Any, k: int) -> Any:
    return vg.tensor(_fill(tensor.shape, lambda i: np.cos(0.7 * i + k + 1)), dtype=tensor.dtype)


class Run:
    """A case with its layer, made and built, and its inputs."""

    def __init__(self, family: str, name: str, dtype: str = "float32") -> None:
        self.case = case_of(family, name)
        options = {} if dtype == "float32" else {"dtype": dtype}
        self.layer = make_layer(self.case, name, **options)
        self.inputs = [input_tensor(spec, k, dtype) for k, spec in enumerate(self.case["inputs"])]
        self.keywords = {key: self._keyword(spec, dtype) for key, spec in self.case.get("keywords", {}).items()}
        if "training" in self.case:
            self.keywords["training"] = self.case["training"]
        self.mask = self._mask()
        if "mask" in self.case:
            self.keywords["mask"] = self.mask
        self.call(self.inputs)
        self.starting = weight_values(self.layer.weights)
        self.restart()

    def _keyword(self, spec: Any, dtype: str) -> Any:
        if isinstance(spec, list):
            return [input_tensor(one, 20 + i, dtype) for i, one in enumerate(spec)]
        return input_tensor(spec, 20, dtype)

    def _mask(self) -> Any:
        def one(mask: Any) -> Any:
            return None if mask is None else vg.tensor(np.array(mask, bool))

        mask = self.case.get("mask")
        several = len(self.case["inputs"]) > 1 or self.case.get("as_list")
        return [one(m) for m in mask] if several and mask is not None else one(mask)

    def one_or_list(self, items: list[Any]) -> Any:
        return items[0] if len(items) == 1 and not self.case.get("as_list") else items

    def restart(self) -> None:
        self.layer.set_weights(self.starting)
        if self.case.get("args", {}).get("stateful"):
            self.layer.reset_states()

    def call(self, inputs: list[Any]) -> list[Any]:
        result = None
        for _ in range(self.case.get("calls", 1)):
            result = self.layer(self.one_or_list(inputs), **self.keywords)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def loss(self, inputs: list[Any]) -> Any:
        total = vg.add_n([vg.sum(y * coefficients(y, k)) for k, y in enumerate(self.call(inputs))])
        for penalty in self.layer.calculate_losses():
            total = total + penalty
        return total

    def gradients(self) -> tuple[list[Any], list[Any]]:
        """Those of the inputs and of the trainable weights, as arrays; None where there is none."""
        self.restart()
        variables = [vg.variable(x) if x.dtype.startswith("float") else x for x in self.inputs]
        wanted = [x for x in variables if isinstance(x, vg.Variable)]
        weights = self.layer.trainable_weights
        if not wanted and not weights:
            return [None] * len(variables), []
        _, grads = vg.variable_grads(lambda: self.loss(variables), [*wanted, *weights])

        def found(x: Any) -> Any:
            gradient = grads.get(x.name) if isinstance(x, vg.Variable) else None
            return None if gradient is None else gradient.numpy()

        return [found(x) for x in variables], [found(w) for w in weights]
