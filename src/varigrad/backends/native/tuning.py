"""Whether a program runs faster on several threads: measured as it runs, for it depends on the machine's load."""

from __future__ import annotations

from statistics import median

__all__ = ["Choice"]

_TRIALS = 5  # of each way, by turns
_STEADY = 2000  # calls after which it is measured again


class Choice:
    """Which of two ways to run; the first until the second has proved faster."""

    def __init__(self) -> None:
        self.second = False
        self.measuring = True
        self._times: tuple[list[int], list[int]] = ([], [])
        self._calls = 0

    def begin(self) -> bool:
        """Whether this call goes the second way."""
        if not self.measuring:
            self._calls += 1
            if self._calls >= _STEADY:
                self._calls = 0
                self._times = ([], [])
                self.measuring = True
            return self.second
        return len(self._times[1]) < len(self._times[0])

    def end(self, second: bool, nanoseconds: int) -> None:
        """Notes how long a call took while measuring."""
        self._times[second].append(nanoseconds)
        if min(map(len, self._times)) >= _TRIALS:
            first, other = map(median, self._times)
            self.second = other < first
            self.measuring = False
