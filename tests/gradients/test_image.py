"""Derivatives of operations on images that move pixels, or mix their channels."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.image import GRADIENTS
from varigrad.testing import check_gradients

IMAGES = np.random.default_rng(1).normal(size=(2, 2, 3, 3))

CASES = {
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
    boxes = vg.tensor([[0.0, 0.0, 1.0, 1.0]])
    with pytest.raises(vg.GradientError, match="NonMaxSuppressionV3"):
        vg.grad(lambda s: vg.image.non_max_suppression(boxes, s, 1))(vg.tensor([0.5]))
