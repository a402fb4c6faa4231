"""Derivatives of Fourier transforms."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.spectral import GRADIENTS
from varigrad.testing import check_gradients

# Transforms are of single precision, and the functions checked at most squares of them: wide differences lose nothing
# to the function's curvature and little to the rounding.
COARSE = {"step": 0.25, "relative": 2e-5, "absolute": 2e-5}
X, Y = np.random.default_rng(6).integers(-4, 5, (2, 2, 5)) / 4


def of_complex(f):
    """A function of complex numbers as a real function of their parts: weighted squares of both parts."""

    def of_parts(real, imag):
        z = f(vg.complex(real, imag))
        parts = vg.real(z) * 0.75 + vg.imag(z)
        return vg.cast(vg.square(parts), "float64")

    return of_parts


def of_real(f):
    return lambda x: of_complex(lambda z: f(vg.real(z)))(x, vg.zeros_like(x))


CASES = {
    "FFT": (of_complex(vg.fft), X, Y),
    "FFT: 4 numbers": (of_complex(vg.spectral.fft), X[:, :4], Y[:, :4]),
    "IFFT": (of_complex(vg.ifft), X, Y),
    "IFFT: a vector": (of_complex(vg.ifft), X[0], Y[0]),
}
for _length in (None, 1, 2, 3, 4, 6, 7):
    CASES |= {
        f"RFFT: {_length}": (of_real(lambda x, n=_length: vg.rfft(x, n)), X),
        f"IRFFT: {_length}": (of_complex(lambda z, n=_length: vg.irfft(z, n)), X[:, :4], Y[:, :4]),
    }
CASES |= {
    "stft": (of_real(lambda x: vg.signal.stft(x, 3, 2)), X),
    "frame": (of_real(lambda x: vg.signal.frame(x, 3, 2, True, 0.5)), X),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args, **COARSE)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_the_gradient_of_the_energy_of_a_spectrum_is_parsevals(length):
    x = np.random.default_rng(0).normal(size=length)
    z = vg.tensor(x + 1j * x[::-1])
    energy = lambda z: vg.square(vg.abs(vg.fft(z))).sum()  # noqa: E731
    np.testing.assert_allclose(vg.grad(energy)(z).numpy(), 2 * length * z.numpy(), rtol=1e-5, atol=1e-5)


def test_a_signal_of_double_precision_gets_its_gradient_in_it():
    x = vg.tensor([1.0, 2.0, 3.0], dtype="float64")
    gradient = vg.grad(lambda x: vg.real(vg.rfft(x)).sum())(x)
    assert gradient.dtype == "float64"
    np.testing.assert_allclose(gradient.numpy(), [2, 0.5, 0.5], rtol=1e-6)
