"""`varigrad inspect`: what is in a model file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console
from rich.table import Table

import varigrad as vg
from varigrad.cli.model_files import ModelPath, open_model, readable_size, tensorflow_js_report
from varigrad.io.weights import ModelFileError
from varigrad.tensor import format_shape

__all__ = ["inspect"]


def inspect(model: ModelPath) -> None:
    """Show the layers of MODEL, their shapes and sizes, how the weights are stored, and whether TensorFlow.js opens it.

    Nothing in the file is run.
    """
    opened = open_model(model)
    Console().print(_table(opened), soft_wrap=False)
    for line in (*_totals(opened), *_stored(model), *_training(opened)):
        typer.echo(line)
    report = tensorflow_js_report(opened)
    for line in report or ["TensorFlow.js 4.22 opens it"]:
        typer.echo(line)


def _table(model: vg.layers.LayersModel) -> Table:
    table = Table(title=f"{model.name} ({model.class_name})", title_justify="left")
    for heading in ("layer", "type", "result", "numbers", "size"):
        table.add_column(heading, justify="right" if heading in ("numbers", "size") else "left", overflow="fold")
    _add_rows(table, model, "")
    return table


def _add_rows(table: Table, model: vg.layers.LayersModel, indent: str) -> None:
    """A row for each layer; those of models inside are indented."""
    for layer in model.layers:
        numbers = sum(weight.size for weight in layer.weights)
        size = sum(weight.storage.nbytes for weight in layer.weights)
        frozen = "" if layer.trainable or not numbers else " (frozen)"
        shown = f"{numbers:,}{frozen}" if numbers else ""
        table.add_row(
            f"{indent}{layer.name}", layer.class_name, _shape(layer), shown, readable_size(size) if size else ""
        )
        if isinstance(layer, vg.layers.LayersModel):
            _add_rows(table, layer, f"{indent}  ")


def _shape(layer: Any) -> str:
    try:
        shape = layer.output_shape
    except (AttributeError, ValueError):  # a layer that is used several times has several
        return ""
    shapes: list[Any] = cast("list[Any]", shape) if isinstance(shape, list) else [shape]
    return ", ".join(format_shape(each) for each in shapes if each is not None)


def _totals(model: vg.layers.LayersModel) -> list[str]:
    trained = sum(weight.size for weight in model.trainable_weights)
    total = sum(weight.size for weight in model.weights)
    size = sum(weight.storage.nbytes for weight in model.weights)
    dtypes = ", ".join(f"{count} {dtype}" for dtype, count in Counter(w.dtype for w in model.weights).items())
    lines = [
        f"inputs: {'; '.join(f'{x.name} {format_shape(x.shape)} {x.dtype}' for x in model.inputs)}",
        f"{total:,} numbers in {len(model.weights)} weights ({dtypes or 'none'}), {readable_size(size)} in memory",
        f"{trained:,} of them are trained, {total - trained:,} are not",
    ]
    return lines if total else lines[:2]


def _stored(path: str) -> list[str]:
    """How the weights of a TensorFlow.js model on disk are stored."""
    file = Path(path)
    if file.is_dir():
        file /= "model.json"
    if file.suffix.lower() != ".json" or not file.is_file():
        return [f"{readable_size(file.stat().st_size)} on disk"] if file.is_file() else []
    try:
        manifest = json.loads(file.read_bytes().decode("utf-8-sig")).get("weightsManifest", [])
        specs = [spec for group in manifest for spec in group["weights"]]
        shards = [file.parent / name for group in manifest for name in group["paths"]]
    except (ValueError, LookupError, TypeError) as error:
        raise ModelFileError(f"{file}: {error}") from None
    size = sum(shard.stat().st_size for shard in shards if shard.is_file())
    files = "1 file" if len(shards) == 1 else f"{len(shards)} files"
    lines = [f"{readable_size(size)} in {files} of weights, {readable_size(file.stat().st_size)} of JSON"]
    kinds = Counter(spec["quantization"]["dtype"] for spec in specs if spec.get("quantization"))
    for dtype, count in kinds.items():
        lines.append(f"{'1 weight is' if count == 1 else f'{count} weights are'} quantized to {dtype}")
    return lines


def _training(model: vg.layers.LayersModel) -> list[str]:
    if not model.is_compiled:
        return []
    optimizer: Any = model.optimizer
    return [f"compiled: loss {model.loss}, optimizer {getattr(optimizer, 'class_name', type(optimizer).__name__)}"]
