"""Attention of several heads, with projections: the layer of transformers."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack, cast

from varigrad.layers.activity import PenalizesActivity
from varigrad.layers.arguments import Shape, axis_list, boolean, number, partial_shape, positive_integer
from varigrad.layers.base import LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.einsum import EinsumDense
from varigrad.layers.initializers import Initializer
from varigrad.layers.lists import as_list
from varigrad.layers.naming import name_scope
from varigrad.layers.options import constraint_option, initializer_option, option, or_none, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.single_head import ScoringLayer, both, causal_mask, masked_softmax
from varigrad.ops import random
from varigrad.ops.arguments import convert, reshape_to
from varigrad.ops.arithmetic import mul
from varigrad.ops.matmul import einsum
from varigrad.tensor import Tensor, format_shape

__all__ = ["MultiHeadAttention"]

# Arguments of files that mean nothing here as long as they have one of these values.
_UNSUPPORTED = ("flash_attention", "sliding_window", "use_gate")
# What TensorFlow.js stores beside the arguments: shapes, which the inputs tell anyway.
_SHAPES = ("query_shape", "key_shape", "value_shape")


class MultiHeadAttention(PenalizesActivity, ScoringLayer):
    """Attention of several heads (Vaswani and others, 2017).

    A layer of Keras 3; TensorFlow.js has it, but does not export it. Each head projects query, key and value, takes for
    each query the mean of the values weighted by `softmax(query · key / sqrt(key_dim))`, and a last projection adds the
    heads up. It is called as `layer(query, value, key)`, `[batch, queries, …]` and twice `[batch, values, …]`; the key
    is the value by default, and both are the query in self-attention, `layer(x, x)`. The result is
    `[batch, queries, size]`, of the query's size unless `output_shape` says another.

    Further arguments of the call: `attention_mask`, bools `[batch, queries, values]`, or with an axis for the heads
    `[batch, heads, queries, values]`, that say which values a query sees; `use_causal_mask=True`, with which query
    number i sees values 0 to i alone; `mask`, a list of bools `[batch, queries]`, `[batch, values]` and perhaps again
    for the key, which models hand on by themselves; `return_attention_scores=True`, with which the weights
    `[batch, heads, queries, values]` come back too. A query that sees nothing gives all values the weight 0.

    Args:
        num_heads: The number of heads.
        key_dim: The size of queries and keys in each head.
        value_dim: The size of values in each head, `key_dim` by default.
        dropout: The part of the weights to drop in training.
        use_bias: Whether the projections have biases.
        output_shape: The shape of the result for one query, that of the query by default.
        attention_axes: The axes that attention goes over; by default all but the batch and the features.
        kernel_initializer: The first value of the projections' kernels, `"glorot_uniform"` by default.
        bias_initializer: That of the biases, `"zeros"` by default.
        kernel_regularizer: A penalty on each kernel.
        bias_regularizer: A penalty on each bias.
        activity_regularizer: A penalty on the result in training, over the batch's size.
        kernel_constraint: A limit on each kernel.
        bias_constraint: A limit on each bias.
        seed: Makes what is dropped a fixed sequence.
        options: `name`, `trainable`, `dtype` and so on, as for every layer.

    Raises:
        ValueError: A number is not a positive integer, or the inputs do not fit each other.

    >>> import varigrad as vg
    >>> layer = vg.layers.multi_head_attention(num_heads=2, key_dim=4)
    >>> x = vg.zeros([1, 5, 6])
    >>> y, scores = layer(x, x, use_causal_mask=True, return_attention_scores=True)
    >>> y.shape, scores.shape, scores[0, 0, 1].tolist()
    ((1, 5, 6), (1, 2, 5, 5), [0.5, 0.5, 0.0, 0.0, 0.0])
    """

    moved_on = (*PenalizesActivity.moved_on, *ScoringLayer.moved_on)
    num_heads = option(positive_integer)
    key_dim = option(positive_integer)
    value_dim = option(positive_integer)
    dropout = option(number, 0.0, 1.0)
    use_bias = option(boolean)
    attention_axes = option(or_none(axis_list))
    kernel_initializer = initializer_option("glorot_uniform")
    bias_initializer = initializer_option("zeros")
    kernel_regularizer = regularizer_option()
    bias_regularizer = regularizer_option()
    activity_regularizer = regularizer_option()
    kernel_constraint = constraint_option()
    bias_constraint = constraint_option()
    query_dense: EinsumDense
    key_dense: EinsumDense
    value_dense: EinsumDense
    output_dense: EinsumDense

    def __init__(
        self,
        *,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | Sequence[int] | None = None,
        attention_axes: int | Sequence[int] | None = None,
        kernel_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        bias_regularizer: str | Regularizer | None = None,
        activity_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        bias_constraint: str | Constraint | None = None,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, **options)
        value_dim = key_dim if value_dim is None else value_dim
        self._take(locals())
        self._result_shape = () if output_shape is None else partial_shape(self._owner, "output_shape", output_shape)
        if None in self._result_shape:
            raise ValueError(f"{self._owner}: output_shape must be known, got {output_shape!r}")

    def __call__(
        self,
        query: Any,
        value: Any = None,
        key: Any = None,
        training: bool | None = None,
        **arguments: Any,
    ) -> Any:
        """The layer's result.

        Args:
            query: `[batch, queries, …]`; or a list of it with the value, and perhaps the key.
            value: `[batch, values, …]`.
            key: The same, the value by default.
            training: Whether dropout is to act as in training.
            arguments: `attention_mask`, `use_causal_mask`, `mask` and `return_attention_scores`.
        """
        if value is not None:
            query = [self._tensor(x, name) for x, name in ((query, "query"), (value, "value"), (key, "key"))][
                : 2 if key is None else 3
            ]
        mask = arguments.get("attention_mask")
        if mask is not None and not hasattr(mask, "shape"):
            arguments["attention_mask"] = convert(mask, self.name, "attention_mask")
        return super().__call__(query, training, **arguments)

    def _tensor(self, x: Any, argument: str) -> Any:
        return x if x is None or hasattr(x, "shape") else convert(x, self.name, argument, self.dtype)

    def build(self, input_shape: Any) -> None:
        query, value, key = self._shapes(input_shape)
        heads, rank = self.num_heads, len(query)
        self.query_dense = self._projection("query", query, [heads, self.key_dim])
        self.key_dense = self._projection("key", key, [heads, self.key_dim])
        self.value_dense = self._projection("value", value, [heads, self.value_dim])
        together = (*query[:-1], heads, self.value_dim)
        output = self._result_shape or query[-1:]
        self.output_dense = self._projection("attention_output", together, output, 2)
        axes = self.attention_axes or range(1, rank - 1)
        self._axes = tuple(axis % rank for axis in axes)
        if any(not -rank <= axis < rank for axis in axes) or {0, rank - 1} & set(self._axes):
            raise ValueError(
                f"{self.name}: attention_axes {list(axes)} must be axes between the batch and the last, got rank {rank}"
            )
        self._scores_equation, self._mean_equation = _equations(rank + 1, self._axes)
        self._freeze(False)

    def _projection(self, name: str, shape: Shape, output: Sequence[int | None], inner: int = 1) -> EinsumDense:
        """A dense layer from the last axes to others, with its weights."""
        outer = len(shape) - inner
        letters = string.ascii_lowercase
        kept, summed, made = letters[:outer], letters[outer : len(shape)], letters[len(shape) :][: len(output)]
        layer = EinsumDense(
            name=name,
            equation=f"{kept}{summed},{summed}{made}->{kept}{made}",
            output_shape=[*[None] * (outer - 1), *output],
            bias_axes=made if self.use_bias else None,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
            kernel_regularizer=self.kernel_regularizer,
            bias_regularizer=self.bias_regularizer,
            kernel_constraint=self.kernel_constraint,
            bias_constraint=self.bias_constraint,
            dtype=self.dtype,
        )
        with name_scope(name):
            layer._make_weights(shape)
        return layer

    def call(
        self,
        inputs: Any,
        training: bool | None = None,
        mask: Any = None,
        attention_mask: Tensor | None = None,
        use_causal_mask: bool = False,
        return_attention_scores: bool = False,
    ) -> Any:
        each = as_list(inputs)
        self._shapes([x.shape for x in each])
        query, value, *keys = each
        seen = self._seen(query, value, mask, attention_mask, use_causal_mask)
        queries = mul(self.query_dense(query), 1.0 / math.sqrt(self.key_dim))
        fits = einsum(self._scores_equation, self.key_dense(keys[0] if keys else value), queries)
        weights = self._softmax(fits, seen)
        kept = weights
        if training and self.dropout > 0:
            kept = random.dropout(weights, self.dropout, seed=self._next_seed())
        y = self.output_dense(einsum(self._mean_equation, kept, self.value_dense(value)))
        y = self._penalized(y, training)
        return [y, weights] if return_attention_scores else y

    def _seen(
        self, query: Tensor, value: Tensor, mask: Any, attention_mask: Tensor | None, causal: bool
    ) -> Tensor | None:
        """Which values each query sees, in a shape that broadcasts with the weights; None for all."""
        seen = None if attention_mask is None else attention_mask.cast("bool")
        for place, each in enumerate(as_list(mask)):
            if each is not None:
                batch, *lengths = each.shape
                across = (1,) * len(self._axes)
                seen = both(
                    seen, reshape_to(each, (batch, *((*lengths, *across) if place == 0 else (*across, *lengths))))
                )
        if causal:
            seen = both(seen, causal_mask(query.shape[1], value.shape[1]))
        return seen

    def _softmax(self, fits: Tensor, seen: Tensor | None) -> Tensor:
        """The weights: over the last axes, as many as attention goes over."""
        count = len(self._axes)
        if seen is not None:
            # An axis for the heads, and what else is missing, before those of queries and values.
            front, back = seen.shape[: seen.rank - 2 * count], seen.shape[seen.rank - 2 * count :]
            seen = reshape_to(seen, (*front, *(1,) * (fits.rank - seen.rank), *back))
        if count == 1:
            return masked_softmax(fits, seen)
        kept = fits.shape[: fits.rank - count]
        if seen is not None:
            shape = (*seen.shape[: seen.rank - count], *fits.shape[fits.rank - count :])
            seen = reshape_to(seen.broadcast_to(shape), (*shape[: len(shape) - count], -1))
        return reshape_to(masked_softmax(reshape_to(fits, (*kept, -1)), seen), fits.shape)

    def compute_output_shape(self, input_shape: Any) -> Any:
        query, value, _ = self._shapes(input_shape)
        output = (*query[:-1], *(self._result_shape or query[-1:]))
        if not self._returns_scores:
            return output
        kept = [n for axis, n in enumerate(query[:-1]) if axis not in self._axes]
        lengths = [shape[axis] for shape in (query, value) for axis in self._axes]
        return [output, (*kept, self.num_heads, *lengths)]

    def _shapes(self, shapes: Any) -> tuple[Shape, Shape, Shape]:
        """Those of query, value and key."""
        if not isinstance(shapes, list) or len(cast("list[Any]", shapes)) not in (2, 3):
            raise ValueError(f"{self.name}: takes a query and a value, and perhaps a key: layer(query, value, key)")
        query, value, *keys = cast("list[Shape]", shapes)
        key = keys[0] if keys else value
        same = all(None in (m, n) or m == n for m, n in zip(value[1:-1], key[1:-1]))
        if len(query) < 3 or not len(query) == len(value) == len(key) or not same:
            raise ValueError(
                f"{self.name}: query, value and key must be [batch, queries, …], [batch, values, …] and "
                f"[batch, values, …], got {', '.join(format_shape(shape) for shape in (query, value, key))}"
            )
        return query, value, key

    def get_config(self) -> dict[str, Any]:
        return {"output_shape": list(self._result_shape) or None, **super().get_config()}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        for name in _UNSUPPORTED:
            if config.get(name):
                raise ValueError(f"multi_head_attention: {name}={config[name]!r} is not supported")
        return cls(**{name: value for name, value in config.items() if name not in (*_UNSUPPORTED, *_SHAPES)})


def _equations(rank: int, axes: Sequence[int]) -> tuple[str, str]:
    """Those of the scores, `key, query -> scores`, and of the means, `weights, values -> result`.

    Projected inputs have this rank: the batch, axes that attention goes over or not, heads, features. Scores have what
    attention does not go over, the heads, the axes of the queries, and those of the values.
    """
    letters = string.ascii_lowercase
    query = letters[:rank]
    value = "".join(letters[rank + axis] if axis in axes else letter for axis, letter in enumerate(query))
    rest = "".join(letter for axis, letter in enumerate(query[:-1]) if axis not in axes)
    scores = rest + "".join(query[axis] for axis in axes) + "".join(value[axis] for axis in axes)
    return f"{value},{query}->{scores}", f"{scores},{value}->{query}"
