"""What the command line says instead of a traceback."""

from __future__ import annotations

__all__ = ["CommandError"]


class CommandError(Exception):
    """A command can't do what it was asked to; its message is one line."""
