"""Derivatives of taking parts: what was taken goes back to its place, and the other way round."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arithmetic import multiply_no_nan
from varigrad.tape import Gradient, Saver, input_shapes
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

Shape = tuple[int, ...]


def _shape_and_indices(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[object]:
    return inputs[0].storage.shape, inputs[1]


def _input(position: int) -> Saver:
    return lambda inputs, outputs: inputs[position : position + 1]


def _slice(dy: Tensor, x: Shape, begin: Shape, size: Shape) -> Tensor:
    paddings = tuple([(b, n - b - count) for n, b, count in zip(x, begin, size, strict=True)])
    return run_kernel("PadV2", (dy,), {"paddings": paddings, "constant_value": 0.0})


def _strided(partner: str) -> Callable[..., Tensor]:
    def rule(dy: Tensor, x: Shape, begin: Shape, size: Shape, strides: Shape, shape: Shape) -> Tensor:
        return run_kernel(partner, (dy,), {"begin": begin, "size": size, "strides": strides, "shape": x})

    return rule


def _gather(dy: Tensor, x: Shape, indices: Tensor, axis: int, batch_dims: int) -> tuple[Tensor, None]:
    attrs = {"shape": x, "axis": axis, "batch_dims": batch_dims}
    return run_kernel("GatherV2Put", (dy, indices), attrs), None


def _gather_put(dy: Tensor, indices: Tensor, shape: Shape, axis: int, batch_dims: int) -> tuple[Tensor, None]:
    return run_kernel("GatherV2", (dy, indices), {"axis": axis, "batch_dims": batch_dims}), None


def _scatter_update(
    dy: Tensor, indices: Tensor, shape: Shape
) -> tuple[Callable[[], Tensor], None, Callable[[], Tensor]]:
    def for_x() -> Tensor:
        zeros = run_kernel("Fill", (), {"shape": shape, "value": 0, "dtype": dy.dtype})
        return run_kernel("TensorScatterUpdate", (dy, indices, zeros))

    def for_updates() -> Tensor:
        last = run_kernel("LastWriters", (indices,), {"shape": dy.shape, "dtype": dy.dtype})
        return multiply_no_nan(run_kernel("GatherNd", (dy, indices)), last)

    return for_x, None, for_updates


GRADIENTS: dict[str, Gradient] = {
    "GatherNd": Gradient(
        lambda dy, x, indices: (run_kernel("ScatterNd", (indices, dy), {"shape": x}), None), _shape_and_indices
    ),
    "GatherV2": Gradient(_gather, _shape_and_indices),
    "GatherV2Put": Gradient(_gather_put, _input(1)),
    "ScatterNd": Gradient(lambda dy, indices, shape: (None, run_kernel("GatherNd", (dy, indices))), _input(0)),
    "Slice": Gradient(_slice, input_shapes),
    "StridedSlice": Gradient(_strided("StridedSlicePut"), input_shapes),
    "StridedSlicePut": Gradient(_strided("StridedSlice"), input_shapes),
    "TensorScatterUpdate": Gradient(_scatter_update, lambda inputs, outputs: (inputs[1], inputs[2].storage.shape)),
}
