"""A dense layer over any axes, described by an equation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from varigrad.layers.activations import ActivationLike
from varigrad.layers.arguments import Shape, as_given, partial_shape
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import activation_option, constraint_option, initializer_option, option, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import add
from varigrad.ops.matmul import einsum
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["EinsumDense"]


def _letters(owner: str, argument: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{owner}: {argument} must be a string of axes of the result, got {value!r}")
    return value or None


class EinsumDense(Layer):
    """A dense layer over any axes: `activation(einsum(equation, inputs, kernel) + bias)`.

    A layer of Keras; TensorFlow.js has it, but does not export it. `"abc,cd->abd"` is `vg.layers.dense` over sequences,
    `"...x,xy->...y"` over anything.

    Args:
        equation: Of the inputs and the kernel, as for `vg.einsum`; with `...`, at the front or at the end, for axes
            that stay as they are.
        output_shape: The shape of the result for one input, without the batch and the axes of `...`; None for lengths
            that the inputs give.
        activation: An activation's name, or a function of a tensor; `"linear"` by default.
        bias_axes: The letters of the result's axes that the bias has; without them there is none.
        kernel_initializer: The kernel's first value, `"glorot_uniform"` by default.
        bias_initializer: The bias's, `"zeros"` by default.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        kernel_constraint: A limit on the kernel.
        bias_constraint: A limit on the bias.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The equation is none of the kind, or does not fit the shapes.

    >>> import varigrad as vg
    >>> layer = vg.layers.einsum_dense(equation="abc,cde->abde", output_shape=[None, 2, 4], bias_axes="de")
    >>> layer(vg.zeros([1, 5, 3])).shape, layer.kernel.shape, layer.bias.shape
    ((1, 5, 2, 4), (3, 2, 4), (2, 4))
    """

    equation = option(as_given)
    activation = activation_option()
    bias_axes = option(_letters)
    kernel_initializer = initializer_option("glorot_uniform")
    bias_initializer = initializer_option("zeros")
    kernel_regularizer = regularizer_option()
    bias_regularizer = regularizer_option()
    kernel_constraint = constraint_option()
    bias_constraint = constraint_option()
    kernel: Variable
    bias: Variable | None = None

    def __init__(
        self,
        *,
        equation: str,
        output_shape: int | Sequence[int | None],
        activation: ActivationLike | None = None,
        bias_axes: str | None = None,
        kernel_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        bias_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        bias_constraint: str | Constraint | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._terms = _terms(equation)
        self._take(locals())
        self.partial_output_shape = partial_shape("einsum_dense", "output_shape", output_shape)
        strangers = set(bias_axes or "") - set(self._terms.output)
        if strangers:
            raise ValueError(f"einsum_dense: bias_axes {bias_axes!r} are not all axes of the result in {equation!r}")

    def build(self, input_shape: Shape) -> None:
        terms, lengths = self._terms, self._lengths(input_shape)
        shape: list[int] = []
        for letter in terms.kernel:
            length = lengths[letter]
            if length is None:
                raise ValueError(
                    f"{self.name}: the length of {letter!r} in {self.equation!r} must be known, from the inputs "
                    f"{format_shape(input_shape)} or output_shape {format_shape(self.partial_output_shape)}"
                )
            shape.append(length)
        inner = sum(letter not in terms.output for letter in terms.kernel)
        if all(letter not in terms.output for letter in terms.kernel[:inner]):
            initializer: Initializer = _AsMatrix(self.kernel_initializer, inner)
        else:
            initializer = self.kernel_initializer
        self.kernel = self.add_weight(
            "kernel",
            shape,
            initializer=initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.bias_axes is not None:
            self.bias = self._add_optioned_weight("bias", self._bias_shape(input_shape))
        self.input_spec = InputSpec(ndim=len(input_shape))

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        y = einsum(self.equation, inputs, self.kernel)
        return self.activation(y if self.bias is None else add(y, self.bias))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        terms, lengths = self._terms, self._lengths(input_shape)
        rest = len(input_shape) - len(terms.inputs)
        named = tuple(lengths[letter] for letter in terms.output)
        if terms.rest == "left":
            return (*input_shape[:rest], *named)
        return (*named, *input_shape[len(terms.inputs) :])

    def _bias_shape(self, input_shape: Shape) -> list[int]:
        """Lengths from the first axis of the bias on, 1 where it has none."""
        terms, lengths, axes = self._terms, self._lengths(input_shape), self.bias_axes or ""
        first = min(terms.output.index(letter) for letter in axes)
        found = [lengths[letter] if letter in axes else 1 for letter in terms.output[first:]]
        known = [length for length in found if length is not None]
        if len(known) < len(found):
            raise ValueError(f"{self.name}: the axes {axes!r} of its bias must be known in output_shape or the inputs")
        return known + [1] * (len(input_shape) - len(terms.inputs) if terms.rest == "right" else 0)

    def _lengths(self, input_shape: Shape) -> dict[str, int | None]:
        """The length of each letter of the equation, None if it is unknown."""
        terms = self._terms
        rest = len(input_shape) - len(terms.inputs)
        if rest < 0 or (terms.rest is None and rest > 0) or (terms.rest == "left" and rest == 0):
            raise ValueError(
                f"{self.name}: inputs of shape {format_shape(input_shape)} do not have the axes of {self.equation!r}"
            )
        named = input_shape[rest:] if terms.rest == "left" else input_shape[: len(terms.inputs)]
        lengths = dict(zip(terms.inputs, named))
        # The batch is the first letter, unless it is among the axes of `...`.
        output = terms.output if terms.rest == "left" else terms.output[1:]
        if len(output) != len(self.partial_output_shape):
            raise ValueError(
                f"{self.name}: output_shape {format_shape(self.partial_output_shape)} must have a length for each of "
                f"the axes {output!r} of {self.equation!r}"
            )
        for letter, length in zip(output, self.partial_output_shape):
            if None not in (length, lengths.get(letter)) and lengths[letter] != length:
                raise ValueError(
                    f"{self.name}: {letter!r} is {lengths[letter]} in the inputs {format_shape(input_shape)}, but "
                    f"{length} in output_shape {format_shape(self.partial_output_shape)}"
                )
            lengths[letter] = length if lengths.get(letter) is None else lengths[letter]
        return lengths

    def get_config(self) -> dict[str, Any]:
        return {"output_shape": list(self.partial_output_shape), **super().get_config()}


class _Terms(NamedTuple):
    """The letters of an equation, and the side of the axes of `...`, if there are any."""

    inputs: str
    kernel: str
    output: str
    rest: str | None


_EQUATION = re.compile(r"(\.\.\.)?([a-zA-Z]+)(\.\.\.)?,([a-zA-Z]+)->(\.\.\.)?([a-zA-Z]+)(\.\.\.)?")


def _terms(equation: Any) -> _Terms:
    found = _EQUATION.fullmatch(equation.replace(" ", "")) if isinstance(equation, str) else None
    if found is not None:
        left, inputs, right, kernel, left_out, output, right_out = found.groups()
        one_side = left == left_out and right == right_out and not (left and right)
        if one_side and set(output) <= set(inputs + kernel) and set(kernel) <= set(inputs + output):
            return _Terms(inputs, kernel, output, "left" if left else "right" if right else None)
    raise ValueError(
        f"einsum_dense: equation must be like 'ab,bc->ac', '...b,bc->...c' or 'ab...,bc->ac...', got {equation!r}"
    )


class _AsMatrix(Initializer):
    """An initializer that takes the first axes together as inputs, and the others as outputs.

    So the scale of a kernel depends on what it adds up, not on how its axes are grouped.
    """

    def __init__(self, initializer: Initializer, inner: int) -> None:
        self._initializer = initializer
        self._inner = inner

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        matrix = [math.prod(shape[: self._inner]), math.prod(shape[self._inner :])]
        return reshape_to(self._initializer.apply(matrix, dtype), tuple(shape))
