"""What a function was compiled for, each time for which reason, and which of its calls are left as they are written."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from varigrad.callers import warn_caller
from varigrad.jit.errors import JitError, JitWarning
from varigrad.jit.repeats import Repeats
from varigrad.jit.signature import describe
from varigrad.jit.trace import Trace

__all__ = ["Record"]

_ATTEMPTS = 3  # runs that change something besides tensors, after which a function is left as it is
# From so many on a warning says why, and only what comes again is compiled:
_OFTEN = 10  # compilations of one signature
_MANY = 10  # signatures
_KEPT = 32  # compilations of one signature that are kept
_KEPT_SIGNATURES = 256
_TOLD = 50  # compilations that `explain` tells of


class Record:
    """The compilations of the function of a name, by the key of its arguments.

    That of a `lenient` one gives no errors and warnings where the function cannot be compiled, but says why by its
    `refusal`.
    """

    def __init__(self, name: str, lenient: bool) -> None:
        self.traces: dict[Any, list[Trace]] = {}  # of each key, the newest first
        self.left_alone: set[Any] = set()  # keys of calls that run as the function is written
        self.compilations = 0
        self.refusal: str | None = None
        self._name = name
        self._lenient = lenient
        self._unfit: dict[Any, list[str]] = {}
        self._history: deque[str] = deque(maxlen=_TOLD)
        self._repeats = Repeats()
        self._has_told_of_the_outside = False

    # Whether to compile

    def pays(self, key: Any, leaves: Sequence[Any]) -> bool:
        """Whether to compile the function now: of many kinds of calls, those that have come before are worth it."""
        traces = self.traces.get(key)
        if traces:
            return len(traces) < _OFTEN or self._repeats.has_come((key, traces[-1].differences(leaves)))
        # Who calls a lenient one has thought about its arguments: see `Deferred`.
        return self._lenient or len(self.traces) < _MANY or self._repeats.has_come(key)

    def reason(self, key: Any, leaves: Sequence[Any]) -> str:
        """Why the function is compiled now."""
        traces = self.traces.get(key)
        if traces is not None:
            nearest = min(traces, key=lambda trace: len(trace.differences(leaves)), default=None)
            return (nearest and nearest.failure(leaves)) or "a tensor that it uses was disposed of"
        if not self.traces:
            return f"the first call, with {describe(key)}"
        return f"other arguments: {describe(key)}"

    # What becomes of it

    def add(self, key: Any, trace: Trace, reason: str, asked: Sequence[str]) -> None:
        """Keeps a compilation; `asked` is what it asks of the world outside the program, which calls for a warning."""
        self._unfit.pop(key, None)
        traces = self.traces.setdefault(key, [])
        traces.insert(0, trace)
        del traces[_KEPT:]
        if len(self.traces) > _KEPT_SIGNATURES:
            del self.traces[next(iter(self.traces))]
        self.compilations = trace.number
        self._history.append(reason)
        if not self._lenient:
            self._warn_if_often(traces, reason)
            self._warn_of_the_outside(asked)

    def remove(self, key: Any, trace: Trace) -> None:
        """Forgets a compilation that can run no more."""
        self.traces[key] = [other for other in self.traces[key] if other is not trace]

    def leave_alone(self, key: Any, error: Exception) -> None:
        """Has calls with this key run as the function is written from now on; raises the error unless lenient."""
        if not self._lenient:
            raise error
        self.refusal = str(error)
        self._unfit[key] = [self.refusal]
        self.left_alone.add(key)

    def give_up_later(self, key: Any, unfit: Sequence[str]) -> None:
        """The first call may make variables and the like; a function that goes on to do so cannot be compiled."""
        earlier = self._unfit.setdefault(key, [])
        earlier.append(unfit[0])
        if len(earlier) < _ATTEMPTS:
            return
        self.left_alone.add(key)
        self.refusal = (
            f"jit: {self._name} is not compiled, because {unfit[0]} whenever it runs, which a compiled function would "
            "not; do that outside, or keep what changes in a variable"
        )
        if not self._lenient:
            warn_caller(self.refusal, JitWarning)

    def _warn_if_often(self, traces: list[Trace], reason: str) -> None:
        if len(traces) == 1 and len(self.traces) == _MANY:
            warn_caller(
                f"jit: {self._name} was compiled for {_MANY} kinds of arguments, last for {reason}; others will "
                "be when they come again; give tensors few different shapes, by padding if need be, and numbers that "
                "change as floats or tensors",
                JitWarning,
            )
        if len(traces) == _OFTEN:
            warn_caller(
                f"jit: {self._name} was compiled {_OFTEN} times for the same arguments, last because {reason}; from "
                "now on it is when the same comes again; pass what changes as an argument, or keep it in a variable",
                JitWarning,
            )

    def _warn_of_the_outside(self, asked: Sequence[str]) -> None:
        if asked and not self._has_told_of_the_outside:
            self._has_told_of_the_outside = True
            warn_caller(
                f"jit: {self._name} uses {' and '.join(asked)}, which happens when it is compiled and at "
                "no other call; do that outside, and pass what it gives as an argument",
                JitWarning,
            )

    # Looking inside

    def latest(self) -> Trace:
        """The latest compilation.

        Raises:
            JitError: There is none yet.
        """
        latest = [traces[0] for traces in self.traces.values() if traces]
        if not latest:
            raise JitError(f"jit: {self._name} has not been compiled yet; call it first")
        return max(latest, key=lambda trace: trace.number)

    def explanation(self) -> list[str]:
        """Why the function was compiled each time, and what became of it, line by line."""
        times = "once" if self.compilations == 1 else f"{self.compilations} times"
        lines = [f"{self._name} was compiled {times}{':' if self._history else ''}"]
        first = self.compilations - len(self._history) + 1
        lines += [f"  {number}. {reason}" for number, reason in enumerate(self._history, first)]
        if self._repeats.new:
            calls = "a call" if self._repeats.new == 1 else f"{self._repeats.new} calls"
            lines.append(f"{calls} ran as written: of so many kinds, those that come again are compiled")
        for key, reasons in self._unfit.items():
            state = "runs as it is written" if key in self.left_alone else "was not compiled yet"
            lines.append(f"with {describe(key)} it {state}: {reasons[-1]}")
        return lines
