"""What `fit` and `evaluate` are given, as arrays that fit the model; and batches of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import Array, is_floating, numpy_dtype, to_array
from varigrad.engine import make_tensor
from varigrad.layers.training.losses import LOSSES, categorical_crossentropy, sparse_categorical_crossentropy
from varigrad.layers.training.weighting import class_weights
from varigrad.tensor import Tensor, format_shape

if TYPE_CHECKING:
    from varigrad.layers.symbolic import SymbolicTensor
    from varigrad.layers.training.trainable import Trainable

__all__ = ["Batch", "Samples", "read_samples", "with_class_weights"]

# Losses whose targets have the shape of the predictions. Those of one's own may compare what they like.
_ALIKE = frozenset(LOSSES.values()) - {sparse_categorical_crossentropy}


# Dtypes of tensors, which an array keeps that is not to have another.
_HELD = (np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.bool_))


class Batch(NamedTuple):
    """Tensors of one step: the inputs, as the model takes them; targets and weights, each None or one an output.

    `more` batches of its size will come, as far as is known.
    """

    x: Any
    y: list[Tensor | None]
    weights: list[Tensor | None]
    size: int
    more: int = 0


class Samples(NamedTuple):
    """Arrays of equally many rows: one an input, one an output, and weights, one an output; None where none is."""

    x: list[Array]
    y: list[Array | None]
    weights: list[Array | None]
    rows: int

    def batch(self, rows: slice | Array, more: int = 0) -> Batch:
        """Tensors of some of the rows; `more` batches of that size will come."""
        x = [_rows(each, rows) for each in self.x]
        y = [None if each is None else _rows(each, rows) for each in self.y]
        weights = [None if each is None else _rows(each, rows) for each in self.weights]
        return Batch(x[0] if len(x) == 1 else x, y, weights, x[0].storage.shape[0], more)

    def first(self, batches: int | None, size: int) -> Samples:
        """The rows of the first batches of a size; all for None."""
        return self if batches is None else self.part(slice(0, batches * size))

    def part(self, rows: slice) -> Samples:
        """Some of the rows, in the same memory."""
        x = [each[rows] for each in self.x]
        y = [None if each is None else each[rows] for each in self.y]
        weights = [None if each is None else each[rows] for each in self.weights]
        return Samples(x, y, weights, len(x[0]))


def _rows(array: Array, rows: slice | Array) -> Tensor:
    """A tensor of memory of its own."""
    return make_tensor(array[rows].copy() if isinstance(rows, slice) else array.take(rows, 0))


def read_samples(model: Trainable, op: str, x: Any, y: Any, sample_weight: Any = None) -> Samples:
    """Checks what a caller gave and brings it into arrays, without a copy where that can be.

    Args:
        model: A compiled model.
        op: What to call it in errors.
        x: A tensor or array; for several inputs a list of them or a dict by name.
        y: The same for the outputs.
        sample_weight: None, or weights `[samples]` or `[samples, time]`; for several outputs perhaps by output.

    Raises:
        ValueError: Shapes that do not fit the model or each other; the message says which.
    """
    names, outputs, losses = model.output_names, model.outputs, model.compiled(op).losses
    if y is None:
        raise ValueError(
            f"{op}: {model.name} needs targets for {', '.join(names)}, got None; for an iterable of batches there are "
            "fit_dataset and evaluate_dataset"
        )
    inputs = [
        _input(op, expected, name, value)
        for expected, name, value in zip(
            model.inputs, model.input_names, _by_name(op, model.name, "input", model.input_names, x)
        )
    ]
    expects = [name for name, loss in zip(names, losses) if loss is not None]
    given = iter(_by_name(op, model.name, "target", expects, _without_surplus(y, names, losses)))
    targets: list[Array | None] = [
        None if loss is None else _target(op, output, name, next(given), loss)
        for name, output, loss in zip(names, outputs, losses)
    ]
    weights = [
        None if each is None else _array(op, f"sample_weight ({name})", each, "float32")
        for name, each in zip(names, _for_outputs(op, "sample_weight", names, sample_weight))
    ]
    rows = inputs[0].shape[0]
    for what, each in (("x", inputs), ("y", targets), ("sample_weight", weights)):
        for array in each:
            if array is not None and not array.ndim:
                raise ValueError(f"{op}: {what} must have an axis of samples, got a scalar")
            if array is not None and array.shape[0] != rows:
                shapes = f"x: {format_shape(inputs[0].shape)}, {what}: {format_shape(array.shape)}"
                raise ValueError(f"{op}: x has {rows} samples, but {what} has {array.shape[0]} ({shapes})")
    if not rows:
        raise ValueError(f"{op}: there are no samples (x: {format_shape(inputs[0].shape)})")
    return Samples(inputs, targets, weights, rows)


def with_class_weights(op: str, names: Sequence[str], samples: Samples, class_weight: Any) -> Samples:
    """The samples with their weights times those of their classes.

    Args:
        op: What to call it in errors.
        names: The names of the outputs.
        samples: The samples.
        class_weight: None, or a weight for each class number; for several outputs by output.
    """
    if class_weight is None:
        return samples
    weights: list[Array | None] = []
    for target, before, of_classes in zip(
        samples.y, samples.weights, _for_outputs(op, "class_weight", names, class_weight)
    ):
        if of_classes is None or target is None:
            weights.append(before)
            continue
        factor = class_weights(op, target, of_classes)
        weights.append(factor if before is None else before * factor.reshape(-1, *[1] * (before.ndim - 1)))
    return samples._replace(weights=weights)


def _by_name(op: str, model: str, what: str, names: Sequence[str], value: Any) -> list[Any]:
    """A value for each name, from a value, a list of them, or a dict."""
    if value is None:
        raise ValueError(f"{op}: {model} needs {what}s for {', '.join(names)}, got None")
    if isinstance(value, Mapping):
        by_name = cast("Mapping[str, Any]", value)
        for name in names:
            if name not in by_name:
                raise ValueError(f"{op}: {model} needs {what}s named {', '.join(names)}; {name!r} is missing")
        return [by_name[name] for name in names]
    if len(names) == 1:
        if isinstance(value, (list, tuple)):
            items = cast("Sequence[Any]", value)
            if len(items) == 1 and isinstance(items[0], (Tensor, np.ndarray)):
                return [items[0]]
        return [cast("Any", value)]
    if not isinstance(value, (list, tuple)) or len(cast("Sequence[Any]", value)) != len(names):
        count = len(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else "one value"
        raise ValueError(f"{op}: {model} takes a list of {len(names)} {what}s ({', '.join(names)}), got {count}")
    return list(cast("Sequence[Any]", value))


def _without_surplus(y: Any, names: Sequence[str], losses: Sequence[Any]) -> Any:
    """Targets without those for outputs that have no loss, where a list has one for each output."""
    if None in losses and isinstance(y, (list, tuple)):
        items = list(cast("Sequence[Any]", y))
        if len(items) == len(names):
            kept = [item for loss, item in zip(losses, items) if loss is not None]
            return kept[0] if len(kept) == 1 else kept
    return cast("Any", y)


def _array(op: str, argument: str, value: Any, dtype: str | None) -> Array:
    """The values as a C-contiguous array of a dtype that tensors hold: the caller's own where it is one."""
    held: Any = value.storage if isinstance(value, Tensor) else value
    if isinstance(held, np.ndarray):
        array = cast("Array", held)
        fitting = array.dtype in _HELD if dtype is None else array.dtype == numpy_dtype(dtype, op)
        if fitting and array.flags.c_contiguous:
            return array
    return to_array(held, dtype, op, argument)


def _input(op: str, expected: SymbolicTensor, name: str, value: Any) -> Array:
    array = _array(op, f"x ({name})", value, expected.dtype)
    wanted = expected.shape
    if array.ndim == 1 and len(wanted) == 2:
        array = array[:, None]
    if array.ndim != len(wanted) or any(m is not None and m != n for m, n in zip(wanted[1:], array.shape[1:])):
        raise ValueError(f"{op}: input {name} takes shape {format_shape(wanted)}, got {format_shape(array.shape)}")
    return array


def _target(op: str, output: SymbolicTensor, name: str, value: Any, loss: Any) -> Array:
    floating = loss in _ALIKE
    array = _array(op, f"y ({name})", value, output.dtype if floating else None)
    if array.dtype.kind == "f" and not floating and is_floating(output.dtype):
        array = array.astype(numpy_dtype(output.dtype, op), copy=False)
    if array.ndim == 1 and len(output.shape) > 1 and loss is not sparse_categorical_crossentropy:
        array = array[:, None]
    wanted, shape = output.shape[1:], array.shape[1:]
    if loss is sparse_categorical_crossentropy:
        return _checked_classes(op, name, array, output.shape)
    if loss in _ALIKE and (len(shape) != len(wanted) or any(m not in (None, n) for m, n in zip(wanted, shape))):
        hint = ""
        if loss is categorical_crossentropy and shape[-1:] == (1,):
            hint = "; for class numbers there is the loss 'sparse_categorical_crossentropy'"
        raise ValueError(
            f"{op}: the loss {loss.__name__} compares output {name} {format_shape(output.shape)} with targets of the "
            f"same shape, got {format_shape(array.shape)}{hint}"
        )
    return array


def _checked_classes(op: str, name: str, array: Array, output: tuple[int | None, ...]) -> Array:
    """Class numbers `[samples, ...]` or `[samples, ..., 1]`, each below the number of classes."""
    shape, wanted = array.shape, output[:-1]
    if array.dtype.kind not in "biuf":
        held = "strings" if array.dtype.kind == "O" else str(array.dtype)
        raise TypeError(
            f"{op}: y ({name}) holds {held}, but the loss sparse_categorical_crossentropy takes class numbers; "
            "names, y = np.unique(y, return_inverse=True) numbers them"
        )
    if len(shape) == len(output) and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) != len(wanted) or any(m not in (None, n) for m, n in zip(wanted[1:], shape[1:])):
        one_hot = "; for one-hot rows there is the loss 'categorical_crossentropy'"
        raise ValueError(
            f"{op}: the loss sparse_categorical_crossentropy takes a class number for each row of output {name} "
            f"{format_shape(output)}, got targets of shape {format_shape(array.shape)}"
            f"{one_hot if array.shape[-1] == output[-1] else ''}"
        )
    classes = output[-1]
    if array.size and classes is not None:
        low, high = array.min(), array.max()
        if not (low >= 0 and high < classes):
            worst = high if not high < classes else low
            raise ValueError(
                f"{op}: y ({name}) holds the class {worst:g}, but there are {classes}, from 0 to {classes - 1}"
            )
    return array


def _for_outputs(op: str, argument: str, names: Sequence[str], value: Any) -> list[Any]:
    """What goes for each output: by name, in order, or the same for all."""
    if value is None:
        return [None] * len(names)
    if isinstance(value, Mapping):
        by_name = cast("Mapping[Any, Any]", value)
        if any(name in by_name for name in names):
            return [by_name.get(name) for name in names]
        if argument == "sample_weight" or len(names) > 1:
            raise ValueError(f"{op}: {argument} must name outputs ({', '.join(names)}), got {list(by_name)}")
        return [by_name]
    if isinstance(value, (list, tuple)):
        items = list(cast("Sequence[Any]", value))
        # A list of lists is the weights of steps for a model of one output, and one list an output for others.
        kinds = (Tensor, np.ndarray, Mapping) if len(names) == 1 else (Tensor, np.ndarray, Mapping, list, tuple)
        by_output = any(item is None or isinstance(item, kinds) for item in items)
        if by_output and len(items) == len(names):
            return items
        if (by_output and len(names) > 1) or argument == "class_weight":
            raise ValueError(f"{op}: {argument} must have one entry for each of {len(names)} outputs, got {len(items)}")
    elif argument == "class_weight":
        raise TypeError(f"{op}: class_weight must be a dict of weights by class number, got {value!r}")
    return [value] * len(names)
