"""Penalties on weights: the namespace `vg.regularizers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from varigrad.keywords import takes_options
from varigrad.layers import registry
from varigrad.layers.arguments import number
from varigrad.layers.registry import Serializable
from varigrad.ops.elementwise import abs, square
from varigrad.ops.reduction import sum
from varigrad.ops.values import scalar
from varigrad.tensor import Tensor

__all__ = ["L1L2", "Regularizer", "get_regularizer", "l1", "l1l2", "l2"]


class Regularizer(Serializable):
    """Computes a penalty from a weight. Subclass it and override `apply` to write your own.

    >>> import varigrad as vg
    >>> class Spread(vg.regularizers.Regularizer):
    ...     def apply(self, x):
    ...         return x.max() - x.min()
    >>> Spread().apply(vg.tensor([1.0, 4.0])).item()
    3.0
    """

    def apply(self, x: Tensor) -> Tensor:
        """The penalty, a scalar."""
        raise NotImplementedError(f"{type(self).__name__} must override apply(x)")


class L1L2(Regularizer):
    """`l1` times the sum of absolute values plus `l2` times the sum of squares. Made by `vg.regularizers.l1l2`."""

    def __init__(self, *, l1: float = 0.01, l2: float = 0.01) -> None:
        self.l1 = number("l1l2", "l1", l1, 0.0)
        self.l2 = number("l1l2", "l2", l2, 0.0)

    def apply(self, x: Tensor) -> Tensor:
        penalty = scalar(0.0, x.dtype)
        if self.l1:
            penalty = penalty + sum(abs(x)) * self.l1
        if self.l2:
            penalty = penalty + sum(square(x)) * self.l2
        return penalty


@takes_options
def l1l2(*, l1: float = 0.01, l2: float = 0.01) -> Regularizer:
    """`l1` times the sum of absolute values plus `l2` times the sum of squares. Mirrors `tf.regularizers.l1l2`.

    >>> import varigrad as vg
    >>> vg.regularizers.l1l2(l1=0.5, l2=2).apply(vg.tensor([1, -3])).item()
    22.0
    """
    return L1L2(l1=l1, l2=l2)


@takes_options
def l1(*, l1: float = 0.01) -> Regularizer:
    """`l1` times the sum of absolute values. Mirrors `tf.regularizers.l1`.

    >>> import varigrad as vg
    >>> vg.regularizers.l1(l1=0.5).apply(vg.tensor([1, -3])).item()
    2.0
    """
    return L1L2(l1=l1, l2=0)


@takes_options
def l2(*, l2: float = 0.01) -> Regularizer:
    """`l2` times the sum of squares. Mirrors `tf.regularizers.l2`.

    >>> import varigrad as vg
    >>> vg.regularizers.l2(l2=0.5).apply(vg.tensor([1, -3])).item()
    5.0
    """
    return L1L2(l1=0, l2=l2)


_FACTORIES: dict[str, Callable[..., Regularizer]] = {"l1": l1, "l2": l2, "l1l2": l1l2}


@registry.naming_owner
def get_regularizer(identifier: Any) -> Regularizer | None:
    """A regularizer from its name, its stored form, or itself; None is none.

    >>> import varigrad as vg
    >>> vg.regularizers.get_regularizer("l1l2").get_config()
    {'l1': 0.01, 'l2': 0.01}
    """
    if identifier is None or isinstance(identifier, Regularizer):
        return identifier
    if isinstance(identifier, str):
        return registry.lookup("regularizer", identifier, _FACTORIES)()
    if isinstance(identifier, Mapping):
        return registry.deserialize(cast("Mapping[str, Any]", identifier), Regularizer, factories=_FACTORIES)
    raise TypeError(f"a regularizer is a name or a vg.regularizers object, got {identifier!r}")
