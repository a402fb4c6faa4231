"""Derivatives of the norm of many gradients and of scaling to it."""

from __future__ import annotations

from varigrad.autodiff import grads
from varigrad.ops.arguments import convert
from varigrad.ops.arithmetic import div, div_no_nan, maximum, mul
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient, inputs, inputs_and_outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _of_norm(dy: Tensor, *saved: Tensor) -> tuple[Tensor, ...]:
    *gradients, norm = saved
    share = div_no_nan(dy, norm)  # the norm has a kink at 0; nothing flows through it
    return tuple([mul(g, convert(share, "GlobalNorm", "dy", g.dtype)) for g in gradients])


def _of_scaling(dys: Tensor | tuple[Tensor, ...], *saved: Tensor) -> tuple[Tensor, ...]:
    *gradients, norm, limit = saved
    if isinstance(dys, Tensor):  # of a single gradient
        dys = (dys,)
    factor = _factor(norm, limit)
    products = [
        convert(sum_of(mul(dy, g)), "ScaleToNorm", "dy", norm.dtype) for dy, g in zip(dys, gradients, strict=True)
    ]
    total = products[0]
    for product in products[1:]:
        total = total + product
    scaled = [mul(dy, convert(factor, "ScaleToNorm", "norm", dy.dtype)) for dy in dys]
    return (*scaled, *grads(_factor)([norm, limit], total))


def _factor(norm: Tensor, limit: Tensor) -> Tensor:
    return div(limit, maximum(norm, limit))


GRADIENTS: dict[str, Gradient] = {
    "GlobalNorm": Gradient(_of_norm, inputs_and_outputs),
    "ScaleToNorm": Gradient(_of_scaling, inputs),
}
