"""Memory over many steps of the hand-written loop: tensors, buffers, bytes, and the process's resident set.

python benchmarks/memory.py [STEPS]
"""

from __future__ import annotations

import resource
import sys

import varigrad as vg
from contenders.varigrad_eager import make
from tasks import TASKS


def resident_kilobytes() -> int:
    """The most memory that the process has held, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    step = make(TASKS["seed"])
    for _ in range(100):
        step()
    before, resident = vg.memory(), resident_kilobytes()
    for _ in range(steps):
        step()
    after, grown = vg.memory(), resident_kilobytes() - resident
    print(f"after 100 steps:   {before}")
    print(f"{steps:,} steps later: {after}")
    print(f"resident set grew by {grown} kB")


if __name__ == "__main__":
    main()
