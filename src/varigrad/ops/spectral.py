"""`vg.spectral`: Fourier transforms along the last axis.

They work in single precision: complex numbers are complex64, and other floating-point tensors are taken as float32, as
by `vg.complex`. All are differentiable; TensorFlow.js differentiates none.
"""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, accept, convert, normalize_shape
from varigrad.tensor import Tensor, format_shape

__all__ = ["fft", "ifft", "irfft", "rfft"]


def fft(input: TensorLike) -> Tensor:
    """The discrete Fourier transform of complex numbers along the last axis.

    Mirrors `tf.spectral.fft`.

    Args:
        input: complex64, rank 1 or more.

    Returns:
        complex64, of the shape of `input`.

    Raises:
        TypeError: The numbers are real; `rfft` transforms these.

    >>> import varigrad as vg
    >>> vg.spectral.fft([1 + 1j, 2 + 1j]).tolist()
    [(3+2j), (-1+0j)]
    """
    return run_kernel("FFT", (_complex("fft", input),))


def ifft(input: TensorLike) -> Tensor:
    """The inverse of `fft`. Mirrors `tf.spectral.ifft`.

    >>> import varigrad as vg
    >>> vg.spectral.ifft([3 + 2j, -1 + 0j]).tolist()
    [(1+1j), (2+1j)]
    """
    return run_kernel("IFFT", (_complex("ifft", input),))


def rfft(input: TensorLike, fft_length: int | None = None) -> Tensor:
    """The discrete Fourier transform of real numbers along the last axis, its first half.

    The second half is the first mirrored. Mirrors `tf.spectral.rfft`.

    Args:
        input: Real numbers, `[..., length]`.
        fft_length: The length to cut the input to, or fill it up to with zeros; its own by default.

    Returns:
        complex64, `[..., fft_length // 2 + 1]`.

    >>> import varigrad as vg
    >>> vg.spectral.rfft([1, 2, 3, 4]).tolist()
    [(10+0j), (-2+2j), (-2+0j)]
    """
    x = accept(input, "rfft", "input", "f")
    _check_axis("rfft", x)
    length = x.shape[-1] if fft_length is None else fft_length
    return run_kernel("RFFT", (convert(x, "rfft", "input", "float32"),), {"fft_length": _length("rfft", length)})


def irfft(input: TensorLike, fft_length: int | None = None) -> Tensor:
    """The inverse of `rfft`. Mirrors `tf.spectral.irfft`, and keeps the shape of the batch for any rank.

    Args:
        input: complex64, `[..., frequencies]`.
        fft_length: The length of the result; `2 * (frequencies - 1)` by default. An extension, for results of odd
            length.

    Returns:
        float32, `[..., fft_length]`.

    >>> import varigrad as vg
    >>> vg.spectral.irfft([10 + 0j, -2 + 2j, -2 + 0j]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    x = _complex("irfft", input)
    length = max(1, 2 * (x.shape[-1] - 1)) if fft_length is None else fft_length
    return run_kernel("IRFFT", (x,), {"fft_length": _length("irfft", length)})


def _complex(op: str, input: TensorLike) -> Tensor:
    x = convert(input, op, "input")
    if x.storage.dtype.kind != "c":
        raise TypeError(f"{op}: input must be complex64, got {x.dtype}; use rfft or vg.complex(x, vg.zeros_like(x))")
    _check_axis(op, x)
    return x


def _check_axis(op: str, x: Tensor) -> None:
    if not x.rank or not x.shape[-1]:
        raise ValueError(f"{op}: input must hold at least one number on its last axis, got {format_shape(x.shape)}")


def _length(op: str, length: int) -> int:
    if normalize_shape(op, (length,), "fft_length") == (0,):
        raise ValueError(f"{op}: fft_length must be positive, got 0")
    return int(length)
