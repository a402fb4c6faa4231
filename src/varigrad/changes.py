"""A count of changes to what programs are built of: layers' attributes, whether a variable is trainable, kernels.

Compiled functions depend on hundreds of such things that hardly ever change. As long as the count stands still they
need not look at them.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["COUNT", "Counted", "count_change"]


class _Count:
    """How many changes there have been; how many of them were of kernels."""

    __slots__ = ("all", "kernels")

    def __init__(self) -> None:
        self.all = 0
        self.kernels = 0


COUNT = _Count()


def count_change(of_kernels: bool = False) -> None:
    """To be called when something changes."""
    COUNT.all += 1
    COUNT.kernels += of_kernels


class Counted:
    """Base of classes whose attributes count, but for those in `moved_on`, which change from step to step."""

    moved_on: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name not in self.moved_on:
            count_change()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        count_change()
