"""Losses: values against TensorFlow.js and formulas, weights and reductions, limits, errors."""

import numpy as np
import pytest
from scipy.special import log_softmax

import varigrad as vg

LABELS = [[1, 0, 0], [0, 0.5, 0.5]]
PREDICTIONS = [[0.1, 0.7, 0.2], [0.9, 0.3, 0.6]]
WEIGHTS = {"none": None, "full": [[1, 0, 2], [0.5, 1, 0]], "rows": [[2], [0]]}

LOSSES = {
    "absolute_difference": lambda w, r: vg.losses.absolute_difference(LABELS, PREDICTIONS, w, r),
    "mean_squared_error": lambda w, r: vg.losses.mean_squared_error(LABELS, PREDICTIONS, w, r),
    "hinge_loss": lambda w, r: vg.losses.hinge_loss(LABELS, PREDICTIONS, w, r),
    "huber_loss": lambda w, r: vg.losses.huber_loss(LABELS, PREDICTIONS, w, 0.25, r),
    "log_loss": lambda w, r: vg.losses.log_loss(LABELS, PREDICTIONS, w, 1e-7, r),
    "sigmoid_cross_entropy": lambda w, r: vg.losses.sigmoid_cross_entropy(LABELS, PREDICTIONS, w, 0.1, r),
}

# By TensorFlow.js 4.22, tf.losses.absoluteDifference(labels, predictions, weights, tf.Reduction.NONE) and so on, with
# the arguments above: the losses unreduced, and for each of the weights the mean, the sum, and the sum by nonzero
# weights.
BY_TENSORFLOW_JS = {
    "absolute_difference": (
        [0.8999999762, 0.69999998808, 0.20000000298, 0.8999999762, 0.199999988, 0.1000000238],
        {
            "none": [0.5, 3, 0.5],
            "full": [0.43333331, 1.94999993, 0.48749998],
            "rows": [0.59999996, 3.5999999, 1.1999999],
        },
    ),
    "mean_squared_error": (
        [0.8100000024, 0.4899999797, 0.04000000283, 0.8099999428, 0.0399999954, 0.01000000443],
        {
            "none": [0.36666667, 2.1999998, 0.36666664],
            "full": [0.29666665, 1.3349999, 0.33374998],
            "rows": [0.44666669, 2.6800001, 0.89333338],
        },
    ),
    "hinge_loss": (
        [0.8999999762, 1.7000000477, 1.2000000477, 1.8999999762, 1, 1],
        {
            "none": [1.2833333, 7.69999981, 1.2833333],
            "full": [1.16666663, 5.25, 1.3125],
            "rows": [1.26666677, 7.60000038, 2.53333354],
        },
    ),
    "huber_loss": (
        [0.193749994, 0.143749997, 0.0200000014, 0.193749994, 0.0199999977, 0.0050000022],
        {
            "none": [0.09604166, 0.57624996, 0.09604166],
            "full": [0.07791666, 0.35062498, 0.08765624],
            "rows": [0.11916666, 0.71499997, 0.23833333],
        },
    ),
    "log_loss": (
        [2.3025841713, 1.2039724588, 0.2231433839, 2.3025839329, 0.7803236246, 0.7135579586],
        {
            "none": [1.25436091, 7.52616549, 1.25436091],
            "full": [1.0401082, 4.68048668, 1.17012167],
            "rows": [1.24323332, 7.45940018, 2.48646665],
        },
    ),
    "sigmoid_cross_entropy": (
        [0.6493966579, 1.0681860447, 0.7881388664, 1.1961538792, 0.7043552399, 0.7374879122],
        {
            "none": [0.85728645, 5.14371872, 0.85728645],
            "full": [0.7840237, 3.52810669, 0.88202667],
            "rows": [0.83524054, 5.01144314, 1.67048109],
        },
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_unreduced_are_tensorflow_js_s(name):
    found = LOSSES[name](None, "none").numpy()
    np.testing.assert_allclose(found.ravel(), BY_TENSORFLOW_JS[name][0], rtol=1e-5)
    for weights in ("full", "rows"):
        weighted = LOSSES[name](WEIGHTS[weights], "none").numpy()
        np.testing.assert_allclose(weighted, found * WEIGHTS[weights], rtol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_losses_reduced_are_tensorflow_js_s(name, weights):
    loss = LOSSES[name]
    found = [loss(WEIGHTS[weights], r).item() for r in ("mean", "sum", "sum_by_nonzero_weights")]
    np.testing.assert_allclose(found, BY_TENSORFLOW_JS[name][1][weights], rtol=1e-5)


# tf.losses.softmaxCrossEntropy(labels, predictions, weights, 0.1, reduction) with weights [2, 0.5], and
# tf.losses.cosineDistance(labels, predictions, 1, weights, reduction) with weights [[2], [0.5]]
ROW_LOSSES = {
    "softmax_cross_entropy": (
        lambda w, r: vg.losses.softmax_cross_entropy(LABELS, PREDICTIONS, w, 0.1, r),
        [2, 0.5],
        [1.3446162939, 1.2633901834],
        [1.3040032387, 2.6080064774, 1.3040032387],
        [1.328371048, 3.3209276199, 1.66046381],
    ),
    "cosine_distance": (
        lambda w, r: vg.losses.cosine_distance(LABELS, PREDICTIONS, 1, w, r),
        [[2], [0.5]],
        [0.8999999762, 0.5499999523],
        [0.7249999642, 1.4499999285, 0.7249999642],
        [0.8299999237, 2.0749998093, 1.0374999046],
    ),
}


@pytest.mark.parametrize("name", ROW_LOSSES)
def test_losses_of_rows_are_tensorflow_js_s(name):
    loss, weights, unreduced, unweighted, weighted = ROW_LOSSES[name]
    np.testing.assert_allclose(loss(None, "none").numpy().ravel(), unreduced, rtol=1e-6)
    for given, expected in ((None, unweighted), (weights, weighted)):
        found = [loss(given, r).item() for r in ("mean", "sum", "sum_by_nonzero_weights")]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# compute_weighted_loss


def test_a_loss_by_nonzero_weights_and_its_gradient():
    value, gradient = vg.value_and_grad(lambda x: vg.losses.compute_weighted_loss(x, [1, 0, 2]))(vg.tensor([1, 2, 3]))
    assert value.item() == 3.5
    assert gradient.tolist() == [0.5, 0, 1]


def test_the_gradient_for_the_weights():
    f = lambda w: vg.losses.compute_weighted_loss([1, 2, 3], w, "mean")  # noqa: E731
    # mean = (w0 + 2 w1 + 3 w2) / (w0 + w1 + w2); its derivative for w_i is (loss_i - mean) / sum
    np.testing.assert_allclose(vg.grad(f)(vg.tensor([1, 1, 2])).numpy(), np.array([-1.25, -0.25, 0.75]) / 4, rtol=1e-6)


@pytest.mark.parametrize("reduction", ["mean", "sum", "sum_by_nonzero_weights"])
def test_a_loss_without_weight_does_not_count_even_if_infinite_or_nan(reduction):
    loss = lambda x: vg.losses.compute_weighted_loss(x, [1, 0, 0], reduction)  # noqa: E731
    value, gradient = vg.value_and_grad(loss)(vg.tensor([4, np.inf, np.nan]))
    assert value.item() == 4
    assert gradient.tolist() == [1, 0, 0]


@pytest.mark.parametrize("reduction", ["mean", "sum", "sum_by_nonzero_weights"])
def test_the_loss_of_weights_that_are_all_zero_is_zero(reduction):
    loss = lambda x: vg.losses.compute_weighted_loss(x, [0, 0], reduction)  # noqa: E731
    value, gradient = vg.value_and_grad(loss)(vg.tensor([1, 2]))
    assert value.item() == 0
    assert gradient.tolist() == [0, 0]


def test_weights_of_more_axes_than_the_losses_repeat_them():
    # tf.losses.computeWeightedLoss([1, 2, 3], [[1, 0, 2], [0, 0, 4]], reduction)
    weights = [[1, 0, 2], [0, 0, 4]]
    assert vg.losses.compute_weighted_loss([1, 2, 3], weights, "none").tolist() == [[1, 0, 6], [0, 0, 12]]
    found = [vg.losses.compute_weighted_loss([1, 2, 3], weights, r).item() for r in ("sum", "mean")]
    np.testing.assert_allclose(found, [19, 19 / 7], rtol=1e-6)
    assert vg.losses.compute_weighted_loss([1, 2, 3], weights).item() == pytest.approx(19 / 3)


@pytest.mark.parametrize("member", vg.Reduction)
def test_a_member_of_reduction_is_its_name(member):
    by_member = vg.losses.compute_weighted_loss([1, 2], [3, 0], member)
    assert by_member.tolist() == vg.losses.compute_weighted_loss([1, 2], [3, 0], member.name.lower()).tolist()


def test_losses_take_integer_labels_and_weights():
    labels, weights = vg.tensor([1, 0], dtype="int32"), vg.tensor([True, False])
    assert vg.losses.mean_squared_error(labels, [3.0, 5.0], weights).item() == 4
    assert vg.losses.mean_squared_error(labels, vg.tensor([3, 5], dtype="float64")).dtype == "float64"


# Cross entropies


def test_softmax_cross_entropy_of_widely_spread_logits():
    loss = lambda x: vg.losses.softmax_cross_entropy([1, 0, 0], x)  # noqa: E731
    value, gradient = vg.value_and_grad(loss)(vg.tensor([-400, 300, 450]))
    assert value.item() == 850
    assert gradient.tolist() == [-1, 0, 1]


def test_sigmoid_cross_entropy_of_large_logits():
    loss = lambda x: vg.losses.sigmoid_cross_entropy([0, 1, 1], x, reduction="none")  # noqa: E731
    value, gradient = vg.value_and_grad(loss)(vg.tensor([100, -100, 1000]))
    assert value.tolist() == [100, 100, 0]
    assert gradient.tolist() == [1, -1, 0]


def test_the_gradient_of_sigmoid_cross_entropy_at_zero_is_half_way():
    gradient = vg.grad(lambda x: vg.losses.sigmoid_cross_entropy([0, 1], x, reduction="sum"))(vg.tensor([0, 0]))
    assert gradient.tolist() == [0.5, -0.5]


def test_softmax_cross_entropy_of_labels_that_do_not_sum_to_one():
    labels, logits = np.array([[2.0, 0.0, 3.0]]), np.array([[0.1, 0.2, 0.4]])
    d_labels, d_logits = vg.grads(vg.losses.softmax_cross_entropy)(
        [vg.tensor(labels, dtype="float64"), vg.tensor(logits, dtype="float64")]
    )
    np.testing.assert_allclose(d_labels.numpy(), -log_softmax(logits, -1), rtol=1e-12)
    np.testing.assert_allclose(d_logits.numpy(), np.exp(log_softmax(logits, -1)) * 5 - labels, rtol=1e-12)


def test_a_class_ruled_out_by_an_infinite_logit():
    loss = lambda x: vg.losses.softmax_cross_entropy([[1, 0, 0]], x)  # noqa: E731
    value, gradient = vg.value_and_grad(loss)(vg.tensor([[0, 0, -np.inf]]))
    np.testing.assert_allclose(value.item(), np.log(2), rtol=1e-6)
    assert gradient.tolist() == [[-0.5, 0.5, 0]]


def test_a_row_without_weight_leaks_no_nan():
    loss = lambda x: vg.losses.softmax_cross_entropy([[1, 0], [1, 0]], x, [1, 0])  # noqa: E731
    value, gradient = vg.value_and_grad(loss)(vg.tensor([[0, 0], [np.nan, 0]]))
    np.testing.assert_allclose(value.item(), np.log(2), rtol=1e-6)
    assert gradient.tolist() == [[-0.5, 0.5], [0, 0]]


def test_softmax_cross_entropy_of_any_rank():
    logits = np.random.default_rng(0).normal(size=(2, 3, 4))
    labels = np.eye(4)[[[0, 1, 2], [3, 3, 0]]]
    result = vg.losses.softmax_cross_entropy(labels, logits, reduction="none")
    np.testing.assert_allclose(result.numpy(), -(labels * log_softmax(logits, -1)).sum(-1), rtol=1e-5)
    assert vg.losses.softmax_cross_entropy(labels[0, 0], logits[0, 0], reduction="none").shape == ()
    assert vg.losses.softmax_cross_entropy(np.zeros((0, 4)), np.zeros((0, 4)), reduction="none").shape == (0,)


def test_smoothing_draws_labels_towards_indifference():
    smoothed = vg.losses.softmax_cross_entropy([[1, 0, 0, 0]], [[1, 2, 3, 4]], label_smoothing=0.2)
    plain = vg.losses.softmax_cross_entropy([[0.85, 0.05, 0.05, 0.05]], [[1, 2, 3, 4]])
    np.testing.assert_allclose(smoothed.item(), plain.item(), rtol=1e-6)
    smoothed = vg.losses.sigmoid_cross_entropy([1, 0], [1, 2], label_smoothing=0.2)
    np.testing.assert_allclose(smoothed.item(), vg.losses.sigmoid_cross_entropy([0.9, 0.1], [1, 2]).item(), rtol=1e-6)


def test_the_huber_loss_is_smooth_where_its_parts_meet():
    gradient = vg.grad(lambda x: vg.losses.huber_loss([0, 0, 0, 0], x, delta=2, reduction="sum"))
    assert gradient(vg.tensor([0, 1, -2, 5])).tolist() == [0, 1, -2, 2]


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: vg.losses.mean_squared_error([1, 2], [1]),
            r"mean_squared_error: labels and predictions must have one shape \(labels: \[2\], predictions: \[1\]\)",
        ),
        (
            lambda: vg.losses.softmax_cross_entropy([1], [1, 2]),
            r"onehot_labels and logits must have one shape \(onehot_labels: \[1\], logits: \[2\]\)",
        ),
        (lambda: vg.losses.sigmoid_cross_entropy([1], [1, 2]), "multi_class_labels and logits must have one shape"),
        (
            lambda: vg.losses.softmax_cross_entropy([[1, 0], [0, 1]], [[1, 2], [3, 4]], [[1], [2]]),
            r"softmax_cross_entropy: weights do not broadcast to the losses \(losses: \[2\], weights: \[2, 1\]\)",
        ),
        (lambda: vg.losses.compute_weighted_loss([1, 2, 3], [1, 2]), "compute_weighted_loss: weights do not broadcast"),
        (
            lambda: vg.losses.compute_weighted_loss([1], None, "average"),
            "reduction must be 'none', 'mean', .*'average'",
        ),
        (lambda: vg.losses.softmax_cross_entropy(1, 2), r"must have an axis of classes, got shape \[\]"),
        (lambda: vg.losses.softmax_cross_entropy([1], [2], None, 1.5), "label_smoothing must be from 0 to 1, got 1.5"),
        (lambda: vg.losses.cosine_distance([1], [2], 1), "cosine_distance: axis 1 is out of range"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sigmoid_cross_entropy_of_scalars():
    assert vg.losses.sigmoid_cross_entropy(1, 0).item() == pytest.approx(np.log(2))


def test_sigmoid_cross_entropy_of_a_right_answer_keeps_its_digits():
    losses = vg.losses.sigmoid_cross_entropy([1, 0], [15.9, -15.9], reduction="none")
    np.testing.assert_allclose(losses.numpy(), np.log1p(np.exp([-15.9, -15.9])), rtol=1e-5)
