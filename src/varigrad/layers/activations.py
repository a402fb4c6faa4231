"""Activation functions by name, as layers take them."""

# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from varigrad.layers import registry
from varigrad.layers.naming import spelling_key
from varigrad.layers.registry import Named
from varigrad.ops.activations import elu, gelu, leaky_relu, log_sigmoid, relu, relu6, selu, sigmoid, softplus
from varigrad.ops.elementwise import abs, clip_by_value, exp
from varigrad.ops.normalization import log_softmax, softmax
from varigrad.ops.trigonometry import tanh
from varigrad.tensor import Tensor

__all__ = ["ACTIVATIONS", "ActivationFunction", "ActivationLike", "fused_name", "get_activation"]


class ActivationFunction(Named):
    """A function of a tensor and the name by which files store it."""

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Callable[[Tensor], Tensor]) -> None:
        self.name = name
        self.function = function

    def __call__(self, x: Tensor) -> Tensor:
        return self.function(x)

    def __reduce__(self) -> tuple[Any, ...]:
        if ACTIVATIONS.get(self.name) is self.function:
            return get_activation, (self.name,)
        return ActivationFunction, (self.name, self.function)

    def __repr__(self) -> str:
        return f"<activation {self.name}>"


# What layers take as an activation.
ActivationLike: TypeAlias = str | Callable[[Tensor], Tensor] | ActivationFunction

# The names and formulas of TensorFlow.js, and those that only Keras has. Keras calls swish silu, and since version 3
# something else hard_sigmoid.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: x,
    "elu": elu,
    "exponential": exp,
    "gelu": gelu,
    "gelu_new": lambda x: gelu(x, approximate=True),
    "hard_sigmoid": lambda x: clip_by_value(x * 0.2 + 0.5, 0.0, 1.0),
    "hard_sigmoid_relu6": lambda x: relu6(x + 3.0) * (1 / 6),
    "hard_silu": lambda x: x * relu6(x + 3.0) * (1 / 6),
    "hard_tanh": lambda x: clip_by_value(x, -1.0, 1.0),
    "leaky_relu": leaky_relu,
    "log_sigmoid": log_sigmoid,
    "log_softmax": log_softmax,
    "mish": lambda x: x * tanh(softplus(x)),
    "relu": relu,
    "relu6": relu6,
    "selu": selu,
    "sigmoid": sigmoid,
    "softmax": softmax,
    "softplus": softplus,
    "softsign": lambda x: x / (abs(x) + 1.0),
    "swish": lambda x: x * sigmoid(x),
    "tanh": tanh,
}

# Those that the kernels of the fused matrix product and convolution apply themselves.
_FUSED = frozenset(["linear", "relu", "elu", "sigmoid"])

_BY_KEY = {spelling_key(name): ActivationFunction(name, function) for name, function in ACTIVATIONS.items()}
_BY_KEY["silu"] = _BY_KEY["swish"]
_BY_KEY["hardswish"] = _BY_KEY["hardsilu"]


@registry.naming_owner
def get_activation(identifier: Any) -> ActivationFunction:
    """An activation by name, or from a function of a tensor; None is `linear`.

    A function of your own is stored by its `__name__`; to load it, register it under that name among `custom_objects`.

    >>> import varigrad as vg
    >>> get_activation("hardSigmoid")(vg.tensor([-10, 0, 10])).tolist()
    [0.0, 0.5, 1.0]
    """
    if identifier is None:
        return _BY_KEY["linear"]
    if isinstance(identifier, ActivationFunction):
        return identifier
    if isinstance(identifier, Mapping):  # some Keras files store a name as an object
        identifier = str(cast("Mapping[str, Any]", identifier).get("class_name"))
    if isinstance(identifier, str):
        found: Any = registry.lookup("activation", identifier, _BY_KEY)
        return found if isinstance(found, ActivationFunction) else ActivationFunction(identifier, found)
    if callable(identifier):
        function = cast("Callable[[Tensor], Tensor]", identifier)
        return ActivationFunction(getattr(function, "__name__", type(function).__name__), function)
    raise TypeError(f"an activation is a name or a function of a tensor, got {identifier!r}")


def fused_name(activation: ActivationFunction) -> str | None:
    """The name by which the fused kernels know an activation; None if they don't have it."""
    known = activation.name in _FUSED and ACTIVATIONS[activation.name] is activation.function
    return activation.name if known else None
