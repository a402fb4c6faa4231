"""Strings, against loops and TensorFlow.js."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg
from varigrad.backends.numpy.farmhash import fingerprint64

SETTINGS = settings(max_examples=50)
WORDS = st.lists(st.lists(st.text("abé", max_size=2), max_size=5), min_size=1, max_size=4)


# n-grams


def splits_of(rows):
    return np.cumsum([0, *[len(row) for row in rows]]).astype(np.int32)


@SETTINGS
@given(WORDS, st.lists(st.integers(1, 4), min_size=1, max_size=2), st.integers(-1, 4), st.booleans())
def test_n_grams_are_windows_of_padded_rows(rows, widths, pad_width, preserve):
    words = [word for row in rows for word in row]
    found = vg.string.string_n_grams(
        words or np.empty(0, object), splits_of(rows), "|", widths, "<", ">", pad_width, preserve
    )
    expected = []
    for row in rows:
        grams = []
        for width in widths if words else []:  # data without a string give nothing, padding neither
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            for at in range(-pad, len(row) + pad - width + 1):
                places = range(at, at + width)
                grams.append("|".join("<" if p < 0 else row[p] if p < len(row) else ">" for p in places))
        if preserve and row and not grams:
            grams = ["|".join(["<"] * max(pad_width, 0) + row + [">"] * max(pad_width, 0))]
        expected.append(grams)
    assert found.n_grams.tolist() == [gram for grams in expected for gram in grams]
    assert found.n_grams_splits.tolist() == splits_of(expected).tolist()
    assert (found.n_grams.dtype, found.n_grams_splits.dtype) == ("string", "int32")


def test_n_grams_of_bytes_are_bytes():
    found = vg.string.string_n_grams([b"a", b"\xff"], [0, 2], "-", [2])
    assert found.n_grams.tolist() == [b"a-\xff"]


@pytest.mark.parametrize("splits", [[1, 2], [0, 1], [0, 3], [0, 2, 1, 2], np.zeros(0, np.int32)])
def test_n_grams_of_rows_that_do_not_divide_the_data_are_explained(splits):
    with pytest.raises(ValueError, match="string_n_grams: data_splits must ascend from 0 to 2"):
        vg.string.string_n_grams(["a", "b"], splits, "|", [1])


def test_n_grams_say_what_else_is_wrong():
    with pytest.raises(ValueError, match=r"n_gram_widths\[0\] must be 1 or more"):
        vg.string.string_n_grams(["a"], [0, 1], "|", [0])
    with pytest.raises(ValueError, match="data must have rank 1"):
        vg.string.string_n_grams([["a"]], [0, 1], "|", [1])
    with pytest.raises(TypeError, match="data_splits must hold integers"):
        vg.string.string_n_grams(["a"], [0.0, 0.5], "|", [1])


# Splitting


@SETTINGS
@given(st.lists(st.text("ab é.", max_size=6), max_size=4), st.sampled_from(["", " ", " .", "é", ".]-^"]), st.booleans())
def test_tokens_are_what_is_between_the_characters_of_the_delimiter(texts, delimiter, skip_empty):
    indices, values, shape = vg.string.string_split(texts or np.empty(0, object), delimiter, skip_empty)
    rows = []
    for text in texts:
        tokens = list(text) if not delimiter else [""]
        for character in text if delimiter else "":
            if character in delimiter:
                tokens.append("")
            else:
                tokens[-1] += character
        rows.append([t for t in tokens if t or not skip_empty] if text else [])
    assert values.tolist() == [token for row in rows for token in row]
    assert indices.tolist() == [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    assert indices.shape == (values.size, 2)
    assert shape.tolist() == [len(texts), max(map(len, rows), default=0)]
    assert (indices.dtype, shape.dtype) == ("int32", "int32")


def test_bytes_are_split_between_bytes():
    assert vg.string.string_split([b"a\xffb"], "").values.tolist() == [b"a", b"\xff", b"b"]
    assert vg.string.string_split([b"a\xffb c"], " \t").values.tolist() == [b"a\xffb", b"c"]


def test_splitting_says_what_is_wrong():
    with pytest.raises(ValueError, match="string_split: input must have rank 1"):
        vg.string.string_split([["a"]], " ")
    with pytest.raises(ValueError, match="string_split: delimiter must have rank 0"):
        vg.string.string_split(["a"], [" "])
    with pytest.raises(TypeError):
        vg.string.string_split([1], " ")


# Hashes


# tf.util.fingerPrint64(bytes).toString() for as many bytes as the key says, those of `bytes_of_length`.
FINGERPRINTS = {
    0: 11160318154034397263,
    1: 12515608275629767921,
    2: 9293825041871645229,
    3: 642213398103174980,
    4: 6355695433983321661,
    7: 17374455621212852808,
    8: 2600794120811906945,
    9: 18033585519027879709,
    15: 1390098876258549946,
    16: 4555382765129834035,
    17: 10381154415743408717,
    25: 4656465879745458666,
    32: 266662289744192677,
    33: 3833074779638636781,
    48: 9858317449502227062,
    64: 17246546976148714499,
    65: 15924510400050698462,
    100: 16443988624819455582,
    127: 17858618912652323416,
    128: 3633397992094672534,
    129: 10137749415009284572,
    192: 15604747070112989259,
    200: 7859743418368450811,
    299: 11101879334477985962,
}


def bytes_of_length(wanted):
    """Bytes from a linear congruential generator, seeded with 7, that runs on from one length to the next."""
    state = 7
    for length in range(wanted + 1):
        made = bytearray()
        for _ in range(length):
            state = (state * 1103515245 + 12345) % 2**32
            made.append(state >> 16 & 255)
    return bytes(made)


@pytest.mark.parametrize("length", FINGERPRINTS)
def test_fingerprints_are_those_of_tensorflow_js(length):
    assert fingerprint64(bytes_of_length(length)) == FINGERPRINTS[length]


def test_buckets_are_those_of_tensorflow_js():
    # tf.string.stringToHashBucketFast([...], 1000003)
    texts = ["", "a", "café", "\U0001f600", "x" * 100, "The quick brown fox"]
    found = vg.string.string_to_hash_bucket_fast([texts[:3], texts[3:]], 1000003)
    assert found.tolist() == [[377723, 291400, 721082], [567616, 107918, 282618]]
    assert found.dtype == "int32"
    assert vg.string.string_to_hash_bucket_fast([texts[2].encode()], 1000003).tolist() == [721082]


def test_a_number_of_buckets_out_of_range_is_explained():
    assert vg.string.string_to_hash_bucket_fast(["a", "b"], 2**31).numpy().min() >= 0
    for count in (0, -1, 2**31 + 1):
        with pytest.raises(ValueError, match="num_buckets must be at least 1"):
            vg.string.string_to_hash_bucket_fast(["a"], count)


# Regular expressions


@pytest.mark.parametrize(
    ("pattern", "rewrite", "text", "replace_global", "expected"),
    [  # tf.string.staticRegexReplace(text, pattern, rewrite, replaceGlobal)
        ("(\\w+) (\\w+)", "$2-$1-$3-$&-$$", "ab cd ef", True, "cd-ab-$3-ab cd-$ ef"),
        ("x*", "-", "axb", True, "-a--b-"),
        ("(?<y>\\d{4})-(?<m>\\d\\d)", "$<m>/$<y>/$<q>", "on 2024-05 and 1999-12", True, "on 05/2024/ and 12/1999/"),
        ("a$", "!", "a\na", True, "a\n!"),
        ("[^]", ".", "a\nb", True, "..."),
        ("[]", ".", "ab", True, "ab"),
        ("\\s+", "_", "a\xa0 \tb", True, "a_b"),
        ("[\\s,]+", "_", "a\xa0,b", True, "a_b"),
        (".", "*", "a\nb\u2028c", True, "*\n*\u2028*"),
        ("\\S", "*", "a \xa0b", True, "* \xa0*"),
        ("[[&]", "<", "a[&]b", True, "a<<]b"),
        ("(?<q>['\"]).*?\\k<q>", "Q", 'say "it\'s" now', True, "say Q now"),
        ("b", "[$`|$']", "abc", True, "a[a|c]c"),
        ("(a)(b)?", "$10$2$1", "ab a", True, "a0ba a0a"),
        ("\\$", "$", "1$2", True, "1$2"),
        ("\\d", "#", "3٣", True, "#٣"),
        ("\\w+", "W", "éa", True, "éW"),
        ("l", "L", "hello", False, "heLlo"),
        ("(a)", "$<x>$01", "a", True, "$<x>a"),
        ("\\b", "|", "éa b", True, "é|a| |b|"),
    ],
)
def test_replacements_are_those_of_javascript(pattern, rewrite, text, replace_global, expected):
    assert vg.string.static_regex_replace(text, pattern, rewrite, replace_global).item() == expected


def test_replacing_keeps_the_shape_and_reads_bytes():
    assert vg.string.static_regex_replace([["a", "b"], [b"a", "c"]], "a", "x").tolist() == [["x", "b"], ["x", "c"]]
    assert vg.string.static_regex_replace(np.empty((0, 2), object), "a", "x").shape == (0, 2)


@SETTINGS
@given(st.text("ab1 _", max_size=8), st.sampled_from(["a", "[ab]+", r"\d", r"\w+", "a|b", r"(a)\1"]), st.booleans())
def test_where_the_languages_agree_replacing_is_re_sub(text, pattern, replace_global):
    expected = re.sub(pattern, "-", text, count=0 if replace_global else 1)
    assert vg.string.static_regex_replace(text, pattern, "-", replace_global).item() == expected


def test_what_is_no_pattern_is_explained():
    with pytest.raises(ValueError, match="static_regex_replace: '\\(' is not a regular expression"):
        vg.string.static_regex_replace("a", "(", "")
