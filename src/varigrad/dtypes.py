"""dtypes: their names, their NumPy types, promotion, and conversion from Python, NumPy and pandas values.

The names are TensorFlow.js's: float32, int32, bool, complex64, string. float64, float16, bfloat16 and int64 are
extensions that appear only where the caller asks for them by name: a float64 or int64 array becomes float32 or int32.
float16 and bfloat16, of half the width of float32, are for keeping numbers, not for computing with them: see
`varigrad.halves`.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

__all__ = [
    "DIFFERENTIABLE",
    "HALVES",
    "MAX_RANK",
    "Array",
    "DType",
    "as_numpy",
    "dtype_name",
    "is_differentiable",
    "is_floating",
    "kind_of",
    "numpy_dtype",
    "promote",
    "sum_out_type",
    "to_array",
    "upcast_type",
    "when_halves_come",
]

DType: TypeAlias = Literal["float32", "int32", "bool", "complex64", "string", "float64", "float16", "bfloat16", "int64"]
Array: TypeAlias = np.ndarray[Any, Any]

_NUMPY: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "int32": np.dtype(np.int32),
    "bool": np.dtype(np.bool_),
    "complex64": np.dtype(np.complex64),
    "string": np.dtype(object),
    "float64": np.dtype(np.float64),
    "int64": np.dtype(np.int64),
}
_NAMES: dict[np.dtype[Any], DType] = {dtype: name for name, dtype in _NUMPY.items()}  # pyright: ignore[reportAssignmentType]

# By the character that NumPy tells dtypes apart by; its `kind` won't do, for bfloat16 has none that is its own.
HALVES = "eE"  # float16, bfloat16
DIFFERENTIABLE = "fdFeE"

MAX_RANK = 32  # the axes of a tensor at most: some of NumPy's functions take no more

_halves_have_come: list[Callable[[], None]] = []

# Promotion takes the later of the two; bool gives way to all, complex64 to none.
_ORDER: dict[str, int] = {
    name: rank
    for rank, name in enumerate(["bool", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
}
_HALF_NAMES = ("float16", "bfloat16")


def numpy_dtype(dtype: str, op: str = "dtype") -> np.dtype[Any]:
    """The NumPy dtype behind a dtype name."""
    try:
        return _NUMPY[dtype]
    except (KeyError, TypeError):
        if isinstance(dtype, str) and dtype in _HALF_NAMES:
            return _add_half(dtype, op)
        raise ValueError(f"{op}: unknown dtype {dtype!r:.80}; use one of {', '.join(get_args(DType))}") from None


def dtype_name(dtype: np.dtype[Any]) -> DType:
    """The dtype name of a NumPy dtype that tensors can hold."""
    try:
        return _NAMES[dtype]
    except KeyError:
        if dtype.char not in HALVES:
            raise
        _add_half(dtype.name, "dtype")
        return _NAMES[dtype]


def _add_half(name: str, op: str) -> np.dtype[Any]:
    """Takes up float16 or bfloat16, which is asked for by name or met for the first time."""
    if name == "float16":
        dtype: np.dtype[Any] = np.dtype(np.float16)
    else:
        try:
            from ml_dtypes import bfloat16  # optional, and loaded only where it is wanted
        except ImportError:
            raise ModuleNotFoundError(
                f"{op}: bfloat16 comes with the package ml_dtypes: pip install 'varigrad[bfloat16]'"
            ) from None
        dtype = np.dtype(bfloat16)
    _NUMPY[name] = dtype
    _NAMES[dtype] = cast("DType", name)
    for tell in _halves_have_come:
        tell()
    return dtype


def when_halves_come(tell: Callable[[], None]) -> None:
    """Has `tell` called when float16 or bfloat16 is first asked for."""
    _halves_have_come.append(tell)


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for the kind of a dtype; `f` for bfloat16 too, of which NumPy knows none."""
    return "f" if dtype.char in HALVES else dtype.kind


def is_floating(dtype: str) -> bool:
    """Whether the dtype is a real floating-point one."""
    return dtype in ("float32", "float64", "float16", "bfloat16")


def is_differentiable(dtype: np.dtype[Any]) -> bool:
    """Whether a gradient can flow through values of this NumPy dtype: real and complex floats."""
    return dtype.char in DIFFERENTIABLE


def promote(a: str, b: str, op: str = "promote") -> DType:
    """The dtype in which values of dtypes `a` and `b` meet: bool < int32 < int64 < float16, bfloat16 < float32 <
    float64 < complex64. float16 and bfloat16, neither of which holds the other, meet in float32; strings meet only
    strings."""
    if a == b:
        return a  # pyright: ignore[reportReturnType]
    if a not in _ORDER or b not in _ORDER:
        raise TypeError(f"{op}: dtypes {a} and {b} cannot be combined")
    if a in _HALF_NAMES and b in _HALF_NAMES:
        return "float32"
    return a if _ORDER[a] > _ORDER[b] else b  # pyright: ignore[reportReturnType]


def upcast_type(type_a: str, type_b: str) -> DType:
    """The dtype of what is made of two: the wider one.

    Their order is bool, int32, int64, float16 or bfloat16, float32, float64, complex64; of float16 and bfloat16 it is
    float32.

    Mirrors `tf.upcastType`.

    Raises:
        TypeError: One is string and the other not.
        ValueError: There is no such dtype.

    >>> import varigrad as vg
    >>> vg.upcast_type("int32", "float32")
    'float32'
    """
    for dtype in (type_a, type_b):
        numpy_dtype(dtype, "upcast_type")
    return promote(type_a, type_b, "upcast_type")


def sum_out_type(type: str) -> DType:
    """The dtype of a sum of values of a dtype: int32 for bools, and otherwise the same. Mirrors `tf.sumOutType`.

    >>> import varigrad as vg
    >>> vg.sum_out_type("bool")
    'int32'
    """
    return upcast_type(type, "int32")


# What an array of another kind becomes when the caller names no dtype.
_DEFAULT_FOR_KIND: dict[str, str] = {
    "f": "float32",
    "i": "int32",
    "u": "int32",
    "b": "bool",
    "c": "complex64",
    "U": "string",
    "S": "string",
    "O": "string",
    "T": "string",
}


def to_array(value: Any, dtype: str | None = None, op: str = "tensor", argument: str = "values") -> Array:
    """A fresh C-contiguous array with the values of a number, string, nested sequence, array or data frame.

    Python numbers become float32, as in TensorFlow.js, unless all are bools or `dtype` says otherwise; arrays keep
    their kind (float, integer, bool, complex, string) at TensorFlow.js's width.

    Raises:
        ValueError: ragged nesting, or an integer that doesn't fit the dtype.
        TypeError: values that are neither numbers, bools nor strings.
    """
    if dtype is not None:
        target = numpy_dtype(dtype, op)
    elif isinstance(value, bool):
        return np.array(value)
    elif isinstance(value, (int, float)):
        return _numbers(value, np.float32, op, argument)
    else:
        target = None
    array = as_numpy(value, op, argument)
    if array.dtype.char == "E" and array.dtype != target:
        array = array.astype(np.float32)  # bfloat16, which NumPy hardly knows
    if array.dtype.kind == "O":
        array = _plain_objects(array, op, argument)
    if target is None:
        kind = array.dtype.kind
        if kind not in _DEFAULT_FOR_KIND:
            raise TypeError(f"{op}: {argument} has dtype {array.dtype}, which a tensor cannot hold")
        # Numbers written out in Python are float32 even when whole: vg.tensor([1, 2]) is meant for arithmetic.
        name = "float32" if kind in "iu" and _is_python_data(value) else _DEFAULT_FOR_KIND[kind]
        target = _NUMPY[name]
    if target.kind in "iu" and array.dtype.kind in "iuf":
        _check_range(array, target, op, argument)
    if target.kind == "O":
        array = _decode_strings(array, op, argument) if array.size else array.astype(object)
    elif array.dtype.kind in "OUS":
        raise TypeError(f"{op}: {argument} holds strings, which cannot become {dtype_name(target)}")
    elif array.dtype.kind == "c" and target.kind != "c":
        raise TypeError(f"{op}: {argument} holds complex numbers, which cannot become {dtype_name(target)}")
    elif array.dtype.kind in "Mm" or array.dtype.names is not None:
        raise TypeError(f"{op}: {argument} has dtype {array.dtype}, which cannot become {dtype_name(target)}")
    with np.errstate(all="ignore"):
        return np.array(array, dtype=target, order="C")


def as_numpy(value: Any, op: str, argument: str) -> Array:
    """The values as a NumPy array of whatever dtype they have; perhaps the caller's own memory."""
    array = cast("Array", value) if isinstance(value, np.ndarray) else _as_array(value, op, argument)
    if array.ndim > MAX_RANK:
        raise ValueError(f"{op}: {argument} has {array.ndim} axes; tensors have {MAX_RANK} at most")
    return array


def _as_array(value: Any, op: str, argument: str) -> Array:
    try:
        if hasattr(value, "to_numpy"):  # pandas
            return np.asarray(value.to_numpy())
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            message = "its nested sequences differ in length; pad the shorter ones, with zeros for instance"
            raise ValueError(f"{op}: {argument} is ragged: {message}") from None
        raise ValueError(f"{op}: {argument} cannot become an array: {error}") from error


def _is_python_data(value: Any) -> bool:
    """Whether the numbers are written out in Python; a list whose first row is an array has the array's kind."""
    row: Any = value
    while isinstance(row, (list, tuple)) and row:
        row = cast("list[Any]", row)[0]
    return isinstance(value, (list, tuple, range, int, float)) and not isinstance(row, np.ndarray)


def _plain_objects(array: Array, op: str, argument: str) -> Array:
    """An array of Python objects, such as a data frame of numbers and bools gives, as numbers if all are numbers; or
    as it is if all are strings."""
    kinds: set[type] = set(map(type, array.flat))
    if all(issubclass(kind, (str, bytes)) for kind in kinds):
        return array
    if all(issubclass(kind, (Number, np.bool_)) for kind in kinds):
        is_complex = any(issubclass(kind, (complex, np.complexfloating)) for kind in kinds)
        return _numbers(array, np.complex128 if is_complex else np.float64, op, argument)
    for item in array.flat:
        if not isinstance(item, (str, bytes, Number, np.bool_)):
            raise TypeError(
                f"{op}: {argument} holds {type(item).__name__} {item!r}; a tensor holds numbers, bools or strings"
            )
    raise TypeError(f"{op}: {argument} holds strings and numbers together; a tensor has one dtype")


def _numbers(value: Any, dtype: type[np.generic], op: str, argument: str) -> Array:
    """A number of Python, or an array of them, in a dtype that all but the largest integers fit."""
    try:
        return np.array(value, dtype)
    except OverflowError:
        raise ValueError(f"{op}: {argument} holds an integer that is too large for any dtype") from None


def _decode_strings(array: Array, op: str, argument: str) -> Array:
    if array.dtype.kind not in "OUST":
        raise TypeError(f"{op}: {argument} has dtype {array.dtype}, which cannot become string")
    return array.astype(object)


def _check_range(array: Array, target: np.dtype[Any], op: str, argument: str) -> None:
    if not array.size or array.dtype == target:
        return
    limits = np.iinfo(target)
    low, high = array.min().item(), array.max().item()  # of Python, as float16 cannot hold the limits
    if not (low >= limits.min and high <= limits.max):  # so that NaN is caught too
        worst = high if high > limits.max else low
        raise ValueError(f"{op}: {argument} holds {worst}, which does not fit {target}")
