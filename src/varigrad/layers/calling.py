"""How the `call` of a layer is called: which arguments it takes, by position or name, and its masks as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from varigrad.ops.arguments import convert
from varigrad.tensor import Tensor

__all__ = ["arguments_of", "mask_tensors", "with_training_by_position"]


def with_training_by_position(call: Any) -> Any:
    """`call` as `(self, inputs, training)`, for layers that take `training` by keyword or not at all."""
    code = getattr(call, "__code__", None)
    if code is None:
        return call
    positional = code.co_varnames[: code.co_argcount]
    if positional[2:3] == ("training",):
        return call
    takes_keywords = bool(code.co_flags & 0x08)
    if takes_keywords or "training" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return lambda self, inputs, training: call(self, inputs, training=training)  # pyright: ignore
    return lambda self, inputs, training: call(self, inputs)  # pyright: ignore


def arguments_of(call: Any) -> frozenset[str] | None:
    """The arguments of `call` besides inputs; None if it takes any."""
    code = getattr(call, "__code__", None)
    if code is None or code.co_flags & 0x08:
        return None
    return frozenset(code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount])


def mask_tensors(owner: str, mask: Any) -> Any:
    """A mask, or a list of masks, as tensors of bools."""
    if mask is None or (isinstance(mask, Tensor) and mask.storage.dtype.kind == "b"):
        return mask
    if isinstance(mask, (list, tuple)):
        items = cast("Sequence[Any]", mask)
        if any(item is None or isinstance(item, (Tensor, np.ndarray)) for item in items):
            return [mask_tensors(owner, item) for item in items]
    return convert(mask, owner, "mask").cast("bool")
