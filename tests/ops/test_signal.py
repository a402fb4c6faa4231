"""Frames, windows and the short-time Fourier transform against NumPy and SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import windows

import varigrad as vg

STABLE = settings(max_examples=50)


def frames(signal, length, step, pad_end=False, pad_value=0):
    """The frames, cut one by one."""
    found = []
    for start in range(0, len(signal), step):
        piece = signal[start : start + length]
        if len(piece) == length or pad_end:
            found.append(np.concatenate([piece, np.full(length - len(piece), pad_value)]))
    return np.array(found).reshape(len(found), length)


@STABLE
@given(st.integers(0, 12), st.integers(1, 5), st.integers(1, 6), st.booleans())
def test_frames_are_pieces_of_the_signal(samples, length, step, pad_end):
    signal = np.random.default_rng(0).normal(size=(2, samples)).astype("float32")
    expected = np.stack([frames(row, length, step, pad_end, 7) for row in signal])
    result = vg.signal.frame(signal, length, step, pad_end, 7)
    np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(vg.signal.frame(signal[0], length, step, pad_end, 7).numpy(), expected[0])


def test_frames_keep_the_dtype():
    for dtype in ("int32", "float64", "complex64"):
        assert vg.signal.frame(vg.tensor([1, 2, 3], dtype=dtype), 2, 2, True).dtype == dtype


@pytest.mark.parametrize("length", [0, 1, 2, 5, 6, 31])
def test_windows_are_symmetric_for_odd_lengths_and_periodic_for_even_ones(length):
    for window, expected in ((vg.signal.hann_window, windows.hann), (vg.signal.hamming_window, windows.hamming)):
        assert window(length).dtype == "float32"
        np.testing.assert_allclose(window(length).numpy(), expected(length, sym=length % 2 == 1), atol=1e-7)


@pytest.mark.parametrize(("value", "power"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (2**29, 2**29)])
def test_the_enclosing_power_of_two(value, power):
    assert vg.enclosing_power_of_two(value) == power


@STABLE
@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 4), st.none() | st.integers(1, 12))
def test_the_short_time_transform_is_that_of_windowed_frames(samples, length, step, fft_length):
    signal = np.random.default_rng(0).normal(size=samples)
    window = windows.hann(length, sym=length % 2 == 1)
    expected = np.fft.rfft(frames(signal, length, step) * window, fft_length or 1 << (length - 1).bit_length())
    result = vg.signal.stft(signal, length, step, fft_length)
    assert result.dtype == "complex64"
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-5)


# tf.signal.stft(tf.tensor1d([1, 2, -1, 3, 0, 2, 1]), 3, 2)
def test_a_short_time_transform_of_tensorflow_js():
    result = vg.signal.stft([1, 2, -1, 3, 0, 2, 1], 3, 2)
    np.testing.assert_allclose(result.numpy(), [[2, -2j, -2], [3, -3j, -3], [2, -2j, -2]], atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.signal.frame([1, 2], 1, 0), ValueError, "frame_step must be positive, got 0"),
        (lambda: vg.signal.frame([1, 2], -1, 1), ValueError, "negative"),
        (lambda: vg.signal.frame([1, 2], 1.5, 1), TypeError, "frame: frame_length must be"),
        (lambda: vg.signal.frame(1.0, 1, 1), ValueError, "frame: signal must have rank 1 or more"),
        (lambda: vg.signal.hann_window(-1), ValueError, "hann_window: window_length must not be negative, got -1"),
        (lambda: vg.enclosing_power_of_two(0), ValueError, "value must be 1 or more, and finite, got 0"),
        (
            lambda: vg.signal.stft([1, 2, 3], 2, 1, window_fn=lambda n: vg.ones([n + 1])),
            ValueError,
            r"window_fn\(2\) must return a window of that length, got \[3\]",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
