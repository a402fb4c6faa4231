"""FarmHash's 64-bit fingerprint of bytes, which TensorFlow and TensorFlow.js sort strings into buckets by.

Geoff Pike's FarmHash (Google, 2014; MIT licence), function `Fingerprint64`: the same number on every machine, for ever.
All arithmetic is modulo 2**64; words are little-endian.
"""

from __future__ import annotations

__all__ = ["fingerprint64"]

_MASK = (1 << 64) - 1
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F


def fingerprint64(data: bytes) -> int:
    """The fingerprint, from 0 up to 2**64."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 32:
        return _up_to_32(data, size)
    if size <= 64:
        return _up_to_64(data, size)
    return _long(data, size)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _rotate(x: int, by: int) -> int:
    x &= _MASK
    return (x >> by | x << (64 - by)) & _MASK


def _mix(x: int) -> int:
    x &= _MASK
    return x ^ x >> 47


def _join(u: int, v: int, factor: int) -> int:
    """One word out of two."""
    v &= _MASK
    a = _mix((u & _MASK ^ v) * factor)
    return _mix((v ^ a) * factor) * factor & _MASK


def _up_to_16(data: bytes, size: int) -> int:
    if size >= 8:
        factor = _K2 + 2 * size
        a, b = _word(data, 0) + _K2, _word(data, size - 8)
        return _join(_rotate(b, 37) * factor + a, (_rotate(a, 25) + b) * factor, factor)
    if size >= 4:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        return _join(size + (first << 3), last, _K2 + 2 * size)
    if size:
        y = data[0] + (data[size >> 1] << 8)
        z = size + (data[-1] << 2)
        return _mix(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes, size: int) -> int:
    factor = _K2 + 2 * size
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    return _join(_rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c, factor)


def _up_to_64(data: bytes, size: int) -> int:
    factor = _K2 + 2 * size
    a, b = _word(data, 0) * _K2, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d
    z = _join(y, a + _rotate(b + _K2, 18) + c, factor)
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor, (z + _word(data, size - 24)) * factor
    return _join(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, factor)


def _absorb(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Takes 32 bytes into two words of state."""
    first, second, third, last = (_word(data, at + 8 * i) for i in range(4))
    a += first
    total = a + second + third
    return (total + last) & _MASK, (_rotate(b + a + last, 21) + _rotate(total, 44) + a) & _MASK


def _long(data: bytes, size: int) -> int:
    y = 81 * _K1 + 113
    z = _mix(y * _K2 + 113) * _K2
    x = 81 * _K2 + _word(data, 0)
    v, w = (0, 0), (0, 0)
    for at in range(0, size - 1 >> 6 << 6, 64):
        x, y, z, v, w = _block(data, at, x, y, z, v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + (size - 1 & 63)
    v = v[0] + first, v[1]
    w = first + v[0], w[1]
    x, y, z, v, w = _block(data, size - 64, x, y, z, v, w, factor, 9)
    return _join(_join(v[0], w[0], factor) + _mix(y) * _K0 + z, _join(v[1], w[1], factor) + x, factor)


_Pair = tuple[int, int]


def _block(
    data: bytes, at: int, x: int, y: int, z: int, v: _Pair, w: _Pair, factor: int, weight: int
) -> tuple[int, int, int, _Pair, _Pair]:
    """Takes 64 bytes into the seven words of state."""
    x = _rotate(x + y + v[0] + _word(data, at + 8), 37) * factor & _MASK
    y = _rotate(y + v[1] + _word(data, at + 48), 42) * factor & _MASK
    x ^= w[1] * weight & _MASK
    y = (y + v[0] * weight + _word(data, at + 40)) & _MASK
    z = _rotate(z + w[0], 33) * factor & _MASK
    v = _absorb(data, at, v[1] * factor, x + w[0])
    w = _absorb(data, at + 32, z + w[1], y + _word(data, at + 16))
    return z, y, x, v, w
