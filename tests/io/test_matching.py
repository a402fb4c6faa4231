"""Names of weights in files, in their dialects."""

import pytest

from varigrad.io.matching import match_names


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        # the same names
        (["a/kernel", "a/bias"], ["a/bias", "a/kernel"], {"a/kernel": "a/kernel", "a/bias": "a/bias"}),
        # TensorFlow 2.2: the cell's name before the last part
        (["lstm/kernel"], ["lstm/lstm_cell/kernel"], {"lstm/kernel": "lstm/lstm_cell/kernel"}),
        # Keras 3: the model's name in front
        (["dense/kernel"], ["model/dense/kernel"], {"dense/kernel": "model/dense/kernel"}),
        (["gru/kernel"], ["model/gru/gru_cell/kernel"], {"gru/kernel": "model/gru/gru_cell/kernel"}),
        # counters behind the layer's name
        (["conv2d_10/kernel"], ["conv2d_10_1/kernel"], {"conv2d_10/kernel": "conv2d_10_1/kernel"}),
        (["bn_1/gamma"], ["model/bn_1_2/gamma"], {"bn_1/gamma": "model/bn_1_2/gamma"}),
        # no match
        (["a/kernel"], ["b/kernel"], {}),
        (["a/kernel"], ["other/a/kernel/extra"], {}),
        ([], ["a"], {}),
    ],
)
def test_names_are_found_in_each_dialect(wanted, found, expected):
    assert match_names(wanted, found, ["model"]) == expected


def test_an_equal_name_wins_over_one_with_a_counter():
    assert match_names(["conv_1/kernel", "conv/kernel"], ["conv/kernel", "conv_1/kernel"]) == {
        "conv_1/kernel": "conv_1/kernel",
        "conv/kernel": "conv/kernel",
    }


def test_numbers_of_default_names_count_in_turn_where_they_are_an_inner_layer_s():
    wanted = ["dense_Dense9/kernel", "dense_Dense10/kernel", "b_B3/k"]
    found = ["dense_Dense2/kernel", "b_B7/k", "dense_Dense1/kernel"]
    expected = {wanted[0]: found[2], wanted[1]: found[0], wanted[2]: found[1]}
    assert match_names(wanted, found, own=wanted) == expected
    assert match_names(wanted, found) == {}
    assert match_names(wanted, found[:2], own=wanted) == {}
    assert match_names(["block1/kernel"], ["block2/kernel"], own=["block1/kernel"]) == {}


def test_where_counters_leave_a_doubt_nothing_is_guessed():
    assert match_names(["a/kernel"], ["a_1/kernel", "a_2/kernel"]) == {}
    assert match_names(["a_3/kernel", "a_4/kernel"], ["a_1/kernel"]) == {}
