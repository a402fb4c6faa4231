"""Random functions of tensors: steps drawn from a table, each of values made before, with shapes that fit.

`python -m tests.native.random_graphs 10000` runs that many and says which differ from eager mode.
"""

import sys

import numpy as np

import varigrad as vg

SIDES = (1, 2, 3, 5, 8, 16, 17)


def _axes(random, x):
    return sorted(random.choice(x.rank, random.integers(1, x.rank + 1), replace=False).tolist()) if x.rank else []


def _same(random, values, x):
    """Another value that broadcasts with x, if there is one."""
    fitting = [v for v in values if v.dtype == x.dtype and _broadcast(v.shape, x.shape)]
    return fitting[random.integers(len(fitting))] if fitting else x


def _broadcast(a, b):
    return (
        all(m in (n, 1) or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False)) and max(len(a), len(b)) < 5
    )


def _reshaped(random, x, values):
    order = [n for n in x.shape if n != 1]
    place = random.integers(0, len(order) + 1)
    return x.reshape([*order[:place], 1, *order[place:]] if random.integers(2) or len(order) < 2 else [-1, order[-1]])


def _sliced(random, x, values):
    begin = [int(random.integers(0, n)) for n in x.shape]
    return x[tuple(slice(b, None, int(random.integers(1, 3))) for b in begin)]


def _multiplied(random, x, values):
    if x.rank < 2:
        return x * 2.0
    partners = [v for v in values if v.rank >= 2 and v.shape[-2] == x.shape[-1] and v.rank == 2]
    if partners:
        return vg.mat_mul(x, partners[random.integers(len(partners))]) * 0.3
    return vg.mat_mul(x, x, False, True) * 0.3


UNARY = ("tanh", "sigmoid", "relu", "neg", "square", "abs", "softplus", "elu", "sin", "erf", "exp_small", "sqrt_abs")


def _unary(random, x, values):
    name = UNARY[random.integers(len(UNARY))]
    if name == "exp_small":
        return vg.exp(vg.tanh(x))
    return vg.sqrt(vg.abs(x) + 1.0) if name == "sqrt_abs" else getattr(vg, name)(x)


BINARY = ("add", "sub", "mul", "maximum", "minimum", "squared_difference")


def _binary(random, x, values):
    return getattr(vg, BINARY[random.integers(len(BINARY))])(x, _same(random, values, x))


REDUCTIONS = ("sum", "mean", "max", "min")


def _reduced(random, x, values):
    return getattr(vg, REDUCTIONS[random.integers(len(REDUCTIONS))])(x, _axes(random, x), bool(random.integers(2)))


def _joined(random, x, values):
    return vg.concat([x, _unary(random, x, values)], int(random.integers(x.rank))) if x.rank else x + 1.0


STEPS = (
    *(_unary,) * 4,
    *(_binary,) * 6,
    *(_reduced,) * 4,
    _reshaped,
    _sliced,
    _multiplied,
    _joined,
    lambda random, x, values: x.transpose(random.permutation(x.rank).tolist()) if x.rank > 1 else x,
    lambda random, x, values: vg.softmax(x) if x.rank else x,
    lambda random, x, values: vg.where(x > 0.1, x, _same(random, values, x) if x.rank else 0.5) if x.rank else x,
    lambda random, x, values: vg.reverse(x, [int(random.integers(x.rank))]) if x.rank else x,
    lambda random, x, values: vg.pad(x, [[int(n) for n in random.integers(0, 3, 2)] for _ in x.shape]) if x.rank else x,
)


class RandomFunction:
    """The function of a seed: of three tensors, some of its values and their sum's gradients."""

    def __init__(self, seed):
        self.seed = seed
        random = np.random.default_rng(seed)
        rank = random.integers(1, 4)
        shape = random.choice(SIDES, rank)
        self.arguments = [
            random.normal(size=np.where(random.integers(0, 4, rank) == 0, 1, shape)).astype("f") for _ in range(3)
        ]
        self.with_gradients = bool(random.integers(2))

    def values(self, *tensors):
        random = np.random.default_rng(self.seed + 1)
        values = list(tensors)
        for _ in range(random.integers(3, 16)):
            x = values[random.integers(len(values))]
            made = STEPS[random.integers(len(STEPS))](random, x, values)
            if 0 < made.size < 20_000:
                values.append(made)
        count = random.integers(1, 4)
        return [values[at] for at in random.integers(0, len(values), count)] + [values[-1]]

    def __call__(self, *tensors):
        results = self.values(*tensors)
        if not self.with_gradients:
            return results

        def total(*xs):  # on which every argument has some influence
            return vg.add_n([vg.tanh(v).sum() for v in (*xs, *self.values(*xs))])

        return results, vg.grads(total)(list(tensors))


def main(count, first=0):
    from tests.native.conftest import Compiled, flat

    bad = 0
    for seed in range(first, first + count):
        function = RandomFunction(seed)
        xs = [vg.tensor(a) for a in function.arguments]
        try:
            expected = flat(function(*xs))
        except (ValueError, vg.VariGradError):
            continue  # what eager mode refuses
        try:
            for ours, right in zip(Compiled(function, *xs)(*xs), expected, strict=True):
                assert ours.dtype == right.dtype
                scale = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0)))
                np.testing.assert_allclose(ours, right, rtol=2e-4, atol=2e-5 * scale)
        except Exception as error:
            bad += 1
            print(seed, type(error).__name__, str(error)[:300].replace("\n", " "), flush=True)
    print(f"{count} graphs, {bad} differ")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
