"""How long a function takes, and giving way to others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, NamedTuple

from varigrad.engine import timing_kernels
from varigrad.observe import Observer, observing
from varigrad.tensor import Tensor

__all__ = ["TimingInfo", "next_frame", "time"]


class TimingInfo(NamedTuple):
    """What `vg.time` measured, in milliseconds."""

    kernel_ms: float
    wall_ms: float


class _Clock(Observer):
    __slots__ = ("nanoseconds",)

    def __init__(self) -> None:
        self.nanoseconds = 0

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        self.nanoseconds += nanoseconds


def time(f: Callable[[], Any]) -> TimingInfo:
    """Runs `f()` and measures the time in kernels, and in all. Mirrors `tf.time`.

    >>> import varigrad as vg
    >>> x = vg.ones([100, 100])
    >>> spent = vg.time(lambda: x.mat_mul(x))
    >>> 0 < spent.kernel_ms <= spent.wall_ms
    True
    """
    clock = _Clock()
    with observing(clock), timing_kernels():
        started = perf_counter_ns()
        f()
        wall = perf_counter_ns() - started
    return TimingInfo(clock.nanoseconds / 1e6, wall / 1e6)


async def next_frame() -> None:
    """Lets the other tasks of the event loop run, which a long training loop in a coroutine should do now and then.

    Mirrors `tf.nextFrame`, which waits for the browser to draw.

    >>> import asyncio
    >>> import varigrad as vg
    >>> async def both():
    ...     steps = []
    ...     async def count(name):
    ...         for step in range(2):
    ...             steps.append(f"{name}{step}")
    ...             await vg.next_frame()
    ...     await asyncio.gather(count("a"), count("b"))
    ...     return steps
    >>> asyncio.run(both())
    ['a0', 'b0', 'a1', 'b1']
    """
    import asyncio  # takes longer to load than VariGrad; whoever awaits this has it already

    await asyncio.sleep(0)
