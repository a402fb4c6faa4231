"""Who called: the line of the user's own program that errors name and warnings are for."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np

__all__ = ["call_site", "call_site_in_layers", "warn_caller"]


def call_site() -> str:
    """`file:line` of the nearest caller outside VariGrad."""
    frame = _caller(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def call_site_in_layers() -> str:
    """The same, with the names of the layers in whose `call` this happens: `file:line (model/block/dense)`."""
    layers: list[Any] = []
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        if code.co_name == "call" and code.co_argcount and code.co_varnames[0] == "self":
            layer = frame.f_locals.get("self")
            if not (layers and layer is layers[-1]):  # a class may call the method that it overrides
                layers.append(layer)
        frame = frame.f_back
    names = [name for layer in reversed(layers) if isinstance(name := getattr(layer, "name", None), str)]
    return f"{call_site()} ({'/'.join(names)})" if names else call_site()


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns, for the line of the nearest caller outside VariGrad."""
    import warnings  # few programs need it

    own = sys._getframe(0)  # pyright: ignore[reportPrivateUsage]
    caller = _caller(own)
    level = 1
    while own is not caller and own.f_back is not None:
        own, level = own.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _caller(frame: FrameType) -> FrameType:
    """The nearest one outside VariGrad: of the user, where Python's own modules or NumPy call on the user's behalf."""
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("varigrad."):
        frame = frame.f_back
    users: FrameType | None = frame
    while users is not None and _is_library(users.f_code.co_filename):
        users = users.f_back
    return users or frame


@lru_cache(maxsize=4096)
def _is_library(filename: str) -> bool:
    """Whether a file is one of Python's own, of NumPy or of SciPy."""
    if filename.startswith(_PACKAGES):
        return True
    return filename.startswith(_PYTHON) and not any(folder in filename for folder in _OF_OTHERS)


_PYTHON = os.path.join(os.path.dirname(getattr(os, "__file__", "")) or "<frozen>", "")
_OF_OTHERS = ("site-packages", "dist-packages")  # below Python's own folder
_NUMPY = os.path.dirname(np.__file__)
_PACKAGES = tuple([os.path.join(os.path.dirname(_NUMPY), name) + os.sep for name in ("numpy", "scipy")])
