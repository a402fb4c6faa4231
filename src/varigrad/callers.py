"""Who called: the line of the user's own program that errors name and warnings are for."""

from __future__ import annotations

import sys
from types import FrameType

__all__ = ["call_site", "warn_caller"]


def call_site() -> str:
    """`file:line` of the nearest caller outside VariGrad."""
    frame = _caller(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


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
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("varigrad."):
        frame = frame.f_back
    return frame
