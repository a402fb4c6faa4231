"""Fourier transforms against NumPy, and their errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

STABLE = settings(max_examples=50)
shapes = st.lists(st.integers(0, 3), max_size=3).flatmap(
    lambda batch: st.integers(1, 17).map(lambda length: (*batch, length))
)


def random(shape):
    generator = np.random.default_rng(0)
    return (generator.normal(size=shape) + 1j * generator.normal(size=shape)).astype(np.complex64)


def by_hand(z, sign):
    """The transform by its definition, of double precision."""
    places = np.arange(z.shape[-1])
    return z.astype(complex) @ np.exp(sign * 2j * np.pi * np.outer(places, places) / z.shape[-1])


def assert_close(result, expected, dtype):
    assert result.dtype == dtype
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, atol=2e-5)


@STABLE
@given(shapes)
def test_transforms_of_complex_numbers_are_their_definition(shape):
    z = random(shape)
    assert_close(vg.spectral.fft(z), by_hand(z, -1), "complex64")
    assert_close(vg.spectral.ifft(z), by_hand(z, 1) / shape[-1], "complex64")


@STABLE
@given(shapes, st.none() | st.integers(1, 20))
def test_transforms_of_real_numbers_are_the_first_half_of_theirs(shape, length):
    x = random(shape).real
    length = length or shape[-1]
    cut = np.zeros((*shape[:-1], length))
    kept = min(length, shape[-1])
    cut[..., :kept] = x[..., :kept]
    assert_close(vg.spectral.rfft(x, length), by_hand(cut, -1)[..., : length // 2 + 1], "complex64")


@STABLE
@given(shapes, st.none() | st.integers(1, 20))
def test_the_inverse_of_rfft_brings_real_numbers_back(shape, length):
    x = random(shape).real
    assert_close(vg.irfft(vg.rfft(x), shape[-1]), x, "float32")
    z = random(shape)
    if length is None and shape[-1] == 1:
        expected = z.real  # as in TensorFlow.js; 2 * (1 - 1) numbers would be none
    elif z.size:
        expected = np.fft.irfft(z.astype(complex), length)
    else:
        expected = np.zeros((*shape[:-1], length or 2 * (shape[-1] - 1)))
    assert_close(vg.spectral.irfft(z, length), expected, "float32")


def test_transforms_are_methods_and_at_the_top_too():
    z = vg.tensor([1 + 2j, 3 - 1j])
    assert z.fft().tolist() == vg.fft(z).tolist() == [4 + 1j, -2 + 3j]
    assert z.fft().ifft().tolist() == z.tolist()
    x = vg.tensor([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(x.rfft().irfft().numpy(), x.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "float64"])
def test_real_numbers_of_any_kind_are_transformed_in_single_precision(dtype):
    x = vg.tensor([1, 0, 1], dtype=dtype)
    assert_close(vg.rfft(x), np.fft.rfft([1, 0, 1]), "complex64")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.fft([1.0, 2.0]), TypeError, "fft: input must be complex64, got float32; use rfft"),
        (lambda: vg.irfft([1.0, 2.0]), TypeError, "irfft: input must be complex64"),
        (lambda: vg.rfft([1j]), TypeError, "rfft: input must be real, got complex64"),
        (lambda: vg.fft(1j), ValueError, "at least one number on its last axis"),
        (lambda: vg.rfft(np.zeros((2, 0))), ValueError, "at least one number on its last axis"),
        (lambda: vg.rfft([1.0], 0), ValueError, "rfft: fft_length must be positive"),
        (lambda: vg.rfft([1.0], 1.5), TypeError, "rfft: fft_length must be"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
