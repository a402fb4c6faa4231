"""Softmax and normalization."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, accept, accept_floats, cast_to, common_shape, normalize_axis
from varigrad.ops.options import integer, number
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "batch_norm",
    "batch_norm2d",
    "batch_norm3d",
    "batch_norm4d",
    "local_response_normalization",
    "log_softmax",
    "softmax",
]


def softmax(logits: TensorLike, dim: int = -1) -> Tensor:
    """The softmax exp(logits) / sum(exp(logits)) along an axis; safe for logits of any size. Mirrors `tf.softmax`.

    Args:
        logits: Real numbers, rank 1 or more; a tensor must be floating.
        dim: The axis along which the result sums to 1; any axis, where TensorFlow.js takes only the last.

    Raises:
        TypeError: The logits are a tensor of integers or bools; cast it first.

    >>> import varigrad as vg
    >>> vg.softmax([0, 1000]).tolist()
    [0.0, 1.0]
    """
    if not (isinstance(logits, Tensor) and logits.storage.dtype.kind == "f"):
        logits = accept_floats(logits, "softmax", "logits")
    return run_kernel("Softmax", (logits,), {"dim": normalize_axis("softmax", dim, logits.rank, "dim")})


def log_softmax(logits: TensorLike, axis: int = -1) -> Tensor:
    """The logarithm of the softmax along an axis, which keeps its digits where the softmax would be 0.

    Mirrors `tf.logSoftmax`; arguments as for `vg.softmax`, but integers are taken as float32.

    >>> import varigrad as vg
    >>> vg.log_softmax([0, 1000]).tolist()
    [-1000.0, 0.0]
    """
    logits = accept(logits, "log_softmax", "logits", "f")
    return run_kernel("LogSoftmax", (logits,), {"axis": normalize_axis("log_softmax", axis, logits.rank)})


def batch_norm(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 0.001,
) -> Tensor:
    """`(x - mean) / sqrt(variance + variance_epsilon) * scale + offset`. Mirrors `tf.batchNorm`.

    Batch normalization as in https://arxiv.org/abs/1502.03167, with the statistics given.

    Args:
        x: Real numbers, any shape, such as `[batch, height, width, channels]`.
        mean: Of a shape that broadcasts to that of `x`, such as `[channels]`; taken in the dtype of `x`.
        variance: Likewise.
        offset: Likewise; 0 by default.
        scale: Likewise; 1 by default.
        variance_epsilon: A small number that keeps the divisor from zero.

    Raises:
        ValueError: A parameter's shape does not broadcast to that of `x`.

    >>> import varigrad as vg
    >>> vg.batch_norm([[2, 4], [6, 8]], [4, 6], [4, 4], offset=[0, 1], scale=[1, 2], variance_epsilon=0).tolist()
    [[-1.0, -1.0], [1.0, 3.0]]
    """
    return _batch_norm("batch_norm", None, x, mean, variance, offset, scale, variance_epsilon)


def batch_norm2d(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 0.001,
) -> Tensor:
    """`vg.batch_norm` of a tensor checked to have rank 2. Mirrors `tf.batchNorm2d`.

    >>> import varigrad as vg
    >>> vg.batch_norm2d([[2, 4], [6, 8]], [4, 6], [4, 4], variance_epsilon=0).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    return _batch_norm("batch_norm2d", 2, x, mean, variance, offset, scale, variance_epsilon)


def batch_norm3d(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 0.001,
) -> Tensor:
    """`vg.batch_norm` of a tensor checked to have rank 3. Mirrors `tf.batchNorm3d`.

    >>> import varigrad as vg
    >>> vg.batch_norm3d([[[2, 4], [6, 8]]], [4, 6], [4, 4], variance_epsilon=0).tolist()
    [[[-1.0, -1.0], [1.0, 1.0]]]
    """
    return _batch_norm("batch_norm3d", 3, x, mean, variance, offset, scale, variance_epsilon)


def batch_norm4d(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 0.001,
) -> Tensor:
    """`vg.batch_norm` of a tensor checked to have rank 4. Mirrors `tf.batchNorm4d`.

    >>> import varigrad as vg
    >>> vg.batch_norm4d([[[[2, 4], [6, 8]]]], [4, 6], [4, 4], variance_epsilon=0).tolist()
    [[[[-1.0, -1.0], [1.0, 1.0]]]]
    """
    return _batch_norm("batch_norm4d", 4, x, mean, variance, offset, scale, variance_epsilon)


def _batch_norm(
    op: str,
    rank: int | None,
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
) -> Tensor:
    x = accept(x, op, "x", "f")
    if rank is not None and x.rank != rank:
        raise ValueError(f"{op}: x must have rank {rank}, got shape {format_shape(x.shape)}")
    parameters = [_parameter(op, "mean", mean, x), _parameter(op, "variance", variance, x)]
    if offset is not None:
        parameters.append(_parameter(op, "offset", offset, x))
    if scale is not None:
        parameters.append(_parameter(op, "scale", scale, x))
    attrs = {
        "has_offset": offset is not None,
        "has_scale": scale is not None,
        "variance_epsilon": float(number(op, "variance_epsilon", variance_epsilon)),
    }
    return run_kernel("FusedBatchNorm", (x, *parameters), attrs)


def _parameter(op: str, name: str, value: TensorLike, x: Tensor) -> Tensor:
    parameter = accept(value, op, name, "f")
    if parameter.storage.dtype is not x.storage.dtype:
        parameter = cast_to(parameter, x.dtype)
    shape = parameter.storage.shape
    if shape != x.storage.shape[-1:] and common_shape(shape, x.shape) != x.shape:
        raise ValueError(
            f"{op}: {name} does not broadcast to x (x: {format_shape(x.shape)}, {name}: {format_shape(shape)}); "
            "give one value a channel, the last axis of x"
        )
    return parameter


def local_response_normalization(
    x: TensorLike, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Tensor:
    """`x / (bias + alpha * s) ** beta`, where s sums the squares of the channels around each.

    Local response normalization as in AlexNet (https://papers.nips.cc/paper/4824). Mirrors
    `tf.localResponseNormalization`.

    Args:
        x: Real numbers, `[height, width, channels]` or `[batch, height, width, channels]`.
        depth_radius: How many channels on either side are summed.
        bias: Keeps the divisor from zero.
        alpha: The factor of the sum.
        beta: The exponent.

    Raises:
        ValueError: `x` has another rank, or the radius is negative.
        TypeError: The radius is not an integer.

    >>> import varigrad as vg
    >>> vg.local_response_normalization([[[2, 0, 0, 6]]], depth_radius=1, bias=0).tolist()
    [[[1.0, 0.0, 0.0, 1.0]]]
    """
    op = "local_response_normalization"
    x = accept(x, op, "x", "f")
    if x.rank not in (3, 4):
        raise ValueError(f"{op}: x must have rank 3 or 4, got shape {format_shape(x.shape)}")
    attrs = {
        "depth_radius": integer(op, "depth_radius", depth_radius),
        "bias": float(number(op, "bias", bias)),
        "alpha": float(number(op, "alpha", alpha)),
        "beta": float(number(op, "beta", beta)),
    }
    return run_kernel("LRN", (x,), attrs)
