"""Lowering of sums of products by labels: views with the labels in order, and one matrix product for each pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.matmul import product
from varigrad.backends.native.operations import View

__all__ = ["RULES"]


def _einsum(b: Builder, *operands: View, equation: str) -> View | None:
    if not operands[0].kind.is_float:
        return None
    left, output = equation.split("->")
    labels = left.split(",")
    x, held = _diagonal(operands[0], labels[0])
    for following, (y, other) in enumerate(zip(operands[1:], labels[1:], strict=True), 2):
        x, held = _contracted(b, x, held, *_diagonal(y, other), output + "".join(labels[following:]))
    x, held = _summed_out(b, x, held, output)
    return x.permuted([held.index(label) for label in output])


def _diagonal(x: View, labels: str) -> tuple[View, str]:
    """A view in which every label stands for one axis: a step along a diagonal is one along each of its axes."""
    distinct = "".join(dict.fromkeys(labels))
    strides = tuple(
        sum([s for s, other in zip(x.strides, labels, strict=True) if other == label]) for label in distinct
    )
    return View(x.val, tuple(x.shape[labels.index(label)] for label in distinct), strides, x.offset), distinct


def _summed_out(b: Builder, x: View, labels: str, needed: str) -> tuple[View, str]:
    """Sums over the axes whose labels nobody needs."""
    axes = [axis for axis, label in enumerate(labels) if label not in needed]
    kept = "".join([label for label in labels if label in needed])
    return (b.reduce("sum", x, axes), kept) if axes else (x, labels)


def _contracted(b: Builder, x: View, x_labels: str, y: View, y_labels: str, needed: str) -> tuple[View, str]:
    """The product of two arrays, summed over the labels that nobody needs afterwards; it lies in memory in the order
    in which they are needed, where that can be."""
    x, x_labels = _summed_out(b, x, x_labels, needed + y_labels)
    y, y_labels = _summed_out(b, y, y_labels, needed + x_labels)
    sizes = dict(zip(x_labels + y_labels, x.shape + y.shape, strict=True))
    last = next((label for label in reversed(needed) if label in sizes), "")
    if last not in y_labels and any(label not in x_labels for label in y_labels):
        x, x_labels, y, y_labels = y, y_labels, x, x_labels  # columns of the second factor lie side by side
    batch = [label for label in x_labels if label in y_labels and label in needed]
    inner = [label for label in x_labels if label in y_labels and label not in needed]
    rows = sorted([label for label in x_labels if label not in y_labels], key=needed.index)
    columns = sorted([label for label in y_labels if label not in x_labels], key=needed.index)
    x = x.permuted([x_labels.index(label) for label in batch + rows + inner])
    y = y.permuted([y_labels.index(label) for label in batch + inner + columns])
    n, r, i, c = (tuple([sizes[label] for label in group]) for group in (batch, rows, inner, columns))
    if not inner:
        made = b.map("Multiply", b.reshape(x, n + r + (1,) * len(c)), b.reshape(y, n + (1,) * len(r) + c))
    else:
        order = _order([*batch, "".join(rows), "".join(columns)], needed)
        made = product(b, b.reshape(x, (*n, prod(r), prod(i))), b.reshape(y, (*n, prod(i), prod(c))), order)
    return b.reshape(made, n + r + c), "".join(batch + rows + columns)


def _order(axes: Sequence[str], needed: str) -> list[int] | None:
    """The axes, each of some labels, in the order that is needed; None if there is none, or it has another last one."""
    order = sorted(range(len(axes)), key=lambda axis: needed.find(axes[axis][:1]))
    wanted = "".join([label for label in needed if label in "".join(axes)])
    fits = wanted == "".join([axes[axis] for axis in order]) and order[-1] == len(axes) - 1
    return order if fits else None


RULES: dict[str, Callable[..., Any]] = {"Einsum": _einsum}
