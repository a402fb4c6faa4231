"""The exceptions that VariGrad raises beyond `ValueError` and `TypeError`, and what it warns of."""

from __future__ import annotations

__all__ = [
    "CompatibilityWarning",
    "DataError",
    "DisposedError",
    "GradientError",
    "KernelError",
    "NotYetError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "VariGradError",
]


class VariGradError(Exception):
    """Base of every error that is VariGrad's own.

    >>> import varigrad as vg
    >>> try:
    ...     vg.run_kernel("MissingExample", ())
    ... except vg.VariGradError as error:
    ...     print(type(error).__name__)
    KernelError
    """


class DisposedError(VariGradError):
    """A tensor was used after `dispose` or after the `tidy` scope that made it ended.

    >>> import varigrad as vg
    >>> x = vg.tensor([1, 2])
    >>> x.dispose()
    >>> x.numpy()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    varigrad.errors.DisposedError: tensor ... was disposed at ...
    """


class GradientError(VariGradError):
    """A gradient was asked for that does not exist: no variables, no path, no rule.

    >>> import varigrad as vg
    >>> vg.grad(lambda x: vg.scalar(1.0))(2.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    varigrad.errors.GradientError: grad: the result of f does not depend on argument 0; ...
    """


class KernelError(VariGradError):
    """A kernel is not registered for the backend in use.

    >>> import varigrad as vg
    >>> vg.run_kernel("MissingExample", ())
    Traceback (most recent call last):
    varigrad.errors.KernelError: no kernel 'MissingExample' is registered for backend 'numpy'
    """


class NotYetError(VariGradError, ValueError, AttributeError):
    """An attribute is asked for before there is one, such as the optimizer of a model that was not compiled.

    To `hasattr` it is not there, therefore, and `getattr` gives its default.

    >>> import varigrad as vg
    >>> hasattr(vg.sequential(), "optimizer")
    False
    """


class DataError(VariGradError, ValueError):
    """A table, a data set or a preprocessing file cannot be used as asked.

    >>> import varigrad as vg
    >>> vg.data.load_sample("tulips")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    varigrad.errors.DataError: there is no built-in data set 'tulips'; there is ...
    """


class OutOfMemoryError(VariGradError, MemoryError):
    """The machine has not the memory that a result needs.

    >>> import varigrad as vg
    >>> vg.ones([2**40, 1024])
    Traceback (most recent call last):
    varigrad.errors.OutOfMemoryError: ones: Unable to allocate 4.00 PiB for an array with shape (1099511627776, 1024) \
and data type float32
    """


class OutOfRangeError(VariGradError, IndexError):
    """An index points outside the axis that it indexes.

    >>> import varigrad as vg
    >>> vg.tensor([1, 2])[5]
    Traceback (most recent call last):
    varigrad.errors.OutOfRangeError: x[...]: index 5 is outside axis 0, which is 2 long (x: [2])
    """


class CompatibilityWarning(UserWarning):
    """A model is saved for TensorFlow.js with something in it that TensorFlow.js lacks, or computes otherwise.

    >>> import tempfile, warnings
    >>> import varigrad as vg
    >>> layer = vg.layers.conv1d(filters=1, kernel_size=2, padding="causal", input_shape=[8, 1], name="causal_example")
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", vg.CompatibilityWarning)
    ...     _ = vg.sequential(layers=[layer]).save(folder)
    >>> print(told[0].message)
    save: TensorFlow.js cannot open this model (causal_example: it has no causal padding)
    """
