"""Symbolic tensors, and the nodes of the graph that they make: a model before there are values."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from varigrad.layers.arguments import Shape
from varigrad.tensor import format_shape

if TYPE_CHECKING:
    from varigrad.layers.base import Layer

__all__ = ["Node", "SymbolicTensor", "is_symbolic", "symbolic_tensors"]


class SymbolicTensor:
    """A tensor to come: its name, shape and dtype, and the call of a layer that will make it.

    `vg.input` makes the first, layers called on symbolic tensors the others, and `vg.model` a model of them. Unknown
    axes of the shape are None. Mirrors `tf.SymbolicTensor`.

    >>> import varigrad as vg
    >>> x = vg.input(shape=[3], name="symbolic_example")
    >>> y = vg.layers.dense(units=2)(x)
    >>> y.shape, y.dtype, y.source_layer.class_name
    ((None, 2), 'float32', 'Dense')
    """

    __slots__ = ("node", "tensor_index")

    def __init__(self, node: Node, tensor_index: int = 0) -> None:
        self.node = node
        self.tensor_index = tensor_index

    @property
    def name(self) -> str:
        """The name: that of its layer, twice."""
        return self.node.layer.name if not self.node.sources else f"{self.node.layer.name}/{self.node.layer.name}"

    @property
    def shape(self) -> Shape:
        """The shape; unknown axes, such as the batch, are None."""
        return self.node.shapes[self.tensor_index]

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.node.dtype

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def source_layer(self) -> Layer:
        """The layer that makes it."""
        return self.node.layer

    @property
    def node_index(self) -> int:
        """Which of the calls of its layer makes it."""
        return self.node.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SymbolicTensor):
            return False
        return other.node is self.node and other.tensor_index == self.tensor_index

    def __hash__(self) -> int:
        return hash((id(self.node), self.tensor_index))

    def __repr__(self) -> str:
        return f"SymbolicTensor({self.name!r}, shape={format_shape(self.shape)}, dtype={self.dtype})"

    def _no_values(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"the symbolic tensor {self.name!r} {format_shape(self.shape)} has no values: call layers on it, such as "
            "vg.layers.add(); what no layer does, a layer of your own can"
        )

    __array__ = __bool__ = __float__ = __int__ = __iter__ = __len__ = _no_values
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_values
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __getitem__ = _no_values
    __lt__ = __le__ = __gt__ = __ge__ = _no_values


class Node:
    """One call of a layer on symbolic tensors.

    It holds on to its layer and to the calls before it, and the symbolic tensors to it; a layer knows its calls only as
    long as something else does. So there is no cycle, and a model's memory goes back with the last reference to it.

    Args:
        layer: The layer.
        inputs: What it was called on.
        arguments: The other arguments of the call, symbolic tensors among them too.
        shapes: The shapes of the results.
        dtype: The results' dtype.
    """

    __slots__ = ("__weakref__", "arguments", "dtype", "inputs", "layer", "shapes")

    def __init__(
        self,
        layer: Layer,
        inputs: Sequence[SymbolicTensor],
        arguments: Mapping[str, Any],
        shapes: Sequence[Shape],
        dtype: str,
    ) -> None:
        self.layer = layer
        self.inputs = tuple(inputs)
        self.arguments = dict(arguments)
        self.shapes = tuple(shapes)
        self.dtype = dtype
        layer._note_call(self)  # pyright: ignore[reportPrivateUsage]

    @property
    def outputs(self) -> tuple[SymbolicTensor, ...]:
        """The results."""
        return tuple(SymbolicTensor(self, place) for place in range(len(self.shapes)))

    @property
    def sources(self) -> tuple[SymbolicTensor, ...]:
        """All symbolic tensors that the call needs."""
        return (*self.inputs, *symbolic_tensors(self.arguments))

    @property
    def index(self) -> int:
        """Which call of the layer it is."""
        return next(place for place, node in enumerate(self.layer.inbound_nodes) if node is self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Node, (self.layer, self.inputs, self.arguments, self.shapes, self.dtype)


def is_symbolic(value: Any) -> bool:
    """Whether a value is a symbolic tensor, or a list that holds one."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, SymbolicTensor) for item in cast("Sequence[Any]", value))
    return isinstance(value, SymbolicTensor)


def symbolic_tensors(value: Any) -> Generator[SymbolicTensor]:
    """The symbolic tensors in an argument of a call, lists and dicts included."""
    if isinstance(value, SymbolicTensor):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from symbolic_tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from symbolic_tensors(item)
