"""JAX with the whole step in one `jit`, its state donated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from contenders.jax_models import LOSSES, first_averages
from tasks import BETA1, BETA2, EPSILON, MOMENTUM, Task


def make(task: Task) -> Callable[[], float]:
    update, state, data = compiled(task)

    def step() -> float:
        nonlocal state
        state, loss = update(state, *data)
        return float(loss)

    return step


def compiled(task: Task) -> tuple[Any, Any, list[Any]]:
    """The jitted step, its first state, and the data."""
    gradients_of = jax.value_and_grad(LOSSES[task.model](task), has_aux=True)

    @partial(jax.jit, donate_argnums=0)
    def update(state: Any, *data: Any) -> Any:
        weights, averages, optimizer = state
        (loss, averages), gradients = gradients_of(weights, averages, *data)
        weights, optimizer = _OPTIMIZERS[task.optimizer](task.rate, weights, gradients, optimizer)
        return (weights, averages, optimizer), loss

    weights = [jnp.asarray(a) for a in task.first_weights()]
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[task.optimizer]
    optimizer = [jnp.float32(0), *([jnp.zeros_like(w) for w in weights] for _ in range(slots))]
    return update, (weights, first_averages(task), optimizer), [jnp.asarray(a) for a in task.arrays()]


def _sgd(rate: float, weights: Any, gradients: Any, state: Any) -> Any:
    return [w - rate * g for w, g in zip(weights, gradients)], state


def _momentum(rate: float, weights: Any, gradients: Any, state: Any) -> Any:
    count, moments = state
    moments = [MOMENTUM * m + g for m, g in zip(moments, gradients)]
    return [w - rate * m for w, m in zip(weights, moments)], [count, moments]


def _adam(rate: float, weights: Any, gradients: Any, state: Any) -> Any:
    count, first, second = state
    count = count + 1
    scaled, correction = rate / (1 - BETA1**count), 1 / jnp.sqrt(1 - BETA2**count)
    first = [BETA1 * m + (1 - BETA1) * g for m, g in zip(first, gradients)]
    second = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(second, gradients)]
    weights = [w - scaled * m / (jnp.sqrt(v) * correction + EPSILON) for w, m, v in zip(weights, first, second)]
    return weights, [count, first, second]


_OPTIMIZERS: dict[str, Callable[..., Any]] = {"sgd": _sgd, "momentum": _momentum, "adam": _adam}
