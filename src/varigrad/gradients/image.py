"""Derivatives of operations on images that move pixels."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tape import Gradient, nothing

__all__ = ["GRADIENTS"]

GRADIENTS: dict[str, Gradient] = {
    "FlipLeftRight": Gradient(lambda dy: run_kernel("FlipLeftRight", (dy,)), nothing),
}
