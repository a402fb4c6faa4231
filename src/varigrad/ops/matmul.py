"""Matrix products."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from math import prod

from varigrad.dtypes import kind_of, promote
from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, cast_to, convert, operands, reshape_to
from varigrad.ops.options import flag
from varigrad.tensor import Tensor, format_shape

__all__ = ["dot", "einsum", "mat_mul", "matmul", "outer_product"]


def mat_mul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """The matrix product of `a` and `b`.

    Mirrors `tf.matMul`. `a @ b` and `matmul` take vectors too.

    Args:
        a: Numeric, `[..., rows, inner]`; `[..., inner, rows]` with `transpose_a`.
        b: Numeric, `[..., inner, columns]`; `[..., columns, inner]` with `transpose_b`. Batch axes before the last two
            broadcast with those of `a`.
        transpose_a: Whether to swap the last two axes of `a` first.
        transpose_b: Whether to swap the last two axes of `b` first.

    Returns:
        `[..., rows, columns]`, of the wider of the two dtypes.

    Raises:
        ValueError: The inner lengths differ, the batch axes do not broadcast, or an argument has rank 0 or 1.

    >>> import varigrad as vg
    >>> vg.mat_mul([[1, 2], [3, 4]], [[1], [10]]).tolist()
    [[21.0], [43.0]]
    >>> vg.mat_mul([[1, 2], [3, 4]], [[1, 10]], transpose_b=True).tolist()
    [[21.0], [43.0]]
    """
    a, b = _numeric("mat_mul", a, b)
    if a.storage.ndim < 2 or b.storage.ndim < 2:
        raise rank_too_low("mat_mul", a, b)
    return _product("mat_mul", a, b, transpose_a, transpose_b)


def _product(op: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    if transpose_a.__class__ is not bool or transpose_b.__class__ is not bool:
        transpose_a, transpose_b = flag(op, "transpose_a", transpose_a), flag(op, "transpose_b", transpose_b)
    try:
        return run_kernel("BatchMatMul", (a, b), {"transpose_a": transpose_a, "transpose_b": transpose_b})
    except ValueError:
        check_product(op, a, b, transpose_a, transpose_b)
        raise


def matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """`mat_mul`, with NumPy's rule for vectors; also `a @ b` on tensors.

    A vector is a row on the left and a column on the right, and the axis that it gains is dropped from the result.

    >>> import varigrad as vg
    >>> vg.matmul([[1, 2], [3, 4]], [1, 10]).tolist()
    [21.0, 43.0]
    """
    a, b = _numeric("matmul", a, b)
    if a.storage.ndim < 2 or b.storage.ndim < 2:
        return _with_vector("matmul", a, b, transpose_a, transpose_b)
    return _product("matmul", a, b, transpose_a, transpose_b)


def dot(t1: TensorLike, t2: TensorLike) -> Tensor:
    """The product of two vectors, a vector and a matrix, or two matrices. Mirrors `tf.dot`.

    Args:
        t1: Numeric, `[inner]` or `[rows, inner]`.
        t2: Numeric, `[inner]` or `[inner, columns]`.

    Returns:
        A scalar for two vectors, else `[rows]`, `[columns]` or `[rows, columns]`.

    Raises:
        ValueError: The inner lengths differ, or a rank is neither 1 nor 2.

    >>> import varigrad as vg
    >>> vg.dot([1, 2], [[1, 2, 3], [4, 5, 6]]).tolist()
    [9.0, 12.0, 15.0]
    """
    t1, t2 = _numeric("dot", t1, t2)
    for name, t in (("t1", t1), ("t2", t2)):
        if t.rank not in (1, 2):
            raise ValueError(f"dot: {name} must be a vector or a matrix, got shape {format_shape(t.shape)}")
    if t1.rank == t2.rank == 2:
        check_product("dot", t1, t2, False, False)
        return mat_mul(t1, t2)
    return _with_vector("dot", t1, t2, False, False)


def outer_product(v1: TensorLike, v2: TensorLike) -> Tensor:
    """The products of every element of one vector with every element of another. Mirrors `tf.outerProduct`.

    Args:
        v1: Numeric, `[rows]`.
        v2: Numeric, `[columns]`.

    Returns:
        `[rows, columns]`.

    >>> import varigrad as vg
    >>> vg.outer_product([1, 2], [3, 4]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    v1, v2 = _numeric("outer_product", v1, v2)
    for name, v in (("v1", v1), ("v2", v2)):
        if v.rank != 1:
            raise ValueError(f"outer_product: {name} must be a vector, got shape {format_shape(v.shape)}")
    return mat_mul(reshape_to(v1, (v1.size, 1)), reshape_to(v2, (1, v2.size)))


def einsum(equation: str, *tensors: TensorLike) -> Tensor:
    """The sum of products that the equation describes, after Einstein. Mirrors `tf.einsum`.

    Each axis has a letter. Axes of one letter run together; those whose letter is not in the result are summed. As
    in NumPy, a letter twice in one operand takes the diagonal, `...` stands for axes that broadcast, and without an
    arrow the result has the letters that occur once, in alphabetical order.

    Args:
        equation: Such as `"ij,jk->ik"`, a matrix product.
        tensors: As many as the equation names, one or more, numeric, an axis for each letter.

    Raises:
        ValueError: The equation is malformed, or does not fit the tensors' ranks and lengths.

    >>> import varigrad as vg
    >>> vg.einsum("ij,kj->ik", [[1, 2], [3, 4]], [[1, 1]]).tolist()
    [[3.0], [7.0]]
    >>> vg.einsum("ii->", [[1, 2], [3, 4]]).item()
    5.0
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation must be a string, got {type(equation).__name__}")
    operands = [convert(t, "einsum", f"tensors[{position}]") for position, t in enumerate(tensors)]
    explicit, shapes = _explicit_equation(equation, tuple([x.shape for x in operands]))
    dtype = "int32" if operands[0].dtype == "bool" else operands[0].dtype
    for x in operands:
        dtype = promote(dtype, x.dtype, "einsum")
    if dtype == "string":
        raise TypeError("einsum: the tensors must be numeric, got strings")
    for position, (x, shape) in enumerate(zip(operands, shapes)):
        x = convert(x, "einsum", "tensors", dtype)
        operands[position] = x if x.shape == shape else reshape_to(x, shape)
    return run_kernel("Einsum", tuple(operands), {"equation": explicit})


_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


@lru_cache(maxsize=256)
def _explicit_equation(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """The equation with an arrow and without `...`, and the operands' shapes without the axes of length 1 that `...`
    broadcasts."""
    given = f"(equation: {equation!r}, tensors: {', '.join(map(format_shape, shapes))})"
    compact = equation.replace(" ", "")
    left, arrow, output = compact.partition("->")
    terms = left.split(",")
    if not all(_TERM.fullmatch(term) for term in (*terms, output)):
        raise ValueError(f"einsum: an equation is letters, one an axis, with ',' between tensors and one '->' {given}")
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: the equation names {len(terms)} tensors, but {len(shapes)} are given {given}")
    if not arrow:
        letters = [c for c in left if c.isalpha()]
        output = "..." * ("..." in left) + "".join(sorted(c for c in letters if letters.count(c) == 1))
    extra = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes)]
    if any(n < 0 or (n and "..." not in term) for term, n in zip(terms, extra)):
        raise ValueError(f"einsum: every tensor needs a letter for each of its axes {given}")
    spread = "".join([letter for letter in string.ascii_letters if letter not in compact][: max(extra)])
    terms = [term.replace("...", spread[len(spread) - n :]) for term, n in zip(terms, extra)]
    output = output.replace("...", spread)
    lengths: dict[str, int] = {}
    for letter, length in (pair for term, shape in zip(terms, shapes) for pair in zip(term, shape)):
        known = lengths.get(letter, length)
        if known != length and not (letter in spread and 1 in (known, length)):
            axes = "'...'" if letter in spread else repr(letter)
            raise ValueError(f"einsum: {axes} stands for axes of lengths {known} and {length} {given}")
        lengths[letter] = length if known == 1 else known
    if len(set(output)) != len(output) or not set(output) <= lengths.keys():
        raise ValueError(f"einsum: the result's letters must differ, and each occur in a tensor {given}")
    kept = [
        [(letter, length) for letter, length in zip(term, shape) if length == lengths[letter]]
        for term, shape in zip(terms, shapes)
    ]
    inputs = ",".join(["".join(letter for letter, _ in axes) for axes in kept])
    return f"{inputs}->{output}", tuple([tuple(length for _, length in axes) for axes in kept])


def _numeric(op: str, a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    """Two arguments of one numeric dtype; bools count as integers."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage.dtype is b.storage.dtype):
        a, b = operands(op, a, b)
    kind = kind_of(a.storage.dtype)
    if kind == "f":
        return a, b
    if kind == "O":
        raise TypeError(f"{op}: a and b must be numeric, got strings")
    return (cast_to(a, "int32"), cast_to(b, "int32")) if kind == "b" else (a, b)


def _with_vector(op: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """A product in which at least one side is a vector."""
    for name, t, transpose in (("a", a, transpose_a), ("b", b, transpose_b)):
        if t.rank == 0:
            raise ValueError(f"{op}: {name} is a scalar; use mul to scale a tensor")
        if t.rank == 1 and transpose:
            raise ValueError(f"{op}: {name} is a vector, {format_shape(t.shape)}, which has no transpose")
    row = reshape_to(a, (1, a.size)) if a.rank == 1 else a
    column = reshape_to(b, (b.size, 1)) if b.rank == 1 else b
    if _inner(row, transpose_a, -1) != _inner(column, transpose_b, -2):
        raise _inner_lengths_differ(op, a, b, transpose_a, transpose_b)
    product = mat_mul(row, column, transpose_a, transpose_b)
    shape = product.shape[:-2] + product.shape[-2:][a.rank == 1 : 1 if b.rank == 1 else 2]
    return reshape_to(product, shape)


# For the fused step and gradient rules, not exported.


def flat_rows(x: Tensor) -> Tensor:
    """`x` as a matrix with the rows of its whole batch: `[rows, columns]`."""
    if x.storage.ndim == 2:
        return x
    return reshape_to(x, (prod(x.shape[:-1]), x.shape[-1]))


def rank_too_low(op: str, a: Tensor, b: Tensor) -> ValueError:
    """The error for a factor that is no matrix."""
    hint = "; dot and a @ b take vectors" if op == "mat_mul" else ""
    return ValueError(
        f"{op}: a and b must have rank 2 or more{hint} (a: {format_shape(a.shape)}, b: {format_shape(b.shape)})"
    )


def check_product(op: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> None:
    """Explains why two tensors of rank 2 and more cannot be multiplied."""
    if _inner(a, transpose_a, -1) != _inner(b, transpose_b, -2):
        raise _inner_lengths_differ(op, a, b, transpose_a, transpose_b)
    if not _broadcast(a.shape[:-2], b.shape[:-2]):
        raise ValueError(
            f"{op}: the batch axes before the last two of a and b cannot be broadcast together "
            f"(a: {format_shape(a.shape)}, b: {format_shape(b.shape)})"
        )


def _inner(t: Tensor, transpose: bool, axis: int) -> int:
    return t.shape[-3 - axis if transpose else axis]


def _inner_lengths_differ(op: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> ValueError:
    columns = ("rows" if transpose_a else "columns") if a.rank > 1 else "elements"
    rows = ("columns" if transpose_b else "rows") if b.rank > 1 else "elements"
    flags = [f"transpose_{name}=True" for name, flag in (("a", transpose_a), ("b", transpose_b)) if flag]
    given = ", ".join([f"a: {format_shape(a.shape)}", f"b: {format_shape(b.shape)}", *flags])
    return ValueError(
        f"{op}: a has {_inner(a, transpose_a, -1)} {columns} but b has "
        f"{b.size if b.rank == 1 else _inner(b, transpose_b, -2)} {rows} to multiply them with ({given})"
    )


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b)))
