"""Ctrl-C: once asks training to end and save, twice stops everything."""

from __future__ import annotations

from collections.abc import Callable

from varigrad.layers.training.interruption import Interruption as _Interruption

__all__ = ["Interruption"]


class Interruption(_Interruption):
    """Inside the block, the first Ctrl-C is only remembered; the second raises KeyboardInterrupt."""

    def __init__(self, announce: Callable[[], None]) -> None:
        super().__init__()
        self._announce = announce
        self._announced = False

    def requested(self) -> bool:
        """Whether Ctrl-C has been pressed; says so to the user the first time that it is asked then."""
        if self.pressed and not self._announced:
            self._announced = True  # printing inside the signal handler could meet a half-printed line
            self._announce()
        return self.pressed
