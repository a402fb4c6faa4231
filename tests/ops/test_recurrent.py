"""Cells of recurrent networks, against TensorFlow.js and formulas."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.testing import check_gradients

KERNEL = np.linspace(-1, 1, 40).reshape(5, 8)
BIAS = np.linspace(-0.5, 0.5, 8)
X = [[1, -2, 0.5], [0.3, 0.7, -1]]
C = [[0.1, 0.2], [-0.3, 0.4]]
H = [[0.5, -0.6], [0.7, 0.8]]


def test_a_step_of_an_lstm_is_that_of_tensorflow_js():
    # tf.basicLSTMCell(1, tf.linspace(-1, 1, 40).reshape([5, 8]), tf.linspace(-0.5, 0.5, 8), x, c, h)
    c, h = vg.basic_lstm_cell(1, KERNEL, BIAS, X, C, H)
    np.testing.assert_allclose(c.numpy(), [[-0.07505438, 0.02187026], [-0.21310195, 0.47596244]], rtol=1e-5)
    np.testing.assert_allclose(h.numpy(), [[-0.03732654, 0.01150756], [-0.1517953, 0.33883426]], rtol=1e-5)


@pytest.mark.parametrize("output", [0, 1])
def test_an_lstm_is_differentiable_in_everything(output):
    check_gradients(lambda *args: vg.basic_lstm_cell(*args)[output], 1.0, KERNEL, BIAS, X, C, H)


def test_an_lstm_keeps_float64():
    args = [vg.tensor(a, dtype="float64") for a in (1.0, KERNEL, BIAS, X, C, H)]
    assert {t.dtype for t in vg.basic_lstm_cell(*args)} == {"float64"}


@pytest.mark.parametrize(
    "changed",
    [
        {"lstm_kernel": KERNEL[:4]},
        {"lstm_kernel": KERNEL[:, :4]},
        {"data": X[:1]},
        {"c": C[:1]},
        {"h": [[0.0] * 3] * 2},
    ],
)
def test_shapes_that_do_not_fit_are_explained(changed):
    arguments = {"forget_bias": 1, "lstm_kernel": KERNEL, "lstm_bias": BIAS, "data": X, "c": C, "h": H, **changed}
    with pytest.raises(ValueError, match=r"basic_lstm_cell: data must be \[batch, inputs\].*lstm_kernel: \["):
        vg.basic_lstm_cell(**arguments)
    with pytest.raises(ValueError, match="basic_lstm_cell: data must have rank 2"):
        vg.basic_lstm_cell(1, KERNEL, BIAS, X[0], C, H)


def test_stacked_cells_take_the_output_of_the_one_below():
    second = KERNEL[:4]
    cells = [
        lambda x, c, h: vg.basic_lstm_cell(1, KERNEL, BIAS, x, c, h),
        lambda x, c, h: vg.basic_lstm_cell(0, second, BIAS, x, c, h),
    ]
    new_c, new_h = vg.multi_rnn_cell(cells, X, [C, H], [H, C])
    c0, h0 = vg.basic_lstm_cell(1, KERNEL, BIAS, X, C, H)
    c1, h1 = vg.basic_lstm_cell(0, second, BIAS, h0, H, C)
    assert [t.tolist() for t in new_c] == [c0.tolist(), c1.tolist()]
    assert [t.tolist() for t in new_h] == [h0.tolist(), h1.tolist()]


def test_stacked_cells_need_a_state_each():
    with pytest.raises(ValueError, match=r"multi_rnn_cell: 2 cells need .* got 1 in c and 2 in h"):
        vg.multi_rnn_cell([vg.add, vg.add], X, [C], [H, H])
