"""Making tensors by a rule: of one value, in a range, on a diagonal, of real and imaginary parts."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import (
    MOST_VALUES,
    TensorLike,
    check_dtype,
    convert,
    convert_integers,
    normalize_shape,
)
from varigrad.ops.options import integer, number, one_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "complex",
    "diag",
    "eye",
    "fill",
    "imag",
    "linspace",
    "meshgrid",
    "one_hot",
    "ones",
    "ones_like",
    "range",
    "real",
    "zeros",
    "zeros_like",
]


def zeros(shape: Sequence[int], dtype: str = "float32") -> Tensor:
    """Zeros in a shape; empty texts for dtype string. Mirrors `tf.zeros`.

    >>> import varigrad as vg
    >>> vg.zeros([2, 2]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    attrs = {"shape": normalize_shape("zeros", shape), "value": 0, "dtype": check_dtype("zeros", dtype)}
    return run_kernel("Fill", (), attrs)


def ones(shape: Sequence[int], dtype: str = "float32") -> Tensor:
    """Ones in a shape. Mirrors `tf.ones`.

    >>> import varigrad as vg
    >>> vg.ones([2], "int32").tolist()
    [1, 1]
    """
    dtype = check_dtype("ones", dtype)
    if dtype == "string":
        raise TypeError("ones: there is no one among strings; vg.fill repeats a text")
    attrs = {"shape": normalize_shape("ones", shape), "value": 1, "dtype": dtype}
    return run_kernel("Fill", (), attrs)


def fill(shape: Sequence[int], value: TensorLike, dtype: str | None = None) -> Tensor:
    """One value in a shape. Mirrors `tf.fill`.

    Args:
        shape: The shape of the result.
        value: A number, bool or string, or a scalar tensor, through which gradients flow.
        dtype: The dtype; by default float32 for Python numbers, and the value's own otherwise.

    Raises:
        ValueError: `value` is more than one value.

    >>> import varigrad as vg
    >>> vg.fill([2, 2], 4).tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    # The value is a tensor, not an attribute, so that a compiled step need not be compiled for each one.
    x = convert(value, "fill", "value", dtype)
    if x.rank:
        raise ValueError(f"fill: value must be one value, got shape {format_shape(x.shape)}; broadcast_to takes many")
    return run_kernel("BroadcastTo", (x,), {"shape": normalize_shape("fill", shape)})


def zeros_like(x: TensorLike) -> Tensor:
    """Zeros in the shape and dtype of `x`. Mirrors `tf.zerosLike`.

    >>> import varigrad as vg
    >>> vg.zeros_like([[1, 2]]).tolist()
    [[0.0, 0.0]]
    """
    return run_kernel("ZerosLike", (convert(x, "zeros_like", "x"),))


def ones_like(x: TensorLike) -> Tensor:
    """Ones in the shape and dtype of `x`. Mirrors `tf.onesLike`.

    >>> import varigrad as vg
    >>> vg.ones_like([[1, 2]]).tolist()
    [[1.0, 1.0]]
    """
    return run_kernel("OnesLike", (convert(x, "ones_like", "x"),))


def one_hot(indices: TensorLike, depth: int, on_value: float = 1, off_value: float = 0, dtype: str = "int32") -> Tensor:
    """A row for each index, with `on_value` at the index and `off_value` elsewhere. Mirrors `tf.oneHot`.

    Args:
        indices: Integers (or bools, as 0 and 1), any shape. An index outside `0 … depth - 1` gives a row of
            `off_value` only.
        depth: The length of a row.
        on_value: The value at the index.
        off_value: The value elsewhere.
        dtype: The dtype of the result.

    Returns:
        A tensor of shape `[*indices.shape, depth]`.

    Raises:
        TypeError: The indices are not integers.

    >>> import varigrad as vg
    >>> vg.one_hot([0, 2, 5], 3).tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    x = convert_integers(indices, "one_hot", "indices")
    attrs = {
        "depth": normalize_shape("one_hot", (depth,), "depth")[0],
        "on_value": number("one_hot", "on_value", on_value),
        "off_value": number("one_hot", "off_value", off_value),
        "dtype": check_dtype("one_hot", dtype),
    }
    return run_kernel("OneHot", (x,), attrs)


def linspace(start: float, stop: float, num: int) -> Tensor:
    """Evenly spaced float32 numbers from `start` to `stop`, both among them. Mirrors `tf.linspace`.

    Args:
        start: The first number.
        stop: The last one, below `start` or above.
        num: How many there are.

    Raises:
        TypeError: `num` is no integer.
        ValueError: `num` is not positive.

    >>> import varigrad as vg
    >>> vg.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    count = integer("linspace", "num", num, 1)
    ends = {"start": float(number("linspace", "start", start)), "stop": float(number("linspace", "stop", stop))}
    return run_kernel("LinSpace", (), {**ends, "num": count})


def range(start: float, stop: float, step: float = 1, dtype: str = "float32") -> Tensor:
    """Numbers from `start` on, `step` apart, up to but not including `stop`. Mirrors `tf.range`.

    A step of 1 goes downwards where `stop` is below `start`; any other step that leads away from `stop` gives no
    numbers.

    Raises:
        ValueError: A step of 0.

    >>> import varigrad as vg
    >>> vg.range(0, 5, 2).tolist()
    [0.0, 2.0, 4.0]
    >>> vg.range(3, 0, dtype="int32").tolist()
    [3, 2, 1]
    """
    start, stop, step = number("range", "start", start), number("range", "stop", stop), number("range", "step", step)
    if step == 0:
        raise ValueError("range: the step must not be 0")
    if step == 1 and stop < start:
        step = -1
    count = (float(stop) - float(start)) / float(step)
    if not (math.isfinite(count) and count < MOST_VALUES):
        raise ValueError(f"range: from {start} to {stop} by {step} there are more numbers than any memory can hold")
    attrs = {"start": start, "stop": stop, "step": step, "dtype": check_dtype("range", dtype)}
    return run_kernel("Range", (), attrs)


def eye(
    num_rows: int, num_columns: int | None = None, batch_shape: Sequence[int] | None = None, dtype: str = "float32"
) -> Tensor:
    """The identity matrix, with ones on the diagonal. Mirrors `tf.eye`.

    Args:
        num_rows: How many rows.
        num_columns: How many columns; as many as rows by default.
        batch_shape: Axes to put in front, along which the matrix is repeated.
        dtype: The dtype.

    >>> import varigrad as vg
    >>> vg.eye(2, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows, columns = normalize_shape("eye", (num_rows, num_rows if num_columns is None else num_columns), "size")
    matrix = run_kernel("Eye", (), {"rows": rows, "columns": columns, "dtype": check_dtype("eye", dtype)})
    if batch_shape is None:
        return matrix
    shape = (*normalize_shape("eye", batch_shape, "batch_shape"), rows, columns)
    return run_kernel("BroadcastTo", (matrix,), {"shape": shape})


def diag(x: TensorLike) -> Tensor:
    """Zeros with the values on the diagonal. Mirrors `tf.diag`.

    Args:
        x: Rank 1 or more.

    Returns:
        Shape `[*x.shape, *x.shape]`, with `x[i, …]` at `[i, …, i, …]`.

    >>> import varigrad as vg
    >>> vg.diag([1, 2]).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    x = convert(x, "diag", "x")
    if not x.rank:
        raise ValueError("diag: x is a scalar, but must have rank 1 or more")
    return run_kernel("Diag", (x,))


def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of the points of a grid, one tensor for each axis of it. Mirrors `tf.meshgrid`.

    Args:
        arrays: The coordinates along each axis, vectors.
        indexing: `"xy"` for x along the second axis of the results and y along the first; `"ij"` for the order given.

    >>> import varigrad as vg
    >>> x, y = vg.meshgrid([1, 2, 3], [4, 5])
    >>> x.tolist(), y.tolist()
    ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[4.0, 4.0, 4.0], [5.0, 5.0, 5.0]])
    """
    indexing = one_of("meshgrid", "indexing", indexing, ("xy", "ij"))
    vectors = [convert(a, "meshgrid", f"argument {i}") for i, a in enumerate(arrays)]
    places = list(builtins.range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(vectors)
    for place, vector in zip(places, vectors, strict=True):
        shape[place] = vector.size
    grids: list[Tensor] = []
    for place, vector in zip(places, vectors, strict=True):
        along = tuple([vector.size if axis == place else 1 for axis in builtins.range(len(vectors))])
        column = run_kernel("Reshape", (vector,), {"shape": along})
        grids.append(run_kernel("BroadcastTo", (column,), {"shape": tuple(shape)}))
    return grids


def complex(real: TensorLike, imag: TensorLike) -> Tensor:
    """Complex numbers from their parts. Mirrors `tf.complex`.

    Args:
        real: The real parts, float32.
        imag: The imaginary parts, of the same shape.

    Raises:
        ValueError: The shapes differ.

    >>> import varigrad as vg
    >>> vg.complex([1, 2], [3, 4]).tolist()
    [(1+3j), (2+4j)]
    """
    real = convert(real, "complex", "real", "float32")
    imag = convert(imag, "complex", "imag", "float32")
    if real.shape != imag.shape:
        raise ValueError(
            f"complex: real and imag must have one shape (real: {format_shape(real.shape)}, "
            f"imag: {format_shape(imag.shape)})"
        )
    return run_kernel("Complex", (real, imag))


def real(x: TensorLike) -> Tensor:
    """The real parts of complex numbers, float32; other numbers as they are. Mirrors `tf.real`.

    >>> import varigrad as vg
    >>> vg.real([1 + 2j]).tolist()
    [1.0]
    """
    x = convert(x, "real", "x")
    return run_kernel("Real" if x.storage.dtype.kind == "c" else "Identity", (x,))


def imag(x: TensorLike) -> Tensor:
    """The imaginary parts of complex numbers, float32; zeros for other numbers. Mirrors `tf.imag`.

    >>> import varigrad as vg
    >>> vg.imag([1 + 2j]).tolist()
    [2.0]
    """
    x = convert(x, "imag", "x")
    return run_kernel("Imag" if x.storage.dtype.kind == "c" else "ZerosLike", (x,))
