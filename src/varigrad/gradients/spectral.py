"""Derivatives of Fourier transforms, which are linear: each goes back by the conjugate transform.

The gradient of a real value with respect to a complex number `a + ib` is `d/da + i d/db`.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arithmetic import mul, scale
from varigrad.tape import Gradient, input_shapes, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

Shape = tuple[int, ...]


def _times_length(kernel: str, power: int) -> Callable[[Tensor], Tensor]:
    return lambda dy: scale(run_kernel(kernel, (dy,)), float(dy.shape[-1]) ** power)


def _resized(x: Tensor, length: int) -> Tensor:
    """`x` with its last axis cut, or filled up with zeros, to a length."""
    *batch, given = x.shape
    if given > length:
        return run_kernel("Slice", (x,), {"begin": (0,) * x.rank, "size": (*batch, length)})
    if given < length:
        paddings = ((0, 0),) * len(batch) + ((0, length - given),)
        return run_kernel("PadV2", (x,), {"paddings": paddings, "constant_value": 0.0})
    return x


def _mirrored(frequencies: int, length: int, inner: float) -> Tensor:
    """A factor for each frequency of a real signal: `inner` for those that stand for their mirror image too, and 1 for
    the first and, if the length is even, the last, which have none."""
    factors = np.full(length // 2 + 1, inner, np.complex64)
    factors[0] = 1
    if length % 2 == 0:
        factors[-1] = 1
    return _resized(make_tensor(factors), frequencies)


def _rfft(dy: Tensor, x: Shape, fft_length: int) -> Tensor:
    halved = mul(dy, _mirrored(dy.shape[-1], fft_length, 0.5))
    whole = scale(run_kernel("IRFFT", (halved,), {"fft_length": fft_length}), float(fft_length))
    return _resized(whole, x[-1])


def _irfft(dy: Tensor, x: Shape, fft_length: int) -> Tensor:
    spectrum = _resized(run_kernel("RFFT", (dy,), {"fft_length": fft_length}), x[-1])
    return scale(mul(spectrum, _mirrored(x[-1], fft_length, 2.0)), 1 / fft_length)


GRADIENTS: dict[str, Gradient] = {
    "FFT": Gradient(_times_length("IFFT", 1), nothing),
    "IFFT": Gradient(_times_length("FFT", -1), nothing),
    "IRFFT": Gradient(_irfft, input_shapes),
    "RFFT": Gradient(_rfft, input_shapes),
}
