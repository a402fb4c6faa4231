"""The steps that random functions are made of: tables of functions of a random choice, and of one or two tensors.

What they give stays near 1, so that rounding errors stay small; most have derivatives of any order. Results of
integers and booleans come back as floats.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

import varigrad as vg

Draw = random.Random
LARGEST = 30_000  # elements; larger results are cut

UNARY = {
    "tanh": vg.tanh,
    "sigmoid": vg.sigmoid,
    "relu": vg.relu,
    "neg": vg.neg,
    "square": lambda x: vg.tanh(x).square(),
    "abs": vg.abs,
    "exp": lambda x: vg.exp(vg.tanh(x)),
    "expm1": lambda x: vg.expm1(vg.tanh(x)),
    "log": lambda x: vg.log(x.abs() + 0.5),
    "log1p": lambda x: vg.log1p(x.abs()),
    "sqrt": lambda x: vg.sqrt(x.abs() + 0.25),
    "rsqrt": lambda x: vg.rsqrt(x.square() + 0.5),
    "softplus": vg.softplus,
    "leaky_relu": vg.leaky_relu,
    "elu": vg.elu,
    "selu": vg.selu,
    "gelu": vg.gelu,
    "relu6": vg.relu6,
    "log_sigmoid": vg.log_sigmoid,
    "erf": vg.erf,
    "sin": vg.sin,
    "cos": vg.cos,
    "atan": vg.atan,
    "asinh": vg.asinh,
    "clip": lambda x: vg.clip_by_value(x, -0.5, 0.75),
    "reciprocal": lambda x: vg.reciprocal(x.square() + 1),
    "identity": lambda x: x.clone(),
    "times one": lambda x: x * 1,
    "twice negative": lambda x: vg.neg(vg.neg(x)),
    "round trip": lambda x: x.reshape([-1]).reshape(x.shape),
    "sign": lambda x: vg.sign(x) * x,
    "moments": lambda x: (x - x.mean()) / vg.sqrt(vg.moments(x).variance + 0.1),
    "norm": lambda x: x / (vg.norm(x) + 1),
    "clip by norm": lambda x: vg.clip_by_norm(x, 1.0),
    "cube": lambda x: vg.tanh(x) ** 3,
    "finite": lambda x: vg.where(vg.is_finite(x), x, vg.zeros_like(x)),
    "through integers": lambda x: x + (x > 0.1).cast("int32").cast(x.dtype),
    "stopped": lambda x: vg.custom_grad(lambda y, save: (vg.tanh(y), lambda dy, saved: dy * 0.5))(x),
}
BINARY = {
    "add": vg.add,
    "sub": vg.sub,
    "mul": lambda a, b: vg.tanh(a) * b,
    "div": lambda a, b: a / (b.square() + 1),
    "div_no_nan": lambda a, b: vg.div_no_nan(a, vg.relu(b) + (b > 0).cast(b.dtype)),
    "maximum": vg.maximum,
    "minimum": vg.minimum,
    "squared_difference": lambda a, b: vg.squared_difference(vg.tanh(a), vg.tanh(b)),
    "where": lambda a, b: vg.where(a > b, a, b * 2),
    "where not": lambda a, b: vg.where(vg.logical_not(vg.less(a, b)), vg.tanh(b), a),
    "pow": lambda a, b: vg.pow(a.abs() + 0.5, vg.tanh(b)),
    "atan2": lambda a, b: vg.atan2(a, b.square() + 0.5),
    "prelu": lambda a, b: vg.prelu(a, vg.tanh(b)),
    "mod": lambda a, b: vg.mod(a, b.abs() + 1.5),
    "logical": lambda a, b: a * vg.logical_xor(a > 0.3, vg.logical_or(b > 0.1, a < -1)).cast(a.dtype),
}


def _sizes(x: vg.Tensor, rank: int) -> list[int]:
    """The shape of x brought to a rank: ones in front, or axes joined."""
    shape = list(x.shape)
    while len(shape) > rank:
        shape[:2] = [shape[0] * shape[1]]
    return [1] * (rank - len(shape)) + shape


def ranked(x: vg.Tensor, rank: int) -> vg.Tensor:
    """The same elements with as many axes."""
    return x.reshape(_sizes(x, rank))


def given(draw: Draw, like: vg.Tensor, *shape: int) -> vg.Tensor:
    """Numbers that are no argument, moved by another tensor, so that gradients pass through."""
    numbers = np.random.default_rng(draw.randrange(2**30)).normal(size=shape)
    return vg.tensor(numbers, dtype=like.dtype) + vg.tanh(like.mean())


def indices(draw: Draw, count: int, limit: int) -> vg.Tensor:
    """Integers below a limit, repeated ones too."""
    return vg.tensor([draw.randrange(limit) for _ in range(count)], dtype="int32")


def bins(x: vg.Tensor, count: int) -> vg.Tensor:
    """Integers below a count, made of numbers."""
    return vg.floor(vg.sigmoid(UNARY["finite"](x)) * (count * 0.999)).cast("int32")


def some_axes(draw: Draw, x: vg.Tensor) -> list[int]:
    return [axis - x.rank * draw.randint(0, 1) for axis in draw.sample(range(x.rank), draw.randint(1, x.rank))]


def reduction(draw: Draw, x: vg.Tensor) -> vg.Tensor:
    if not x.rank:
        return x.sum()
    axes, keep = some_axes(draw, x), draw.random() < 0.5
    return draw.choice(list(REDUCTIONS.values()))(x, axes, keep)


REDUCTIONS = {
    "sum": lambda x, axes, keep: x.sum(axes, keep) * 0.3,
    "mean": vg.mean,
    "max": vg.max,
    "min": vg.min,
    "prod": lambda x, axes, keep: vg.prod(1 + vg.tanh(x) * 0.1, axes, keep),
    "log_sum_exp": vg.log_sum_exp,
    "norm": lambda x, axes, keep: vg.sqrt(x.square().sum(axes, keep) + 0.1),
    "variance": lambda x, axes, keep: vg.moments(x, axes, keep).variance,
    "all": lambda x, axes, keep: vg.all(x > -1, axes, keep).cast(x.dtype),
    "any": lambda x, axes, keep: vg.any(x > 1, axes, keep).cast(x.dtype) + x.mean(),
    "how many": lambda x, axes, keep: (x > 0).cast("int32").sum(axes, keep).cast(x.dtype) * 0.1,
    "arg_max": lambda x, axes, keep: vg.arg_max(x, axes[0]).cast(x.dtype) * 0.1,
    "arg_min": lambda x, axes, keep: vg.arg_min(x, axes[0]).cast(x.dtype) * 0.1,
}


def product(draw: Draw, a: vg.Tensor, b: vg.Tensor) -> vg.Tensor:
    left, right = ranked(a, 2), ranked(b, 2)
    scale = 0.5 / max(left.shape) ** 0.5
    if left.shape[1] == right.shape[0]:
        return left.mat_mul(right) * scale
    if left.shape[1] == right.shape[1]:
        turned = draw.random() < 0.5
        return (left.mat_mul(right.transpose()) if turned else left.mat_mul(right, False, True)) * scale
    if left.shape[0] == right.shape[0]:
        return left.mat_mul(right, True, False) * scale
    return vg.mat_mul(left, left, True, False) * scale


def batches(draw: Draw, a: vg.Tensor, b: vg.Tensor) -> vg.Tensor:
    """Products of stacks of matrices, one of which may be shared, either transposed."""
    left = ranked(a, draw.choice([3, 4]))
    turn_left, turn_right, width = draw.random() < 0.5, draw.random() < 0.5, draw.choice([1, 3, 8, 17])
    inner = left.shape[-2 if turn_left else -1]
    matrix = [width, inner] if turn_right else [inner, width]
    front = draw.choice([[], [1], list(left.shape[:-2]), [2] if left.shape[-3] == 1 else []])
    return left.mat_mul(given(draw, b, *front, *matrix), turn_left, turn_right) * (0.5 / inner**0.5)


def einsum(draw: Draw, a: vg.Tensor, b: vg.Tensor) -> vg.Tensor:
    x, y = ranked(a, 3), ranked(b, 2)
    i, j, k = x.shape
    cases = [
        ("ijk,kl->ijl", given(draw, b, k, 3)),
        ("ijk,ikl->ijl", given(draw, b, i, k, 2)),
        ("ijk,ljk->il", given(draw, b, 4, j, k)),
        ("ijk,j->ki", given(draw, b, j)),
        ("ijk,ijk->j", given(draw, b, i, j, k)),
    ]
    equation, other = draw.choice(cases)
    result = vg.einsum(equation, x, other) * (0.5 / max(i, j, k) ** 0.5)
    return result if draw.random() < 0.7 else vg.einsum("ij->ji", y) * result.mean()


def shape(draw: Draw, x: vg.Tensor) -> vg.Tensor:
    if not x.rank:
        return vg.expand_dims(x, 0)
    axis = draw.randrange(x.rank)
    kinds = ["transpose", "first", "flat", "join axes", "expand", "squeeze", "tile", "broadcast"]
    kind = draw.choice(kinds)
    if kind == "transpose":
        return x.transpose(draw.sample(range(x.rank), x.rank))
    if kind == "first":
        return x[(slice(None),) * axis + (draw.randrange(x.shape[axis]),)]
    if kind == "flat":
        return x.reshape([-1])
    if kind == "join axes":
        return ranked(x, max(1, x.rank - 1))
    if kind == "expand":
        return vg.expand_dims(x, axis)
    if kind == "squeeze":
        return vg.squeeze(x)
    if kind == "tile":
        return vg.tile(x, [draw.randint(1, 2) for _ in x.shape])
    return vg.broadcast_to(x, [2, *x.shape]) * 0.5


def part(draw: Draw, x: vg.Tensor) -> vg.Tensor:
    """Slices with steps in either direction, padding, reversal, pieces joined again."""
    if not x.rank:
        return x
    axis = draw.randrange(x.rank)
    size = x.shape[axis]
    kind = draw.choice(["steps", "slice", "pad", "mirror", "reverse", "concat", "split", "stack", "roll", "none"])
    if kind == "steps":
        step = draw.choice([-3, -2, -1, 2, 3])
        return x[(slice(None),) * axis + (slice(None, None, step),)]
    if kind == "slice":
        begin = [draw.randrange(n) for n in x.shape]
        return vg.slice(x, begin, [draw.randint(1, n - at) for at, n in zip(begin, x.shape)])
    if kind == "pad":
        return vg.pad(x, [[draw.randint(0, 2), draw.randint(0, 2)] for _ in x.shape], draw.choice([0.0, 0.5]))
    if kind == "mirror":
        mode = draw.choice(["reflect", "symmetric"])
        return vg.mirror_pad(x, [[draw.randint(0, min(2, n - 1)), min(1, n - 1)] for n in x.shape], mode)
    if kind == "reverse":
        return vg.reverse(x, some_axes(draw, x))
    if kind == "concat":
        return vg.concat([x, vg.tanh(x), x * 0.5][: draw.randint(2, 3)], axis)
    if kind == "split":
        at = draw.randint(1, max(1, size - 1))
        pieces = vg.split(x, [at, size - at], axis) if size > 1 else [x]
        return vg.concat(pieces[::-1], axis)
    if kind == "stack":
        return vg.stack([vg.tanh(row) for row in vg.unstack(x, axis)[:5]], draw.randrange(x.rank))
    if kind == "roll":
        return vg.concat([x[1:], x[:1]], 0)
    return x[None, ..., None]


def choice(draw: Draw, a: vg.Tensor, b: vg.Tensor) -> vg.Tensor:
    """Elements by index, and numbers put in their places."""
    x = ranked(a, max(1, a.rank))
    axis = draw.randrange(x.rank)
    size = x.shape[axis]
    kind = draw.choice(["gather", "computed", "one_hot", "nd", "segments", "scatter", "topk", "bins", "take", "rows"])
    if kind == "gather":
        return vg.gather(x, indices(draw, draw.randint(1, 6), size), axis)
    if kind == "computed":
        return vg.gather(x, bins(b.reshape([-1])[:5], size), axis)
    if kind == "one_hot":
        return vg.one_hot(bins(x.reshape([-1])[:9], 7), 7, dtype=x.dtype) * x.mean()
    if kind == "nd":
        places = vg.tensor([[draw.randrange(n) for n in x.shape] for _ in range(3)], dtype="int32")
        return vg.gather_nd(x, places)
    if kind == "segments":
        return vg.unsorted_segment_sum(x, indices(draw, x.shape[0], 4), 4) * 0.5
    if kind == "scatter":
        flat = x.reshape([-1])[:6]
        return vg.scatter_nd(indices(draw, flat.shape[0], 9).reshape([-1, 1]), flat, [9])
    if kind == "topk":
        return vg.topk(x, draw.randint(1, x.shape[-1])).values
    if kind == "bins":
        return vg.bincount(bins(x.reshape([-1]), 6), vg.zeros([0]), 6).cast(x.dtype) * 0.05
    if kind == "take":
        return x[indices(draw, 4, x.shape[0])]
    return vg.tensor_scatter_update(x.reshape([-1]), [[draw.randrange(x.size)]], b.mean().reshape([1]))


def window(draw: Draw, a: vg.Tensor, b: vg.Tensor) -> vg.Tensor:
    """Convolutions and pooling over what is taken for pictures."""
    x = ranked(a, 3)
    x = x[:, :20, :20]
    x = vg.expand_dims(x, draw.choice([0, 3]))
    _, height, width, channels = x.shape
    size, stride, pad = draw.randint(1, 3), draw.randint(1, 3), draw.choice(["same", "same", "valid"])
    if min(height, width) < size:
        pad = "same"
    kind = draw.choice(["max", "avg", "conv2d", "conv2d", "dilated", "depthwise", "transposed", "conv1d", "resize"])
    if kind == "max":
        return vg.max_pool(x, size, stride, pad)
    if kind == "avg":
        return vg.avg_pool(x, size, stride, pad)
    channels = min(channels, 8)
    x = x[:, :, :, :channels]
    scale = 0.5 / (size * size * channels) ** 0.5
    out = draw.choice([1, 2, 5, 16])
    if kind == "conv2d":
        return vg.conv2d(x, given(draw, b, size, size, channels, out), stride, pad) * scale
    if kind == "dilated":
        return vg.conv2d(x, given(draw, b, size, size, channels, out), 1, "same", dilations=2) * scale
    if kind == "depthwise":
        return vg.depthwise_conv2d(x, given(draw, b, size, size, channels, 2), stride, pad) * scale
    if kind == "transposed":
        made = [x.shape[0], height * stride, width * stride, out]
        return vg.conv2d_transpose(x, given(draw, b, size, size, out, channels), made, stride, "same") * scale
    if kind == "conv1d":
        return vg.conv1d(x[:, :, 0], given(draw, b, size, channels, out), stride, "same") * scale
    return vg.image.resize_bilinear(x, [height + 1, width * 2], draw.random() < 0.3)


def along(draw: Draw, x: vg.Tensor) -> vg.Tensor:
    """Functions of whole rows."""
    if not x.rank:
        x = x.reshape([1])
    axis = draw.randrange(x.rank)
    kind = draw.choice(
        ["softmax", "log_softmax", "layer norm", "cumsum", "cumprod", "batch norm", "entropy", "sigmoid ce"]
    )
    if kind == "softmax":
        return vg.softmax(x, axis if axis == x.rank - 1 else -1)
    if kind == "log_softmax":
        return vg.log_softmax(x) * 0.1
    if kind == "layer norm":
        axes = list(range(axis, x.rank))
        mean, variance = vg.moments(x, axes, True)
        return (x - mean) * vg.rsqrt(variance + 1e-2) * 0.7 + 0.1
    if kind == "cumsum":
        return vg.cumsum(x, axis, draw.random() < 0.5, draw.random() < 0.5) * (1 / x.shape[axis])
    if kind == "cumprod":
        return vg.cumprod(1 + vg.tanh(x) * 0.1, axis, draw.random() < 0.5, draw.random() < 0.5)
    if kind == "batch norm":
        mean, variance = vg.moments(x, list(range(x.rank - 1)))
        return vg.batch_norm(x, mean, variance, mean * 0.1, variance + 1, 1e-2) if x.rank in (2, 3, 4) else x - mean
    logits = ranked(x, 2)
    if kind == "entropy":
        labels = vg.one_hot(indices(draw, *logits.shape), logits.shape[1], dtype=x.dtype)
        return vg.losses.softmax_cross_entropy(labels, logits, reduction="none")
    return vg.losses.sigmoid_cross_entropy((logits > 0.2).cast(x.dtype), logits)


def whole_numbers(draw: Draw, a: vg.Tensor, b: vg.Tensor) -> vg.Tensor:
    """Arithmetic of integers."""
    m, n = bins(a, 40) - 20, bins(b.mean(), 9) + 1
    cases: list[Callable[[], vg.Tensor]] = [
        lambda: m + n,
        lambda: m * n,
        lambda: m % n,
        lambda: m // n,
        lambda: -m,
        lambda: vg.maximum(m, n),
        lambda: vg.abs(m),
        lambda: vg.sign(m),
        lambda: vg.bitwise_and(m, n),
        lambda: vg.cumsum(m.reshape([-1])),
        lambda: m.sum(),
        lambda: vg.where(m > n, m, n),
        lambda: vg.equal(m, n).cast("int32"),
        lambda: vg.clip_by_value(m, -3, 5),
        lambda: m.square(),
        lambda: vg.prod(vg.sign(m)),
        lambda: vg.max(m) - vg.min(m),
    ]
    return draw.choice(cases)().cast(a.dtype) * 0.0213 + a.mean()  # which no comparison has the limit of


ONE = {"along": along, "shape": shape, "part": part, "reduction": reduction}
TWO = {
    "product": product,
    "batches": batches,
    "einsum": einsum,
    "choice": choice,
    "window": window,
    "whole numbers": whole_numbers,
}


def cut(x: vg.Tensor) -> vg.Tensor:
    """What is left of a large result."""
    while x.size > LARGEST:
        axis = max(range(x.rank), key=lambda at: x.shape[at])
        x = x[(slice(None),) * axis + (slice(0, (x.shape[axis] + 1) // 2),)]
    return x
