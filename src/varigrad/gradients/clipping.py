"""Derivatives of the norm of many gradients and of scaling to it."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.autodiff import grads
from varigrad.ops.arguments import convert
from varigrad.ops.arithmetic import add_n, div, div_no_nan, maximum, mul
from varigrad.ops.joining import stack, unstack
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient, inputs, inputs_and_outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _of_norm(dy: Tensor, *saved: Tensor) -> tuple[Tensor, ...]:
    """Of one norm of all, or of a vector with the norm of each."""
    *gradients, norm = saved
    shares = _for_each(div_no_nan(dy, norm), gradients)  # a norm has a kink at 0; nothing flows through it
    return tuple([mul(g, share) for g, share in zip(gradients, shares, strict=True)])


def _of_scaling(dys: Tensor | tuple[Tensor, ...], *saved: Tensor) -> tuple[Tensor, ...]:
    *gradients, norm, limit = saved
    if isinstance(dys, Tensor):  # of a single gradient
        dys = (dys,)
    scaled = [mul(dy, factor) for dy, factor in zip(dys, _for_each(_factor(norm, limit), dys), strict=True)]
    products = [
        convert(sum_of(mul(dy, g)), "ScaleToNorm", "dy", norm.dtype) for dy, g in zip(dys, gradients, strict=True)
    ]
    return (*scaled, *grads(_factor)([norm, limit], stack(products) if norm.rank else add_n(products)))


def _for_each(numbers: Tensor, gradients: Sequence[Tensor]) -> list[Tensor]:
    """The number that belongs to each gradient, in the gradient's dtype: the one there is, or its own."""
    listed = unstack(numbers) if numbers.rank else [numbers] * len(gradients)
    return [convert(x, "ScaleToNorm", "norm", g.dtype) for x, g in zip(listed, gradients, strict=True)]


def _factor(norm: Tensor, limit: Tensor) -> Tensor:
    return div(limit, maximum(norm, limit))


GRADIENTS: dict[str, Gradient] = {
    "EachNorm": Gradient(_of_norm, inputs_and_outputs),
    "GlobalNorm": Gradient(_of_norm, inputs_and_outputs),
    "ScaleToNorm": Gradient(_of_scaling, inputs),
}
