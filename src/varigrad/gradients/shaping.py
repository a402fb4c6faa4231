"""Derivatives of changes of shape and dtype."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import cast_to
from varigrad.tape import Gradient, input_dtypes, input_shapes, nothing

__all__ = ["GRADIENTS"]

GRADIENTS: dict[str, Gradient] = {
    "Cast": Gradient(lambda dy, x_dtype, dtype: cast_to(dy, x_dtype), input_dtypes),
    "Identity": Gradient(lambda dy: dy, nothing),
    "Reshape": Gradient(lambda dy, x, shape: run_kernel("Reshape", (dy,), {"shape": x}), input_shapes),
}
