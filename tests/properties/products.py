"""Products of matrices, and convolution."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from .draw import Array, Draw
from .operation import Case, Op, differs

# Matrices


def _matrices(d: Draw, kinds: str = "fi") -> tuple[Array, Array, bool, bool]:
    batch = d.shape(0, 2)
    rows, inner, columns = d.length(), d.length(), d.length()
    transpose_a, transpose_b = d.chance(0.3), d.chance(0.3)
    kind = d.one_of(*kinds)
    a = d.array((*batch, *((inner, rows) if transpose_a else (rows, inner))), kind)
    other = d.broadcasting(batch) if d.chance() else batch
    b = d.array((*other, *((columns, inner) if transpose_b else (inner, columns))), kind)
    return a, b, transpose_a, transpose_b


def _mat_mul(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return np.matmul(np.swapaxes(a, -1, -2) if transpose_a else a, np.swapaxes(b, -1, -2) if transpose_b else b)


def _with_vectors(d: Draw) -> tuple[Any, ...]:
    inner = d.length()
    a, b = [d.length()] * d.chance() + [inner], [inner] + [d.length()] * d.chance()
    return d.floats(a), d.floats(b)


_EQUATIONS = [
    "ij,jk->ik", "ij,kj->ik", "ij->ji", "ij->", "i,j->ij", "bij,bjk->bik", "bij,jk->bik", "ij,ij->i", "i,i->",
    "abc,cd->abd", "abc,abd->cd", "ijk->ik", "ij,j->i",
]  # fmt: skip


def _einstein(d: Draw) -> tuple[Any, ...]:
    equation = d.one_of(*_EQUATIONS)
    lengths = {letter: d.length(1) for letter in "abcdijk"}
    terms = equation.partition("->")[0].split(",")
    return equation, *(d.floats([lengths[letter] for letter in term]) for term in terms)


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "sigmoid": special.expit,
    "leakyrelu": lambda x: np.where(x > 0, x, 0.125 * x),
}


def _fused_matrices(d: Draw) -> Case:
    a, b, transpose_a, transpose_b = _matrices(d, "f")
    columns = b.shape[-2] if transpose_b else b.shape[-1]
    options: dict[str, Any] = {"a": a, "b": b, "transpose_a": transpose_a, "transpose_b": transpose_b}
    if d.chance() and columns:
        options["bias"] = d.floats([columns])
    return Case((), {**options, "activation": d.one_of(*_ACTIVATIONS), "leakyrelu_alpha": 0.125})


def _fused_mat_mul(activation: str, bias: Any = 0.0, leakyrelu_alpha: float = 0.0, **options: Any) -> Any:
    return _ACTIVATIONS[activation](_mat_mul(**options) + bias)


# Windows


def draw_window(d: Draw, axes: int, explicit: bool = True) -> tuple[list[int], list[int], Any, Any, list[int]]:
    """Lengths, the window's lengths, strides, pad and dilations that fit together."""
    window = [d.integer(1, 3) for _ in range(axes)]
    dilated = d.chance(0.25)
    dilations = [d.integer(1, 2) if dilated else 1 for _ in range(axes)]
    strides = [1] * axes if dilated else [d.integer(1, 3) for _ in range(axes)]
    pad: Any = d.one_of("same", "valid", d.integer(0, 1) if explicit else "valid")
    lengths = [(w - 1) * rate + 1 + d.integer(0, 4) for w, rate in zip(window, dilations)]
    return lengths, window, strides, pad, dilations


def _convolved(axes: int, depthwise: bool = False) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        lengths, window, strides, pad, dilations = draw_window(d, axes, explicit=axes < 3)
        channels, filters = d.integer(1, 3), d.integer(1, 3)
        x = d.floats([*[d.integer(1, 2)] * d.chance(0.8), *lengths, channels])
        filter = d.floats([*window, channels, filters])
        if axes == 1:
            return x, filter, strides[0], pad, "NWC", dilations[0]
        return x, filter, strides, pad, "NHWC" if axes == 2 else "NDHWC", dilations

    return draw


def _pads(pad: Any, lengths: Any, spans: Any, strides: Any) -> list[tuple[int, int]]:
    if pad != "same":
        return [(pad, pad) if isinstance(pad, int) else (0, 0)] * len(lengths)
    totals = [max(0, (-(-n // s) - 1) * s + span - n) for n, span, s in zip(lengths, spans, strides)]
    return [(total // 2, total - total // 2) for total in totals]


def windows(x: Any, window: Any, strides: Any, pad: Any, dilations: Any, fill: float) -> Any:
    """The windows over the axes between the first and the last: `[batch, *places, channels, *window]`."""
    axes = len(window)
    spans = [(w - 1) * rate + 1 for w, rate in zip(window, dilations)]
    margins = _pads(pad, x.shape[1:-1], spans, strides)
    x = np.pad(x, [(0, 0), *margins, (0, 0)], constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(1, axes + 1)))
    steps = tuple(slice(None, None, s) for s in strides)
    rates = tuple(slice(None, None, rate) for rate in dilations)
    return views[(slice(None), *steps, slice(None), *rates)]


def _convolve(depthwise: bool) -> Callable[..., Any]:
    def convolve(x: Any, filter: Any, strides: Any, pad: Any, _: str, dilations: Any) -> Any:
        axes = filter.ndim - 2
        strides, dilations = (n if isinstance(n, list) else [n] for n in (strides, dilations))
        batch = x if x.ndim == axes + 2 else x[None]
        views = windows(batch, filter.shape[:axes], strides, pad, dilations, 0.0)
        spatial = "xyz"[:axes]
        if depthwise:
            result = np.einsum(f"...c{spatial},{spatial}cm->...cm", views, filter)
            result = result.reshape(*result.shape[:-2], -1)
        else:
            result = np.einsum(f"...c{spatial},{spatial}cf->...f", views, filter)
        return result if x.ndim == axes + 2 else result[0]

    return convolve


_convolve_all, _convolve_each = _convolve(False), _convolve(True)


def _separated(d: Draw) -> tuple[Any, ...]:
    x, depthwise, strides, pad, _, dilations = _convolved(2)(d)
    pointwise = d.floats([1, 1, depthwise.shape[2] * depthwise.shape[3], d.integer(1, 3)])
    return x, depthwise, pointwise, strides, pad, dilations


def _separable(x: Any, depthwise: Any, pointwise: Any, strides: Any, pad: Any, dilations: Any) -> Any:
    return _convolve_each(x, depthwise, strides, pad, "", dilations) @ pointwise[0, 0]


def _transposed(axes: int) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        lengths, window, strides, pad, _ = draw_window(d, axes, explicit=False)
        spans = window
        pairs = _pads(pad, lengths, spans, strides)
        reduced = [(n + sum(pair) - w) // s + 1 for n, pair, w, s in zip(lengths, pairs, window, strides)]
        channels, filters = d.integer(1, 3), d.integer(1, 3)
        x = d.floats([2, *reduced, channels])
        return x, d.floats([*window, filters, channels]), [2, *lengths, filters], strides, pad

    return draw


def _convolve_transposed(x: Any, filter: Any, shape: Any, strides: Any, pad: Any) -> Any:
    axes = filter.ndim - 2
    pairs = _pads(pad, shape[1:-1], filter.shape[:axes], strides)
    result = np.zeros([shape[0], *(n + sum(pair) for n, pair in zip(shape[1:-1], pairs)), shape[-1]])
    for place in np.ndindex(*x.shape[1:-1]):
        spread = np.tensordot(x[(slice(None), *place)], filter, ([-1], [-1]))
        at = tuple(slice(p * s, p * s + w) for p, s, w in zip(place, strides, filter.shape))
        result[(slice(None), *at)] += spread
    return result[(slice(None), *(slice(before, before + n) for (before, _), n in zip(pairs, shape[1:-1])))]


def _dilated(d: Draw) -> tuple[Any, ...]:
    lengths, window, strides, pad, dilations = draw_window(d, 2, explicit=False)
    channels = d.integer(1, 3)
    x = d.floats([*[d.integer(1, 2)] * d.chance(0.8), *lengths, channels])
    return x, d.floats([*window, channels]), strides, pad, dilations, "NHWC"


def _dilate(x: Any, filter: Any, strides: Any, pad: Any, dilations: Any, _: str) -> Any:
    batch = x if x.ndim == 4 else x[None]
    views = windows(batch, filter.shape[:2], strides, pad, dilations, -np.inf)
    result = np.max(views + np.moveaxis(filter, -1, 0), axis=(-1, -2))
    return result if x.ndim == 4 else result[0]


def _fused_convolution(draw: Callable[[Draw], tuple[Any, ...]], depthwise: bool) -> Callable[[Draw], Case]:
    def fused(d: Draw) -> Case:
        x, filter, strides, pad, data_format, dilations = draw(d)
        options = {"x": x, "filter": filter, "strides": strides, "pad": pad, "data_format": data_format,
                   "dilations": dilations, "activation": d.one_of(*_ACTIVATIONS), "leakyrelu_alpha": 0.125}  # fmt: skip
        if d.chance():
            options["bias"] = d.floats([filter.shape[2] * filter.shape[3] if depthwise else filter.shape[3]])
        return Case((), options)

    return fused


def _fused(convolve: Callable[..., Any]) -> Callable[..., Any]:
    def fused(activation: str, bias: Any = 0.0, *, x: Any, filter: Any, **options: Any) -> Any:
        y = convolve(x, filter, options["strides"], options["pad"], "", options["dilations"])
        return _ACTIVATIONS[activation](y + bias)

    return fused


def _bound(f: Callable[..., Any]) -> Callable[..., Any]:
    """The size of the errors of a fused product: that of the product, and what the activation makes of it."""

    def size(activation: str, **options: Any) -> Any:
        absolute = {k: np.abs(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        return f(activation="linear", **absolute) + 1

    return size


def _lists(case: Case) -> list[Any]:
    """The numbers for each axis among the arguments: of windows, strides, dilations."""
    return [value for value in (*case.args, *case.options.values()) if isinstance(value, list)]


def _uneven(case: Case) -> bool:
    """Whether a margin is a number where the strides are not one number."""
    pad = case.options["pad"] if case.options else case.args[4 if len(case.arrays()) > 2 else 3]
    filters = [array.shape[:2] for array in case.arrays()[1:2]]
    return isinstance(pad, int) and (not _lists(case) or any(len(set(each)) > 1 for each in [*_lists(case), *filters]))


def _dilates(case: Case) -> bool:
    dilations = case.args[-1]
    return max(dilations if isinstance(dilations, list) else [dilations]) > 1


UNEVEN = differs("TensorFlow.js takes all axes for the first where pad is a number", _uneven)
NEGATIVE_MARGINS = differs(
    "TensorFlow.js cuts volumes off where strides are longer than windows, and forgets dilations",
    lambda case: any(isinstance(a, str) and a == "same" for a in case.args),
)
_BATCHES = differs(
    "TensorFlow.js broadcasts batches wrongly", lambda case: len({array.shape[:-2] for array in case.arrays()[:2]}) > 1
)
_DILATED = differs("TensorFlow.js has no gradient with dilations", _dilates)

_product = partial(Op, ulps=16, size="terms", gradients=(0, 1))
_convolution = partial(_product, differs=UNEVEN, gradient_differs=_DILATED)

TABLE = [
    _product("mat_mul", _matrices, _mat_mul, differs=_BATCHES),
    Op("matmul", _matrices, _mat_mul, ulps=16, size="terms", javascript="as mat_mul"),
    _product("dot", _with_vectors, np.dot),
    Op("outer_product", lambda d: (d.floats([d.length()]), d.floats([d.length()])), np.outer, gradients=(0, 1)),
    Op("einsum", _einstein, np.einsum, ulps=16, size="terms"),
    Op("fused.mat_mul", _fused_matrices, _fused_mat_mul, ulps=16, size=_bound(_fused_mat_mul), differs=_BATCHES),
    _convolution("conv1d", _convolved(1), _convolve_all),
    _convolution("conv2d", _convolved(2), _convolve_all),
    _convolution("conv3d", _convolved(3), _convolve_all, differs=NEGATIVE_MARGINS),
    _convolution("depthwise_conv2d", _convolved(2), _convolve_each),
    _convolution("separable_conv2d", _separated, _separable, ulps=32, gradients=(0, 1, 2)),
    _product("conv2d_transpose", _transposed(2), _convolve_transposed),
    Op("conv3d_transpose", _transposed(3), _convolve_transposed, ulps=16, size="terms", differs=NEGATIVE_MARGINS),
    Op("dilation2d", _dilated, _dilate, gradients=(0, 1)),
    Op(
        "fused.conv2d",
        _fused_convolution(_convolved(2), False),
        _fused(_convolve_all),
        ulps=16,
        size=_bound(_fused(_convolve_all)),
        differs=UNEVEN,
    ),
    Op(
        "fused.depthwise_conv2d",
        _fused_convolution(_convolved(2), True),
        _fused(_convolve_each),
        ulps=16,
        size=_bound(_fused(_convolve_each)),
        differs=UNEVEN,
    ),
]
