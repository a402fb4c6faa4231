"""Random functions of tensors, compiled and as written.

    python -m tests.jit.random_graphs --graphs 10000 --seed 1 --executor native --threads all

Each is a list of steps that a seed decides: ops on earlier results (`random_steps.py` has them), assignments to
variables, random numbers, gradients of the whole, an optimizer's update. It is called several times, with other tensors
and another float each time; some get infinities, NaN and zeros of either sign.

`--threads all` has machine code share even the smallest pieces of work among threads; `one` shares nothing.

NumPy's executor must give the bits of eager mode, for which the one pass that changes how BLAS adds up is left out.
Machine code must agree as closely as sums in another order let it, in float64 so that no rounding decides which way a
comparison goes.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time

import numpy as np

import varigrad as vg
from varigrad.jit.passes import PASSES

from .random_steps import BINARY, ONE, TWO, UNARY, cut

CALLS = 3
SIZES = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 48, 64, 65, 70]
AWKWARD = [np.nan, np.inf, -np.inf, 0.0, -0.0]
OPTIMIZERS = [
    lambda: vg.train.sgd(0.1),
    lambda: vg.train.momentum(0.1, 0.9),
    lambda: vg.train.momentum(0.1, 0.9, True),
    lambda: vg.train.adagrad(0.1),
    lambda: vg.train.adadelta(0.1),
    lambda: vg.train.adam(0.01),
    lambda: vg.train.adamax(0.01),
    lambda: vg.train.rmsprop(0.01, momentum=0.5, centered=True),
]


class RandomFunction:
    """A function that a seed decides, with variables, a moving average and an optimizer of its own."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.draw = random.Random(seed)
        self.dtype = dtype
        self.sizes = [1, 2, *self.draw.sample(SIZES, 2)]
        self.is_awkward = self.draw.random() < 0.1
        self.shapes = [self._shape() for _ in range(self.draw.randint(1, 3))]
        numbers = np.random.default_rng(seed)
        self.variables = [
            vg.variable(vg.tensor(numbers.normal(size=self._shape()), dtype=dtype))
            for _ in range(self.draw.randint(0, 2))
        ]
        self.optimizer = self.draw.choice(OPTIMIZERS)()
        self.steps = [self.draw.randrange(2**30) for _ in range(self.draw.randint(1, 14))]
        self.mode = self.draw.choice(["value", "value", "gradients", "second", "training"])

    def _shape(self) -> list[int]:
        return [self.draw.choice(self.sizes) for _ in range(self.draw.randint(0, 3))]

    def arguments(self, call: int) -> list[object]:
        """The tensors of one call, and a float."""
        numbers = np.random.default_rng(1000 * call + len(self.steps))
        arrays = [np.asarray(numbers.normal(size=shape)) for shape in self.shapes]
        if self.is_awkward:
            for array in arrays:
                array[numbers.uniform(size=array.shape) < 0.1] = numbers.choice(AWKWARD)
        return [vg.tensor(array, dtype=self.dtype) for array in arrays] + [0.5 + call]

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
        kind = draw.choice(["unary"] * 4 + ["binary"] * 4 + ["one"] * 5 + ["two"] * 5 + ["number", "rare"])
        if kind == "binary" and broadcast(a.shape, b.shape):
            return cut(draw.choice(list(BINARY.values()))(a, b))
        if kind == "one":
            return cut(draw.choice(list(ONE.values()))(draw, a))
        if kind == "two":
            return cut(draw.choice(list(TWO.values()))(draw, a, b))
        if kind == "number":
            return a * (1 - number) + number / 2
        if kind == "rare":
            return self._rare(draw, a)
        return draw.choice(list(UNARY.values()))(a)

    def _rare(self, draw: random.Random, a):
        what = draw.choice(["dropout", "noise", "assign", "constant", "tidy"])
        if what == "dropout":
            return vg.dropout(a, 0.5)
        if what == "noise":
            return a + vg.random_uniform(a.shape, dtype=self.dtype)
        if what == "assign" and self.variables and self.mode == "value":
            variable = draw.choice(self.variables)
            before = variable * 1
            variable.assign(vg.tanh(variable) + vg.mean(a) * 0.1)
            return before
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


class Always:
    """In place of what measures whether threads pay: they always do."""

    second = True

    def note(self, second: bool, nanoseconds: int) -> None:
        pass


def share_everything(set_attribute=setattr) -> None:
    """Has machine code divide all its work among threads."""
    from varigrad.backends.native import kernels, program

    set_attribute(kernels, "_SHARED", 1)
    set_attribute(kernels, "_LEAST", 1)
    set_attribute(program, "Choice", Always)


def main() -> None:
    """Tries many, and lists those that disagree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executor", default="numpy")
    parser.add_argument("--threads", choices=["one", "usual", "all"], default="usual")
    options = parser.parse_args()
    if options.executor == "numpy":
        PASSES.pop("absorb_transposes")
    if options.threads == "one":
        os.environ["VARIGRAD_NUM_THREADS"] = "1"
    elif options.threads == "all":
        share_everything()
    np.seterr(all="ignore")
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
