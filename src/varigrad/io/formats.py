"""Which code reads and writes a model's file, by the end of its name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

__all__ = ["model_format", "weights_format"]

# Modules with `load_model(path, strict, custom_objects)` and `save_model(model, path, trainable_only)`. They are
# imported when a file asks for them.
_MODELS: dict[str, str] = {
    ".keras": "varigrad.layers.keras_archive",
    ".h5": "varigrad.layers.keras_h5",
    ".hdf5": "varigrad.layers.keras_h5",
}

# Modules with `load_weights(model, path, strict)` and `save_weights(model, path)`. The longest end counts.
_WEIGHTS: dict[str, str] = {
    ".weights.h5": "varigrad.layers.keras_archive",
}


def model_format(path: str | os.PathLike[str]) -> Any:
    """The module for whole models in files of this name; None if the name says nothing, as that of a folder."""
    return _module(_MODELS, path)


def weights_format(path: str | os.PathLike[str]) -> Any:
    """The module for weights alone in files of this name; None if the name says nothing."""
    return _module(_WEIGHTS, path)


def _module(table: dict[str, str], path: str | os.PathLike[str]) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        return None
    name = os.fspath(path).lower()
    ends = [end for end in table if name.endswith(end)]
    return import_module(table[max(ends, key=len)]) if ends else None
