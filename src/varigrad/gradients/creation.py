"""Derivatives of making tensors in the likeness of others."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tape import Gradient, nothing

__all__ = ["GRADIENTS"]

GRADIENTS: dict[str, Gradient] = {
    "OnesLike": Gradient(lambda dy: run_kernel("ZerosLike", (dy,)), nothing),
    "ZerosLike": Gradient(lambda dy: run_kernel("ZerosLike", (dy,)), nothing),
}
