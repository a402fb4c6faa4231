"""Derivatives of operations on images that move pixels, or mix their channels."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.image import GRADIENTS
from varigrad.testing import check_gradients

IMAGES = np.random.default_rng(1).normal(size=(2, 2, 3, 3))
BOXES = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 0.6, 1, 1.6], [0, 5, 1, 6]]
SCORES = [0.5, 0.9, 0.7, 0.3]


def chosen(scores, **options):
    boxes = vg.tensor(BOXES, dtype="float64")
    return vg.square(vg.image.non_max_suppression_with_score(boxes, scores, 3, **options).selected_scores)


CASES = {
    "NonMaxSuppressionV5": (chosen, SCORES),
    "NonMaxSuppressionV5: soft": (lambda s: chosen(s, iou_threshold=1.0, soft_nms_sigma=0.5), SCORES),
    "FlipLeftRight": (lambda x: vg.square(vg.image.flip_left_right(x)), IMAGES),
    "rgb_to_grayscale": (lambda x: vg.square(vg.image.rgb_to_grayscale(x)), IMAGES),
    "grayscale_to_rgb": (lambda x: vg.square(vg.image.grayscale_to_rgb(x)), IMAGES[..., :1]),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_choosing_boxes_breaks_the_path_and_the_error_names_it():
    scores = vg.variable([0.5])
    boxes = vg.tensor([[0.0, 0.0, 1.0, 1.0]])
    with pytest.raises(vg.GradientError, match="NonMaxSuppressionV3"):
        vg.variable_grads(lambda: vg.image.non_max_suppression(boxes, scores, 1).to_float().sum(), [scores])


def test_the_gradient_of_chosen_scores_for_boxes_is_zero_or_refused():
    def best(sigma):
        return lambda b: (
            vg.image.non_max_suppression_with_score(b, SCORES, 3, 1.0, soft_nms_sigma=sigma).selected_scores
        )

    boxes = vg.tensor(BOXES)
    assert vg.grad(best(0.0))(boxes).tolist() == vg.zeros([4, 4]).tolist()
    with pytest.raises(vg.GradientError, match="with soft_nms_sigma there is no gradient for boxes"):
        vg.grad(best(0.5))(boxes)
