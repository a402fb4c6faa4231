"""Runs a case through VariGrad and one other implementation, and tells how they differ."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

import varigrad as vg

from .javascript import TensorFlowJS, TensorFlowJSError
from .operation import Case, Op

_EPSILON = float(np.finfo(np.float32).eps)
_NARROW = {"f": "float32", "i": "int32", "u": "int32", "b": "bool", "c": "complex64", "O": "string", "U": "string"}


class Mismatch(AssertionError):
    """Two implementations disagree."""


def against_numpy(op: Op, case: Case) -> None:
    """Compares values, shapes and dtypes with NumPy's.

    Raises:
        Mismatch: They differ.
    """
    assert op.numpy is not None
    found = _outputs(_call(op, case))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy's, about means of nothing
        args, options = _wide(case.args), _wide(case.options)
        expected = [_narrowed(np.asarray(value)) for value in _flat(op.numpy(*args, **options))]
        sizes = _sizes(op, args, options, len(expected))
    _compare(op, case, "NumPy", found, expected, sizes)


def against_tensorflow_js(op: Op, case: Case, tf: TensorFlowJS, gradients: bool, everything: bool = False) -> bool:
    """Compares values, shapes and dtypes with TensorFlow.js's; and the gradients, if so asked. Returns whether it did,
    and not where the two are meant to differ (unless `everything` is to be compared).

    Gradients are compared where all the arguments that have one are floats, none is empty, and all results finite.

    Raises:
        Mismatch: They differ.
    """
    result = _call(op, case)
    if not everything and any(difference.when(case) for difference in op.differs):
        return False
    try:
        named = tf.call(op.name, case.args, case.options)
    except TensorFlowJSError as error:
        raise Mismatch(f"{op.name}({case})\n  TensorFlow.js refuses: {error}") from None
    fields = getattr(result, "_fields", None)
    expected = [named[name] for name in fields] if fields and set(fields) == set(named) else list(named.values())
    found = _outputs(result)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = _sizes(op, _wide(case.args), _wide(case.options), len(expected))
    _compare(op, case, "TensorFlow.js", found, expected, sizes, 2 * op.ulps)
    left_out = not everything and any(difference.when(case) for difference in op.gradient_differs)
    if gradients and op.gradients and not left_out:
        _compare_gradients(op, case, tf, expected[0])
    return True


def _compare_gradients(op: Op, case: Case, tf: TensorFlowJS, output: np.ndarray[Any, Any]) -> None:
    positions = [p for p in op.gradients if p < len(case.args) and isinstance(case.args[p], np.ndarray)]
    floats = all(case.args[p].dtype == np.float32 and case.args[p].size for p in positions)
    if not (positions and floats) or output.dtype != np.float32 or not np.isfinite(output).all():
        return
    # No zeros: a derivative that is infinite or NaN does not leak from where dy is 0, as it does in TensorFlow.js.
    random = np.random.default_rng(7)
    dy = (random.choice([-1, 1], output.shape) * random.integers(1, 9, output.shape) / 8).astype(np.float32)

    def f(*tensors: vg.Tensor) -> vg.Tensor:
        args = list(case.args)
        for position, tensor in zip(positions, tensors, strict=True):
            args[position] = tensor
        return _first(_call(op, Case(tuple(args), case.options)))

    try:
        found = vg.grads(f)([vg.tensor(case.args[p]) for p in positions], vg.tensor(dy))
    except Exception as error:
        raise Mismatch(f"gradient of {op.name}({case})\n  raises {type(error).__name__}: {error}") from error
    try:
        expected = tf.gradients(op.name, case.args, case.options, positions, dy)
    except TensorFlowJSError as error:
        raise Mismatch(f"gradient of {op.name}({case})\n  TensorFlow.js refuses: {error}") from None
    for position, ours, theirs in zip(positions, found, expected, strict=True):
        size = np.max(np.abs(theirs), initial=np.abs(dy).max(initial=0), where=np.isfinite(theirs))
        where = f"TensorFlow.js in the gradient for argument {position} with dy={dy.tolist()}"
        _compare(op, case, where, [ours.numpy()], [theirs], [size], op.gradient_ulps)


def _call(op: Op, case: Case) -> Any:
    function = reduce(getattr, op.name.split("."), vg)
    given = case.with_tensors()
    try:
        result = function(*given.args, **given.options)
    except Exception as error:
        raise Mismatch(f"{op.name}({case})\n  raises {type(error).__name__}: {error}") from error
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def _wide(value: Any) -> Any:
    """The arguments in double precision; integers stay, as int32 wraps around."""
    if isinstance(value, np.ndarray):
        return value.astype({"f": np.float64, "c": np.complex128}.get(value.dtype.kind, value.dtype))
    if isinstance(value, dict):
        return {name: _wide(item) for name, item in value.items()}
    return type(value)(_wide(item) for item in value) if isinstance(value, (list, tuple)) else value


def _absolute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "bO" else np.abs(value)
    return type(value)(_absolute(item) for item in value) if isinstance(value, (list, tuple)) else value


def _narrowed(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """In the dtype that the result should have; floats stay in double precision, which says more."""
    dtype = {"i": np.int32, "u": np.int32}.get(value.dtype.kind)
    return value if dtype is None else value.astype(dtype)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _outputs(result: Any) -> list[np.ndarray[Any, Any]]:
    return [leaf.numpy() for leaf in _flat(result)]


def _first(result: Any) -> vg.Tensor:
    return _flat(result)[0]


def _sizes(op: Op, args: Any, options: Any, count: int) -> Sequence[Any]:
    """What errors are measured by, for each output; None for the output itself."""
    if op.size is None:
        return [None] * count
    if op.size == "terms":
        assert op.numpy is not None
        return _flat(op.numpy(*_absolute(args), **{name: _absolute(item) for name, item in options.items()}))
    assert callable(op.size)
    sizes = _flat(op.size(*args, **options))
    return sizes * count if len(sizes) == 1 else sizes


def _compare(
    op: Op,
    case: Case,
    other: str,
    found: list[np.ndarray[Any, Any]],
    expected: list[np.ndarray[Any, Any]],
    sizes: Sequence[Any],
    ulps: float | None = None,
) -> None:
    call = f"{op.name}({case})"
    if len(found) != len(expected):
        raise Mismatch(f"{call}\n  gave {len(found)} tensors, {other} {len(expected)}")
    for place, (ours, theirs, size) in enumerate(zip(found, expected, sizes, strict=True)):
        output = f"{call}\n  output {place}"
        if _NARROW[ours.dtype.kind] != _NARROW[theirs.dtype.kind] or ours.dtype.itemsize > 8:
            raise Mismatch(f"{output} is {ours.dtype}, with {other} {_NARROW[theirs.dtype.kind]}")
        if ours.shape != theirs.shape:
            raise Mismatch(f"{output} has shape {ours.shape}, with {other} {theirs.shape}")
        same = _agree(ours, theirs, size, op.ulps if ulps is None else ulps)
        if not np.all(same):
            index = tuple(int(i) for i in np.argwhere(~same)[0])
            raise Mismatch(
                f"{output} at {index} is {ours[index]!r}, with {other} {theirs[index]!r}\n"
                f"  all: {ours.tolist()}\n  {other}: {theirs.tolist()}"
            )


def _agree(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], size: Any, ulps: float) -> Any:
    """Where the values agree: equal, both NaN, or, of floats, no further apart than so many units in the last place.

    What is below the least normal number may be taken for 0.
    """
    if ours.dtype.kind not in "fc":
        return np.asarray(ours == theirs)
    if ours.dtype.kind == "c":
        parts = [_agree(part(ours), part(theirs), np.abs(theirs) if size is None else size, ulps) for part in _PARTS]
        # An infinity with a NaN beside it is no more than not finite.
        return (parts[0] & parts[1]) | ~(np.isfinite(ours) | np.isfinite(theirs))
    with np.errstate(all="ignore"):
        rounded = theirs.astype(np.float32)
        allowed = ulps * _EPSILON * np.abs(theirs if size is None else size) + float(np.finfo(np.float32).tiny)
        near = np.abs(ours.astype(np.float64) - theirs) <= allowed
        near &= np.isfinite(ours) & np.isfinite(rounded)
        # At the very edge of the range either side may overflow.
        edge = np.isinf(ours) != np.isinf(rounded)
        near |= edge & (np.minimum(np.abs(ours), np.abs(theirs)) > (1 - ulps * _EPSILON) * np.finfo(np.float32).max)
    return near | (ours == rounded) | (np.isnan(ours) & np.isnan(theirs))


_PARTS = (np.real, np.imag)
