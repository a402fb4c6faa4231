"""Whether a program runs faster on several threads: measured as it runs, for it depends on the machine's load."""

from __future__ import annotations

from statistics import median

__all__ = ["Choice"]

_RUN = 4  # calls one way before the other: threads that have slept are late for the first, which does not count
_RUNS = 3  # of each way, by turns
_SOONEST, _LATEST = 64, 4096  # calls after which it is measured again: twice as many each time it stays the same


class Choice:
    """Which of two ways to run; the first until the second has proved faster."""

    def __init__(self) -> None:
        self.second = False
        self.measuring = True
        self._times: tuple[list[int], list[int]] = ([], [])
        self._calls = 0
        self._wait = _SOONEST

    def begin(self) -> bool:
        """Whether this call goes the second way."""
        self._calls += 1
        if not self.measuring:
            if self._calls <= self._wait:
                return self.second
            self._calls = 1
            self._times = ([], [])
            self.measuring = True
        return (self._calls - 1) // _RUN % 2 == 1

    def end(self, second: bool, nanoseconds: int) -> None:
        """Notes how long a call took while measuring."""
        if (self._calls - 1) % _RUN:
            self._times[second].append(nanoseconds)
        if self._calls >= 2 * _RUN * _RUNS and all(self._times):
            first, other = map(median, self._times)
            self._wait = min(2 * self._wait, _LATEST) if self.second == (other < first) else _SOONEST
            self.second = other < first
            self._calls = 0
            self.measuring = False
