"""Derivatives of losses."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.losses import GRADIENTS
from varigrad.testing import check_gradients

RANDOM = np.random.default_rng(3)
LABELS = RANDOM.uniform(0.1, 0.9, size=(3, 4))
LOGITS = RANDOM.normal(size=(3, 4))
PROBABILITIES = RANDOM.uniform(0.1, 0.9, size=(3, 4))
WEIGHTS = RANDOM.uniform(0.5, 2, size=(3, 4))
ROWS = RANDOM.uniform(0.5, 2, size=3)
losses = vg.losses


def softmax_cross_entropy_grad(dy, labels, logits):
    with vg.observe.observing(instead_of=vg.tape.Tape):
        softmax = vg.softmax(logits)
    return vg.run_kernel("SoftmaxCrossEntropyWithLogitsGrad", (dy, labels, logits, softmax))


# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "SigmoidCrossEntropyWithLogits": (losses.sigmoid_cross_entropy, LABELS, LOGITS, WEIGHTS),
    "SigmoidCrossEntropyWithLogits: smoothed": (
        lambda a, b: losses.sigmoid_cross_entropy(a, b, None, 0.2, "none"),
        LABELS,
        LOGITS,
    ),
    "SoftmaxCrossEntropyWithLogits": (losses.softmax_cross_entropy, LABELS, LOGITS, ROWS),
    "SoftmaxCrossEntropyWithLogits: smoothed": (
        lambda a, b: losses.softmax_cross_entropy(a, b, None, 0.2, "none"),
        LABELS,
        LOGITS,
    ),
    "SoftmaxCrossEntropyWithLogits: one row": (losses.softmax_cross_entropy, LABELS[0], LOGITS[0]),
    "SoftmaxCrossEntropyWithLogitsGrad": (softmax_cross_entropy_grad, ROWS, LABELS, LOGITS),
    # Losses that are formulas over other ops.
    "Abs: absolute_difference": (losses.absolute_difference, LABELS, LOGITS, WEIGHTS),
    "SquaredDifference: mean_squared_error": (losses.mean_squared_error, LABELS, LOGITS, WEIGHTS),
    "Minimum: huber_loss": (lambda a, b, w, d: losses.huber_loss(a, b, w, d), LABELS, LOGITS, WEIGHTS, 0.7),
    "Relu: hinge_loss": (losses.hinge_loss, LABELS, LOGITS, WEIGHTS),
    "Log: log_loss": (losses.log_loss, LABELS, PROBABILITIES, WEIGHTS),
    "Multiply: cosine_distance": (lambda a, b: losses.cosine_distance(a, b, 1), LABELS, LOGITS),
}
for _reduction in vg.Reduction:
    for _name, _weights in {"all": WEIGHTS, "rows": ROWS[:, None], "one": 0.7}.items():
        CASES[f"MultiplyNoNan: {_name} weighted, {_reduction}"] = (
            lambda x, w, r=_reduction: losses.compute_weighted_loss(x * x, w, r),
            LOGITS,
            _weights,
        )


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_the_second_derivative_of_softmax_cross_entropy_is_the_softmax_covariance():
    logits = np.array([0.3, -0.2, 1.1])
    p = np.exp(logits) / np.exp(logits).sum()
    gradient = vg.grad(lambda x: losses.softmax_cross_entropy([1, 0, 0], x))
    for row in range(3):
        found = vg.grad(lambda x, row=row: gradient(x)[row])(vg.tensor(logits, dtype="float64"))
        np.testing.assert_allclose(found.numpy(), p[row] * (np.eye(3)[row] - p), rtol=1e-10)


def test_softmax_cross_entropy_stays_finite_to_second_order_for_widely_spread_logits():
    gradient = vg.grad(lambda x: losses.softmax_cross_entropy([1, 0, 0], x))
    second = vg.grad(lambda x: (gradient(x) * vg.tensor([1, 2, 3])).sum())
    assert second(vg.tensor([-400, 300, 450])).tolist() == [0, 0, 0]
    gradient = vg.grad(lambda x: losses.sigmoid_cross_entropy([0, 1], x))
    second = vg.grad(lambda x: (gradient(x) * vg.tensor([1, 2])).sum())
    assert second(vg.tensor([1000, -1000])).tolist() == [0, 0]


@pytest.mark.parametrize("loss", [losses.softmax_cross_entropy, losses.sigmoid_cross_entropy])
def test_a_training_step_takes_few_kernels(loss):
    logits = vg.tensor(LOGITS)
    labels = vg.tensor(LABELS)
    kernels = [k.name for k in vg.profile(lambda: vg.grad(lambda x: loss(labels, x))(logits)).kernels]
    assert len([k for k in kernels if k not in ("Constant", "Identity")]) <= 7
