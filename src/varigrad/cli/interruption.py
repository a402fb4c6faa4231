"""Ctrl-C: once asks training to end and save, twice stops everything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Interruption"]


class Interruption:
    """Inside the block, the first Ctrl-C is only remembered; the second raises KeyboardInterrupt."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._pressed = 0
        self._announced = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._before = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self._pressed += 1
        if self._pressed == 2:
            raise KeyboardInterrupt  # a third time would disturb the cleaning up

    def requested(self) -> bool:
        """Whether Ctrl-C has been pressed; says so to the user the first time that it is asked then."""
        if self._pressed and not self._announced:
            self._announced = True  # printing inside the signal handler could meet a half-printed line
            self._announce()
        return self._pressed > 0
