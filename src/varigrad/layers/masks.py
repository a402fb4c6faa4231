"""Masking: which steps of a sequence count."""

from __future__ import annotations

from typing import Any, Unpack

from varigrad.layers.arguments import number
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option
from varigrad.ops.comparison import not_equal, where
from varigrad.ops.reduction import any as any_of
from varigrad.tensor import Tensor

__all__ = ["Masking"]


class Masking(Layer):
    """Leaves out the steps whose features all have one value: the layers after it skip them.

    Mirrors `tf.layers.masking`. Inputs are `[batch, time, …]`; the result is the same with zeros in the steps left out.
    Its mask, bools `[batch, time]`, goes on to the layers after it and to the loss, as far as they take masks.

    Args:
        mask_value: The value of steps to leave out, 0 by default.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.masking(mask_value=-1)
    >>> x = vg.tensor([[[1, -1], [-1, -1]]])
    >>> layer(x).tolist(), layer.compute_mask(x, None).tolist()
    ([[[1.0, -1.0], [0.0, 0.0]]], [[True, False]])
    """

    mask_value = option(number)
    supports_masking = True
    input_spec = InputSpec(min_ndim=2)

    def __init__(self, *, mask_value: float = 0.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return where(any_of(not_equal(inputs, self.mask_value), -1, keep_dims=True), inputs, 0.0)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return any_of(not_equal(inputs, self.mask_value), -1)
