"""Limits on weights, applied by optimizers after each update: the namespace `vg.constraints`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from varigrad.keywords import takes_options
from varigrad.layers import registry
from varigrad.layers.arguments import axis_list, number
from varigrad.layers.registry import Serializable
from varigrad.ops.activations import relu
from varigrad.ops.elementwise import clip_by_value, sqrt, square
from varigrad.ops.reduction import sum
from varigrad.tensor import Tensor

__all__ = [
    "Constraint",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "UnitNorm",
    "get_constraint",
    "max_norm",
    "min_max_norm",
    "non_neg",
    "unit_norm",
]

_EPSILON = 1e-7


class Constraint(Serializable):
    """Maps a weight to the nearest one that is allowed. Subclass it and override `apply` to write your own.

    >>> import varigrad as vg
    >>> class Rounded(vg.constraints.Constraint):
    ...     def apply(self, w):
    ...         return w.round()
    >>> Rounded()(vg.tensor([0.2, 1.9])).tolist()
    [0.0, 2.0]
    """

    def apply(self, w: Tensor) -> Tensor:
        """The allowed value, of the weight's shape."""
        raise NotImplementedError(f"{type(self).__name__} must override apply(w)")

    def __call__(self, w: Tensor) -> Tensor:
        return self.apply(w)


class MaxNorm(Constraint):
    """Norms of at most `max_value` along an axis. Made by `vg.constraints.max_norm`."""

    def __init__(self, *, max_value: float = 2, axis: int | list[int] = 0) -> None:
        self.max_value = number("max_norm", "max_value", max_value, 0.0)
        self.axis = _axis("max_norm", axis)

    def apply(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        return w * (clip_by_value(norms, 0.0, self.max_value) / (norms + _EPSILON))


class UnitNorm(Constraint):
    """Norms of 1 along an axis. Made by `vg.constraints.unit_norm`."""

    def __init__(self, *, axis: int | list[int] = 0) -> None:
        self.axis = _axis("unit_norm", axis)

    def apply(self, w: Tensor) -> Tensor:
        return w / (_norms(w, self.axis) + _EPSILON)


class NonNeg(Constraint):
    """No negative values. Made by `vg.constraints.non_neg`."""

    def apply(self, w: Tensor) -> Tensor:
        return relu(w)


class MinMaxNorm(Constraint):
    """Norms between two bounds along an axis. Made by `vg.constraints.min_max_norm`."""

    def __init__(
        self, *, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | list[int] = 0
    ) -> None:
        self.min_value = number("min_max_norm", "min_value", min_value, 0.0)
        self.max_value = number("min_max_norm", "max_value", max_value, 0.0)
        if self.min_value > self.max_value:
            raise ValueError(f"min_max_norm: min_value {min_value} must not be more than max_value {max_value}")
        self.rate = number("min_max_norm", "rate", rate)
        self.axis = _axis("min_max_norm", axis)

    def apply(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = clip_by_value(norms, self.min_value, self.max_value) * self.rate + norms * (1.0 - self.rate)
        return w * (wanted / (norms + _EPSILON))


def _axis(owner: str, axis: Any) -> int | list[int]:
    axes = axis_list(owner, "axis", axis)
    return list(axes) if isinstance(axis, (list, tuple)) else axes[0]


def _norms(w: Tensor, axis: int | list[int]) -> Tensor:
    return sqrt(sum(square(w), axis, True))


@takes_options
def max_norm(*, max_value: float = 2, axis: int | list[int] = 0) -> Constraint:
    """Scales down what has a norm over `max_value` along `axis`. Mirrors `tf.constraints.maxNorm`.

    >>> import varigrad as vg
    >>> vg.constraints.max_norm(max_value=1).apply(vg.tensor([[3.0], [4.0]])).round().tolist()
    [[1.0], [1.0]]
    """
    return MaxNorm(max_value=max_value, axis=axis)


@takes_options
def unit_norm(*, axis: int | list[int] = 0) -> Constraint:
    """Scales every norm along `axis` to 1. Mirrors `tf.constraints.unitNorm`.

    >>> import varigrad as vg
    >>> vg.constraints.unit_norm().apply(vg.tensor([[3.0], [4.0]])).numpy().round(2)
    array([[0.6],
           [0.8]], dtype=float32)
    """
    return UnitNorm(axis=axis)


@takes_options
def non_neg() -> Constraint:
    """Sets negative values to 0. Mirrors `tf.constraints.nonNeg`.

    >>> import varigrad as vg
    >>> vg.constraints.non_neg().apply(vg.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return NonNeg()


@takes_options
def min_max_norm(
    *, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | list[int] = 0
) -> Constraint:
    """Moves norms along `axis` by the part `rate` of the way into the bounds. Mirrors `tf.constraints.minMaxNorm`.

    >>> import varigrad as vg
    >>> vg.constraints.min_max_norm(max_value=10, rate=0.5).apply(vg.tensor([12.0, 16.0])).round().tolist()
    [9.0, 12.0]
    """
    return MinMaxNorm(min_value=min_value, max_value=max_value, rate=rate, axis=axis)


_FACTORIES: dict[str, Callable[..., Constraint]] = {
    "maxnorm": max_norm,
    "minmaxnorm": min_max_norm,
    "nonneg": non_neg,
    "unitnorm": unit_norm,
}


@registry.naming_owner
def get_constraint(identifier: Any) -> Constraint | None:
    """A constraint from its name, its stored form, or itself; None is none.

    >>> import varigrad as vg
    >>> vg.constraints.get_constraint("nonNeg").apply(vg.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if identifier is None or isinstance(identifier, Constraint):
        return identifier
    if isinstance(identifier, str):
        return registry.lookup("constraint", identifier, _FACTORIES)()
    if isinstance(identifier, Mapping):
        return registry.deserialize(cast("Mapping[str, Any]", identifier), Constraint, factories=_FACTORIES)
    raise TypeError(f"a constraint is a name or a vg.constraints object, got {identifier!r}")
