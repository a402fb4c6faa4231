"""`vg.signal`: frames of signals, windows, and the short-time Fourier transform."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import TensorLike, accept, convert, normalize_shape
from varigrad.ops.arithmetic import mul
from varigrad.ops.options import flag, integer, number
from varigrad.ops.spectral import rfft
from varigrad.tensor import Tensor, format_shape

__all__ = ["cosine_window", "enclosing_power_of_two", "frame", "hamming_window", "hann_window", "stft"]


def frame(
    signal: TensorLike, frame_length: int, frame_step: int, pad_end: bool = False, pad_value: float = 0
) -> Tensor:
    """A signal cut into frames, which may overlap. Mirrors `tf.signal.frame`; signals may come in batches too.

    Args:
        signal: `[samples]` or `[..., samples]`.
        frame_length: Samples in a frame.
        frame_step: Samples from the start of one frame to that of the next.
        pad_end: Makes a frame start at every step within the signal, and fills up with `pad_value` what lies beyond its
            end; by default there are whole frames only.
        pad_value: A number, of the signal's dtype.

    Returns:
        `[..., frames, frame_length]`.

    >>> import varigrad as vg
    >>> vg.signal.frame([1, 2, 3, 4, 5], 3, 2).tolist()
    [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]
    """
    signal = convert(signal, "frame", "signal")
    return _frames("frame", signal, frame_length, frame_step, flag("frame", "pad_end", pad_end), pad_value)


def _frames(op: str, signal: Tensor, frame_length: int, frame_step: int, pad_end: bool, pad_value: float) -> Tensor:
    if not signal.rank:
        raise ValueError(f"{op}: signal must have rank 1 or more, got a scalar")
    length, step = integer(op, "frame_length", frame_length), integer(op, "frame_step", frame_step)
    fill = number(op, "pad_value", pad_value)
    samples = signal.shape[-1]
    some = samples > 0 if pad_end else samples >= length
    if some and not step:
        raise ValueError(f"{op}: frame_step must be positive, got 0")
    count = 0 if not some else -(-samples // step) if pad_end else (samples - length) // step + 1
    normalize_shape(op, (count, length), "the frames' shape")
    beyond = (count - 1) * step + length - samples if count else 0
    if beyond > 0:
        paddings = ((0, 0),) * (signal.rank - 1) + ((0, beyond),)
        signal = run_kernel("PadV2", (signal,), {"paddings": paddings, "constant_value": fill})
    starts = step * np.arange(count)[:, None]
    places = make_tensor((starts + np.arange(length)).astype(np.int32))
    return run_kernel("GatherV2", (signal, places), {"axis": signal.rank - 1, "batch_dims": 0})


def cosine_window(window_length: int, a: float, b: float) -> Tensor:
    """The window `a - b cos(2 π i / n)`, float32, `[window_length]`.

    `n` is the length, or one less if that is odd, as in TensorFlow.js. The window of length 1 is `a + b`, where
    TensorFlow.js has NaN. Mirrors `tf.cosineWindow`.

    >>> import varigrad as vg
    >>> vg.cosine_window(3, 0.5, 0.5).tolist()
    [0.0, 1.0, 0.0]
    """
    op = "cosine_window"
    return _window(op, window_length, number(op, "a", a), number(op, "b", b))


def _window(op: str, window_length: int, a: float, b: float) -> Tensor:
    length = normalize_shape(op, (integer(op, "window_length", window_length),), "window_length")[0]
    if length == 1:
        return make_tensor(np.array([a + b], np.float32))
    angles = 2 * math.pi * np.arange(length) / (length - length % 2)
    return make_tensor((a - b * np.cos(angles)).astype(np.float32))


def hann_window(window_length: int) -> Tensor:
    """The Hann window, `0.5 - 0.5 cos(2 π i / n)` (see `vg.cosine_window`). Mirrors `tf.signal.hannWindow`.

    >>> import varigrad as vg
    >>> vg.signal.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _window("hann_window", window_length, 0.5, 0.5)


def hamming_window(window_length: int) -> Tensor:
    """The Hamming window, `0.54 - 0.46 cos(2 π i / n)` (see `vg.cosine_window`). Mirrors `tf.signal.hammingWindow`.

    >>> import varigrad as vg
    >>> [round(w, 3) for w in vg.signal.hamming_window(4).tolist()]
    [0.08, 0.54, 1.0, 0.54]
    """
    return _window("hamming_window", window_length, 0.54, 0.46)


def enclosing_power_of_two(value: int) -> int:
    """The smallest power of two that is not less than a positive integer. Mirrors `tf.enclosingPowerOfTwo`.

    >>> import varigrad as vg
    >>> vg.enclosing_power_of_two(5)
    8
    """
    least = number("enclosing_power_of_two", "value", value)
    if not 1 <= least < math.inf:
        raise ValueError(f"enclosing_power_of_two: value must be 1 or more, and finite, got {value!r:.80}")
    return 1 << (math.ceil(least) - 1).bit_length()


def stft(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable[[int], TensorLike] = hann_window,
) -> Tensor:
    """The short-time Fourier transform: that of each frame of a signal, looked at through a window.

    Mirrors `tf.signal.stft`.

    Args:
        signal: Real numbers, `[samples]` or `[..., samples]`.
        frame_length: Samples in a frame.
        frame_step: Samples from the start of one frame to that of the next.
        fft_length: The length that a frame is cut to, or filled up to with zeros, to be transformed; the next power of
            two by default.
        window_fn: Makes the window of a length.

    Returns:
        complex64, `[..., frames, fft_length // 2 + 1]`.

    >>> import varigrad as vg
    >>> vg.signal.stft([1, 1, 1, 1], 2, 2, window_fn=lambda n: vg.ones([n])).tolist()
    [[(2+0j), 0j], [(2+0j), 0j]]
    """
    op = "stft"
    framed = _frames(op, accept(signal, op, "signal", "f"), frame_length, frame_step, False, 0)
    if fft_length is not None:
        fft_length = normalize_shape(op, (integer(op, "fft_length", fft_length, 1),), "fft_length")[0]
    elif not frame_length:
        raise ValueError(f"{op}: frame_length must be positive, got 0")
    if not callable(window_fn):
        raise TypeError(f"{op}: window_fn must be a function, got {window_fn!r:.80}")
    window = accept(window_fn(frame_length), op, "window_fn(frame_length)", "f")
    if window.shape != (frame_length,):
        raise ValueError(
            f"stft: window_fn({frame_length}) must return a window of that length, got {format_shape(window.shape)}"
        )
    return rfft(mul(framed, window), enclosing_power_of_two(frame_length) if fft_length is None else fft_length)
