"""Tensors as text. Expected texts are those of `x.toString()` in TensorFlow.js 4.22, unless a test says otherwise."""

import pytest

import varigrad as vg


def text(x, verbose=False):
    head, *lines = x.to_string(verbose).split("\n")
    assert head == "Tensor"
    return [line.removeprefix("    ") for line in lines]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(5, "5"), (True, "true"), ("hello", "hello"), (0.5, "0.5"), (-0.0, "0"), (float("nan"), "NaN")],
)
def test_a_scalar_stands_alone(value, shown):
    assert text(vg.scalar(value)) == [shown]


def test_a_row():
    assert text(vg.tensor(["a", "bb"])) == ["['a', 'bb']"]
    assert text(vg.tensor([True, False])) == ["[true, false]"]
    assert text(vg.tensor([1, -2], dtype="int32")) == ["[1, -2]"]


def test_columns_of_a_matrix_are_aligned():
    values = [[0.8597712, 3, 0.2740789], [0.6696132, 0.4825962, 2.75], [1.991, 0.0640865, 0.2983858]]
    assert text(vg.tensor(values)) == [
        "[[0.8597712, 3        , 0.2740789],",
        " [0.6696132, 0.4825962, 2.75     ],",
        " [1.9910001, 0.0640865, 0.2983858]]",
    ]


def test_blank_lines_part_matrices():
    assert text(vg.zeros([2, 2, 1])) == ["[[[0],", "  [0]],", "", " [[0],", "  [0]]]"]


def test_long_axes_show_their_ends():
    assert text(vg.range(0, 100)) == ["[0, 1, 2, ..., 97, 98, 99]"]
    rows = text(vg.zeros([21, 2]))
    assert rows[3] == " ...,"
    assert len(rows) == 7
    assert text(vg.range(0, 20))[0].count(",") == 19


def test_complex_numbers():
    assert text(vg.complex([[0.8597712, 3.0]], [[1.0, 1.0102332]])) == ["[[0.8597712 + 1j, 3 + 1.0102332j]]"]


def test_verbose_says_dtype_rank_and_shape():
    assert vg.zeros([2, 1]).to_string(True).split("\n") == [
        "Tensor",
        "  dtype: float32",
        "  rank: 2",
        "  shape: [2,1]",
        "  values:",
        "    [[0],",
        "     [0]]",
    ]


def test_small_numbers_are_not_rounded_away():
    # TensorFlow.js shows 0.
    assert text(vg.tensor([1.5e-9])) == ["[1.5e-09]"]


@pytest.mark.parametrize("shape", [[0], [0, 1], [1, 0, 1], [1, 3], [1, 1, 1]])
def test_brackets_close(shape):
    shown = "".join(text(vg.zeros(shape)))
    assert shown.count("[") == shown.count("]")
    assert shown.startswith("[" * len(shape)) or 0 in shape


def test_print_prints_it(capsys):
    vg.scalar(5).print()
    assert capsys.readouterr().out == "Tensor\n    5\n"
