"""The exceptions that VariGrad raises beyond `ValueError` and `TypeError`."""

from __future__ import annotations

__all__ = ["DataError", "DisposedError", "GradientError", "KernelError", "OutOfRangeError", "VariGradError"]


class VariGradError(Exception):
    """Base of every error that is VariGrad's own."""


class DisposedError(VariGradError):
    """A tensor was used after `dispose` or after the `tidy` scope that made it ended."""


class GradientError(VariGradError):
    """A gradient was asked for that does not exist: no variables, no path, no rule."""


class KernelError(VariGradError):
    """A kernel is not registered for the backend in use."""


class DataError(VariGradError, ValueError):
    """A table, a data set or a preprocessing file cannot be used as asked."""


class OutOfRangeError(VariGradError, IndexError):
    """An index points outside the axis that it indexes."""
