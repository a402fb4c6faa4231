"""Reductions, running sums, norms, counting and searching."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .draw import Array, Draw
from .elementwise import NO_COMPLEX, NUMBERS_OF_BOOLS
from .operation import Op, differs, empty, has, not_finite


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _along(kinds: str, special: float = 0.1, at_least: int = 0) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        x = d.array(d.shape(at_least=at_least), kinds, special)
        return x, d.axes(x.ndim), d.chance()

    return draw


def _as_number(x: Any) -> Any:
    return x.astype(np.int32) if x.dtype.kind == "b" else x


def _reduced(f: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of NumPy's, of bools as integers."""
    return lambda x, axis, keep: f(_as_number(x), axis=_axes(axis), keepdims=keep)


def _extreme(f: Callable[..., Any], floats: float, integers: int, bools: bool) -> Callable[..., Any]:
    """A maximum or minimum, with its value for nothing."""

    def reduce(x: Any, axis: Any, keep: bool) -> Any:
        initial = {"f": floats, "i": integers, "b": bools}[x.dtype.kind]
        return f(x, axis=_axes(axis), keepdims=keep, initial=initial)

    return reduce


_INT32 = np.iinfo(np.int32)


def _log_sum_exp(x: Any, axis: Any, keep: bool) -> Any:
    x = np.asarray(x, np.float64)
    highest = np.max(x, axis=_axes(axis), keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0)
    result = np.log(np.sum(np.exp(x - shift), axis=_axes(axis), keepdims=True)) + shift
    return result if keep else np.squeeze(result, _all_axes(x, axis))


def _all_axes(x: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, list) else (axis,)


def _moments(x: Any, axis: Any, keep: bool) -> Any:
    x = np.asarray(x, np.float64)
    return np.mean(x, axis=_axes(axis), keepdims=keep), np.var(x, axis=_axes(axis), keepdims=keep)


def _second_moment(x: Any, axis: Any, keep: bool) -> Any:
    x = np.abs(np.asarray(x, np.float64))
    reduced = {"axis": _axes(axis), "keepdims": keep}
    return np.mean(x, **reduced), np.mean(np.square(x), **reduced) + np.max(x, initial=0) ** 2


def _searched(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, at_least=1), "fib")
    return x, d.axis(x.ndim)


def _running(kinds: str) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        x = d.array(d.shape(1), kinds)
        return x, d.axis(x.ndim), d.chance(), d.chance()

    return draw


def _run(f: Callable[..., Any], first: int) -> Callable[..., Any]:
    def run(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
        x = _as_number(x)
        x = np.flip(x, axis) if reverse else x
        y = f(x, axis=axis)
        if exclusive:
            start = np.full_like(np.take(y, [0] if y.shape[axis] else [], axis), first)
            y = np.concatenate([start, np.delete(y, -1, axis) if y.shape[axis] else y], axis)
        return np.flip(y, axis) if reverse else y

    return run


# Norms


def _normed(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, 4, 1), "fi")
    axis = d.one_of(None, d.axis(x.ndim), "matrix" if x.ndim > 1 else None)
    if axis == "matrix":
        return x, d.one_of("euclidean", "fro", 1, np.inf, -np.inf), d.some_of(x.ndim, 2)[:2], d.chance()
    return x, d.one_of("euclidean", 2, 1, np.inf, -np.inf), axis, d.chance()


def _vectors(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1), "fi")
    return x, d.one_of(None, d.axis(x.ndim)), d.chance()


def _norm(x: Any, ord: Any, axis: Any, keep: bool) -> Any:
    x = np.asarray(x, np.float64)
    if isinstance(axis, list):
        return np.linalg.norm(x, "fro" if ord == "euclidean" else ord, tuple(axis), keep)
    if axis is None:
        result = np.linalg.norm(x.ravel(), 2 if ord == "euclidean" else ord)
        return result.reshape([1] * x.ndim) if keep else result
    return np.linalg.norm(x, 2 if ord == "euclidean" else ord, axis, keep)


def _euclidean(x: Any, axis: Any, keep: bool) -> Any:
    return np.sqrt(np.sum(np.square(np.abs(np.asarray(x, np.float64))), axis=_axes(axis), keepdims=keep))


def _clip_by_norm(x: Any, limit: float, axis: Any) -> Any:
    length = _euclidean(x, axis, True)
    return x * np.where(length > limit, limit / np.where(length > 0, length, 1), 1)


# Counting


def _ranked(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1), "fib")
    return x, d.integer(0, x.shape[-1]), True


def _topk(x: Any, k: int, _: bool) -> Any:
    keys = -x.astype(np.float64)
    indices = np.argsort(keys, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, indices, -1), indices


def _in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    indices = np.argsort(-predictions.astype(np.float64), axis=-1, kind="stable")[..., :k]
    return np.any(indices == targets[..., None], -1)


def _classified(d: Draw) -> tuple[Any, ...]:
    x = d.floats(d.shape(2, 3, 1))
    return x, d.integers(x.shape[:-1], 0, x.shape[-1] - 1), d.integer(1, x.shape[-1])


def _counted(low: int, high: int) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        shape = d.shape(low, high)
        x = d.integers(shape, 0, 6)
        return x, d.floats(shape) if d.chance() else np.zeros(0, np.float32), d.integer(0, 8)

    return draw


def _bincount(x: Any, weights: Any, size: int) -> Any:
    weights = np.ravel(weights) if np.size(weights) else np.ones(x.size)
    return np.bincount(x.ravel(), weights, size + 1)[:size].astype(np.float64) if x.size else np.zeros(size)


def _dense_bincount(x: Any, weights: Any, size: int, binary: bool) -> Any:
    rows = np.atleast_2d(x)
    each = [np.zeros(0)] * len(rows) if not np.size(weights) else np.atleast_2d(weights)
    counts = np.array([_bincount(row, w, size) for row, w in zip(rows, each)]).reshape(len(rows), size)
    if binary:
        counts = np.array([[float((row == n).any()) for n in range(size)] for row in rows]).reshape(len(rows), size)
    return counts.reshape(*x.shape[:-1], size)


def _confused(d: Draw) -> tuple[Any, ...]:
    shape = (d.length(),)
    return d.integers(shape, 0, 5), d.integers(shape, 0, 5), d.integer(1, 6)


def _confusion(labels: Any, predictions: Any, classes: int) -> Any:
    counts = np.zeros((classes, classes), np.int32)
    inside = (labels < classes) & (predictions < classes)
    np.add.at(counts, (labels[inside], predictions[inside]), 1)
    return counts


# Segments and sets


def _segmented(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1), "fi")
    return x, d.integers(x.shape[: d.integer(1, x.ndim)], -1, 4), d.integer(0, 5)


def _segment_sum(x: Any, ids: Any, count: int) -> Any:
    sums = np.zeros((count, *x.shape[ids.ndim :]), x.dtype)
    inside = (ids >= 0) & (ids < count)
    np.add.at(sums, ids[inside], x[inside])
    return sums


def _sought(d: Draw) -> tuple[Array, Array]:
    shape = d.shape(1, 3, 1)
    kind = d.one_of("f", "i")
    values = d.array((*shape[:-1], d.length(1)), kind)
    return np.sort(d.array(shape, kind), -1), values


def _search(side: Any) -> Callable[..., Any]:
    def search(sequence: Any, values: Any, *given: Any) -> Any:
        rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]))
        places = [np.searchsorted(s, v, (given or (side,))[0]) for s, v in rows]
        return np.array(places, np.int32).reshape(values.shape)

    return search


def _repeated(d: Draw) -> tuple[Any, ...]:
    shape = d.shape(1, 3)
    x = d.integers(shape, 0, 2) if d.chance(0.4) else np.rint(d.floats(shape)) if d.chance() else d.bools(shape)
    return x, d.axis(x.ndim)


def _unique(x: Any, axis: int) -> Any:
    slices = np.moveaxis(x, axis, 0)
    kept: list[int] = []
    numbers: list[int] = []
    for place, each in enumerate(slices):
        number = next((n for n, k in enumerate(kept) if (slices[k] == each).all()), len(kept))
        if number == len(kept):
            kept.append(place)
        numbers.append(number)
    return np.take(x, np.array(kept, np.int32), axis), np.array(numbers, np.int32)


def _two_sets(d: Draw) -> tuple[Any, ...]:
    kind = d.one_of("f", "i", "b")
    return tuple(np.rint(x) if x.dtype.kind == "f" else x for x in (d.array((d.length(),), kind) for _ in range(2)))


def _difference(x: Any, y: Any) -> Any:
    places = [place for place, value in enumerate(x) if value not in y]
    return x[places] if places else x[:0], np.array(places, np.int32)


_FROM_THE_BACK = differs(
    "TensorFlow.js loses the shape where an axis is counted from the back", lambda case: case.args[1] < 0
)
_NOTHING = differs("TensorFlow.js has no values to begin with, and returns what it happens to", empty)

_PROMISED = "only as a promise"
_FLOAT_SUMS = differs(
    "sums of integers are integers; TensorFlow.js makes floats of them", lambda case: case.args[0].dtype.kind == "i"
)
_KINK = differs(
    "ties share the gradient, and that of |x| is 0 at 0; in TensorFlow.js neither",
    lambda case: np.unique(np.abs(case.args[0])).size < case.args[0].size or not case.args[0].all(),
)
_ORDERED_AXES = differs(
    "TensorFlow.js takes the axes of a matrix in their order",
    lambda case: isinstance(case.args[2], list) and case.args[2][0] > case.args[2][1],
)
_INTEGER_NORM = differs("a norm is a fraction; TensorFlow.js leaves those of integers integers", has("i"))
_ROWS = differs("TensorFlow.js makes a matrix of all batches", lambda case: case.args[0].ndim != 2)

TABLE = [
    Op("sum", _along("fibc"), _reduced(np.sum), ulps=16, size="terms", gradients=(0,), differs=NO_COMPLEX),
    Op(
        "mean",
        _along("fib"),
        lambda x, axis, keep: np.mean(x, axis=_axes(axis), keepdims=keep, dtype=np.float64),
        ulps=16,
        size="terms",
        gradients=(0,),
        differs=_NOTHING,
    ),
    Op(
        "max",
        _along("fib"),
        _extreme(np.max, -np.inf, _INT32.min, False),
        gradients=(0,),
        gradient_differs=_KINK,
        differs=_NOTHING,
    ),
    Op(
        "min",
        _along("fib"),
        _extreme(np.min, np.inf, _INT32.max, True),
        gradients=(0,),
        gradient_differs=_KINK,
        differs=_NOTHING,
    ),
    Op("prod", _along("fib"), _reduced(np.prod), ulps=64),
    Op("all", _along("b"), lambda x, axis, keep: np.all(x, axis=_axes(axis), keepdims=keep), differs=_NOTHING),
    Op("any", _along("b"), lambda x, axis, keep: np.any(x, axis=_axes(axis), keepdims=keep)),
    Op("arg_max", _searched, lambda x, axis: np.argmax(x, axis)),
    Op("arg_min", _searched, lambda x, axis: np.argmin(x, axis)),
    Op(
        "log_sum_exp",
        _along("fib"),
        _log_sum_exp,
        ulps=16,
        size=lambda x, axis, keep: np.abs(_log_sum_exp(x, axis, keep)) + 1,
        gradients=(0,),
        differs=differs("the limit, where TensorFlow.js has NaN", lambda case: not_finite(case) or empty(case))
        + NUMBERS_OF_BOOLS,
    ),
    Op("moments", _along("fib", 0), _moments, ulps=32, size=_second_moment, differs=_NOTHING),
    Op(
        "cumsum",
        _running("fib"),
        _run(np.cumsum, 0),
        ulps=16,
        size="terms",
        gradients=(0,),
        differs=_FROM_THE_BACK,
        gradient_differs=differs(
            "TensorFlow.js swaps axes but the last", lambda case: case.args[1] != case.args[0].ndim - 1
        ),
    ),
    Op("cumprod", _running("fib"), _run(np.cumprod, 1), ulps=16, differs=_FROM_THE_BACK),
    Op("norm", _normed, _norm, ulps=16, gradients=(0,), differs=_INTEGER_NORM + _ORDERED_AXES, gradient_differs=_KINK),
    Op("linalg.norm", _normed, _norm, ulps=16, javascript="tf.norm, where vg.norm is compared"),
    Op(
        "euclidean_norm",
        _vectors,
        _euclidean,
        ulps=16,
        gradients=(0,),
        differs=_INTEGER_NORM,
        gradient_differs=differs(
            "the gradient of a norm of 0 is 0; TensorFlow.js has NaN", lambda case: not _euclidean(*case.args).all()
        ),
    ),
    Op("linalg.euclidean_norm", _vectors, _euclidean, ulps=16, javascript="tf.euclideanNorm, as above"),
    *[
        Op(
            name,
            lambda d: (x := d.floats(d.shape(1)), d.number(0, 4), d.one_of(None, d.axis(x.ndim))),
            _clip_by_norm,
            ulps=16,
            javascript="has none",
        )
        for name in ("clip_by_norm", "linalg.clip_by_norm")
    ],
    Op("topk", _ranked, _topk),
    Op("in_top_k", _classified, _in_top_k, javascript=_PROMISED),
    Op("in_top_k_async", _classified, _in_top_k),
    Op(
        "bincount",
        _counted(1, 1),
        _bincount,
        ulps=16,
        size=lambda x, weights, size: _bincount(x, np.abs(weights), size),
    ),
    Op(
        "dense_bincount",
        lambda d: (*_counted(1, 2)(d), d.chance()),
        _dense_bincount,
        ulps=16,
        size=lambda x, weights, size, binary: _dense_bincount(x, np.abs(weights), size, False),
        differs=differs(
            "what occurs is told by 1, not by its weight",
            lambda case: case.args[3] and (case.args[1].size > 0 or case.args[0].ndim == 1),
        ),
    ),
    Op(
        "math.confusion_matrix",
        _confused,
        _confusion,
        differs=differs("TensorFlow.js takes two classes or more", lambda case: case.args[2] == 1),
    ),
    Op(
        "unsorted_segment_sum",
        _segmented,
        _segment_sum,
        ulps=16,
        size="terms",
        gradients=(0,),
        differs=_FLOAT_SUMS
        + differs(
            "TensorFlow.js takes vectors of ids only, and makes one sum at least",
            lambda case: case.args[1].ndim > 1 or not case.args[2],
        ),
        gradient_differs=differs(
            "TensorFlow.js takes no number outside the sums",
            lambda case: bool(np.any((case.args[1] < 0) | (case.args[1] >= case.args[2]))),
        ),
    ),
    Op("search_sorted", lambda d: (*_sought(d), d.one_of("left", "right")), _search("left"), differs=_ROWS),
    Op("lower_bound", _sought, _search("left"), differs=_ROWS),
    Op("upper_bound", _sought, _search("right"), differs=_ROWS),
    Op("unique", _repeated, _unique),
    Op("setdiff1d", _two_sets, _difference, javascript=_PROMISED),
    Op("setdiff1d_async", _two_sets, _difference),
]
