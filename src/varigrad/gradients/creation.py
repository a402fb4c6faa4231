"""Derivatives of making tensors out of others.

The gradient of a real value with respect to a complex number `a + ib` is `d/da + i d/db`.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tape import Gradient, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _zeros(x: Tensor) -> Tensor:
    return run_kernel("ZerosLike", (x,))


GRADIENTS: dict[str, Gradient] = {
    "Complex": Gradient(lambda dy: (run_kernel("Real", (dy,)), run_kernel("Imag", (dy,))), nothing),
    "Diag": Gradient(lambda dy: run_kernel("DiagPart", (dy,)), nothing),
    "DiagPart": Gradient(lambda dy: run_kernel("Diag", (dy,)), nothing),
    "Imag": Gradient(lambda dy: run_kernel("Complex", (_zeros(dy), dy)), nothing),
    "OnesLike": Gradient(_zeros, nothing),
    "Real": Gradient(lambda dy: run_kernel("Complex", (dy, _zeros(dy))), nothing),
    "ZerosLike": Gradient(_zeros, nothing),
}
