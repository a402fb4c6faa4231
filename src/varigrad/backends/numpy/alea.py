"""The numbers that TensorFlow.js draws from a seed.

TensorFlow.js seeds the generator Alea of the package `seedrandom` (Johannes Baagøe, 2010; MIT licence) with the seed's
decimal text. Alea is a multiply-with-carry generator: from three words of 32 bits and a carry, it makes the next word

    word, carry = (2091639 * words[0] + carry) mod and div 2**32,

and each word divided by 2**32 is a number in [0, 1). Read as one number, words[0] + words[1] b + words[2] b**2 +
carry b**3 with b = 2**32, the state is divided by b, modulo 2091639 b**3 - 1, by every step. So the state after any
number of steps is one power away, and many stretches of the sequence are computed side by side.
"""

from __future__ import annotations

import math

import numpy as np

from varigrad.dtypes import Array
from varigrad.randomness import number_text

__all__ = ["Alea", "gammas", "normals", "round_half_up"]

_MULTIPLIER = 2091639
_WORD = 32
_MASK = (1 << _WORD) - 1
_MODULUS = (_MULTIPLIER << 3 * _WORD) - 1
_BACK = pow(1 << _WORD, -1, _MODULUS)  # one step
_UNIT = 2.0**-_WORD
_FEW = 256  # numbers, up to which one stretch is as fast


class Alea:
    """A sequence of numbers in [0, 1), fixed by its seed."""

    def __init__(self, seed: str) -> None:
        words, carry = _seeded(seed), 1
        self._state = words[0] | words[1] << _WORD | words[2] << 2 * _WORD | carry << 3 * _WORD

    def draw(self, count: int) -> Array:
        """The next `count` numbers, float64."""
        if count <= _FEW:
            return np.array(self._draw_few(count), np.float64)
        lanes = max(1, min(8192, count // 64))
        length = -(-count // lanes)
        jump = pow(_BACK, length, _MODULUS)
        starts = [self._state]
        for _ in range(lanes - 1):
            starts.append(starts[-1] * jump % _MODULUS)
        words = np.empty((length, lanes), np.uint64)
        parts = np.frombuffer(b"".join([s.to_bytes(16, "little") for s in starts]), "<u4").reshape(lanes, 4)
        oldest, middle, newest, carry = (np.ascontiguousarray(column, np.uint64) for column in parts.T)
        multiplier, shift, mask = np.uint64(_MULTIPLIER), np.uint64(_WORD), np.uint64(_MASK)
        for word in words:
            total = oldest * multiplier
            total += carry
            np.bitwise_and(total, mask, out=word)
            np.right_shift(total, shift, out=carry)
            oldest, middle, newest = middle, newest, word
        self._state = self._state * pow(_BACK, count, _MODULUS) % _MODULUS
        numbers = words.T.astype(np.float64, order="C").reshape(-1)[:count]
        numbers *= _UNIT
        return numbers

    def _draw_few(self, count: int) -> list[float]:
        state = self._state
        oldest, middle, newest = state & _MASK, state >> _WORD & _MASK, state >> 2 * _WORD & _MASK
        carry = state >> 3 * _WORD
        numbers: list[float] = []
        for _ in range(count):
            total = _MULTIPLIER * oldest + carry
            oldest, middle, newest, carry = middle, newest, total & _MASK, total >> _WORD
            numbers.append(newest * _UNIT)
        self._state = oldest | middle << _WORD | newest << 2 * _WORD | carry << 3 * _WORD
        return numbers


def _seeded(seed: str) -> list[int]:
    """The three first words: hashes of a space, one after the other, each less the hash of the seed after them."""
    hashed = _Mash()
    words = [hashed.add(" ") for _ in range(3)]
    return [(word - hashed.add(seed)) & _MASK for word in words]


class _Mash:
    """Baagøe's string hash, in the doubles that it is defined by."""

    def __init__(self) -> None:
        self._n = float(0xEFC8249D)

    def add(self, text: str) -> int:
        n = self._n
        codes = text.encode("utf-16-le")
        for low, high in zip(codes[::2], codes[1::2], strict=True):
            n += low | high << 8
            h = 0.02519603282416938 * n
            n = float(int(h) & _MASK)
            h -= n
            h *= n
            n = float(int(h) & _MASK)
            h -= n
            n += h * 2.0**32
        self._n = n
        return int(n) & _MASK


def normals(alea: Alea, count: int, mean: float, std_dev: float, truncated: bool = False) -> Array:
    """Normal numbers, by Marsaglia's polar method: a point in the unit circle gives two.

    Truncated, a point is left out whose first number is more than two standard deviations from the mean, and the
    second number is left out if it is.
    """
    parts: list[Array] = []
    missing = count
    while missing > 0:
        points = alea.draw(2 * (int(missing * 0.7) + 16)).reshape(-1, 2) * 2 - 1
        squares = points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1]
        inside = (squares < 1) & (squares != 0)
        points, squares = points[inside], squares[inside]
        drawn = mean + std_dev * points * np.sqrt(-2.0 * np.log(squares) / squares)[:, None]
        if truncated:
            near = (drawn <= mean + std_dev * 2) & (drawn >= mean - std_dev * 2)
            near[:, 1] &= near[:, 0]
            drawn = drawn[near]
        parts.append(drawn.reshape(-1))
        missing -= drawn.size
    return np.concatenate(parts)[:count] if parts else np.empty(0)


def gammas(seed: str, count: int, alpha: float, whole: bool = False) -> Array:
    """Numbers of a gamma distribution of shape `alpha` and scale 1, by the method of Marsaglia and Tsang (2000).

    Candidates come from normal numbers of a second generator, which the first one seeds; they are whole numbers if the
    result is to be.
    """
    d = alpha + 2 / 3 if alpha < 1 else alpha - 1 / 3
    c = 1 / math.sqrt(9 * d)
    candidates = count + count // 8 + 64
    while True:
        alea = Alea(seed)
        x = normals(Alea(number_text(float(alea.draw(1)[0]))), candidates, 0, 1)
        if whole:
            x = round_half_up(x)
        v = 1 + c * x
        x, v = x[v > 0], v[v > 0]
        v *= v * v
        squares = x * x
        surely = 1 - 0.331 * squares * squares
        perhaps = 0.5 * squares + d * (1 - v + np.log(v))
        if alpha < 1:
            accepted, boosts = _accept_and_boost(alea, surely, perhaps)
            numbers = d * v[accepted] * boosts ** (1 / alpha)
        else:
            u = alea.draw(len(v))
            numbers = d * v[(u < surely) | (np.log(u) < perhaps)]
        if len(numbers) >= count:
            return numbers[:count]
        candidates *= 2


def _accept_and_boost(alea: Alea, surely: Array, perhaps: Array) -> tuple[list[int], Array]:
    """Which candidates are accepted, where each that is takes one number more from the generator; and those numbers."""
    u = alea.draw(2 * len(surely)).tolist()
    accepted: list[int] = []
    boosts: list[float] = []
    at = 0
    for place, (quick, slow) in enumerate(zip(surely.tolist(), perhaps.tolist(), strict=True)):
        if u[at] < quick or math.log(u[at]) < slow:
            accepted.append(place)
            boosts.append(u[at + 1])
            at += 1
        at += 1
    return accepted, np.array(boosts)


def round_half_up(x: Array) -> Array:
    """The nearest whole numbers, halves rounded up, as JavaScript does."""
    return np.floor(x + 0.5)
