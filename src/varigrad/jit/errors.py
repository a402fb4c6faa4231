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
    """A compiled function runs slower than it could; the message says why and what to do.

    >>> import types, warnings
    >>> import varigrad as vg
    >>> counter = types.SimpleNamespace(calls=0)
    >>> @vg.jit
    ... def double(x):
    ...     counter.calls += 1  # which a compiled function would not do
    ...     return x + x
    >>> with warnings.catch_warnings(record=True, action="always", category=vg.JitWarning) as caught:
    ...     _ = [double(vg.scalar(1.0)) for _ in range(4)]
    >>> "is not compiled" in str(caught[0].message), counter.calls
    (True, 4)
    """
