"""Strings with NumPy: arrays of objects, each of them text or bytes."""

# NumPy gives these functions types that pyright cannot finish.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from typing import Any

import numpy as np

from varigrad.backends.numpy.farmhash import fingerprint64
from varigrad.backends.numpy.regular_expressions import expand, to_python
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _objects(items: list[Any]) -> Array:
    array = np.empty(len(items), object)
    array[:] = items
    return array


def _encode(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else item


def _like(item: Any, text: Any) -> Any:
    """`text` as bytes if the item is bytes, as text if it is text."""
    if isinstance(item, str):
        return text.decode() if isinstance(text, bytes) else text
    return _encode(text)


def _n_grams(
    data: Array,
    splits: Array,
    separator: str,
    n_gram_widths: tuple[int, ...],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> tuple[Array, Array]:
    if not data.size:
        return np.empty(0, object), np.zeros_like(splits)
    words: list[Any] = data.tolist()
    if not all(isinstance(word, str) for word in words):
        words = [_encode(word) for word in words]
    between, left, right = (_like(words[0], text) for text in (separator, left_pad, right_pad))
    n_grams: list[Any] = []
    ends = [0]
    for begin, end in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True):
        row = words[begin:end]
        for width in n_gram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            padded = [left] * pad + row + [right] * pad
            n_grams.extend(between.join(padded[at : at + width]) for at in range(len(padded) - width + 1))
        if preserve_short_sequences and row and len(n_grams) == ends[-1]:
            pad = max(pad_width, 0)
            n_grams.append(between.join([left] * pad + row + [right] * pad))
        ends.append(len(n_grams))
    return _objects(n_grams), np.array(ends, splits.dtype)


def _split(x: Array, delimiter: Array, skip_empty: bool) -> tuple[Array, Array, Array]:
    rows = [_tokens(item, _like(item, delimiter[()]), skip_empty) for item in x.tolist()]
    lengths = np.array([len(row) for row in rows], np.intp)
    indices = np.empty((int(lengths.sum()), 2), np.int32)
    indices[:, 0] = np.repeat(np.arange(lengths.size), lengths)
    indices[:, 1] = np.concatenate([np.arange(n) for n in lengths.tolist()]) if lengths.size else ()
    shape = np.array([lengths.size, lengths.max(initial=0)], np.int32)
    return indices, _objects([token for row in rows for token in row]), shape


def _tokens(item: Any, delimiters: Any, skip_empty: bool) -> list[Any]:
    if not item:
        return []
    if not delimiters:
        return [item[at : at + 1] for at in range(len(item))]
    if len(delimiters) == 1:
        tokens = item.split(delimiters)
    else:
        one_of: Any = b"[%b]" if isinstance(item, bytes) else "[%s]"
        tokens = re.split(one_of % re.escape(delimiters), item)
    return [token for token in tokens if token] if skip_empty else tokens


def _to_hash_bucket(x: Array, num_buckets: int) -> Array:
    buckets = [fingerprint64(_encode(item)) % num_buckets for item in x.flat]
    return np.array(buckets, np.int32).reshape(x.shape)


def _regex_replace(x: Array, pattern: str, rewrite: str, replace_global: bool) -> Array:
    expression = to_python(pattern)
    count = 0 if replace_global else 1
    texts = [item.decode() if isinstance(item, bytes) else item for item in x.flat]
    return _objects([expression.sub(lambda m: expand(rewrite, m), text, count) for text in texts]).reshape(x.shape)


KERNELS: dict[str, Any] = {
    "StaticRegexReplace": _regex_replace,
    "StringNGrams": _n_grams,
    "StringSplit": _split,
    "StringToHashBucketFast": _to_hash_bucket,
}
