"""Activations with parameters of their own, as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.arguments import Shape, axis_list, axis_or_axes, number
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import constraint_option, initializer_option, option, or_none, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.ops.activations import elu, leaky_relu, prelu, relu, relu6
from varigrad.ops.arguments import cast_to, normalize_axes, reshape_to
from varigrad.ops.arithmetic import add, minimum, mul, sub
from varigrad.ops.comparison import greater
from varigrad.ops.normalization import softmax
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["ELU", "LeakyReLU", "PReLU", "ReLU", "Softmax", "ThresholdedReLU"]


class ReLU(Layer):
    """`x` where it is positive, and 0 elsewhere; at most `max_value`.

    Mirrors `tf.layers.reLU`. The other arguments are Keras's; files for TensorFlow.js have them only where they are not
    0, and it ignores them there.

    Args:
        max_value: The largest result; None is no limit.
        negative_slope: The slope below the threshold.
        threshold: Where x begins to pass.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.re_lu(max_value=6)([[-1, 2, 7]]).tolist()
    [[0.0, 2.0, 6.0]]
    """

    max_value = option(or_none(number), 0.0)
    # TensorFlow.js knows neither of these.
    negative_slope = option(number, 0.0, default=0.0, unless=0.0)
    threshold = option(number, 0.0, default=0.0, unless=0.0)
    supports_masking = True

    def __init__(
        self,
        *,
        max_value: float | None = None,
        negative_slope: float | None = 0.0,
        threshold: float | None = 0.0,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not self.negative_slope and not self.threshold:
            if self.max_value is None:
                return relu(inputs)
            return relu6(inputs) if self.max_value == 6 else minimum(relu(inputs), self.max_value)
        above = cast_to(greater(inputs, self.threshold), inputs.dtype)
        y = mul(inputs, above)
        if self.max_value is not None:
            y = minimum(y, self.max_value)
        below = mul(sub(inputs, self.threshold), self.negative_slope)
        return add(y, mul(below, sub(1.0, above)))


class LeakyReLU(Layer):
    """`x` where it is positive, and `alpha * x` elsewhere.

    Mirrors `tf.layers.leakyReLU`.

    Args:
        alpha: The slope below 0, 0.3 by default.
        negative_slope: The same, as Keras 3 calls it.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.leaky_re_lu(alpha=0.5)([[-1, 2]]).tolist()
    [[-0.5, 2.0]]
    """

    alpha = option(number, default=0.3)
    supports_masking = True

    def __init__(
        self, *, alpha: float | None = None, negative_slope: float | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        alpha = negative_slope if alpha is None else alpha
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return leaky_relu(inputs, self.alpha)


class PReLU(Layer):
    """`x` where it is positive, and `alpha * x` elsewhere, with slopes `alpha` that are learned.

    He et al. (2015). Mirrors `tf.layers.prelu`.

    Args:
        alpha_initializer: The slopes' first value, `"zeros"` by default.
        alpha_regularizer: A penalty on them.
        alpha_constraint: A limit on them.
        shared_axes: The axes along which inputs share slopes, counted with the batch as 0: `[1, 2]` for one slope a
            channel of images.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.prelu(alpha_initializer="ones", shared_axes=1)
    >>> layer([[[-1, 2], [3, -4]]]).tolist(), layer.weights[0].shape
    ([[[-1.0, 2.0], [3.0, -4.0]]], (1, 2))
    """

    alpha_initializer = initializer_option("zeros")
    alpha_regularizer = regularizer_option()
    alpha_constraint = constraint_option()
    shared_axes = option(or_none(axis_list))
    _owner = "prelu"
    supports_masking = True
    alpha: Variable

    def __init__(
        self,
        *,
        alpha_initializer: str | Initializer | None = None,
        alpha_regularizer: str | Regularizer | None = None,
        alpha_constraint: str | Constraint | None = None,
        shared_axes: int | Sequence[int] | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        if self.shared_axes is not None and min(self.shared_axes) < 1:
            raise ValueError(f"prelu: shared_axes must be axes from 1 on, the batch being 0, got {shared_axes!r}")

    def build(self, input_shape: Shape) -> None:
        shared = self.shared_axes or ()
        rank = len(input_shape)
        if any(axis >= rank for axis in shared):
            raise ValueError(
                f"{self.name}: has shared_axes {list(shared)}, but got inputs of shape {format_shape(input_shape)}"
            )
        lengths = [1 if axis in shared else length for axis, length in enumerate(input_shape)][1:]
        known = [length for length in lengths if length is not None]
        if len(known) != len(lengths):
            raise ValueError(
                f"{self.name}: every axis of its inputs but the batch and shared_axes must be known, got "
                f"{format_shape(input_shape)}"
            )
        self.alpha = self._add_optioned_weight("alpha", known)
        own = {axis: n for axis, n in enumerate(input_shape) if axis and axis not in shared and n is not None}
        self.input_spec = InputSpec(ndim=rank, axes=own)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return prelu(inputs, self.alpha)


class ELU(Layer):
    """`x` where it is positive, and `alpha * (e**x - 1)` elsewhere.

    Clevert et al. (2015). Mirrors `tf.layers.elu`, which takes no `alpha` but 1.

    Args:
        alpha: The factor below 0.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.elu(alpha=2)([[-100, 3]]).tolist()
    [[-2.0, 3.0]]
    """

    alpha = option(number, default=1.0)
    supports_masking = True

    def __init__(self, *, alpha: float | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return elu(inputs, self.alpha)


class ThresholdedReLU(Layer):
    """`x` where it is more than `theta`, and 0 elsewhere.

    Mirrors `tf.layers.thresholdedReLU`.

    Args:
        theta: The threshold, 1 by default.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.thresholded_re_lu(theta=2)([[1, 2, 3]]).tolist()
    [[0.0, 0.0, 3.0]]
    """

    theta = option(number, 0.0, default=1.0)
    supports_masking = True

    def __init__(self, *, theta: float | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return mul(inputs, cast_to(greater(inputs, self.theta), inputs.dtype))


# What TensorFlow.js and Keras add to the logits that a mask leaves out.
_LEFT_OUT = -1e9


class Softmax(Layer):
    """The softmax exp(x) / sum(exp(x)) along an axis, or over several together.

    Mirrors `tf.layers.softmax`, whose documentation has the same default axis; its code has 1, which is the same for
    the inputs of rank 2 that it can do.

    Args:
        axis: The axis along which the result sums to 1, the last by default; or a list of axes.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    A mask of the inputs' shape leaves places out, which become 0. One of fewer axes, such as `[batch, time]`, leaves
    out whole steps if the axis is one of its own.

    >>> import varigrad as vg
    >>> vg.layers.softmax()([[0, 1000]]).tolist()
    [[0.0, 1.0]]
    >>> vg.layers.softmax()([[1.0, 1.0, 5.0]], mask=vg.tensor([[True, True, False]])).tolist()
    [[0.5, 0.5, 0.0]]
    """

    axis = option(axis_or_axes, default=-1)
    supports_masking = True

    def __init__(self, *, axis: int | Sequence[int] | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None) -> Tensor:
        axes = normalize_axes(self.name, self.axis, inputs.rank)
        if mask is not None and all(axis < mask.rank for axis in axes):
            left_out = mul(sub(1.0, cast_to(mask, inputs.dtype)), _LEFT_OUT)
            inputs = add(inputs, reshape_to(left_out, (*mask.shape, *(1,) * (inputs.rank - mask.rank))))
        if len(axes) == 1:
            return softmax(inputs, axes[0])
        # Over several axes together, these are made one.
        order = [axis for axis in range(inputs.rank) if axis not in axes] + list(axes)
        moved = transpose(inputs, order)
        together = reshape_to(moved, (*moved.shape[: -len(axes)], math.prod(moved.shape[-len(axes) :])))
        return transpose(reshape_to(softmax(together), moved.shape), [order.index(axis) for axis in range(inputs.rank)])
