"""Derivatives of pooling.

Average pooling and its gradient are linear, each the transpose of the other. So are the gradient of max pooling, which
puts each number where the window's largest value was, and the kernel that picks from there; who was largest does not
change with small changes of x.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from varigrad.engine import run_kernel
from varigrad.gradients.rules import no_slope
from varigrad.tape import Gradient, input_shapes, inputs, inputs_and_outputs, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _average(forward: str, backward: str) -> dict[str, Gradient]:
    def spread(dy: Tensor, input_shape: Any, count_padding: str, **attrs: Any) -> Tensor:
        counted = "never" if count_padding == "never" else "always"
        return run_kernel(backward, (dy,), {"input_shape": input_shape, "count_padding": counted, **attrs})

    return {
        forward: Gradient(spread, input_shapes),
        backward: Gradient(
            lambda ddx, input_shape, **attrs: run_kernel(forward, (ddx,), attrs),
            nothing,
        ),
    }


def _largest(forward: str, put: str, pick: str) -> dict[str, Gradient]:
    return {
        forward: Gradient(lambda dy, x, y, **attrs: run_kernel(put, (dy, x, y), attrs), inputs_and_outputs),
        put: Gradient(
            lambda ddx, dy, x, y, **attrs: (
                run_kernel(pick, (ddx, x, y), attrs),
                lambda: no_slope(x),
                lambda: no_slope(y),
            ),
            inputs,
        ),
        pick: Gradient(
            lambda dy, ddx, x, y, **attrs: (
                run_kernel(put, (dy, x, y), attrs),
                lambda: no_slope(x),
                lambda: no_slope(y),
            ),
            inputs,
        ),
    }


def _max_pool_with_argmax(dys: Any, x: Any, y: Any, indexes: Any, include_batch_in_index: bool, **attrs: Any) -> Any:
    return run_kernel("MaxPoolGrad", (dys[0], x, y), attrs)


GRADIENTS: dict[str, Gradient] = {
    **_average("AvgPool", "AvgPoolGrad"),
    **_average("AvgPool3D", "AvgPool3DGrad"),
    **_largest("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"),
    **_largest("MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad"),
    "MaxPoolWithArgmax": Gradient(_max_pool_with_argmax, inputs_and_outputs),
}
