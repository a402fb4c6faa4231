"""The numbers of an optimizer's step, such as its learning rate, as arrays that update kernels take."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.halves import computing_dtype

__all__ = ["StepNumbers"]

R = TypeVar("R")


class Advances(Protocol):
    """An optimizer, as far as its steps are counted."""

    def advance(self, use: Callable[[tuple[float, ...]], R]) -> R:
        """Counts a step and gives what `use` makes of its numbers."""
        ...


class StepNumbers:
    """Counts a step of an optimizer when it is called, and gives its numbers, once for each dtype of variables."""

    def __init__(self, optimizer: Advances, dtypes: Sequence[np.dtype[Any]]) -> None:
        self.__self__ = optimizer
        self._dtypes = [computing_dtype(dtype) for dtype in dtypes]

    def __call__(self) -> list[Array]:
        return self.__self__.advance(lambda numbers: [np.array(_floats(numbers), dtype) for dtype in self._dtypes])

    def into(self, arrays: Sequence[Array]) -> Callable[[], None]:
        """See `engine.host_tensors`."""
        packers = [_packer(array) for array in arrays]

        def write(numbers: tuple[float, ...]) -> None:
            try:
                for pack in packers:
                    pack(*numbers)
            except (OverflowError, struct.error):  # a number that float32 does not reach, or something else than one
                for array in arrays:
                    array[...] = _floats(numbers)

        advance = self.__self__.advance
        return lambda: advance(write)


def _packer(array: Array) -> Callable[..., None]:
    """A function that writes so many numbers into an array, in a third of the time that NumPy takes."""
    return functools.partial(struct.Struct(f"{array.size}{array.dtype.char}").pack_into, cast("Any", array), 0)


def _floats(numbers: tuple[float, ...]) -> list[float]:
    return [float(number) for number in numbers]
