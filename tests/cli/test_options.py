"""What options accept."""

from __future__ import annotations

import pytest

from varigrad.cli.errors import CommandError
from varigrad.cli.options import check_positive, parse_counts, parse_image


@pytest.mark.parametrize(
    ("text", "counts"), [("64,32", [64, 32]), (" 8 , 4 ", [8, 4]), ("5", [5]), ("none", []), ("", [])]
)
def test_counts_are_parsed(text: str, counts: list[int]) -> None:
    assert parse_counts("--layers", text) == counts


@pytest.mark.parametrize("text", ["a", "64,", "0", "-1", "6.5", "64;32", "9999999", "٣"])
def test_other_counts_are_refused(text: str) -> None:
    with pytest.raises(CommandError, match=r"^--layers: takes numbers such as 64,32, or none, got "):
        parse_counts("--layers", text)


@pytest.mark.parametrize(("text", "shape"), [("28x28", (28, 28, 1)), ("32x16x3", (32, 16, 3))])
def test_image_sizes_are_parsed(text: str, shape: tuple[int, int, int]) -> None:
    assert parse_image(text) == shape


@pytest.mark.parametrize("text", ["28", "28,28", "0x4", "2x2x2x2", "axb", "-1x4", ""])
def test_other_image_sizes_are_refused(text: str) -> None:
    with pytest.raises(CommandError, match=r"^--image: takes a size such as 28x28"):
        parse_image(text)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_numbers_that_must_be_positive_are(value: float) -> None:
    check_positive(clip_norm=None, learning_rate=0.1)
    with pytest.raises(CommandError, match=r"^--clip-norm: must be a number above 0"):
        check_positive(learning_rate=0.1, clip_norm=value)
