"""Derivatives of operations on images that move pixels, and of the scores of chosen boxes."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable

from varigrad.engine import run_kernel
from varigrad.errors import GradientError
from varigrad.gradients.rules import chain, no_slope
from varigrad.ops.arithmetic import div_no_nan
from varigrad.ops.shaping import expand_dims
from varigrad.ops.slicing import gather
from varigrad.tape import Gradient, inputs_and_outputs, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _selected_scores(
    dys: tuple[Tensor, Tensor],
    boxes: Tensor,
    scores: Tensor,
    indices: Tensor,
    selected: Tensor,
    soft_nms_sigma: float,
    **thresholds: float,
) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """A score that was chosen is the box's own times what the boxes chosen before leave of it."""

    def for_boxes() -> Tensor:
        if soft_nms_sigma:
            raise GradientError(
                "non_max_suppression_with_score: with soft_nms_sigma there is no gradient for boxes, only for scores"
            )
        return no_slope(boxes)

    def for_scores() -> Tensor:
        dy = dys[1]
        if soft_nms_sigma:
            dy = chain(div_no_nan(selected, gather(scores, indices)), dy)
        return run_kernel("ScatterNd", (expand_dims(indices, 1), dy), {"shape": scores.shape})

    return for_boxes, for_scores


GRADIENTS: dict[str, Gradient] = {
    "FlipLeftRight": Gradient(lambda dy: run_kernel("FlipLeftRight", (dy,)), nothing),
    "NonMaxSuppressionV5": Gradient(_selected_scores, inputs_and_outputs),
}
