"""Strings: `vg.string`. A string tensor holds text, or bytes where it was made from bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.ops.arguments import TensorLike, convert, convert_integers, of_rank
from varigrad.ops.options import flag, integer, integers, text
from varigrad.tensor import Tensor

__all__ = [
    "NGrams",
    "SplitStrings",
    "static_regex_replace",
    "string_n_grams",
    "string_split",
    "string_to_hash_bucket_fast",
]

_MOST_BUCKETS = 2**31  # their numbers are int32


class NGrams(NamedTuple):
    """What `vg.string.string_n_grams` returns."""

    n_grams: Tensor
    n_grams_splits: Tensor


class SplitStrings(NamedTuple):
    """What `vg.string.string_split` returns: a sparse tensor."""

    indices: Tensor
    values: Tensor
    shape: Tensor


def string_n_grams(
    data: TensorLike,
    data_splits: TensorLike,
    separator: str,
    n_gram_widths: Sequence[int],
    left_pad: str = "",
    right_pad: str = "",
    pad_width: int = 0,
    preserve_short_sequences: bool = False,
) -> NGrams:
    """Joins the neighbouring strings of each row. Mirrors `tf.string.stringNGrams`.

    Args:
        data: The strings of all rows `[n]`.
        data_splits: Where the rows begin, and where the last one ends: integers from 0 up to n.
        separator: What to put between strings.
        n_gram_widths: How many strings to join; several widths give the n-grams of each in turn.
        left_pad: The string with which rows are lengthened on the left.
        right_pad: The same on the right.
        pad_width: How often, but never more than the width less 1, which is also what -1 means.
        preserve_short_sequences: Whether a row too short for any n-gram gives one with all of it.

    Returns:
        `(n_grams, n_grams_splits)`: rows as the input has them. No strings at all give no n-grams, not even padding.

    Raises:
        ValueError: The splits don't divide the data, or a width is below 1.

    >>> import varigrad as vg
    >>> n_grams, splits = vg.string.string_n_grams(["a", "b", "c", "d"], [0, 3, 4], "|", [2], "<", ">", -1)
    >>> n_grams.tolist(), splits.tolist()
    (['<|a', 'a|b', 'b|c', 'c|>', '<|d', 'd|>'], [0, 4, 6])
    """
    op = "string_n_grams"
    words = of_rank(op, 1, convert(data, op, "data", "string"), "data")
    splits = of_rank(op, 1, convert_integers(data_splits, op, "data_splits"), "data_splits")
    _check_splits(np.asarray(splits).tolist(), words.size)
    widths = integers(op, "n_gram_widths", n_gram_widths, 1)
    attrs = {
        "separator": text(op, "separator", separator),
        "n_gram_widths": widths,
        "left_pad": text(op, "left_pad", left_pad),
        "right_pad": text(op, "right_pad", right_pad),
        "pad_width": integer(op, "pad_width", pad_width, None),
        "preserve_short_sequences": flag(op, "preserve_short_sequences", preserve_short_sequences),
    }
    return NGrams(*run_kernel_multi("StringNGrams", (words, splits), attrs))


def _check_splits(splits: list[int], count: int) -> None:
    if not splits and not count:
        return
    if not splits or splits[0] != 0 or splits[-1] != count or splits != sorted(splits):
        raise ValueError(
            f"string_n_grams: data_splits must ascend from 0 to {count}, the number of strings; got {splits}"
        )


def string_split(input: TensorLike, delimiter: TensorLike, skip_empty: bool = True) -> SplitStrings:
    """Splits strings into tokens. Mirrors `tf.string.stringSplit`.

    TensorFlow.js splits between bytes. Here text is split between characters, so that none beyond ASCII is torn apart;
    bytes are split between bytes.

    Args:
        input: Strings `[n]`.
        delimiter: A scalar string, at each of whose characters to split; if it is empty, every character is a token.
        skip_empty: Whether to leave out empty tokens.

    Returns:
        `(indices, values, shape)`: for each token its row and its place there, int32 `[tokens, 2]`; the tokens; and
        `[n, the most tokens in a row]`.

    Raises:
        ValueError: Another rank.

    >>> import varigrad as vg
    >>> indices, values, shape = vg.string.string_split(["pigs on", "wing"], " ")
    >>> indices.tolist(), values.tolist(), shape.tolist()
    ([[0, 0], [0, 1], [1, 0]], ['pigs', 'on', 'wing'], [2, 2])
    """
    op = "string_split"
    x = of_rank(op, 1, convert(input, op, "input", "string"), "input")
    at = of_rank(op, 0, convert(delimiter, op, "delimiter", "string"), "delimiter")
    return SplitStrings(*run_kernel_multi("StringSplit", (x, at), {"skip_empty": flag(op, "skip_empty", skip_empty)}))


def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int) -> Tensor:
    """A number for each string: FarmHash's fingerprint of its UTF-8 bytes, modulo the number of buckets.

    The same as TensorFlow's and TensorFlow.js's. Strings can be made to fall into one bucket on purpose, so it is not
    for input that may be hostile. Mirrors `tf.string.stringToHashBucketFast`.

    Args:
        input: Strings of any shape.
        num_buckets: From 1 to 2**31.

    Returns:
        int32, of the shape of `input`.

    Raises:
        ValueError: A number of buckets out of range.

    >>> import varigrad as vg
    >>> vg.string.string_to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).tolist()
    [0, 2, 2]
    """
    x = convert(input, "string_to_hash_bucket_fast", "input", "string")
    count = integer("string_to_hash_bucket_fast", "num_buckets", num_buckets, None)
    if not 1 <= count <= _MOST_BUCKETS:
        raise ValueError(f"string_to_hash_bucket_fast: num_buckets must be at least 1 and at most 2**31, got {count}")
    return run_kernel("StringToHashBucketFast", (x,), {"num_buckets": count})


def static_regex_replace(input: TensorLike, pattern: str, rewrite: str, replace_global: bool = True) -> Tensor:
    """Replaces what a regular expression matches in each string. Mirrors `tf.string.staticRegexReplace`.

    Args:
        input: Strings of any shape.
        pattern: The expression, as JavaScript writes it, of which Python's is nearly a copy.
        rewrite: What to put in place of a match: `$1` stands for its first group, `$<name>` for a named one, `$&` for
            all of it and `$$` for a dollar.
        replace_global: Whether to replace every match, or the first only.

    Raises:
        ValueError: The pattern is no regular expression.

    >>> import varigrad as vg
    >>> vg.string.static_regex_replace(["two   words", "x-y"], r"(\\w+)\\W+(\\w+)", "$2 $1").tolist()
    ['words two', 'y x']
    """
    op = "static_regex_replace"
    x = convert(input, op, "input", "string")
    attrs = {
        "pattern": text(op, "pattern", pattern),
        "rewrite": text(op, "rewrite", rewrite),
        "replace_global": flag(op, "replace_global", replace_global),
    }
    return run_kernel("StaticRegexReplace", (x,), attrs)
