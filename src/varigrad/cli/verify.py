"""`varigrad verify`: whether a model file loads and runs, and gives what another one gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

import numpy as np
import typer

import varigrad as vg
from varigrad.cli.errors import CommandError
from varigrad.cli.model_files import ModelPath, open_model, random_inputs
from varigrad.dtypes import Array
from varigrad.tensor import format_shape

__all__ = ["verify"]

Other = Annotated[
    str | None,
    typer.Argument(help="A second file, whose results must be the same.", metavar="OTHER", show_default=False),
]
Batch = Annotated[int, typer.Option("--batch", help="How many inputs to run.", min=1)]
Seed = Annotated[int, typer.Option("--seed", help="Chooses the inputs.", min=0)]
Tolerance = Annotated[
    float, typer.Option("--tolerance", help="The largest difference allowed, as a part of the largest result.", min=0)
]


def verify(
    model: ModelPath, other: Other = None, batch: Batch = 4, seed: Seed = 0, tolerance: Tolerance = 1e-5
) -> None:
    """Load MODEL and run it on random inputs; with OTHER, compare what the two give. Exit code 1 if they differ."""
    first = open_model(model)
    x = random_inputs(first, batch, seed)
    results = _run(model, first, x)
    shapes = ", ".join(format_shape(result.shape) for result in results)
    typer.echo(f"{model}: runs, and gives {shapes}")
    if not all(np.isfinite(result).all() for result in results):
        typer.echo(f"{model}: some results are not finite", err=True)
        raise typer.Exit(1)
    if other is None:
        return
    second = open_model(other)
    _check_inputs(model, first, other, second)
    _compare(model, results, other, _run(other, second, x), tolerance)


def _run(path: str, model: vg.layers.LayersModel, x: Sequence[Array]) -> list[Array]:
    try:
        results = model.predict(list(x) if len(x) > 1 else x[0])
    except (ValueError, TypeError) as error:
        raise CommandError(f"{path}: loads, but does not run: {error}") from None
    each = cast("list[Any]", results if isinstance(results, list) else [results])
    return [result.numpy() for result in each]


def _check_inputs(path: str, first: vg.layers.LayersModel, other: str, second: vg.layers.LayersModel) -> None:
    shapes = [[format_shape(x.shape) for x in model.inputs] for model in (first, second)]
    if shapes[0] != shapes[1]:
        raise CommandError(f"{path} takes {', '.join(shapes[0])} and {other} {', '.join(shapes[1])}: not comparable")


def _compare(path: str, ours: Sequence[Array], other: str, theirs: Sequence[Array], tolerance: float) -> None:
    if [result.shape for result in ours] != [result.shape for result in theirs]:
        shapes = ", ".join(format_shape(result.shape) for result in theirs)
        typer.echo(f"{other}: gives {shapes}", err=True)
        raise typer.Exit(1)
    largest = 0.0
    for a, b in zip(ours, theirs):
        scale = max(float(np.abs(a).max(initial=0.0)), 1e-30)
        largest = max(largest, float(np.abs(a - b).max(initial=0.0)) / scale)
    same = largest <= tolerance
    typer.echo(f"{path} and {other}: results {'agree' if same else 'differ'}, largest difference {largest:.3g}")
    if not same:
        raise typer.Exit(1)
