"""Whether a program runs faster on several threads: measured as it runs, for it depends on the machine's load.

Calls go one way, and now and then a few of them go the other. The time that such a look costs says how soon the next
one comes: a small part of all time goes into them. Where the calls of the present way become much faster or slower
than they were when the ways were compared, the load has changed, and the next look comes earlier.

What counts is time inside the program. Times are compared by a low quantile, which the interruptions by other
programs that a call meets or does not meet hardly move.
"""

from __future__ import annotations

__all__ = ["Choice"]

_MS = 1_000_000  # nanoseconds
_PRICE = 50  # a look may cost one part in so many of all time
_SOONEST, _SELDOM = 50 * _MS, 10  # between looks that cost nothing, and how many times as long as they take
_HASTE = 4  # times as soon comes the next look after a change of load
_SLOWER = 1.25  # from which factor on the load is taken to have changed
_TAKEN = 0.93  # of the first way's time: below it the second is taken
_GIVEN_UP = 0.97  # of the second way's time: below it the first is
_LARGE, _HOPELESS = 1 * _MS, 1.3  # a longer call that takes so many times as long does not owe it to being late
_CLEARLY = 0.75  # below which one look is enough; otherwise two in a row must agree


class Choice:
    """Which of two ways to run; the first until the second has proved faster."""

    def __init__(self) -> None:
        self.second = False  # which way the next call goes
        self._looking = False  # whether that is a look at the way that is not the present one
        self._late = True  # whether the next call does not count: threads have slept, caches hold something else
        self._times: list[int] = []
        self._spent = 0  # of calls since the last change of ways, or the last group of calls
        self._level = 0  # what a call takes the present way
        self._compared = 0  # what it took when the ways were compared
        self._since = 0  # of calls the present way, since then
        self._wait = 0  # until the next look
        self._agreed = False  # whether the last look has found the other way faster

    def note(self, second: bool, nanoseconds: int) -> None:
        """Takes what a call took that went the second way, or the first."""
        if second is not self.second:
            return  # another thread's, begun before the ways were changed
        self._spent += nanoseconds
        if self._late:
            self._late = False
            if self._looking and nanoseconds > max(_LARGE, _HOPELESS * self._level):
                self._end_look(nanoseconds, nanoseconds - self._level)
            return
        times = self._times
        times.append(nanoseconds)
        count = len(times)
        if self._looking:
            if count >= 4 or (count >= 2 and self._spent >= 4 * _MS) or self._spent >= 40 * _MS:
                self._end_look(_low(times), self._spent - (count + 1) * self._level)
        elif self._spent >= 2 * _MS and (count >= 8 or (count >= 3 and self._spent >= 30 * _MS)):
            self._end_group(_low(times))

    def _end_group(self, level: int) -> None:
        """After some calls the present way: perhaps looks at the other."""
        self._level = level
        self._since += self._spent
        steady = self._compared <= _SLOWER * level and level <= _SLOWER * self._compared
        look = self._since >= (self._wait if steady else self._wait / _HASTE)
        self._go(self.second is not look, look)

    def _end_look(self, other: int, cost: int) -> None:
        """After some calls the other way: compares."""
        gain = other / self._level
        faster = gain < (_TAKEN if self.second else _GIVEN_UP)
        change = faster and (self._agreed or gain < _CLEARLY)
        self._agreed = faster and not change
        self._wait = 0 if self._agreed else max(_PRICE * cost, _SOONEST, _SELDOM * self._spent)
        self._compared = other if change else self._level
        self._since = 0
        self._go(self.second if change else not self.second, False)

    def _go(self, second: bool, looking: bool) -> None:
        self._late = second is not self.second
        self.second = second
        self._looking = looking
        self._times = []
        self._spent = 0


def _low(times: list[int]) -> int:
    return sorted(times)[len(times) // 4]
