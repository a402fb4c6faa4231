"""Ctrl-C in training: the step that runs is finished first, so that no weight is left half updated."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Interruption"]


class Interruption:
    """Inside the block, the first Ctrl-C is remembered until `check`; the second stops everything at once.

    Where a program handles SIGINT itself, its handler stays.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._stopped = False
        self._before: Any = None

    def __enter__(self) -> Self:
        in_charge = threading.current_thread() is threading.main_thread()  # others get no signals
        if in_charge and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.pressed and not self._stopped:
            self._stopped = True  # a third time would disturb the cleaning up
            raise KeyboardInterrupt
        self.pressed = True

    def check(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C has been pressed."""
        if self.pressed:
            raise KeyboardInterrupt
