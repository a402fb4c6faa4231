"""Complaints about gradients that people have reported of other libraries, made impossible here.

Each test is named after what was reported; the right answers are worked out by hand unless said otherwise.
"""

import numpy as np
import pytest

import varigrad as vg


def gradient(f, *args):
    return [g.numpy() for g in vg.grads(f)([vg.tensor(a) for a in args])]


def close(actual, expected, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


# The Euclidean norm of an all-zero vector has a NaN gradient (tensorflow#12071, pytorch#2421)


@pytest.mark.parametrize("order", ["euclidean", 2, 1, np.inf, 3])
def test_the_gradient_of_a_zero_vectors_norm_is_zero(order):
    close(gradient(lambda x: vg.norm(x, order), [0.0, 0.0])[0], [0, 0])


def test_the_gradient_of_a_norm_elsewhere_is_the_direction():
    close(gradient(vg.norm, [3.0, 4.0])[0], [0.6, 0.8])


def test_a_zero_row_leaves_the_other_rows_right():
    close(gradient(lambda x: vg.norm(x, axis=1), [[0.0, 0.0], [3.0, 4.0]])[0], [[0, 0], [0.6, 0.8]])
    close(gradient(lambda x: vg.euclidean_norm(x, axis=1), [[0.0, 0.0], [3.0, 4.0]])[0], [[0, 0], [0.6, 0.8]])


def test_a_zero_row_does_not_poison_a_weight():
    x = vg.tensor([[0.0, 0.0], [3.0, 4.0]])
    w = vg.variable(np.eye(2), name="w")
    grads = vg.variable_grads(lambda: vg.norm(x @ w, axis=1).sum()).grads
    # d|row|/dw = xᵀ (row/|row|), of the second row alone
    close(grads["w"].numpy(), [[1.8, 2.4], [2.4, 3.2]])


# Power has NaN gradients at base zero or at a negative base (tfjs#346, #6474)


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        ([0.0, 2.0], 0.0, [0.0, 0.0]),
        ([0.0, -1.0], 1.0, [1.0, 1.0]),
        ([0.0, -3.0], 2.0, [0.0, -6.0]),
        ([0.0, -2.0], 3.0, [0.0, 12.0]),
        ([-2.0], -1.0, [-0.25]),
    ],
)
def test_the_gradient_of_a_power_for_its_base(base, exponent, expected):
    close(gradient(lambda x: vg.pow(x, exponent), base)[0], expected)


def test_the_gradient_of_a_power_for_its_exponent():
    close(gradient(lambda b: vg.pow(vg.tensor([0.0, -2.0, 2.0]), b), [2.0, 2.0, 3.0])[0], [0, 0, 5.5451775])


def test_powers_broadcast():
    dx, db = gradient(vg.pow, [[1.0, 2.0], [3.0, 4.0]], [2.0, 3.0])
    close(dx, [[2, 12], [6, 48]])
    close(db, [9.887511, 94.268017])


# A NaN in the branch that where does not take reaches the gradient (autograd#802, jax#347)

UNTAKEN = {
    "sqrt": (lambda x: vg.where(x >= 4, vg.sqrt(x - 4), x * x), [1.0, 13.0], [2, 1 / 6]),
    "rsqrt": (lambda x: vg.where(x > 0, vg.rsqrt(x), x), [0.0, 4.0], [1, -1 / 16]),
    "log": (lambda x: vg.where(x > 0, vg.log(x), 0.0), [0.0, -1.0, 2.0], [0, 0, 0.5]),
    "log1p": (lambda x: vg.where(x > -1, vg.log1p(x), 0.0), [-1.0, -2.0, 1.0], [0, 0, 0.5]),
    "x log x": (lambda x: vg.where(x > 0, x * vg.log(x), 0.0), [0.0, 1.0], [0, 1]),
    "reciprocal": (lambda x: vg.where(x != 0, vg.reciprocal(x), 0.0), [0.0, 2.0], [0, -0.25]),
    "division": (lambda x: vg.where(x != 0, 1.0 / x, 0.0), [0.0, 2.0], [0, -0.25]),
    "a numerator over zero": (lambda x: vg.where(x > 1, x / (x - 1.0), x), [1.0, 2.0], [1, -1]),
    "power": (lambda x: vg.where(x > 0, vg.pow(x, 0.5), 0.0), [0.0, -1.0, 4.0], [0, 0, 0.25]),
    "a variable exponent": (lambda x: vg.where(x > 0, vg.pow(x, x), x), [-0.5, 0.0, 1.0], [1, 1, 1]),
    "acos": (lambda x: vg.where(vg.abs(x) < 1, vg.acos(x), 0.0), [1.0, 2.0, 0.0], [0, 0, -1]),
    "asin": (lambda x: vg.where(vg.abs(x) < 1, vg.asin(x), 0.0), [1.0, 2.0, 0.0], [0, 0, 1]),
    "atanh": (lambda x: vg.where(vg.abs(x) < 1, vg.atanh(x), 0.0), [1.0, 2.0, 0.0], [0, 0, 1]),
    "acosh": (lambda x: vg.where(x > 1, vg.acosh(x), 0.0), [1.0, 0.5, 2.0], [0, 0, 1 / np.sqrt(3)]),
    "exp overflowing": (lambda x: vg.where(x < 50, vg.exp(x), 0.0), [1000.0, 0.0], [0, 1]),
    "square overflowing": (lambda x: vg.where(x < 1e10, x * x, 0.0), [1e30, 3.0], [0, 6]),
    "sinh overflowing": (lambda x: vg.where(x < 50, vg.sinh(x), 0.0), [1000.0, 0.0], [0, 1]),
    "the second branch": (lambda x: vg.where(x <= 0, x, vg.log(x)), [0.0, 2.0], [1, 0.5]),
    "a norm": (lambda x: vg.where(x.sum() > 0, vg.norm(x), x.sum()), [0.0, 0.0], [1, 1]),
    "a nested branch": (
        lambda x: vg.where(x > 0, vg.where(x > 1, vg.log(x - 1.0), x), 0.0),
        [-1.0, 0.5, 1.0, 3.0],
        [0, 1, 1, 0.5],
    ),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_the_branch_not_taken_stays_out_of_the_gradient(name):
    f, at, expected = UNTAKEN[name]
    close(gradient(f, at)[0], expected)


@pytest.mark.parametrize("name", ["sqrt", "log", "reciprocal", "power", "acos", "x log x"])
def test_the_branch_not_taken_stays_out_of_the_second_gradient(name):
    f, at, _ = UNTAKEN[name]
    second = gradient(vg.grad(f), at)[0]
    assert np.all(np.isfinite(second))


def test_a_derivative_that_is_used_and_infinite_stays_infinite():
    assert gradient(vg.sqrt, [0.0])[0][0] == np.inf


# Gradients stop with an error as soon as the loss contains a comparison (tfjs#7710, #619, #338)

CONDITIONS = {
    ">": lambda x: x > 0,
    ">=": lambda x: x >= 0,
    "<": lambda x: vg.tensor(0.0) < x,
    "<=": lambda x: vg.tensor(0.0) <= x,
    "!=": lambda x: x != -1.0,
    "==": lambda x: x == 3.0,
    "logical_and": lambda x: vg.logical_and(x > 0, x < 10),
    "logical_or": lambda x: vg.logical_or(x > 0, x > 5),
    "logical_not": lambda x: vg.logical_not(x <= 0),
    "logical_xor": lambda x: vg.logical_xor(x > 0, x > 100),
}


@pytest.mark.parametrize("spelling", CONDITIONS)
def test_comparisons_may_stand_in_a_loss(spelling):
    condition = CONDITIONS[spelling]
    close(gradient(lambda x: vg.where(condition(x), x**2, 0.0).sum(), [3.0, -1.0])[0], [6, 0])


def test_a_weighted_loss_by_nonzero_weights():
    loss = lambda losses: vg.losses.compute_weighted_loss(  # noqa: E731
        losses, [1.0, 0.0, 2.0], "sum_by_nonzero_weights"
    )
    assert loss(vg.tensor([1.0, 2.0, 3.0])).item() == 3.5
    close(gradient(loss, [1.0, 2.0, 3.0])[0], [0.5, 0, 1])


# Entries that share the maximum each get the whole gradient (autograd#141, tfjs#4135)


def test_ties_share_the_gradient():
    close(gradient(vg.max, [1.0, 3.0, 3.0])[0], [0, 0.5, 0.5])
    close(gradient(vg.min, [2.0, 2.0, 5.0])[0], [0.5, 0.5, 0])
    close(gradient(lambda x: vg.max(vg.stack([x, x, vg.tensor(1.0)])), 3.0)[0], 1.0)


def test_maxima_along_an_axis():
    close(gradient(lambda x: vg.max(x, axis=1), [[1.0, 5.0], [4.0, 2.0]])[0], [[0, 1], [1, 0]])
    close(gradient(lambda x: vg.max(x, axis=1), np.ones((2, 1, 250)))[0], np.ones((2, 1, 250)))


@pytest.mark.parametrize("op", [vg.maximum, vg.minimum])
def test_equal_operands_share_the_gradient(op):
    da, db = gradient(op, [2.0, 1.0], [2.0, 1.0])
    close(da + db, [1, 1])


# A batch of matrices times one shared matrix cannot be differentiated (tfjs#8721)


def test_a_batched_product_with_a_shared_matrix():
    a = np.arange(1.0, 13).reshape(3, 2, 2)
    da, db = gradient(vg.mat_mul, a, [[1.0, 0.0], [2.0, 1.0]])
    close(db, [[36, 36], [42, 42]])
    close(da, np.broadcast_to([1.0, 3.0], (3, 2, 2)))


@pytest.mark.parametrize(("op", "expected"), [(vg.maximum, 2.0), (vg.minimum, 2.0)])
def test_an_extremum_with_a_scalar(op, expected):
    close(gradient(op, [[1.0, 2.0], [3.0, 4.0]], 2.5)[1], expected)


# The derivative of a derivative fails (tfjs#3252, #227)


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (vg.tanh, [0.5, 1.0], [-0.7268620, -0.6397000]),
        (vg.sigmoid, [0.5], [-0.0575568]),
        (vg.exp, [0.5], [1.6487213]),
        (vg.elu, [-1.0], [0.3678794]),
        (vg.sqrt, [4.0], [-0.03125]),
    ],
)
def test_second_derivatives(f, at, expected):
    close(gradient(vg.grad(f), at)[0], expected)


@pytest.mark.parametrize("f", [vg.softplus, vg.gelu, vg.rsqrt, vg.selu, vg.log_sigmoid, vg.softmax, vg.erf])
def test_second_derivatives_by_differences(f):
    vg.testing.check_gradients(f, [0.3, 1.7])


# Cross-entropy on widely spread logits overflows (NNlib.jl#68, uTensor#175)


def test_cross_entropy_of_widely_spread_logits():
    labels, logits = [[1.0, 0.0, 0.0]], [[-400.0, 300.0, 450.0]]
    loss = lambda logits: vg.losses.softmax_cross_entropy(labels, logits)  # noqa: E731
    assert loss(vg.tensor(logits)).item() == 850.0
    close(gradient(loss, logits)[0], [[-1, 0, 1]])


def test_softmax_of_large_logits():
    close(vg.softmax([999.5, 1000.0, 0.0, -5.0]).numpy(), [0.3775407, 0.6224593, 0, 0])


def test_sigmoid_cross_entropy_of_large_logits():
    assert vg.losses.sigmoid_cross_entropy([[0.0, 1.0]], [[100.0, -100.0]]).item() == pytest.approx(100.0)


# Nobody can tell why a gradient is missing (tfjs#619, #153; tensorflow#1768)


def test_an_unconnected_variable_is_absent_and_left_alone():
    a, b = vg.variable([3.0], name="a"), vg.variable([5.0], name="b")
    assert list(vg.variable_grads(lambda: a.square().sum(), [a, b]).grads) == ["a"]
    vg.train.adam(0.1).minimize(lambda: a.square().sum(), var_list=[a, b])
    assert b.tolist() == [5.0]
    assert a.item() == pytest.approx(2.9)


# Einsum, top-k and gather-nd have no gradient (tfjs#7722, #8277, #1601, #1795)


def test_einsum_of_an_operand_with_itself():
    close(gradient(lambda x: vg.einsum("ij,kj->ik", x, x).sum(), [[1.0, 2.0], [3.0, 4.0]])[0], [[8, 12], [8, 12]])


def test_the_largest_values():
    close(gradient(lambda x: vg.topk(x, 2).values.sum(), [1.0, 3.0, 2.0])[0], [0, 1, 1])


def test_gathering_and_scattering_by_index():
    x = [[1.0, 2.0], [3.0, 4.0]]
    twice = vg.tensor([[0, 1], [0, 1]], dtype="int32")
    close(gradient(lambda x: vg.gather_nd(x, twice).sum(), x)[0], [[0, 2], [0, 0]])
    at = vg.tensor([[1], [0]], dtype="int32")
    close(gradient(lambda u: vg.scatter_nd(at, u, [3]) * vg.tensor([1.0, 2.0, 3.0]), [5.0, 6.0])[0], [2, 1])
    updated = lambda t, u: vg.tensor_scatter_update(t, at, u) * vg.tensor([1.0, 2.0, 3.0])  # noqa: E731
    dt, du = gradient(updated, [7.0, 8.0, 9.0], [5.0, 6.0])
    close(dt, [0, 0, 3])
    close(du, [2, 1])


def test_strided_slices():
    picked = lambda x: vg.strided_slice(x, [0], [5], [2]).sum()  # noqa: E731
    close(gradient(picked, [1.0, 2.0, 3.0, 4.0, 5.0])[0], [1, 0, 1, 0, 1])
