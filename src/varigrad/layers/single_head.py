"""Attention of one head, without projections."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Unpack, cast

from varigrad.layers.arguments import boolean, choice, number
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.dropout import SeededLayer
from varigrad.layers.lists import as_list
from varigrad.layers.options import option
from varigrad.ops import random
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import add, mul
from varigrad.ops.comparison import greater_equal, logical_and, where
from varigrad.ops.creation import range as range_of
from varigrad.ops.matmul import mat_mul
from varigrad.ops.normalization import softmax
from varigrad.ops.reduction import sum as sum_of
from varigrad.ops.trigonometry import tanh
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["AdditiveAttention", "Attention", "ScoringLayer", "both", "causal_mask", "masked_softmax"]


class ScoringLayer(SeededLayer):
    """Base of attention layers, which return their scores too where a call asks for them."""

    supports_masking = True
    _returns_scores = False  # whether the call that shapes are computed for asks

    def _connect(self, inputs: Any, training: bool | None, arguments: Mapping[str, Any]) -> Any:
        self._returns_scores = bool(arguments.get("return_attention_scores"))
        try:
            return super()._connect(inputs, training, arguments)
        finally:
            self._returns_scores = False

    def _run_masked(
        self,
        inputs: Any,
        mask: Any,
        training: bool | None,
        arguments: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[Any, Any]:
        y, after = super()._run_masked(inputs, mask, training, arguments)
        return y, [after, None] if arguments.get("return_attention_scores") else after

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return as_list(mask)[0]


class Attention(ScoringLayer):
    """Attention (Luong and others, 2015): for each query, the mean of the values, weighted by how its key fits.

    A layer of Keras that TensorFlow.js lacks. Inputs are a list `[query, value]` or `[query, value, key]`:
    `[batch, queries, size]`, `[batch, values, any size]` and `[batch, values, size]`; the result is
    `[batch, queries, size of a value]`. Called with `mask=[query_mask, value_mask]`, bools `[batch, queries]` and
    `[batch, values]`, or in a model after layers that make masks, it gives no weight to values that are False, and
    zeros for such queries. Called with `use_causal_mask=True`, query number i sees values 0 to i alone; with
    `return_attention_scores=True` the weights `[batch, queries, values]` come back too.

    Args:
        use_scale: Whether scores are multiplied by a weight.
        score_mode: `"dot"`, the products of query and key; or `"concat"`, the sum of `tanh(query + key)`.
        dropout: The part of the weights to drop in training.
        seed: Makes what is dropped a fixed sequence.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The inputs are not two or three of rank 3 that fit each other.

    >>> import varigrad as vg
    >>> query, value = vg.tensor([[[1000.0, 0.0]]]), vg.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> vg.layers.attention()([query, value]).tolist()
    [[[1.0, 0.0]]]
    """

    use_scale = option(boolean)
    score_mode = option(choice, ("dot", "concat"))
    dropout = option(number, 0.0, 1.0)
    scale: Variable | None = None
    concat_score_weight: Variable | None = None

    def __init__(
        self,
        *,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())

    def build(self, input_shape: Any) -> None:
        self.compute_output_shape(input_shape)
        if self.use_scale:
            self.scale = self.add_weight("scale", [], initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight("concat_score_weight", [], initializer="ones")

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """How well keys `[batch, values, size]` fit queries `[batch, queries, size]`: `[batch, queries, values]`."""
        if self.concat_score_weight is None:
            products = mat_mul(query, key, transpose_b=True)
            return products if self.scale is None else mul(products, self.scale)
        pairs = _pairs(query, key)
        return mul(sum_of(tanh(pairs if self.scale is None else mul(pairs, self.scale)), -1), self.concat_score_weight)

    def call(
        self,
        inputs: Any,
        training: bool | None = None,
        mask: Any = None,
        use_causal_mask: bool = False,
        return_attention_scores: bool = False,
    ) -> Any:
        query, value, *keys = _listed(self, inputs)
        query_mask, value_mask = as_list(mask)[:2] if mask is not None else (None, None)
        scores = self.scores(query, keys[0] if keys else value)
        seen = None if value_mask is None else reshape_to(value_mask, (value_mask.shape[0], 1, value_mask.shape[1]))
        if use_causal_mask:
            seen = both(seen, causal_mask(query.shape[1], value.shape[1]))
        weights = masked_softmax(scores, seen)
        kept = weights
        if training and self.dropout > 0:
            kept = random.dropout(weights, self.dropout, seed=self._next_seed())
        y = mat_mul(kept, value)
        if query_mask is not None:
            y = where(reshape_to(query_mask, (*query_mask.shape, 1)), y, 0.0)
        return [y, weights] if return_attention_scores else y

    def compute_output_shape(self, input_shape: Any) -> Any:
        query, value, *keys = shapes = _listed(self, input_shape)
        key = keys[0] if keys else value
        ranks = {len(shape) for shape in shapes}
        if ranks != {3} or len({query[-1], key[-1]} - {None}) > 1 or value[1] != key[1]:
            given = ", ".join(format_shape(shape) for shape in shapes)
            raise ValueError(
                f"{self.name}: query, value and key must be [batch, queries, size], [batch, values, …] and "
                f"[batch, values, size], got {given}"
            )
        output = (*query[:-1], value[-1])
        return [output, (*query[:-1], value[1])] if self._returns_scores else output


class AdditiveAttention(Attention):
    """Attention (Bahdanau and others, 2015) with the sum of `scale * tanh(query + key)` as the score.

    A layer of Keras that TensorFlow.js lacks. Inputs, masks and arguments of the call are those of
    `vg.layers.Attention`.

    Args:
        use_scale: Whether there is a weight `scale`, one number for each feature.
        dropout: The part of the weights to drop in training.
        seed: Makes what is dropped a fixed sequence.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The inputs are not two or three of rank 3 that fit each other.

    >>> import varigrad as vg
    >>> layer = vg.layers.additive_attention()
    >>> layer([vg.zeros([2, 4, 3]), vg.zeros([2, 5, 3])]).shape
    (2, 4, 3)
    """

    score_mode = option(choice, ("dot",), stored=False)  # another one, of its own

    def __init__(
        self,
        *,
        use_scale: bool = True,
        dropout: float = 0.0,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, seed=seed, **options)

    def build(self, input_shape: Any) -> None:
        self.compute_output_shape(input_shape)
        size = _listed(self, input_shape)[0][-1]
        if self.use_scale:
            if size is None:
                raise ValueError(f"{self.name}: the last axis of its inputs must be known")
            self.scale = self.add_weight("scale", [size], initializer="glorot_uniform")

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        fits = tanh(_pairs(query, key))
        return sum_of(fits if self.scale is None else mul(fits, self.scale), -1)


def _pairs(query: Tensor, key: Tensor) -> Tensor:
    """The sum of each query and each key, `[batch, queries, values, size]`."""
    batch, queries, size = query.shape
    return add(reshape_to(query, (batch, queries, 1, size)), reshape_to(key, (batch, 1, *key.shape[1:])))


def masked_softmax(scores: Tensor, seen: Tensor | None) -> Tensor:
    """Weights that add up to 1 along the last axis, 0 where `seen` is False, and everywhere if nothing is seen."""
    if seen is None:
        return softmax(scores)
    lowest = -6e4 if scores.dtype == "float16" else -1e9
    return where(seen, softmax(where(seen, scores, lowest)), 0.0)


def causal_mask(queries: int, values: int) -> Tensor:
    """Bools `[1, queries, values]`: query i sees values 0 to i."""
    rows = reshape_to(range_of(0, queries, 1, "int32"), (1, queries, 1))
    return greater_equal(rows, reshape_to(range_of(0, values, 1, "int32"), (1, 1, values)))


def both(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """Where two masks are True, of which None is True everywhere."""
    if a is None or b is None:
        return b if a is None else a
    return logical_and(a, b)


def _listed(layer: Layer, values: Any) -> list[Any]:
    """Two or three inputs, or what belongs to them."""
    listed = cast("list[Any]", values) if isinstance(values, list) else []
    if len(listed) not in (2, 3):
        raise ValueError(f"{layer.name}: takes a list [query, value] or [query, value, key]")
    return listed
