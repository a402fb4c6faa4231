"""Fourier transforms along the last axis, with NumPy, in single precision throughout."""

# NumPy's transforms have types of double precision only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _fft(x: Array) -> Array:
    return np.fft.fft(x).astype(np.complex64, copy=False) if x.size else x.copy()


def _ifft(x: Array) -> Array:
    return np.fft.ifft(x).astype(np.complex64, copy=False) if x.size else x.copy()


def _rfft(x: Array, fft_length: int) -> Array:
    if not x.shape[-1]:
        x = np.zeros((*x.shape[:-1], 1), x.dtype)
    if not x.size:
        return np.zeros((*x.shape[:-1], fft_length // 2 + 1), np.complex64)
    return np.fft.rfft(x, fft_length).astype(np.complex64, copy=False)


def _irfft(x: Array, fft_length: int) -> Array:
    if not x.size:
        return np.zeros((*x.shape[:-1], fft_length), np.float32)
    return np.fft.irfft(x, fft_length).astype(np.float32, copy=False)


KERNELS: dict[str, Any] = {
    "FFT": _fft,
    "IFFT": _ifft,
    "IRFFT": _irfft,
    "RFFT": _rfft,
}
