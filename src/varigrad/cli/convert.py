"""`varigrad convert`: a model or its weights from one file format into another."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from varigrad.cli.errors import CommandError
from varigrad.cli.model_files import open_model, readable_size, tensorflow_js_report
from varigrad.errors import CompatibilityWarning, VariGradError
from varigrad.io.formats import FOREIGN, MODELS, WEIGHTS, format_of
from varigrad.io.quantization import QUANTIZED_DTYPES

__all__ = ["convert"]

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3}

Source = Annotated[
    str,
    typer.Argument(
        help="A model.json or its folder, a URL of one, a .keras or an .h5 file; or weights, .npz or .safetensors.",
        metavar="IN",
    ),
]
Target = Annotated[
    Path,
    typer.Argument(
        help="A folder or .json for TensorFlow.js, a .keras or .h5 file; for the weights alone, a .safetensors, .npz "
        "or .weights.h5 file.",
        metavar="OUT",
    ),
]
Quantize = Annotated[
    list[str] | None,
    typer.Option(
        "--quantize",
        help="For TensorFlow.js: uint8, uint16 or float16, for all weights; or uint8=conv*/kernel for those of such "
        "names. Can be repeated.",
        metavar="DTYPE[=NAMES]",
    ),
]
ShardSize = Annotated[
    str,
    typer.Option("--shard-size", help="For TensorFlow.js: the most bytes of a file of weights; 4M, 500k.", metavar="N"),
]


def convert(source: Source, target: Target, quantize: Quantize = None, shard_size: ShardSize = "4194304") -> None:
    """Convert the model in IN to the format that the name of OUT asks for.

    Formats go by the end of the name: a folder or .json is TensorFlow.js's, .keras and .h5 are Keras's; .safetensors,
    .npz and .weights.h5 hold the weights alone. A model that was saved compiled keeps its optimizer. What TensorFlow.js
    cannot open, or computes otherwise, is told on stderr.
    """
    if target.suffix.lower() in FOREIGN:
        raise CommandError(f"{target}: there is no format {target.suffix} here; varigrad convert --help lists them")
    to_tensorflow_js = not target.name.lower().endswith(tuple(end for end in (*MODELS, *WEIGHTS) if end != ".json"))
    if quantize and not to_tensorflow_js:
        raise CommandError("--quantize: only TensorFlow.js's format has quantized weights")
    if source.lower().endswith((".npz", ".safetensors")):
        _convert_weights(Path(source), target)
        return
    model = open_model(source)
    for line in tensorflow_js_report(model) if to_tensorflow_js else ():
        typer.echo(line, err=True)
    written = _quietly(lambda: _save(model, target, quantize or [], _bytes(shard_size), to_tensorflow_js), target)
    errors: Mapping[str, float] = getattr(written, "quantization_errors", {})
    count = sum(weight.size for weight in model.weights)
    typer.echo(f"{target}: {len(model.weights)} weights, {count:,} numbers, {readable_size(_size_of(target))}")
    if errors:
        worst = max(errors, key=lambda name: errors[name])
        typer.echo(f"largest error of quantization: {errors[worst]:.3g}, in {worst}")


def _save(model: Any, target: Path, quantize: Sequence[str], shard_size: int, to_tensorflow_js: bool) -> Any:
    name = target.name.lower()
    weights_alone = [end for end in WEIGHTS if end not in MODELS or end == ".weights.h5"]
    if name.endswith(tuple(weights_alone)):
        return model.save_weights(target)
    options: dict[str, Any] = {"include_optimizer": model.is_compiled}
    if to_tensorflow_js:
        options["weight_shard_size_bytes"] = shard_size
        if quantize:
            options["quantize"] = _patterns(quantize)
    return model.save(target, **options)


def _convert_weights(source: Path, target: Path) -> None:
    """Weights by name, from a file that has no model into another that needs none."""
    if not target.name.lower().endswith((".npz", ".safetensors")):
        raise CommandError(
            f"{source} holds weights but no model, which {target} needs; weights alone go into .npz and .safetensors"
        )

    def run() -> Any:
        found = format_of(source, WEIGHTS).read_weights(source)
        format_of(target, WEIGHTS).write_weights(target, found, None)
        return found

    found = _quietly(run, source)
    typer.echo(f"{target}: {len(found)} weights, {readable_size(_size_of(target))}")


def _quietly(run: Any, path: Path) -> Any:
    """What `run` returns; its warnings and errors in a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", CompatibilityWarning)  # told of already, a line for each
        try:
            result = run()
        except (ValueError, TypeError, OSError, VariGradError, ModuleNotFoundError) as error:
            raise CommandError(f"{path}: {error}") from None
    for warning in caught:
        typer.echo(str(warning.message), err=True)
    return result


def _patterns(wanted: Sequence[str]) -> dict[str, Any]:
    """`uint8`, or `uint8=conv*/kernel`, as `model.save` takes them."""
    chosen: dict[str, Any] = {}
    for text in wanted:
        dtype, _, pattern = text.partition("=")
        if dtype not in QUANTIZED_DTYPES:
            raise CommandError(f"--quantize: takes {', '.join(QUANTIZED_DTYPES)}, perhaps with =NAMES, got {text!r}")
        before = chosen.get(dtype)
        chosen[dtype] = (pattern or True) if before is None else [*_listed(before), pattern or "*"]
    return chosen


def _listed(patterns: Any) -> list[str]:
    return (
        ["*"] if patterns is True else list(cast("list[str]", patterns)) if isinstance(patterns, list) else [patterns]
    )


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15})([kmg]?)b?", text.strip().lower(), re.ASCII)
    if match is None or int(match[1]) == 0:
        raise CommandError(f"--shard-size: takes a number of bytes such as 4194304, 500k or 4M, got {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def _size_of(target: Path) -> int:
    """The bytes that a model takes on disk."""
    if target.is_file() and target.suffix.lower() != ".json":
        return target.stat().st_size
    folder = target.parent if target.suffix.lower() == ".json" else target
    return sum(os.path.getsize(entry.path) for entry in os.scandir(folder) if entry.is_file())
