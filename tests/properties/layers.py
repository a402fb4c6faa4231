"""Pooling, normalization and losses."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from .draw import Array, Draw
from .operation import Case, Op, differs
from .products import NEGATIVE_MARGINS, UNEVEN, draw_window, windows

# Pooling


def _pooled(axes: int, kinds: str) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        lengths, window, strides, pad, _ = draw_window(d, axes)
        batch = [d.integer(1, 2)] * d.chance(0.8)
        return d.array([*batch, *lengths, d.integer(1, 3)], kinds), window, strides, pad

    return draw


def _pool(axes: int, average: bool) -> Callable[..., Any]:
    def pool(x: Any, window: Any, strides: Any, pad: Any) -> Any:
        batch = (x if x.ndim == axes + 2 else x[None]).astype(np.float64)
        # NaN stands for what lies beyond the edge, which does not count.
        views = windows(batch, window, strides, pad, [1] * axes, np.nan)
        over = tuple(range(-axes, 0))
        result = np.nanmean(views, axis=over) if average else np.nanmax(views, axis=over)
        result = result if x.ndim == axes + 2 else result[0]
        return result.astype(np.int32) if x.dtype.kind == "i" else result

    return pool


def _beyond(case: Case) -> bool:
    """Whether a window may lie beyond the edge altogether, where there is no value."""
    return isinstance(case.args[3], int) and max(case.args[3] - w + 1 for w in case.args[1]) > 0


def _some_inside(draw: Callable[[Draw], tuple[Any, ...]]) -> Callable[[Draw], tuple[Any, ...]]:
    def inside(d: Draw) -> tuple[Any, ...]:
        x, window, strides, pad = draw(d)
        return x, window, strides, min(pad, *(w - 1 for w in window)) if isinstance(pad, int) else pad

    return inside


def _any_pool(d: Draw) -> tuple[Any, ...]:
    x, window, strides, pad = _some_inside(_pooled(2, "f"))(d)
    return x, window, d.one_of("max", "avg"), pad, [1, 1], strides


# Normalization


def _softmax(x: Any, axis: int) -> Any:
    return special.softmax(x, axis) if x.size else x


def _log_softmax(x: Any, axis: int) -> Any:
    return special.log_softmax(np.asarray(x, np.float64), axis) if x.size else np.asarray(x, np.float64)


def _with_last_axis(d: Draw) -> tuple[Any, ...]:
    x = d.floats(d.shape(1, 4, 1), -20, 20)
    return x, d.axis(x.ndim) if d.chance() else -1


def _normalized(rank: int | None) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        x = d.floats(d.shape(2, 4, 1) if rank is None else d.shape(rank, rank, 1))
        shape = x.shape if d.chance(0.3) else x.shape[-1:]
        mean, offset, scale = (d.floats(shape) for _ in range(3))
        return x, mean, d.floats(shape, 0, 4), offset if d.chance() else None, scale if d.chance() else None, 0.125

    return draw


def _batch_norm(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float) -> Any:
    y = (x - mean) / np.sqrt(variance + epsilon) * (1 if scale is None else scale)
    return y + (0 if offset is None else offset)


def _batch_norm_size(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float) -> Any:
    parts = [None if a is None else np.abs(a) for a in (x, -mean, offset, scale)]
    return _batch_norm(parts[0], -np.abs(mean), variance, parts[2], parts[3], epsilon)


def _responding(d: Draw) -> tuple[Any, ...]:
    return d.floats(d.shape(3, 4, 1)), d.integer(0, 3), d.number(1, 2), d.number(0, 2), d.one_of(0.5, 0.75, 1.0)


def _local_response(x: Any, radius: int, bias: float, alpha: float, beta: float) -> Any:
    channels = x.shape[-1]
    near = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels))) <= radius
    return x / (bias + alpha * (np.square(x) @ near)) ** beta


# Losses


_REDUCTIONS = ("none", "sum", "mean", "sum_by_nonzero_weights")


def _weights(d: Draw, shape: tuple[int, ...]) -> Any:
    if d.chance(0.4):
        return None
    weights = d.floats(d.broadcasting(shape) if d.chance() else shape, 0, 2)
    return np.asarray(weights * d.bools(weights.shape, 0.8), np.float32)


def _compared(d: Draw, low: float, high: float, at_least: int = 0) -> tuple[Array, Array, Any]:
    shape = d.shape(at_least, 3, 1)
    return np.rint(d.floats(shape, 0, 1)), d.floats(shape, low, high), shape


def _lost(low: float = -3, high: float = 3, *between: float) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        labels, predictions, shape = _compared(d, low, high)
        return labels, predictions, _weights(d, shape), *between, d.one_of(*_REDUCTIONS)

    return draw


def _reduce(losses: Any, weights: Any, reduction: Any) -> Any:
    weighted = losses if weights is None else np.where(weights == 0, 0, losses * weights)
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return np.sum(weighted)
    spread = np.broadcast_to(1.0 if weights is None else weights, weighted.shape)
    share = np.sum(spread) if reduction == "mean" else np.count_nonzero(spread)
    return np.sum(weighted) / share if share else np.zeros(())


def _loss(f: Callable[..., Any]) -> Callable[..., Any]:
    """A loss from what it is for one element."""
    return lambda labels, predictions, weights, *rest: _reduce(f(labels, predictions, *rest[:-1]), weights, rest[-1])


def _huber(labels: Any, predictions: Any, delta: float) -> Any:
    error = np.abs(labels - predictions)
    return np.where(error <= delta, error**2 / 2, delta * (error - delta / 2))


def _log_loss(labels: Any, p: Any, epsilon: float) -> Any:
    return -labels * np.log(p + epsilon) - (1 - labels) * np.log(1 - p + epsilon)


def _sigmoid_cross_entropy(labels: Any, logits: Any, smoothing: float) -> Any:
    labels = labels * (1 - smoothing) + 0.5 * smoothing
    return np.logaddexp(0, logits) - labels * logits


def _softmax_cross_entropy(labels: Any, logits: Any, smoothing: float) -> Any:
    labels = labels * (1 - smoothing) + smoothing / labels.shape[-1]
    return -np.sum(labels * special.log_softmax(logits, -1), -1)


def _rows(between: Callable[[Draw, int], tuple[Any, ...]], keep: bool) -> Callable[[Draw], tuple[Any, ...]]:
    """Labels and predictions of which an axis is summed."""

    def draw(d: Draw) -> tuple[Any, ...]:
        labels, predictions, shape = _compared(d, -3, 3, 1)
        extra = between(d, len(shape))
        weights = _weights(d, (*shape[:-1], 1) if keep else shape[:-1])
        reduction = d.one_of(*_REDUCTIONS)
        # The axis of cosine_distance comes before the weights.
        given = (*extra, weights) if keep else (weights, *extra)
        return labels, predictions, *given, reduction

    return draw


def _cosine(labels: Any, predictions: Any, axis: int, weights: Any, reduction: str) -> Any:
    return _reduce(1 - np.sum(labels * predictions, axis, keepdims=True), weights, reduction)


def _loss_size(*args: Any) -> Any:
    """What the errors of a loss are measured by: the largest loss there can be of such arguments."""
    arrays = [np.abs(a) for a in args[:2]]
    return 1 + sum(np.max(a, initial=0) for a in arrays) * (1 + max(np.size(arrays[0]), 1)) * 3


_REFUSED_NORMS = differs(
    "TensorFlow.js takes the last axis only", lambda case: case.args[1] not in (-1, case.args[0].ndim - 1)
)
_KINK = differs(
    "the slope at 0 is 0, in TensorFlow.js that of negative numbers",
    lambda case: bool(np.any(case.args[0] == case.args[1])),
)
_TIED = differs(
    "the first of equal values takes the gradient, in TensorFlow.js the last",
    lambda case: np.unique(case.args[0]).size < case.args[0].size,
)
_LONG_STRIDES = differs(
    "TensorFlow.js loses windows in the gradient where strides are longer than they",
    lambda case: any(s > w for s, w in zip(case.args[2], case.args[1])),
)
_WHOLE_WINDOW = differs(
    "what is not counted is no part of the gradient either; TensorFlow.js divides it by the whole window",
    lambda case: case.args[3] != "valid",
)
_ONE_A_CHANNEL = differs(
    "TensorFlow.js has it for all four parameters only, of one value a channel",
    lambda case: any(a is None or a.ndim != 1 for a in case.args[1:5]),
)
_TWO_AXES = differs(
    "TensorFlow.js takes no single row, and counts the classes on the second axis", lambda case: case.args[0].ndim != 2
)
_ALL_WEIGHTS_ZERO = differs(
    "the mean is 0 where all weights are; TensorFlow.js has NaN",
    lambda case: any(isinstance(a, np.ndarray) and not a.any() for a in case.args[1:4]),
)

_lossy = partial(Op, ulps=16, size=_loss_size, gradients=(0, 1), differs=_ALL_WEIGHTS_ZERO)

TABLE = [
    Op(
        "max_pool",
        _some_inside(_pooled(2, "f")),
        _pool(2, False),
        gradients=(0,),
        gradient_differs=_TIED,
        differs=UNEVEN,
    ),
    Op(
        "avg_pool",
        _some_inside(_pooled(2, "f")),
        _pool(2, True),
        ulps=16,
        size=lambda x, *_: np.max(np.abs(x)),
        gradients=(0,),
        gradient_differs=_WHOLE_WINDOW,
        differs=UNEVEN,
    ),
    Op("max_pool3d", _some_inside(_pooled(3, "f")), _pool(3, False), differs=NEGATIVE_MARGINS),
    Op(
        "avg_pool3d",
        _some_inside(_pooled(3, "f")),
        _pool(3, True),
        ulps=16,
        size=lambda x, *_: np.max(np.abs(x)),
        gradients=(0,),
        gradient_differs=_WHOLE_WINDOW + _LONG_STRIDES,
        differs=UNEVEN + NEGATIVE_MARGINS,
    ),
    Op(
        "pool",
        _any_pool,
        lambda x, window, kind, pad, _, strides: _pool(2, kind == "avg")(x, window, strides, pad),
        ulps=16,
        size=lambda x, *_: np.max(np.abs(x)),
        gradients=(0,),
        gradient_differs=_TIED + _WHOLE_WINDOW,
        differs=UNEVEN,
    ),
    Op(
        "max_pool_with_argmax",
        lambda d: (
            d.floats([d.integer(1, 2), d.integer(3, 6), d.integer(3, 6), d.integer(1, 2)]),
            [d.integer(1, 3), d.integer(1, 3)],
            d.integer(1, 2),
            d.one_of("same", "valid"),
            d.chance(),
        ),
    ),
    Op("softmax", _with_last_axis, _softmax, ulps=64, gradients=(0,), differs=_REFUSED_NORMS),
    Op(
        "log_softmax",
        _with_last_axis,
        _log_softmax,
        ulps=16,
        size=lambda x, axis: np.abs(x).max(initial=0) + 1,
        gradients=(0,),
        differs=_REFUSED_NORMS,
    ),
    *[
        Op(
            name,
            _normalized(rank),
            _batch_norm,
            ulps=16,
            size=_batch_norm_size,
            gradients=(0, 1, 2, 3, 4),
            gradient_differs=_ONE_A_CHANNEL,
        )
        for name, rank in (("batch_norm", None), ("batch_norm2d", 2), ("batch_norm3d", 3), ("batch_norm4d", 4))
    ],
    Op("local_response_normalization", _responding, _local_response, ulps=32, gradients=(0,)),
    _lossy("losses.absolute_difference", _lost(), _loss(lambda a, b: np.abs(a - b)), gradient_differs=_KINK),
    _lossy("losses.mean_squared_error", _lost(), _loss(lambda a, b: np.square(a - b))),
    _lossy("losses.hinge_loss", _lost(), _loss(lambda a, b: np.maximum(0, 1 - (2 * a - 1) * b))),
    _lossy("losses.huber_loss", _lost(-3, 3, 1.5), _loss(_huber)),
    _lossy("losses.log_loss", _lost(0.125, 0.875, 0.0078125), _loss(_log_loss)),
    _lossy("losses.sigmoid_cross_entropy", _lost(-20, 20, 0.125), _loss(_sigmoid_cross_entropy), gradients=(1,)),
    _lossy(
        "losses.softmax_cross_entropy",
        _rows(lambda d, rank: (0.125,), keep=False),
        _loss(_softmax_cross_entropy),
        gradients=(),
        differs=_TWO_AXES + _ALL_WEIGHTS_ZERO,
    ),
    _lossy(
        "losses.cosine_distance",
        _rows(lambda d, rank: (rank - 1,), keep=True),
        _cosine,
        size=lambda a, b, *rest: 1 + _loss_size(a, b),
    ),
    Op(
        "losses.compute_weighted_loss",
        lambda d: (x := d.floats(d.shape(0, 3, 1)), _weights(d, x.shape), d.one_of(*_REDUCTIONS)),
        _reduce,
        ulps=16,
        size=lambda losses, weights, reduction: np.sum(np.abs(losses)) * 2,
        gradients=(0,),
        gradient_differs=differs(
            "TensorFlow.js has none of the losses themselves", lambda case: case.args[2] == "none"
        ),
        differs=_ALL_WEIGHTS_ZERO,
    ),
]
