"""Runs any number of cases.

    python -m tests.properties.run --cases 100000 --seed 1
    python -m tests.properties.run --cases 1000 --only 'conv|pool'

Each op is run on as many cases as the others, against NumPy and SciPy, and, where Node has @tensorflow/tfjs, against
TensorFlow.js. Of what disagrees the shortest case of each op and side is printed, or all with `--all`. With
`--differences` the cases that are meant to differ from TensorFlow.js are compared as well, and the differences listed
that none of them showed.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

from .compare import against_numpy, against_tensorflow_js
from .javascript import TensorFlowJS, missing
from .operation import Case, Op
from .tables import OPS


class Tally:
    """What was tried, and what disagreed."""

    def __init__(self, print_all: bool) -> None:
        self.tried: Counter[str] = Counter()
        self.found: Counter[tuple[str, str]] = Counter()
        self._print_all = print_all
        self._shortest: dict[tuple[str, str], str] = {}

    def check(self, side: str, op: Op, number: int, comparison: Callable[[], object]) -> None:
        """Makes a comparison and notes what comes of it."""
        try:
            compared = comparison() is not False
        except Exception as error:
            compared = True
            self.found[op.name, side] += 1
            message = f"\n[{side}, case {number}] {type(error).__name__}: {error}"
            if self._print_all:
                print(message, flush=True)
            self._shortest[op.name, side] = min(message, self._shortest.get((op.name, side), message), key=len)
        self.tried[side if compared else "meant to differ from TensorFlow.js"] += 1

    def report(self) -> None:
        """Prints the shortest cases that disagreed, and the counts."""
        if not self._print_all:
            print(*self._shortest.values(), sep="\n")
        print(", ".join(f"{count} {name}" for name, count in self.tried.items()))
        for (name, side), count in self.found.most_common():
            print(f"{count:6}  {name} [{side}]")


def run(ops: list[Op], cases: int, seed: int, tf: TensorFlowJS | None, tally: Tally) -> None:
    """Runs each op on its share of the cases."""

    def compare(op: Op, case: Case, number: int) -> None:
        if op.numpy is not None:
            tally.check("against NumPy", op, number, lambda: against_numpy(op, case))
        if tf is not None and op.javascript is True:
            gradients = number % 3 == 0
            tally.check("against TensorFlow.js", op, number, lambda: against_tensorflow_js(op, case, tf, gradients))

    for number in range(-(-cases // max(len(ops), 1))):
        for op in ops:
            tally.tried["cases"] += 1
            compare(op, op.case(seed, number), number)


def unseen_differences(ops: list[Op], cases: int, seed: int, tf: TensorFlowJS) -> list[str]:
    """The differences from TensorFlow.js that no case shows."""
    seen: set[tuple[str, str]] = set()
    for number in range(-(-cases // max(len(ops), 1))):
        for op in ops:
            case = op.case(seed, number)
            wanted = [d for d in (*op.differs, *op.gradient_differs) if (op.name, d.reason) not in seen]
            matching = [d for d in wanted if d.when(case)]
            if not matching or op.javascript is not True:
                continue
            try:
                against_tensorflow_js(op, case, tf, True, everything=True)
            except Exception:
                seen.update((op.name, d.reason) for d in matching)
    everything = ((op.name, d.reason) for op in ops for d in (*op.differs, *op.gradient_differs))
    return [f"{name}: {reason}" for name, reason in everything if (name, reason) not in seen]


def main() -> int:
    """Runs the cases and returns 1 if any disagreed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10000, help="how many in all (10000)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the cases (1; the tests use 0)")
    parser.add_argument("--only", default="", help="the ops whose name matches, a regular expression")
    parser.add_argument("--all", action="store_true", help="print every case that disagrees")
    parser.add_argument("--differences", action="store_true", help="list differences that no case shows")
    options = parser.parse_args()
    ops = [op for name, op in OPS.items() if re.search(options.only, name)]
    tally = Tally(options.all)
    started = time.monotonic()
    with ExitStack() as stack:
        reason = missing()
        if reason:
            print(f"not against TensorFlow.js: {reason}")
        tf = None if reason else stack.enter_context(TensorFlowJS())
        if options.differences and tf is not None:
            print(*unseen_differences(ops, options.cases, options.seed, tf), sep="\n")
            return 0
        run(ops, options.cases, options.seed, tf, tally)
    print(f"\n{len(ops)} ops, {time.monotonic() - started:.0f} s: ", end="")
    tally.report()
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main())
