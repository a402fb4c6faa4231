"""The model and the optimizer that the options ask for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import varigrad as vg
from varigrad.cli.errors import CommandError
from varigrad.layers.activations import get_activation

__all__ = ["OPTIMIZERS", "build_layers", "clipping", "make_optimizer"]


def build_layers(
    input_shape: Sequence[int],
    outputs: int,
    *,
    hidden: Sequence[int],
    filters: Sequence[int] = (),
    activation: str = "relu",
    dropout: float = 0.0,
    output_name: str = "output",
) -> list[vg.layers.Layer]:
    """A stack of layers that ends in `outputs` numbers of any size: logits, for classification.

    Args:
        input_shape: `[features]`, or `[height, width, channels]`.
        outputs: How many numbers it gives.
        hidden: The units of each dense layer in between.
        filters: The filters of each conv2d layer before them (3 x 3, each followed by 2 x 2 max pooling); for images.
        activation: Of all layers but the last.
        dropout: The part of each dense layer's outputs to drop in training.
        output_name: The last layer's name.

    Raises:
        CommandError: An activation that there is not; filters, but no image, or one too small for so many.
    """
    try:
        get_activation(activation)
    except ValueError as error:
        raise CommandError(f"--activation: {error}") from None
    if filters:
        _check_image(input_shape, len(filters))
    layers: list[vg.layers.Layer] = []
    first: dict[str, Any] = {"input_shape": list(input_shape)}
    for number, count in enumerate(filters, 1):
        layers += [
            vg.layers.conv2d(
                filters=count, kernel_size=3, padding="same", activation=activation, name=f"conv2d_{number}", **first
            ),
            vg.layers.max_pooling2d(pool_size=2, name=f"max_pooling2d_{number}"),
        ]
        first = {}
    if len(input_shape) > 1:
        layers.append(vg.layers.flatten(name="flatten", **first))
        first = {}
    for number, units in enumerate(hidden, 1):
        layers.append(vg.layers.dense(units=units, activation=activation, name=f"dense_{number}", **first))
        first = {}
        if dropout:
            layers.append(vg.layers.dropout(rate=dropout, name=f"dropout_{number}"))
    return [*layers, vg.layers.dense(units=outputs, name=output_name, **first)]


def _check_image(shape: Sequence[int], halvings: int) -> None:
    if len(shape) != 3:
        raise CommandError("--conv: needs images: a built-in set of them, or --image with a CSV file of pixels")
    most = int(math.log2(min(shape[:2])))
    if halvings > most:
        size = f"{shape[0]} x {shape[1]}"
        raise CommandError(f"--conv: an image of {size} takes at most {most} layers, each of which halves it")


# By name: how to make it, and the learning rate it has unless another is given.
OPTIMIZERS: dict[str, tuple[Callable[[float], vg.train.Optimizer], float]] = {
    "adam": (vg.train.adam, 0.002),
    "sgd": (vg.train.sgd, 0.05),
    "momentum": (lambda rate: vg.train.momentum(rate, 0.9), 0.01),
    "nesterov": (lambda rate: vg.train.momentum(rate, 0.9, use_nesterov=True), 0.01),
    "adagrad": (vg.train.adagrad, 0.05),
    "adadelta": (vg.train.adadelta, 1.0),
    "adamax": (vg.train.adamax, 0.004),
    "rmsprop": (vg.train.rmsprop, 0.001),
}


def make_optimizer(name: str, learning_rate: float | None) -> vg.train.Optimizer:
    """An optimizer by name."""
    if name not in OPTIMIZERS:
        raise CommandError(f"--optimizer: there is no {name!r}; choose one of {', '.join(OPTIMIZERS)}")
    make, usual_rate = OPTIMIZERS[name]
    return make(usual_rate if learning_rate is None else learning_rate)


def clipping(
    value: float | None, norm: float | None, global_norm: float | None
) -> Callable[[dict[str, vg.Tensor]], dict[str, vg.Tensor]]:
    """What to do with gradients before they are applied: each number clipped, then each gradient, then all together."""

    def clip(grads: dict[str, vg.Tensor]) -> dict[str, vg.Tensor]:
        if value is not None:
            grads = vg.train.clip_by_value(grads, -value, value)
        if norm is not None:
            grads = vg.train.clip_by_norm(grads, norm)
        if global_norm is not None:
            grads = vg.train.clip_by_global_norm(grads, global_norm)
        return grads

    return clip
