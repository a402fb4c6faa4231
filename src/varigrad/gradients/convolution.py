"""Derivatives of convolutions.

A convolution is linear in its input and in its filter; so are its two derivatives in what they take. All three share
one sum over (input, filter, output) triples, so each derivative is again one of the three.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from varigrad.engine import Attrs, run_kernel
from varigrad.gradients.rules import no_slope
from varigrad.tape import Gradient, inputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS", "conv_gradients"]


def conv_gradients(forward: str, for_input: str, for_filter: str) -> dict[str, Gradient]:
    """The rules of a convolution kernel and of the two kernels that it is differentiated by."""

    def input_from(dy: Tensor, filter: Tensor, shape: tuple[int, ...], geometry: Attrs) -> Tensor:
        return run_kernel(for_input, (dy, filter), {"input_shape": shape, **geometry})

    def filter_from(x: Tensor, dy: Tensor, shape: tuple[int, ...], geometry: Attrs) -> Tensor:
        return run_kernel(for_filter, (x, dy), {"filter_shape": shape, **geometry})

    def output_from(x: Tensor, filter: Tensor, geometry: Attrs) -> Tensor:
        return run_kernel(forward, (x, filter), geometry)

    def of_output(dy: Tensor, x: Tensor, filter: Tensor, **geometry: Any) -> tuple[Any, ...]:
        return (
            lambda: input_from(dy, filter, x.shape, geometry),
            lambda: filter_from(x, dy, filter.shape, geometry),
        )

    def of_input(dx: Tensor, dy: Tensor, filter: Tensor, input_shape: Any, **geometry: Any) -> tuple[Any, ...]:
        return (
            lambda: output_from(dx, filter, geometry),
            lambda: filter_from(dx, dy, filter.shape, geometry),
        )

    def of_filter(dfilter: Tensor, x: Tensor, dy: Tensor, filter_shape: Any, **geometry: Any) -> tuple[Any, ...]:
        return (
            lambda: input_from(dy, dfilter, x.shape, geometry),
            lambda: output_from(x, dfilter, geometry),
        )

    return {
        forward: Gradient(of_output, inputs),
        for_input: Gradient(of_input, inputs),
        for_filter: Gradient(of_filter, inputs),
    }


def _dilation2d_input(x: Tensor, filter: Tensor, dy: Tensor, geometry: Attrs) -> Tensor:
    return run_kernel("Dilation2DBackpropInput", (x, filter, dy), geometry)


def _dilation2d_filter(x: Tensor, filter: Tensor, dy: Tensor, geometry: Attrs) -> Tensor:
    return run_kernel("Dilation2DBackpropFilter", (x, filter, dy), geometry)


def _dilation2d_tangent(x: Tensor, filter: Tensor, dx: Tensor, dfilter: Tensor, geometry: Attrs) -> Tensor:
    return run_kernel("Dilation2DTangent", (x, filter, dx, dfilter), geometry)


GRADIENTS: dict[str, Gradient] = {
    **conv_gradients("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    **conv_gradients("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    **conv_gradients(
        "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"
    ),
    # What follows is linear in all but x and filter, on which it depends by who is largest alone.
    "Dilation2D": Gradient(
        lambda dy, x, filter, **geometry: (
            lambda: _dilation2d_input(x, filter, dy, geometry),
            lambda: _dilation2d_filter(x, filter, dy, geometry),
        ),
        inputs,
    ),
    "Dilation2DBackpropInput": Gradient(
        lambda ddx, x, filter, dy, **geometry: (
            lambda: no_slope(x),
            lambda: no_slope(filter),
            lambda: _dilation2d_tangent(x, filter, ddx, no_slope(filter), geometry),
        ),
        inputs,
    ),
    "Dilation2DBackpropFilter": Gradient(
        lambda ddfilter, x, filter, dy, **geometry: (
            lambda: no_slope(x),
            lambda: no_slope(filter),
            lambda: _dilation2d_tangent(x, filter, no_slope(x), ddfilter, geometry),
        ),
        inputs,
    ),
    "Dilation2DTangent": Gradient(
        lambda dy, x, filter, dx, dfilter, **geometry: (
            lambda: no_slope(x),
            lambda: no_slope(filter),
            lambda: _dilation2d_input(x, filter, dy, geometry),
            lambda: _dilation2d_filter(x, filter, dy, geometry),
        ),
        inputs,
    ),
}
