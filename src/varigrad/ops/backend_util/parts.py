"""What joining, splitting and turning make of shapes: part of the namespace `vg.backend_util`."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.ops.arguments import normalize_axis
from varigrad.ops.joining import check_joinable, split_sizes
from varigrad.ops.resampling import center_of
from varigrad.tensor import Tensor

__all__ = ["assert_params_consistent", "compute_out_shape", "get_image_center", "prepare_split_size"]


def assert_params_consistent(shapes: Sequence[Sequence[int]], axis: int) -> None:
    """Raises a ValueError unless tensors of these shapes can be joined along an axis.

    Mirrors `tf.backend_util.assertParamsConsistent`.

    >>> import varigrad as vg
    >>> vg.backend_util.assert_params_consistent([[2, 3], [4, 3]], axis=0)
    """
    given = _tuples("assert_params_consistent", shapes)
    check_joinable("assert_params_consistent", given, normalize_axis("assert_params_consistent", axis, len(given[0])))


def compute_out_shape(shapes: Sequence[Sequence[int]], axis: int) -> tuple[int, ...]:
    """The shape of tensors of these shapes joined along an axis. Mirrors `tf.backend_util.computeOutShape`.

    Raises:
        ValueError: They cannot be joined.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_out_shape([[2, 3], [4, 3]], axis=0)
    (6, 3)
    """
    given = _tuples("compute_out_shape", shapes)
    axis = normalize_axis("compute_out_shape", axis, len(given[0]))
    check_joinable("compute_out_shape", given, axis)
    return (*given[0][:axis], sum(shape[axis] for shape in given), *given[0][axis + 1 :])


def _tuples(op: str, shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    if not shapes:
        raise ValueError(f"{op}: needs at least one shape")
    return [tuple(shape) for shape in shapes]


def prepare_split_size(x: Tensor, num_or_size_splits: int | Sequence[int], axis: int = 0) -> tuple[int, ...]:
    """The length of each part that `vg.split` makes. Mirrors `tf.backend_util.prepareSplitSize`.

    Raises:
        ValueError: The axis does not split so.

    >>> import varigrad as vg
    >>> vg.backend_util.prepare_split_size(vg.zeros([6]), [1, -1])
    (1, 5)
    """
    axis = normalize_axis("prepare_split_size", axis, x.rank)
    return split_sizes("prepare_split_size", num_or_size_splits, x.shape[axis], axis)


def get_image_center(center: float | Sequence[float], image_height: int, image_width: int) -> tuple[float, float]:
    """The point, x and y in pixels, about which `vg.image.rotate_with_offset` turns.

    `center` is a share of width and height, one number for both or `[x, y]`. Mirrors `tf.backend_util.getImageCenter`.

    >>> import varigrad as vg
    >>> vg.backend_util.get_image_center(0.5, image_height=10, image_width=20)
    (10.0, 5.0)
    """
    x, y = center_of("get_image_center", center)
    return image_width * x, image_height * y
