"""Softmax and normalization."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, convert_floating, normalize_axis
from varigrad.tensor import Tensor

__all__ = ["log_softmax", "softmax"]


def softmax(logits: TensorLike, dim: int = -1) -> Tensor:
    """The softmax exp(logits) / sum(exp(logits)) along an axis; safe for logits of any size. Mirrors `tf.softmax`.

    Args:
        logits: Real numbers, rank 1 or more; integers and bools are taken as float32.
        dim: The axis along which the result sums to 1; any axis, where TensorFlow.js takes only the last.

    >>> import varigrad as vg
    >>> vg.softmax([0, 1000]).tolist()
    [0.0, 1.0]
    """
    logits = _real(logits, "softmax")
    return run_kernel("Softmax", (logits,), {"dim": normalize_axis("softmax", dim, logits.rank, "dim")})


def log_softmax(logits: TensorLike, axis: int = -1) -> Tensor:
    """The logarithm of the softmax along an axis, which keeps its digits where the softmax would be 0.

    Mirrors `tf.logSoftmax`; arguments as for `vg.softmax`.

    >>> import varigrad as vg
    >>> vg.log_softmax([0, 1000]).tolist()
    [-1000.0, 0.0]
    """
    logits = _real(logits, "log_softmax")
    return run_kernel("LogSoftmax", (logits,), {"axis": normalize_axis("log_softmax", axis, logits.rank)})


def _real(logits: TensorLike, op: str) -> Tensor:
    if isinstance(logits, Tensor) and logits.storage.dtype.kind == "f":
        return logits
    logits = convert_floating(logits, op, "logits")
    if logits.dtype == "complex64":
        raise TypeError(f"{op}: logits must be real, got complex64")
    return logits
