"""The process of one contender: takes steps when told to, and answers with the time and the last losses.

    python worker.py CONTENDER TASK

Each line of standard input is a number of steps; each answer is a JSON object on a line.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from tasks import TASKS


def main() -> None:
    contender, name = sys.argv[1:]
    step = importlib.import_module(f"contenders.{contender}").make(TASKS[name])
    for line in sys.stdin:
        count = int(line)
        started = time.perf_counter()
        losses = [step() for _ in range(count)]
        seconds = (time.perf_counter() - started) / count
        print(json.dumps({"seconds": seconds, "losses": losses}), flush=True)


if __name__ == "__main__":
    main()
