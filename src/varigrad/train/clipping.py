"""Clipping of gradients: each number, each gradient by its norm, or all by the norm of all of them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from varigrad.dtypes import kind_of
from varigrad.engine import make_tensor, run_kernel, run_kernel_multi
from varigrad.ops.arguments import convert
from varigrad.ops.elementwise import clip_by_value as clip_tensor_by_value
from varigrad.ops.options import number
from varigrad.tensor import Tensor

__all__ = [
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "global_norm",
]


def clip_by_value(gradients: Mapping[str, Any], low: float, high: float) -> dict[str, Any]:
    """Clips each number in a dict of gradients to [low, high]; None stays None and NaN stays NaN.

    Args:
        gradients: Gradients by name, of any shapes.
        low: The least value.
        high: The greatest; `clip_by_value(grads, -1, 1)`.

    Raises:
        ValueError: `low` exceeds `high`.

    >>> import varigrad as vg
    >>> vg.train.clip_by_value({"w": vg.tensor([-3.0, 0.5]), "b": None}, -1, 1)
    {'w': Tensor([-1. , 0.5], shape=[2], dtype=float32), 'b': None}
    """
    low, high = number("train.clip_by_value", "low", low), number("train.clip_by_value", "high", high)
    if low > high:
        raise ValueError(f"train.clip_by_value: low {low} exceeds high {high}")
    return _over_dict("clip_by_value", gradients, lambda tensors: clip_all_by_value(tensors, low, high))


def clip_by_norm(gradients: Mapping[str, Any], clip_norm: float) -> dict[str, Any]:
    """Scales each gradient whose Euclidean norm exceeds `clip_norm` down to it, each by itself.

    A gradient of zeros stays as it is; one that holds an infinity or NaN becomes NaN. Not to be confused with
    `clip_by_global_norm`, which keeps the direction of all gradients together.

    >>> import varigrad as vg
    >>> vg.train.clip_by_norm({"a": vg.tensor([3.0, 4.0]), "b": vg.tensor([12.0])}, 1)["b"].tolist()
    [1.0]
    """
    _check_limit("clip_by_norm", clip_norm)
    return _over_dict("clip_by_norm", gradients, lambda tensors: clip_all_by_norm(tensors, clip_norm))


def clip_by_global_norm(gradients: Mapping[str, Any], clip_norm: float) -> dict[str, Any]:
    """Scales all gradients by one factor so that their common norm is at most `clip_norm`.

    `global_norm` gives that norm. Source: Pascanu et al., arXiv:1211.5063.

    If any gradient holds an infinity or NaN, all become NaN, as in TensorFlow: the trouble stays in sight.

    >>> import varigrad as vg
    >>> grads = {"a": vg.tensor([3.0, 4.0]), "b": vg.tensor([12.0]), "c": None}
    >>> clipped = vg.train.clip_by_global_norm(grads, 6.5)
    >>> clipped["a"].tolist(), clipped["b"].tolist(), clipped["c"]
    ([1.5, 2.0], [6.0], None)
    """
    _check_limit("clip_by_global_norm", clip_norm)
    return _over_dict("clip_by_global_norm", gradients, lambda tensors: clip_all_by_global_norm(tensors, clip_norm))


def global_norm(gradients: Mapping[str, Any]) -> Tensor:
    """The Euclidean norm of all numbers in a dict of gradients, as a scalar; None counts as nothing.

    >>> import varigrad as vg
    >>> vg.train.global_norm({"a": vg.tensor([3.0, 4.0]), "b": vg.tensor([12.0]), "c": None}).item()
    13.0
    """
    tensors = list(_present("global_norm", gradients).values())
    return run_kernel("GlobalNorm", tuple(tensors)) if tensors else make_tensor(np.zeros((), np.float32))


def clip_all_by_value(gradients: Sequence[Tensor], low: float, high: float) -> list[Tensor]:
    """`clip_by_value` of a list of tensors."""
    return [clip_tensor_by_value(gradient, low, high) for gradient in gradients]


def clip_all_by_norm(gradients: Sequence[Tensor], clip_norm: float) -> list[Tensor]:
    """`clip_by_norm` of a list of tensors."""
    return _scale("EachNorm", gradients, clip_norm)


def clip_all_by_global_norm(gradients: Sequence[Tensor], clip_norm: float) -> list[Tensor]:
    """`clip_by_global_norm` of a list of tensors."""
    return _scale("GlobalNorm", gradients, clip_norm)


def _scale(kernel: str, gradients: Sequence[Tensor], clip_norm: float) -> list[Tensor]:
    """Scales gradients down by the norms that the kernel gives: one of all, or one of each."""
    if not gradients:
        return []
    norm = run_kernel(kernel, tuple(gradients))
    limit = make_tensor(np.array(clip_norm, norm.storage.dtype))
    return list(run_kernel_multi("ScaleToNorm", (*gradients, norm, limit)))


def _over_dict(op: str, gradients: Mapping[str, Any], clip: Callable[[list[Tensor]], list[Tensor]]) -> dict[str, Any]:
    present = _present(op, gradients)
    clipped = dict(zip(present, clip(list(present.values())), strict=True))
    return {name: clipped.get(name) for name in gradients}


def _present(op: str, gradients: Any) -> dict[str, Tensor]:
    """The gradients that are not None."""
    if not isinstance(gradients, Mapping):
        raise TypeError(
            f"train.{op}: takes a dict of gradients by name, got {type(gradients).__name__}; for a single tensor there "
            f"is vg.{op}"
        )
    present: dict[str, Tensor] = {}
    for name, gradient in cast("Mapping[str, Any]", gradients).items():
        if gradient is None:
            continue
        tensor = present[name] = convert(gradient, op, name)
        if kind_of(tensor.storage.dtype) != "f":
            raise TypeError(f"train.{op}: the gradient {name!r} is {tensor.dtype}; it must be floating-point")
    return present


def _check_limit(op: str, clip_norm: float) -> None:
    if not number(f"train.{op}", "clip_norm", clip_norm) > 0:
        raise ValueError(f"train.{op}: clip_norm must be positive, got {clip_norm}")
