"""What the commands on model files share: opening them, inputs for them, and how sizes look."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

import varigrad as vg
from varigrad.cli.errors import CommandError
from varigrad.dtypes import Array
from varigrad.errors import VariGradError
from varigrad.io.compatibility import tensorflow_js_problems
from varigrad.io.for_tensorflow_js import for_tensorflow_js
from varigrad.io.training_json import losses_unknown_to_tensorflow_js

__all__ = ["ModelPath", "open_model", "random_inputs", "readable_size", "tensorflow_js_report"]

ModelPath = Annotated[
    str, typer.Argument(help="A model.json or its folder, a URL of one, a .keras or an .h5 file.", metavar="MODEL")
]


def open_model(path: str | Path) -> vg.layers.LayersModel:
    """The model in a file. What is to be said about it goes to stderr.

    Raises:
        CommandError: There is none, or it is damaged or not supported.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = vg.load_layers_model(path)
        except (ValueError, TypeError, OSError, VariGradError, ModuleNotFoundError) as error:
            raise CommandError(f"{path}: {error}") from None
    for warning in caught:
        typer.echo(f"{path}: {warning.message}", err=True)
    return model


def tensorflow_js_report(model: vg.layers.LayersModel) -> list[str]:
    """What TensorFlow.js cannot open of a model, or computes otherwise, a line for each."""
    lines: list[str] = []
    stored = for_tensorflow_js(model.to_json(return_string=False), model)
    for layer, opens, reason in tensorflow_js_problems(stored, model):
        lines.append(f"TensorFlow.js {'gives other results' if opens else 'cannot open it'}: {layer}: {reason}")
    if model.is_compiled:
        lines.extend(
            f"TensorFlow.js cannot open it: compiled with the loss {loss}, which it lacks; "
            "save without include_optimizer"
            for loss in losses_unknown_to_tensorflow_js(model.get_training_config())
        )
    return lines


def random_inputs(model: vg.layers.LayersModel, batch: int, seed: int) -> list[Array]:
    """An array for each input of a model: normal numbers, or indices that its embeddings take.

    Args:
        model: The model.
        batch: The length of the first axis where the model leaves it open; the others are 8 then.
        seed: Chooses the numbers.
    """
    random = np.random.default_rng(seed)
    limits = [int(limit) for limit in _values_of("input_dim", model.get_config()) if isinstance(limit, int)]
    arrays: list[Array] = []
    for x in model.inputs:
        shape = [x.shape[0] or batch, *(length or 8 for length in x.shape[1:])]
        if limits or not x.dtype.startswith(("float", "bfloat", "complex")):
            indices = random.integers(0, min(limits, default=2), shape)
            arrays.append(indices.astype(np.float32 if x.dtype.startswith("float") else np.int32))
        else:
            arrays.append(random.normal(size=shape).astype(np.float32))
    return arrays


def _values_of(key: str, config: Any) -> Iterator[Any]:
    """Every value under a key in a nested config."""
    if isinstance(config, Mapping):
        for name, value in cast("Mapping[str, Any]", config).items():
            if name == key:
                yield value
            else:
                yield from _values_of(key, value)
    elif isinstance(config, (list, tuple)):
        for item in cast("Sequence[Any]", config):
            yield from _values_of(key, item)


def readable_size(count: float) -> str:
    """A number of bytes: `512 B`, `3.4 MB`.

    >>> readable_size(512), readable_size(3_400_000)
    ('512 B', '3.4 MB')
    """
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
