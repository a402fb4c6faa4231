"""What goes wrong in compiled steps."""

from __future__ import annotations

from varigrad.errors import VariGradError

__all__ = ["JitError", "JitWarning"]


class JitError(VariGradError):
    """A function cannot be compiled as it is written; the message names the line and the way out.

    >>> import varigrad as vg
    >>> magnitude = vg.jit(lambda x: x if x > 0 else -x)
    >>> magnitude(vg.scalar(1.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    varigrad.jit.errors.JitError: jit: ... reads the value of a tensor ...
    """


class JitWarning(UserWarning):
    """A compiled function runs slower than it could, or with what it has read once; the message says what to do.

    >>> import warnings
    >>> import varigrad as vg
    >>> with warnings.catch_warnings(action="error", category=vg.JitWarning):  # stop where it would be given
    ...     vg.jit(lambda x: x + 1)(vg.scalar(1.0)).item()
    2.0
    """
