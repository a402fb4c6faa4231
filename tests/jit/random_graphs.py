"""Random functions of tensors, compiled and as written.

    python -m tests.jit.random_graphs --graphs 10000 --seed 1 --executor numpy

Each is a list of steps that a seed decides: ops on earlier results, assignments to variables, random numbers, gradients
of the whole, an optimizer's update. It is called several times, with other tensors and another float each time.

NumPy's executor must give the bits of eager mode, for which the one pass that changes how BLAS adds up is left out.
Machine code must agree as closely as sums in another order let it, in float64 so that no rounding decides which way a
comparison goes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import numpy as np

import varigrad as vg
from varigrad.jit.passes import PASSES

CALLS = 3

UNARY = {
    "tanh": vg.tanh,
    "sigmoid": vg.sigmoid,
    "relu": vg.relu,
    "neg": vg.neg,
    "square": lambda x: vg.tanh(x).square(),
    "abs": vg.abs,
    "exp": lambda x: vg.exp(vg.tanh(x)),
    "log": lambda x: vg.log(x.abs() + 0.5),
    "sqrt": lambda x: vg.sqrt(x.abs() + 0.25),
    "softplus": vg.softplus,
    "leaky_relu": vg.leaky_relu,
    "elu": vg.elu,
    "erf": vg.erf,
    "sin": vg.sin,
    "clip": lambda x: vg.clip_by_value(x, -0.5, 0.75),
    "reciprocal": lambda x: vg.reciprocal(x.square() + 1),
    "identity": lambda x: x.clone(),
    "times one": lambda x: x * 1,
    "twice negative": lambda x: vg.neg(vg.neg(x)),
    "round trip": lambda x: x.reshape([-1]).reshape(x.shape),
    "cumsum": lambda x: x.reshape([-1]).cumsum(0).reshape(x.shape) * 0.1,
    "softmax": lambda x: vg.softmax(x.reshape([1, -1])).reshape(x.shape),
    "log_softmax": lambda x: vg.log_softmax(x.reshape([1, -1])).reshape(x.shape) * 0.1,
    "sign": lambda x: vg.sign(x) * x,
    "reverse": lambda x: vg.reverse(x) if x.rank else x,
    "through integers": lambda x: x + (x > 0.1).cast("int32").cast(x.dtype),
    "moments": lambda x: (x - x.mean()) / vg.sqrt(vg.moments(x).variance + 0.1),
}
BINARY = {
    "add": vg.add,
    "sub": vg.sub,
    "mul": lambda a, b: vg.tanh(a) * b,
    "div": lambda a, b: a / (b.square() + 1),
    "maximum": vg.maximum,
    "minimum": vg.minimum,
    "squared_difference": lambda a, b: vg.squared_difference(vg.tanh(a), vg.tanh(b)),
    "where": lambda a, b: vg.where(a > b, a, b * 2),
    "pow": lambda a, b: vg.pow(a.abs() + 0.5, vg.tanh(b)),
}
REDUCTIONS = {"sum": vg.sum, "mean": vg.mean, "max": vg.max, "min": vg.min}


class RandomFunction:
    """A function that a seed decides, with variables, a moving average and an optimizer of its own."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.draw = random.Random(seed)
        self.dtype = dtype
        self.shapes = [self._shape() for _ in range(self.draw.randint(1, 3))]
        numbers = np.random.default_rng(seed)
        self.variables = [
            vg.variable(vg.tensor(numbers.normal(size=self._shape()), dtype=dtype))
            for _ in range(self.draw.randint(0, 2))
        ]
        self.optimizer = self.draw.choice([vg.train.sgd(0.1), vg.train.adam(0.01), vg.train.momentum(0.1, 0.9)])
        self.steps = [self.draw.randrange(2**30) for _ in range(self.draw.randint(1, 14))]
        self.mode = self.draw.choice(["value", "value", "gradients", "second", "training"])

    def _shape(self) -> list[int]:
        return [self.draw.choice([1, 2, 3, 5]) for _ in range(self.draw.randint(0, 3))]

    def arguments(self, call: int) -> list[object]:
        """The tensors of one call, and a float."""
        numbers = np.random.default_rng(1000 * call + len(self.steps))
        return [vg.tensor(numbers.normal(size=shape), dtype=self.dtype) for shape in self.shapes] + [0.5 + call]

    def value(self, *arguments):
        """All results of all steps, as one list."""
        *xs, number = arguments
        values = [*xs, *self.variables]
        for seed in self.steps:
            values.append(self._step(random.Random(seed), values, number))
        return values[len(xs) :]

    def total(self, *arguments):
        """A scalar that depends on much of it."""
        values = self.value(*arguments)
        total = sum([v.mean() for v in values[1:]], values[0].mean())
        return total + sum([x.mean() for x in arguments[:-1]]) * 0.1

    def __call__(self, *arguments):
        *xs, number = arguments
        if self.mode == "gradients":
            return vg.value_and_grads(lambda *ys: self.total(*ys, number))(xs)
        if self.mode == "second":
            first = vg.grads(lambda *ys: self.total(*ys, number))
            return vg.grads(lambda *ys: sum([g.square().sum() for g in first(list(ys))] + [y.sum() for y in ys]))(xs)
        if self.mode == "training" and self.variables:
            value, grads = vg.variable_grads(lambda: self.total(*arguments), self.variables)
            self.optimizer.apply_gradients(vg.train.clip_by_global_norm(grads, 1.0))
            return value, grads
        return self.value(*arguments)

    def _step(self, draw: random.Random, values: list, number: float):
        a, b = draw.choice(values), draw.choice(values)
        kind = draw.choice(
            ["unary"] * 4 + ["binary"] * 4 + ["reduce"] * 2 + ["product", "shape", "number", "join"] + ["rare"]
        )
        if kind == "binary" and broadcast(a.shape, b.shape):
            return draw.choice(list(BINARY.values()))(a, b)
        if kind == "reduce" and a.rank:
            axes = draw.sample(range(a.rank), draw.randint(1, a.rank))
            return draw.choice(list(REDUCTIONS.values()))(a, axes, draw.random() < 0.5)
        if kind == "product":
            left, right = a.reshape([-1, a.shape[-1] if a.rank else 1]), b.reshape([-1, b.shape[-1] if b.rank else 1])
            if left.shape[1] == right.shape[0]:
                return left.mat_mul(right) * 0.3
            if left.shape[1] == right.shape[1]:
                return (
                    left.mat_mul(right.transpose()) if draw.random() < 0.5 else left.mat_mul(right, False, True)
                ) * 0.3
            return vg.mat_mul(left, left, True, False) * 0.1
        if kind == "shape" and a.rank:
            turned = a.transpose(draw.sample(range(a.rank), a.rank))
            return turned[(0,) * draw.randint(0, 1)] if turned.rank > 1 else turned
        if kind == "number":
            return a * (1 - number) + number / 2
        if kind == "join" and a.rank:
            return vg.concat([a, a * 2], draw.randrange(a.rank))
        if kind == "rare":
            return self._rare(draw, a)
        return draw.choice(list(UNARY.values()))(a)

    def _rare(self, draw: random.Random, a):
        what = draw.choice(["dropout", "noise", "assign", "pad", "constant", "tidy"])
        if what == "dropout":
            return vg.dropout(a, 0.5)
        if what == "noise":
            return a + vg.random_uniform(a.shape, dtype=self.dtype)
        if what == "assign" and self.variables and self.mode == "value":
            variable = draw.choice(self.variables)
            before = variable * 1
            variable.assign(vg.tanh(variable) + vg.mean(a) * 0.1)
            return before
        if what == "pad" and a.rank:
            return vg.pad(a, [[1, 0]] * a.rank)
        if what == "constant":
            return a + vg.linspace(0, 1, 3).sum().cast(self.dtype)
        return vg.tidy(lambda: vg.tanh(a) * vg.sigmoid(a))


def broadcast(a, b) -> bool:
    """Whether shapes broadcast."""
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def flat(result) -> list[np.ndarray]:
    """The arrays in a result."""
    if isinstance(result, vg.Tensor):
        return [result.numpy()]
    items = result.values() if isinstance(result, dict) else result
    return [array for item in items for array in flat(item)]


def run(seed: int, executor: str | None, dtype: str) -> list[list[np.ndarray]]:
    """What each call gives, and the variables in the end; as written if there is no executor."""
    function = RandomFunction(seed, dtype)
    called = function if executor is None else vg.jit(function, executor=executor)
    vg.set_random_seed(seed)
    found = [flat(called(*function.arguments(call))) for call in range(CALLS)]
    if executor is not None:
        assert called.compilations == 1, called.explain()
    return [*found, flat(function.variables)]


def compare(seed: int, executor: str) -> None:
    """Raises AssertionError where the executor does something else than eager mode."""
    dtype = "float64"
    if executor == "numpy":
        dtype = random.Random(seed).choice(["float32", "float32", "float64"])
    for right, found in zip(run(seed, None, dtype), run(seed, executor, dtype), strict=True):
        assert len(right) == len(found)
        scale = max([1.0, *[np.abs(a[np.isfinite(a)]).max(initial=1) for a in right]])
        for a, b in zip(right, found, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            if executor == "numpy":
                assert np.array_equal(a, b, equal_nan=True)
            else:
                assert np.allclose(a, b, rtol=1e-9, atol=1e-11 * scale, equal_nan=True)


def main() -> None:
    """Tries many, and lists those that disagree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executor", default="numpy")
    options = parser.parse_args()
    if options.executor == "numpy":
        PASSES.pop("absorb_transposes")
    failures: dict[str, list[int]] = {}
    started = time.perf_counter()
    for seed in range(options.seed, options.seed + options.graphs):
        try:
            compare(seed, options.executor)
        except Exception as error:
            failures.setdefault(f"{type(error).__name__}: {str(error)[:160]}", []).append(seed)
        vg.dispose_variables()
    print(
        f"{options.graphs} graphs in {time.perf_counter() - started:.0f} s, {sum(map(len, failures.values()))} failures"
    )
    for message, seeds in failures.items():
        print(f"{len(seeds):6}  {message}  (seeds {seeds[:8]})")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
