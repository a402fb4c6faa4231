"""Small tools: `vg.util`. Where Python has one of its own (`assert`, `sum`, `math.prod`), it is the one to use."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, MutableSequence, Sequence
from time import perf_counter
from typing import Any, TypeAlias, cast

import numpy as np

from varigrad.backends.numpy.farmhash import fingerprint64
from varigrad.dtypes import Array
from varigrad.randomness import LOCK, generator

__all__ = [
    "create_shuffled_indices",
    "decode_string",
    "encode_string",
    "finger_print64",
    "flatten",
    "now",
    "shuffle",
    "shuffle_combo",
    "size_from_shape",
]

Shuffled: TypeAlias = MutableSequence[Any] | Array


def create_shuffled_indices(n: int) -> Array:
    """The integers below n in random order, int32 `[n]`.

    `vg.set_random_seed` makes it repeatable. Mirrors `tf.util.createShuffledIndices`.

    >>> import varigrad as vg
    >>> sorted(vg.util.create_shuffled_indices(4).tolist())
    [0, 1, 2, 3]
    """
    with LOCK:
        return generator().permutation(operator.index(n)).astype(np.int32)


def shuffle(array: Shuffled) -> None:
    """Puts the items of a list, or the rows of a NumPy array, into random order, in place. Mirrors `tf.util.shuffle`.

    >>> import varigrad as vg
    >>> items = ["a", "b", "c"]
    >>> vg.util.shuffle(items)
    >>> sorted(items)
    ['a', 'b', 'c']
    """
    _reorder(array, create_shuffled_indices(len(array)))


def shuffle_combo(array: Shuffled, array2: Shuffled) -> None:
    """Puts two lists or NumPy arrays into the same random order, in place. Mirrors `tf.util.shuffleCombo`.

    Raises:
        ValueError: They differ in length.

    >>> import varigrad as vg
    >>> inputs, labels = [1, 2, 3], ["one", "two", "three"]
    >>> vg.util.shuffle_combo(inputs, labels)
    >>> sorted(zip(inputs, labels))
    [(1, 'one'), (2, 'two'), (3, 'three')]
    """
    if len(array) != len(array2):
        raise ValueError(f"shuffle_combo: the two must be of one length, got {len(array)} and {len(array2)}")
    order = create_shuffled_indices(len(array))
    _reorder(array, order)
    _reorder(array2, order)


def _reorder(array: Shuffled, order: Array) -> None:
    array[:] = array[order] if isinstance(array, np.ndarray) else [array[place] for place in order.tolist()]


def flatten(arr: Any) -> list[Any]:
    """The items of nested lists and tuples as one list.

    A NumPy array counts as nested, a tensor as an item. Mirrors `tf.util.flatten`.

    >>> import varigrad as vg
    >>> vg.util.flatten([[1, 2], [3, [4]], 5])
    [1, 2, 3, 4, 5]
    """
    if isinstance(arr, np.ndarray):
        return cast("Array", arr).reshape(-1).tolist()
    if not isinstance(arr, (list, tuple)):
        return [arr]
    return [item for part in cast("Iterable[Any]", arr) for item in flatten(part)]


def size_from_shape(shape: Sequence[int]) -> int:
    """How many values a tensor of this shape has. Mirrors `tf.util.sizeFromShape`.

    >>> import varigrad as vg
    >>> vg.util.size_from_shape([2, 3, 4])
    24
    """
    return math.prod(shape)


def now() -> float:
    """A clock that only runs forward, in milliseconds; differences count. Mirrors `tf.util.now`.

    >>> import varigrad as vg
    >>> vg.util.now() <= vg.util.now()
    True
    """
    return perf_counter() * 1e3


def encode_string(s: str, encoding: str = "utf-8") -> bytes:
    """Text as bytes. Mirrors `tf.util.encodeString`.

    >>> import varigrad as vg
    >>> vg.util.encode_string("é")
    b'\\xc3\\xa9'
    """
    return s.encode(encoding)


def decode_string(bytes: bytes, encoding: str = "utf-8") -> str:
    """Bytes as text. Mirrors `tf.util.decodeString`.

    >>> import varigrad as vg
    >>> vg.util.decode_string(b"caf\\xc3\\xa9")
    'café'
    """
    return bytes.decode(encoding)


def finger_print64(s: bytes) -> int:
    """FarmHash's fingerprint of bytes, from 0 up to 2**64.

    `vg.string.string_to_hash_bucket_fast` is made of it. Mirrors `tf.util.fingerPrint64`.

    >>> import varigrad as vg
    >>> vg.util.finger_print64(b"a")
    12917804110809363939
    """
    return fingerprint64(s)
