"""No search for garbage while a graph is compiled: it would go through all that is being made, again and again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["collection_paused"]

_LOCK = threading.Lock()
_pauses = 0  # how many are under way, of all threads
_was_on = False  # whether there was collection before the first of them


@contextmanager
def collection_paused() -> Generator[None]:
    """Inside, Python's garbage collector does not run by itself; it goes on when nobody wants a pause any more."""
    global _pauses, _was_on
    with _LOCK:
        if not _pauses:
            _was_on = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _LOCK:
            _pauses -= 1
            if not _pauses and _was_on:
                gc.enable()
