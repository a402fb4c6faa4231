"""Names: counters for layers that were given none, scopes for weights, and the spellings that files use."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from varigrad.keywords import snake_case

__all__ = ["current_scope", "default_layer_name", "name_scope", "spelling_key", "unique_name"]

_counts: dict[str, int] = {}
_lock = threading.Lock()
_scope: ContextVar[str] = ContextVar("varigrad_name_scope", default="")


def unique_name(prefix: str) -> str:
    """The prefix with a number that counts up in this process: `input1`, `input2`."""
    with _lock:
        _counts[prefix] = number = _counts.get(prefix, 0) + 1
    return f"{prefix}{number}"


def default_layer_name(class_name: str) -> str:
    """The name of a layer that was given none, as TensorFlow.js makes it: `dense_Dense1`.

    >>> default_layer_name("DoctestConv2D")
    'doctest_conv2d_DoctestConv2D1'
    """
    return f"{snake_case(class_name)}_{unique_name(class_name)}"


def spelling_key(name: str) -> str:
    """What the spellings of one name have in common: `leCunNormal`, `le_cun_normal` and `LecunNormal` are one key.

    >>> spelling_key("leCunNormal") == spelling_key("lecun_normal")
    True
    """
    return name.replace("_", "").lower()


def current_scope() -> str:
    """The scopes around, joined with slashes; empty outside of any."""
    return _scope.get()


@contextmanager
def name_scope(name: str) -> Generator[None]:
    """Puts `name/` before the names of weights made inside the block."""
    around = _scope.get()
    token = _scope.set(f"{around}/{name}" if around else name)
    try:
        yield
    finally:
        _scope.reset(token)
