"""The process of one contender: takes steps when told to, and answers with the times and the losses.

    python worker.py CONTENDER TASK

The first line of output tells that the contender is imported. From then on each line of standard input is a number of
steps, and each answer is a JSON object on a line: seconds and processor time of a step, and the losses.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from tasks import task_named


def main() -> None:
    contender, name = sys.argv[1:]
    task = task_named(name)
    make = importlib.import_module(f"contenders.{contender}").make
    print(json.dumps({"imported": contender}), flush=True)
    step = None
    for line in sys.stdin:
        step = step or make(task)
        count = int(line)
        started, cpu = time.perf_counter(), time.process_time()
        losses = [step() for _ in range(count)]
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        print(json.dumps({"seconds": seconds / count, "cpu": cpu / count, "losses": losses}), flush=True)


if __name__ == "__main__":
    main()
