"""Embedding layers: a learned vector for each of so many indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from varigrad.layers.activity import PenalizesActivity
from varigrad.layers.arguments import Shape, boolean, partial_shape, positive_integer
from varigrad.layers.base import LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.indices import checked_indices
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import constraint_option, initializer_option, option, or_none, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.ops.comparison import not_equal
from varigrad.ops.slicing import gather
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["Embedding"]


def _length_or_lengths(owner: str, argument: str, value: Any) -> int | Shape | None:
    """A length as it came, None included, or the shape of one input."""
    return partial_shape(owner, argument, value) if isinstance(value, (list, tuple)) else value


class Embedding(PenalizesActivity):
    """A table of learned vectors, of which the inputs name those that are wanted.

    Mirrors `tf.layers.embedding`. Inputs are whole numbers `[batch, ...]`, results `[batch, ..., output_dim]`. An index
    outside of the table is an error here (TensorFlow.js trains on with what it finds in memory), and so is a fraction.

    Args:
        input_dim: The number of indices, which run from 0 to `input_dim` - 1.
        output_dim: The length of the vectors.
        embeddings_initializer: The table's first value, `"random_uniform"` by default.
        embeddings_regularizer: A penalty on the table.
        activity_regularizer: A penalty on the result in training, over the batch's size; ignored in TensorFlow.js.
        embeddings_constraint: A limit on the table.
        mask_zero: Whether index 0 stands for nothing, a step that later layers leave out.
        input_length: The length of sequences, or the shape of one input, where it is fixed.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`; by default inputs are `[batch, length]` of
            any length.

    Raises:
        OutOfRangeError: An index is outside of the table; the message names the layer, the index and its position.

    >>> import varigrad as vg
    >>> layer = vg.layers.embedding(input_dim=3, output_dim=2, weights=[[[1, 2], [3, 4], [5, 6]]], name="words_example")
    >>> layer([[2, 0]]).tolist()
    [[[5.0, 6.0], [1.0, 2.0]]]
    >>> layer([[0, 3]])
    Traceback (most recent call last):
    varigrad.errors.OutOfRangeError: words_example: index 3 at position [0, 1] of its inputs is outside of 0..2 \
(input_dim=3)
    """

    input_dim = option(positive_integer)
    output_dim = option(positive_integer)
    embeddings_initializer = initializer_option("random_uniform")
    embeddings_regularizer = regularizer_option()
    activity_regularizer = regularizer_option()
    embeddings_constraint = constraint_option()
    mask_zero = option(or_none(boolean))
    input_length = option(_length_or_lengths)
    embeddings: Variable

    def __init__(
        self,
        *,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: str | Initializer | None = None,
        embeddings_regularizer: str | Regularizer | None = None,
        activity_regularizer: str | Regularizer | None = None,
        embeddings_constraint: str | Constraint | None = None,
        mask_zero: bool | None = None,
        input_length: int | Sequence[int | None] | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        lengths = None if input_length is None else partial_shape("embedding", "input_length", input_length)
        # Indices stay integers, unless a dtype is asked for.
        self.dtype = options.get("dtype") or options.get("input_dtype")
        if self.batch_input_shape is None:
            batch = partial_shape("embedding", "batch_size", [options.get("batch_size")])
            self.batch_input_shape = (*batch, *((None,) if lengths is None else lengths))
        self._lengths = lengths

    def build(self, input_shape: Shape) -> None:
        self.embeddings = self._add_optioned_weight("embeddings", [self.input_dim, self.output_dim])

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if self._lengths is not None:
            self.compute_output_shape(inputs.shape)  # says it if the lengths differ
        indices = checked_indices(self.name, inputs, self.input_dim, "input_dim")
        return self._penalized(gather(self.embeddings, indices), training)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        lengths = input_shape[1:]
        if self._lengths is not None:
            fits = len(self._lengths) == len(lengths)
            if not fits or any(None not in (m, n) and m != n for m, n in zip(self._lengths, lengths)):
                raise ValueError(
                    f"{self.name}: has input_length {format_shape(self._lengths)}, but got inputs of shape "
                    f"{format_shape(input_shape)}"
                )
            lengths = tuple(n if m is None else m for m, n in zip(self._lengths, lengths))
        return (input_shape[0], *lengths, self.output_dim)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return not_equal(inputs, 0) if self.mask_zero else None

    @property
    def makes_mask(self) -> bool:
        return bool(self.mask_zero)
