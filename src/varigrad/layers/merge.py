"""Layers that make one tensor of several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar, Unpack, cast

from varigrad.keywords import snake_case
from varigrad.layers.arguments import Shape, boolean
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.lists import as_list
from varigrad.layers.options import option
from varigrad.ops import arithmetic, comparison
from varigrad.ops.arguments import reshape_to
from varigrad.ops.creation import ones
from varigrad.ops.elementwise import rsqrt, square
from varigrad.ops.joining import concat
from varigrad.ops.matmul import mat_mul
from varigrad.ops.reduction import sum as sum_of
from varigrad.tensor import Tensor, format_shape

__all__ = ["Add", "Average", "Concatenate", "Dot", "Maximum", "Merge", "Minimum", "Multiply", "Subtract"]


class Merge(Layer):
    """Base of the layers that combine tensors element by element.

    Inputs are a list of two or more; they broadcast, and to those of a lower rank axes of length 1 are added after the
    batch. A step counts if it counts in one of the inputs, as in Keras 3 (in TensorFlow.js, masks get a wrong shape).
    """

    supports_masking = True
    most_inputs: ClassVar[int | None] = None

    def build(self, input_shape: Any) -> None:
        shapes = _shapes_of(self, input_shape)
        if self.most_inputs is not None and len(shapes) > self.most_inputs:
            raise ValueError(f"{self.name}: takes {self.most_inputs} inputs, got {len(shapes)}")
        self.compute_output_shape(shapes)

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        """The result for inputs of one rank."""
        raise NotImplementedError(f"{type(self).__name__} must override merge(inputs)")

    def call(self, inputs: Any, training: bool | None = None) -> Tensor:
        rank = max(x.rank for x in _inputs_of(self, inputs))
        return self.merge(
            [
                x if x.rank == rank else reshape_to(x, (*x.shape[:1], *(1,) * (rank - x.rank), *x.shape[1:]))
                for x in inputs
            ]
        )

    def compute_output_shape(self, input_shape: Any) -> Shape:
        shapes = _shapes_of(self, input_shape)
        batches = {shape[0] for shape in shapes if shape and shape[0] is not None}
        if len(batches) > 1:
            raise ValueError(f"{self.name}: the inputs have batches of different sizes ({_listed(shapes)})")
        rank = max(len(shape) for shape in shapes)
        output: list[int | None] = [batches.pop() if batches else None]
        for axis in range(1, rank):
            # Counted from the back, as broadcasting does.
            lengths = {shape[axis - rank] for shape in shapes if len(shape) > rank - axis} - {1}
            if len(lengths - {None}) > 1:
                raise ValueError(f"{self.name}: the inputs do not broadcast together ({_listed(shapes)})")
            output.append((lengths - {None}).pop() if lengths - {None} else None if lengths else 1)
        return tuple(output)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        masks = as_list(mask)
        return None if any(each is None for each in masks) else reduce(comparison.logical_or, masks)


class Add(Merge):
    """The sum of the inputs, element by element.

    Mirrors `tf.layers.add`. `vg.layers.add([x, y])` is short for `vg.layers.add()([x, y])`.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.add()([vg.tensor([[1, 2]]), vg.tensor([[10, 20]])]).tolist()
    [[11.0, 22.0]]
    """

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        return reduce(arithmetic.add, inputs)


class Multiply(Merge):
    """The product of the inputs, element by element.

    Mirrors `tf.layers.multiply`. `vg.layers.multiply([x, y])` is short for `vg.layers.multiply()([x, y])`.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.multiply()([vg.tensor([[1, 2]]), vg.tensor([[10, 20]])]).tolist()
    [[10.0, 40.0]]
    """

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        return reduce(arithmetic.mul, inputs)


class Average(Merge):
    """The mean of the inputs, element by element.

    Mirrors `tf.layers.average`. `vg.layers.average([x, y])` is short for `vg.layers.average()([x, y])`.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.average()([vg.tensor([[1, 2]]), vg.tensor([[10, 20]])]).tolist()
    [[5.5, 11.0]]
    """

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        return arithmetic.mul(reduce(arithmetic.add, inputs), 1.0 / len(inputs))


class Maximum(Merge):
    """The greatest of the inputs, element by element.

    Mirrors `tf.layers.maximum`. `vg.layers.maximum([x, y])` is short for `vg.layers.maximum()([x, y])`.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.maximum()([vg.tensor([[1, 20]]), vg.tensor([[10, 2]])]).tolist()
    [[10.0, 20.0]]
    """

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        return reduce(arithmetic.maximum, inputs)


class Minimum(Merge):
    """The least of the inputs, element by element.

    Mirrors `tf.layers.minimum`. `vg.layers.minimum([x, y])` is short for `vg.layers.minimum()([x, y])`.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.minimum()([vg.tensor([[1, 20]]), vg.tensor([[10, 2]])]).tolist()
    [[1.0, 2.0]]
    """

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        return reduce(arithmetic.minimum, inputs)


class Subtract(Merge):
    """The first input minus the second, element by element.

    A layer of Keras that TensorFlow.js lacks. `vg.layers.subtract([x, y])` is short for `vg.layers.subtract()([x, y])`.

    Args:
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.subtract()([vg.tensor([[10, 20]]), vg.tensor([[1, 2]])]).tolist()
    [[9.0, 18.0]]
    """

    most_inputs = 2

    def merge(self, inputs: Sequence[Tensor]) -> Tensor:
        return arithmetic.sub(*inputs)


def _one_axis(owner: str, argument: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{owner}: {argument} must be an integer, got {value!r}")
    return value


class Concatenate(Layer):
    """The inputs one after the other along an axis.

    Mirrors `tf.layers.concatenate`. Inputs are a list of two or more, of one shape but for that axis.
    `vg.layers.concatenate([x, y])` is short for `vg.layers.concatenate()([x, y])`. Along the time, axis 1, masks are
    concatenated too; along another axis a step counts if it counts in all of the inputs.

    Args:
        axis: The axis, the last by default; the batch is axis 0.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The inputs differ in another axis.

    >>> import varigrad as vg
    >>> vg.layers.concatenate()([vg.tensor([[1, 2]]), vg.tensor([[3]])]).tolist()
    [[1.0, 2.0, 3.0]]
    """

    axis = option(_one_axis)
    supports_masking = True

    def __init__(self, *, axis: int = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def build(self, input_shape: Any) -> None:
        self.compute_output_shape(input_shape)

    def call(self, inputs: Any, training: bool | None = None) -> Tensor:
        return concat(list(_inputs_of(self, inputs)), self.axis)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        shapes = _shapes_of(self, input_shape)
        rank = len(shapes[0])
        axis = _axis_of(self, self.axis, rank)
        output: list[int | None] = []
        for place in range(rank):
            lengths = [shape[place] for shape in shapes if len(shape) == rank]
            known = [length for length in lengths if length is not None]
            if len(lengths) < len(shapes) or (place != axis and len(set(known)) > 1):
                raise ValueError(
                    f"{self.name}: the inputs must have one shape but for axis {self.axis} ({_listed(shapes)})"
                )
            if place == axis:
                output.append(sum(known) if len(known) == len(lengths) else None)
            else:
                output.append(known[0] if known else None)
        return tuple(output)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        masks = as_list(mask) if mask is not None else [None] * len(inputs)
        given = [each for each in masks if each is not None]
        if not given or _axis_of(self, self.axis, inputs[0].rank) != 1:
            return reduce(comparison.logical_and, given) if given else None
        return concat([ones(x.shape[:2], "bool") if one is None else one for x, one in zip(inputs, masks)], 1)


def _one_axis_or_two(owner: str, argument: str, value: Any) -> int | Sequence[int]:
    given = as_list(value)
    if len(given) not in (1, 2) or any(isinstance(axis, bool) or not isinstance(axis, int) for axis in given):
        raise ValueError(f"{owner}: {argument} must be an integer or two, got {value!r}")
    return value


class Dot(Layer):
    """The products of the inputs' vectors along an axis of each.

    Mirrors `tf.layers.dot`. Inputs are a list of two of rank 2 or 3; of shapes `[batch, a, n]` and `[batch, b, n]`,
    with `axes=2`, the result is `[batch, a, b]`. Between two of rank 2 it is `[batch, 1]`.

    Args:
        axes: The axis of both inputs, or one of each; the batch is axis 0.
        normalize: Whether to bring the vectors to length 1 first, which makes the products cosines.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The axes have different lengths, or the inputs are not two of rank 2 or 3.

    >>> import varigrad as vg
    >>> vg.layers.dot(axes=-1)([vg.tensor([[1, 2]]), vg.tensor([[10, 20]])]).tolist()
    [[50.0]]
    """

    axes = option(_one_axis_or_two)
    normalize = option(boolean)
    supports_masking = True

    def __init__(self, *, axes: int | Sequence[int], normalize: bool = False, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def build(self, input_shape: Any) -> None:
        self.compute_output_shape(input_shape)

    def call(self, inputs: Any, training: bool | None = None) -> Tensor:
        x, y = _inputs_of(self, inputs)
        x_axis, y_axis = self._axes((x.shape, y.shape))
        if self.normalize:
            x, y = _unit_vectors(x, x_axis), _unit_vectors(y, y_axis)
        # As matrices, [batch, rows, n] and [batch, n, columns].
        x_matrix = reshape_to(x, (x.shape[0], 1, x.shape[1])) if x.rank == 2 else x
        y_matrix = reshape_to(y, (*y.shape, 1)) if y.rank == 2 else y
        product = mat_mul(x_matrix, y_matrix, x.rank == 3 and x_axis == 1, y.rank == 3 and y_axis == 2)
        return reshape_to(product, cast("Any", self.compute_output_shape([x.shape, y.shape])))

    def compute_output_shape(self, input_shape: Any) -> Shape:
        shapes = _shapes_of(self, input_shape)
        if len(shapes) != 2 or any(len(shape) not in (2, 3) for shape in shapes):
            raise ValueError(f"{self.name}: takes two inputs of rank 2 or 3 ({_listed(shapes)})")
        (x, y), (x_axis, y_axis) = shapes, self._axes(shapes)
        if None not in (x[x_axis], y[y_axis]) and x[x_axis] != y[y_axis]:
            raise ValueError(
                f"{self.name}: axis {x_axis} of the first input must be as long as axis {y_axis} of the second "
                f"({_listed(shapes)})"
            )
        rest = [n for axis, n in enumerate(x) if axis not in (0, x_axis)]
        rest += [n for axis, n in enumerate(y) if axis not in (0, y_axis)]
        return (x[0] if x[0] is not None else y[0], *(rest or [1]))

    def _axes(self, shapes: Sequence[Shape]) -> list[int]:
        both = as_list(self.axes) * 2  # of two axes, the first two
        axes = [_axis_of(self, axis, len(shape)) for axis, shape in zip(both, shapes)]
        if 0 in axes:
            raise ValueError(f"{self.name}: axes must not be 0, the batch, got {self.axes!r}")
        return axes

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


def _unit_vectors(x: Tensor, axis: int) -> Tensor:
    length = sum_of(square(x), axis, keep_dims=True)
    # Vectors of length 0 stay as they are, without infinite gradients.
    return arithmetic.mul(x, rsqrt(arithmetic.maximum(length, 1e-12)))


def _shapes_of(layer: Layer, shapes: Any) -> list[Shape]:
    """The shapes of two inputs or more."""
    if not isinstance(shapes, list) or len(cast("list[Any]", shapes)) < 2:
        raise ValueError(f"{layer.name}: takes a list of two inputs or more ({snake_case(layer.class_name)}([x, y]))")
    return cast("list[Shape]", shapes)


def _inputs_of(layer: Layer, inputs: Any) -> Sequence[Tensor]:
    """Two inputs or more."""
    if not isinstance(inputs, (list, tuple)):
        _shapes_of(layer, None)
    return cast("Sequence[Tensor]", inputs)


def _axis_of(layer: Layer, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{layer.name}: there is no axis {axis} in inputs of rank {rank}")
    return axis % rank


def _listed(shapes: Sequence[Shape]) -> str:
    return "inputs: " + ", ".join(format_shape(shape) for shape in shapes)
