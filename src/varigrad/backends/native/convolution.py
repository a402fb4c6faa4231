"""Lowering of convolutions: sums of products straight over the (padded) images, with no matrix of windows in between.

The gradient of the input is the convolution of dy, spread out by the strides, with the filter turned around; that of
the filter is a sum over all places. Depthwise convolutions are sums of shifted views. Where a filter has infinite
weights, the zeros around dy and between its numbers make NaN of some gradients that are infinite or 0 in eager mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product as every
from math import prod
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.contraction import Contraction
from varigrad.backends.native.contraction_plan import Inner, Row
from varigrad.backends.native.machine import lanes_of
from varigrad.backends.native.matmul import activated
from varigrad.backends.native.operations import Shape, View, dense
from varigrad.backends.native.packing import second_factor

__all__ = ["RULES", "padded", "places", "window_lengths"]

Pads = Sequence[tuple[int, int]]
_MOST_PLACES = 49  # of a depthwise window, which is written out


def window_lengths(lengths: Shape, window: Shape, strides: Shape, dilations: Shape, pads: Pads) -> Shape:
    """How many places a window takes along each axis."""
    axes = zip(lengths, window, strides, dilations, pads, strict=True)
    return tuple((n + before + after - (w - 1) * d - 1) // s + 1 for n, w, s, d, (before, after) in axes)


def padded(b: Builder, x: View, pads: Pads, value: float = 0.0) -> View:
    """Images with a constant around them, side by side in memory."""
    if not any(before or after for before, after in pads):
        return x if x.is_dense else b.copy(x)
    lengths = [n + before + after for n, (before, after) in zip(x.shape[1:-1], pads, strict=True)]
    before = [0, *[first for first, _ in pads], 0]
    return b.padded(x, before, (x.shape[0], *lengths, x.shape[-1]), value, [1] * len(x.shape))


def places(x: View, window: Shape, output: Shape, strides: Shape, dilations: Shape) -> list[tuple[Shape, View]]:
    """For each place in the window, what of the padded images comes under it, for all outputs at once."""
    found: list[tuple[Shape, View]] = []
    size = (x.shape[0], *output, x.shape[-1])
    for place in every(*map(range, window)):
        begin = [0, *[p * d for p, d in zip(place, dilations, strict=True)], 0]
        found.append((place, x.part(begin, size, [1, *strides, 1])))
    return found


def _windowed(b: Builder, x: View, filter: View, output: Shape, strides: Shape, dilations: Shape) -> View:
    """The products of padded images with the filter, `[*window, channels, filters]`, at every place."""
    *window, channels, filters = filter.shape
    steps = dense(x.shape)
    shape = (x.shape[0], *output, filters)
    result = dense(shape)
    rows = [Row(shape[0], steps[0], 0, result[0])]
    rows += [Row(n, s * step, 0, r) for n, s, step, r in zip(output, strides, steps[1:-1], result[1:-1], strict=True)]
    along = channels
    if dilations[-1] == 1:
        # A row of the window is one run of numbers in the images.
        row = filter.reshaped((*window[:-1], window[-1] * channels, filters))
        if row is not None:
            filter, along = row, window[-1] * channels
    weights, outer, down, strip = second_factor(b, filter, lanes_of(x.kind.size), often=True)
    inner = [Inner(w, d * step, f) for w, d, step, f in zip(window, dilations, steps[1:-1], outer, strict=False)]
    inner.append(Inner(along, 1, down))
    return _summed(b, x, weights, rows, inner, filters, shape, strip=strip)


def _summed(
    b: Builder,
    x: View,
    y: View,
    rows: Sequence[Row],
    inner: Sequence[Inner],
    n: int,
    shape: Shape,
    repeats: int = 0,
    strip: int = 0,
) -> View:
    code = Contraction.of(rows, inner, n, x.kind, lanes_of(x.kind.size), repeats, strip=strip)
    return b.routine(code, [x, y], shape, parts=code.parts)


def _conv(b: Builder, x: View, filter: View, strides: Shape, dilations: Shape, pads: Pads) -> View | None:
    if not x.kind.is_float:
        return None
    output = window_lengths(x.shape[1:-1], filter.shape[:-2], strides, dilations, pads)
    return _windowed(b, padded(b, x, pads), filter, output, strides, dilations)


def _backprop_input(
    b: Builder, dy: View, filter: View, input_shape: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    window = filter.shape[:-2]
    spread = _spread_out(b, dy, input_shape, tuple(window), strides, dilations, pads)
    if spread is None:
        return None
    axes = range(len(window))
    backwards = [w - 1 for w in window] + [0, 0]
    turned = filter.part(backwards, filter.shape, [-1] * len(window) + [1, 1])
    turned = turned.permuted([*axes, len(window) + 1, len(window)])
    ones = (1,) * len(window)
    return _windowed(b, spread, turned, tuple(input_shape[1:-1]), ones, dilations)


def _spread_out(
    b: Builder, dy: View, input_shape: Shape, window: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    """dy with its numbers as far apart as the strides, and zeros around; None where padding is wider than windows."""
    lengths = input_shape[1:-1]
    reach = [(w - 1) * d for w, d in zip(window, dilations, strict=True)]
    before = [r - first for r, (first, _) in zip(reach, pads, strict=True)]
    whole = [n + r for n, r in zip(lengths, reach, strict=True)]
    last = [p + (n - 1) * s for p, n, s in zip(before, dy.shape[1:-1], strides, strict=True)]
    if min(before) < 0 or any(at >= n for at, n in zip(last, whole, strict=True)):
        return None
    if not any(reach) and tuple(lengths) == dy.shape[1:-1]:
        return dy if dy.is_dense else b.copy(dy)
    return b.padded(dy, [0, *before, 0], (dy.shape[0], *whole, dy.shape[-1]), 0, [1, *strides, 1])


def _backprop_filter(
    b: Builder, x: View, dy: View, filter_shape: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    *window, channels, filters = filter_shape
    x = padded(b, x, pads)
    dy = dy if dy.is_dense else b.copy(dy)
    steps, of_dy, result = dense(x.shape), dense(dy.shape), dense(tuple(filter_shape))
    rows = [Row(w, d * s, 0, r) for w, d, s, r in zip(window, dilations, steps[1:-1], result, strict=False)]
    if dilations[-1] == 1:
        rows[-1] = Row(window[-1] * channels, 1, 0, filters)  # one run of numbers in the images
    else:
        rows.append(Row(channels, 1, 0, filters))
    along = rows[-1].size
    tile = next((size for size in (6, 5, 4) if along % size == 0 and along >= 4 * size), 0)
    if tile:
        # Tiles come first: there are enough of them to divide the work by.
        rows = [Row(along // tile, tile, 0, tile * filters), *rows[:-1], Row(tile, 1, 0, filters)]
    inner = [Inner(dy.shape[0], steps[0], of_dy[0])]
    inner += [
        Inner(n, s * step, f) for n, s, step, f in zip(dy.shape[1:-1], strides, steps[1:-1], of_dy[1:-1], strict=True)
    ]
    return _summed(b, x, dy, rows, inner, filters, tuple(filter_shape), repeats=1)


def _fused_conv(
    b: Builder, x: View, filter: View, bias: View | None = None, *, activation: str, **geometry: Any
) -> View | None:
    y = _conv(b, x, filter, **geometry)
    return None if y is None else activated(b, y, bias, activation)


def _depthwise(b: Builder, x: View, filter: View, strides: Shape, dilations: Shape, pads: Pads) -> View | None:
    *window, channels, multiplier = filter.shape
    if prod(window) > _MOST_PLACES or not x.kind.is_float:
        return None
    output = window_lengths(x.shape[1:-1], tuple(window), strides, dilations, pads)
    total: View | None = None
    for place, under in places(padded(b, x, pads), tuple(window), output, strides, dilations):
        weights = b.reshape(
            filter.part([*place, 0, 0], (*[1] * len(window), channels, multiplier)), (channels, multiplier)
        )
        term = b.map("Multiply", b.reshape(under, (*under.shape, 1)), weights)
        total = term if total is None else b.map("Add", total, term)
    assert total is not None
    return b.reshape(total, (x.shape[0], *output, channels * multiplier))


def _fused_depthwise(
    b: Builder, x: View, filter: View, bias: View | None = None, *, activation: str, **geometry: Any
) -> View | None:
    y = _depthwise(b, x, filter, **geometry)
    return None if y is None else activated(b, y, bias, activation)


def _depthwise_backprop_input(
    b: Builder, dy: View, filter: View, input_shape: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    *window, _, multiplier = filter.shape
    if prod(window) > _MOST_PLACES:
        return None
    if multiplier > 1:
        # Each of the filters of a channel by itself.
        each = b.reshape(dy, (*dy.shape[:-1], filter.shape[-2], multiplier))
        parts: list[View] = []
        for at in range(multiplier):
            one = each.part([*[0] * len(dy.shape), at], (*each.shape[:-1], 1))
            own = filter.part([*[0] * len(window), 0, at], (*filter.shape[:-1], 1))
            given = b.reshape(one, (*dy.shape[:-1], filter.shape[-2]))
            part = _depthwise_backprop_input(b, given, own, input_shape, strides, dilations, pads)
            if part is None:
                return None
            parts.append(part)
        return b.map("AddN", *parts)
    spread = _spread_out(b, dy, input_shape, tuple(window), strides, dilations, pads)
    if spread is None:
        return None
    backwards = [w - 1 for w in window] + [0, 0]
    turned = filter.part(backwards, filter.shape, [-1] * len(window) + [1, 1])
    return _depthwise(b, spread, turned, (1,) * len(window), dilations, [(0, 0)] * len(window))


def _depthwise_backprop_filter(
    b: Builder, x: View, dy: View, filter_shape: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    *window, channels, multiplier = filter_shape
    if prod(window) > _MOST_PLACES:
        return None
    output = dy.shape[1:-1]
    given = b.reshape(dy, (*dy.shape[:-1], channels, multiplier))
    sums: list[View] = []
    for _, under in places(padded(b, x, pads), tuple(window), output, strides, dilations):
        term = b.map("Multiply", b.reshape(under, (*under.shape, 1)), given)
        sums.append(b.reduce("sum", term, range(len(dy.shape) - 1)))
    return b.reshape(b.pack(sums), tuple(filter_shape))


RULES: dict[str, Callable[..., Any]] = {
    "Conv2D": _conv,
    "Conv2DBackpropFilter": _backprop_filter,
    "Conv2DBackpropInput": _backprop_input,
    "Conv3D": _conv,
    "Conv3DBackpropFilterV2": _backprop_filter,
    "Conv3DBackpropInputV2": _backprop_input,
    "DepthwiseConv2dNative": _depthwise,
    "DepthwiseConv2dNativeBackpropFilter": _depthwise_backprop_filter,
    "DepthwiseConv2dNativeBackpropInput": _depthwise_backprop_input,
    "FusedConv2D": _fused_conv,
    "FusedDepthwiseConv2D": _fused_depthwise,
}
