"""The chained methods and operators of tensors: which op each one is.

`x.mat_mul(w)` is `vg.mat_mul(x, w)`: every row below is that function, given the tensor as its first argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from varigrad import scopes
from varigrad.buffers import TensorBuffer
from varigrad.ops import (
    activations,
    arithmetic,
    assignment,
    comparison,
    convolution,
    counting,
    creation,
    elementwise,
    indexing,
    joining,
    linalg,
    matmul,
    normalization,
    padding,
    pooling,
    reduction,
    resampling,
    segment,
    shaping,
    slicing,
    spectral,
    trigonometry,
    values,
)
from varigrad.ops.arguments import TensorLike
from varigrad.tensor import Tensor, Variable

__all__ = ["TensorMethods", "VariableMethods"]


class TensorMethods:
    """Methods that every tensor has."""

    __slots__ = ()

    # Memory
    dispose = scopes.dispose

    # Reading values out
    def buffer_sync(self) -> TensorBuffer:
        """A buffer that holds a copy of the values, to be changed one by one."""
        tensor = cast("Tensor", self)
        return TensorBuffer(tensor.shape, tensor.dtype, tensor.data_sync())

    async def buffer(self) -> TensorBuffer:
        """`buffer_sync` as a coroutine, for code that mirrors TensorFlow.js."""
        return self.buffer_sync()

    # Arithmetic
    add = arithmetic.add
    sub = arithmetic.sub
    mul = arithmetic.mul
    div = arithmetic.div
    div_no_nan = arithmetic.div_no_nan
    floor_div = arithmetic.floor_div
    mod = arithmetic.mod
    pow = arithmetic.pow
    maximum = arithmetic.maximum
    minimum = arithmetic.minimum
    squared_difference = arithmetic.squared_difference
    atan2 = arithmetic.atan2

    # Functions of single numbers
    neg = elementwise.neg
    square = elementwise.square
    sqrt = elementwise.sqrt
    rsqrt = elementwise.rsqrt
    reciprocal = elementwise.reciprocal
    exp = elementwise.exp
    expm1 = elementwise.expm1
    log = elementwise.log
    log1p = elementwise.log1p
    erf = elementwise.erf
    abs = elementwise.abs
    sign = elementwise.sign
    step = elementwise.step
    ceil = elementwise.ceil
    floor = elementwise.floor
    round = elementwise.round
    clip_by_value = elementwise.clip_by_value
    is_nan = elementwise.is_nan
    is_inf = elementwise.is_inf
    is_finite = elementwise.is_finite

    # Activations
    relu = activations.relu
    relu6 = activations.relu6
    leaky_relu = activations.leaky_relu
    prelu = activations.prelu
    elu = activations.elu
    selu = activations.selu
    sigmoid = activations.sigmoid
    log_sigmoid = activations.log_sigmoid
    softplus = activations.softplus
    gelu = activations.gelu

    # Trigonometry
    sin = trigonometry.sin
    cos = trigonometry.cos
    tan = trigonometry.tan
    asin = trigonometry.asin
    acos = trigonometry.acos
    atan = trigonometry.atan
    sinh = trigonometry.sinh
    cosh = trigonometry.cosh
    tanh = trigonometry.tanh
    asinh = trigonometry.asinh
    acosh = trigonometry.acosh
    atanh = trigonometry.atanh

    # Comparison, logic and choice
    equal = comparison.equal
    not_equal = comparison.not_equal
    less = comparison.less
    less_equal = comparison.less_equal
    greater = comparison.greater
    greater_equal = comparison.greater_equal
    logical_and = comparison.logical_and
    logical_or = comparison.logical_or
    logical_xor = comparison.logical_xor
    logical_not = comparison.logical_not
    bitwise_and = comparison.bitwise_and

    def where(self, condition: TensorLike, b: TensorLike) -> Tensor:
        """This tensor's values where the condition is True, and b's elsewhere."""
        return comparison.where(condition, self, b)

    # Matrix products
    dot = matmul.dot
    mat_mul = matmul.mat_mul
    matmul = matmul.matmul

    # Convolution and pooling
    avg_pool = pooling.avg_pool
    conv1d = convolution.conv1d
    conv2d = convolution.conv2d
    conv2d_transpose = convolution.conv2d_transpose
    depthwise_conv2d = convolution.depthwise_conv2d
    dilation2d = convolution.dilation2d
    max_pool = pooling.max_pool
    pool = pooling.pool
    separable_conv2d = convolution.separable_conv2d

    # Shaping
    cast = shaping.cast
    as_type = shaping.cast
    to_float = shaping.to_float
    to_int = shaping.to_int
    to_bool = shaping.to_bool
    clone = shaping.clone
    reshape = shaping.reshape
    expand_dims = shaping.expand_dims
    squeeze = shaping.squeeze
    transpose = shaping.transpose

    @property
    def T(self) -> Tensor:
        """This tensor with its axes in the opposite order."""
        return shaping.transpose(cast("Tensor", self))

    broadcast_to = shaping.broadcast_to
    flatten = shaping.flatten
    reshape_as = shaping.reshape_as
    as_scalar = shaping.as_scalar
    as1d = shaping.as1d
    as2d = shaping.as2d
    as3d = shaping.as3d
    as4d = shaping.as4d
    as5d = shaping.as5d
    reverse = shaping.reverse
    tile = shaping.tile
    pad = padding.pad
    mirror_pad = padding.mirror_pad
    space_to_batch_nd = padding.space_to_batch_nd
    batch_to_space_nd = padding.batch_to_space_nd
    depth_to_space = padding.depth_to_space
    split = joining.split
    unstack = joining.unstack

    def concat(self, tensors: TensorLike, axis: int = 0) -> Tensor:
        """This tensor and another, or a list of others, one after the other along an axis."""
        return joining.concat(_with(self, tensors), axis)

    def stack(self, tensors: TensorLike, axis: int = 0) -> Tensor:
        """This tensor and another, or a list of others, side by side along a new axis."""
        return joining.stack(_with(self, tensors), axis)

    # Taking parts
    slice = slicing.slice
    strided_slice = slicing.strided_slice
    gather = slicing.gather
    unsorted_segment_sum = segment.unsorted_segment_sum
    unique = segment.unique
    __getitem__ = indexing.get_item

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"{type(self).__name__}: is not changed in place; vg.where(mask, value, x) and "
            "vg.tensor_scatter_update(x, indices, values) give a new tensor, which a variable takes by assign"
        )

    def __iter__(self) -> Iterator[Tensor]:
        """The slices along the first axis; one kernel makes all of them, and their gradient."""
        if not cast("Tensor", self).rank:
            raise TypeError("a scalar tensor cannot be iterated over")
        return iter(joining.unstack(self))

    # Creation
    one_hot = creation.one_hot
    ones_like = creation.ones_like
    zeros_like = creation.zeros_like
    variable = values.variable

    # Reductions
    sum = reduction.sum
    mean = reduction.mean
    max = reduction.max
    min = reduction.min
    prod = reduction.prod
    all = reduction.all
    any = reduction.any
    arg_max = reduction.arg_max
    arg_min = reduction.arg_min
    log_sum_exp = reduction.log_sum_exp
    cumsum = reduction.cumsum
    cumprod = reduction.cumprod
    topk = counting.topk
    norm = linalg.norm
    euclidean_norm = linalg.euclidean_norm

    # Images and Fourier transforms
    resize_bilinear = resampling.resize_bilinear
    resize_nearest_neighbor = resampling.resize_nearest_neighbor
    fft = spectral.fft
    ifft = spectral.ifft
    rfft = spectral.rfft
    irfft = spectral.irfft

    # Normalization
    softmax = normalization.softmax
    log_softmax = normalization.log_softmax
    batch_norm = normalization.batch_norm
    local_response_normalization = normalization.local_response_normalization

    # Operators
    __add__ = arithmetic.add
    __sub__ = arithmetic.sub
    __mul__ = arithmetic.mul
    __truediv__ = arithmetic.true_div
    __floordiv__ = arithmetic.floor_div
    __mod__ = arithmetic.mod
    __pow__ = arithmetic.pow
    __matmul__ = matmul
    __neg__ = elementwise.neg
    __pos__ = shaping.clone
    __abs__ = elementwise.abs
    __lt__ = comparison.less
    __le__ = comparison.less_equal
    __gt__ = comparison.greater
    __ge__ = comparison.greater_equal
    __and__ = comparison.and_
    __or__ = comparison.or_
    __xor__ = comparison.xor
    __invert__ = comparison.invert

    def __eq__(self, other: object) -> Any:
        return comparison.equal(self, other) if comparison.comparable(self, other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return comparison.not_equal(self, other) if comparison.comparable(self, other) else NotImplemented

    def __round__(self, ndigits: int = 0) -> Tensor:
        shift = 10.0**ndigits
        return elementwise.round(self) if ndigits == 0 else arithmetic.div(elementwise.round(self * shift), shift)

    def __radd__(self, other: TensorLike) -> Tensor:
        return arithmetic.add(other, self)

    def __rsub__(self, other: TensorLike) -> Tensor:
        return arithmetic.sub(other, self)

    def __rmul__(self, other: TensorLike) -> Tensor:
        return arithmetic.mul(other, self)

    def __rtruediv__(self, other: TensorLike) -> Tensor:
        return arithmetic.true_div(other, self)

    def __rfloordiv__(self, other: TensorLike) -> Tensor:
        return arithmetic.floor_div(other, self)

    def __rmod__(self, other: TensorLike) -> Tensor:
        return arithmetic.mod(other, self)

    def __rpow__(self, other: TensorLike) -> Tensor:
        return arithmetic.pow(other, self)

    def __rand__(self, other: TensorLike) -> Tensor:
        return comparison.and_(other, self)

    def __ror__(self, other: TensorLike) -> Tensor:
        return comparison.or_(other, self)

    def __rxor__(self, other: TensorLike) -> Tensor:
        return comparison.xor(other, self)

    def __rmatmul__(self, other: TensorLike) -> Tensor:
        return matmul.matmul(other, self)


class VariableMethods:
    """Methods that only variables have."""

    __slots__ = ()

    assign = assignment.assign
    assign_add = assignment.assign_add
    assign_sub = assignment.assign_sub

    # `w += x` gives the variable new values, where `t += x` makes a new tensor.
    __iadd__ = assignment.assign_add
    __isub__ = assignment.assign_sub

    def __imul__(self, other: TensorLike) -> Variable:
        return assignment.assign(cast("Variable", self), arithmetic.mul(self, other))

    def __itruediv__(self, other: TensorLike) -> Variable:
        return assignment.assign(cast("Variable", self), arithmetic.true_div(self, other))

    def __ifloordiv__(self, other: TensorLike) -> Variable:
        return assignment.assign(cast("Variable", self), arithmetic.floor_div(self, other))

    def __imod__(self, other: TensorLike) -> Variable:
        return assignment.assign(cast("Variable", self), arithmetic.mod(self, other))

    def __ipow__(self, other: TensorLike) -> Variable:
        return assignment.assign(cast("Variable", self), arithmetic.pow(self, other))


def _with(first: TensorLike, others: TensorLike) -> list[TensorLike]:
    return [first, *others] if isinstance(others, (list, tuple)) else [first, others]


def _install() -> None:
    """Gives the base classes that `Tensor` and `Variable` were built on the methods listed above."""
    bases: list[Any] = [Tensor.__bases__[0], Variable.__bases__[0]]
    for base, methods in zip(bases, (TensorMethods, VariableMethods), strict=True):
        for name, method in vars(methods).items():
            if callable(method) or isinstance(method, property):
                setattr(base, name, method)


_install()
