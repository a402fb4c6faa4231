"""Runs TensorFlow.js's own test suite against VariGrad.

npm install --prefix tests/conformance
python -m tests.conformance.run                    # everything
python -m tests.conformance.run --only conv2d      # the files, or specs, whose name matches
python -m tests.conformance.run --self-test        # whether the harness itself can tell right from wrong
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from .report import EXCLUDED, FAILED, MISSING, PENDING, Outcome, Report, kind_of

HERE = Path(__file__).parent
LOADING_SECONDS = 120  # for the processes to start, and a file to load


class Exclusions:
    """The reviewed list of specs that are not run."""

    def __init__(self, path: Path) -> None:
        entries = tomllib.loads(path.read_text()).get("exclude", [])
        self._files = {entry["file"]: entry["reason"] for entry in entries if "specs" not in entry}
        self._specs: dict[str, dict[str, str]] = {}
        for entry in entries:
            for name in entry.get("specs", []):
                self._specs.setdefault(entry["file"], {})[name] = entry["reason"]
        self.unused = set(self._files) | {(file, name) for file, names in self._specs.items() for name in names}

    def wire(self, file: str) -> bool | list[str]:
        """What Node is told: true for the whole file, or names."""
        return True if file in self._files else list(self._specs.get(file, {}))

    def reason(self, file: str, name: str) -> str | None:
        """Why the spec is excluded; None if it isn't."""
        self.unused.discard(file)
        self.unused.discard((file, name))
        return self._files.get(file) or self._specs.get(file, {}).get(name)


class Worker:
    """One Python process with one Node process, which run file after file."""

    def __init__(self, trace: bool) -> None:
        self.log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed by stop)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        if trace:
            environment["VARIGRAD_TRACE"] = "1"
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.bridge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if trace else self.log,
            text=True,
            start_new_session=True,
            env=environment,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def give(self, job: dict[str, Any]) -> None:
        """Starts a file."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def event(self, seconds: float) -> dict[str, Any]:
        """The next event.

        Raises:
            TimeoutError: nothing came.
            EOFError: the process ended; the message is the end of its log.
        """
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"timed out after {seconds:g} s") from None
        if line is None:
            self.log.seek(0)
            raise EOFError("the process ended: " + self.log.read()[-1000:].strip())
        return json.loads(line)

    def stop(self) -> None:
        """Ends both processes."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.log.close()


class Run:
    """Works through the files with several workers."""

    def __init__(
        self, files: Sequence[str], only: str, exclusions: Exclusions, trace: bool, spec_seconds: float
    ) -> None:
        self._files: queue.SimpleQueue[str] = queue.SimpleQueue()
        for file in files:
            self._files.put(file)
        self._only = only
        self._exclusions = exclusions
        self._trace = trace
        self._spec_seconds = spec_seconds
        self._lock = threading.Lock()
        self.outcomes: list[Outcome] = []
        self.suite_failures: list[str] = []

    def work(self) -> None:
        """One worker's share."""
        worker: Worker | None = None
        try:
            while True:
                try:
                    file = self._files.get_nowait()
                except queue.Empty:
                    return
                worker = self._run_file(file, worker)
        finally:
            if worker is not None:
                worker.stop()

    def _run_file(self, file: str, worker: Worker | None) -> Worker | None:
        """Runs a file, with a new worker after each spec that hangs or kills one; returns the worker in use."""
        only = "" if re.search(self._only, file) else self._only
        names: list[str] = []
        found: dict[int, Outcome] = {}
        finished = False
        while not finished:
            worker = worker or Worker(self._trace)
            worker.give({"file": file, "done": sorted(found), "excluded": self._exclusions.wire(file), "only": only})
            running: int | None = None
            try:
                while not finished:
                    event = worker.event(LOADING_SECONDS if running is None else self._spec_seconds)
                    match event["event"]:
                        case "loaded":
                            names = _unique(event["specs"])
                        case "unloadable":
                            raise EOFError(f"{file} cannot be loaded: {event['reason']}")
                        case "started":
                            running = event["index"]
                        case "done":
                            found[event["index"]] = _outcome(file, names[event["index"]], event)
                            running = None
                        case "suite failed":
                            self.suite_failures.append(f"{file}: {event['suite']}: {event['reason']}")
                        case _:
                            finished = True
            except (TimeoutError, EOFError) as error:
                worker.stop()
                worker = None
                if running is None:  # not in a spec: nothing more can come of this file
                    self.suite_failures.append(f"{file}: {error}")
                    finished = True
                else:
                    found[running] = Outcome(file, names[running], FAILED, kind_of(str(error)), str(error))
        with self._lock:
            self._add(file, names, found, only)
        return worker

    def _add(self, file: str, names: list[str], found: dict[int, Outcome], only: str) -> None:
        for index, name in enumerate(names):
            if not re.search(only, name):
                continue
            reason = self._exclusions.reason(file, name.partition(" #")[0])
            if reason is not None:
                self.outcomes.append(Outcome(file, name, EXCLUDED, reason=reason))
            elif index in found:
                self.outcomes.append(found[index])
            else:
                self.outcomes.append(Outcome(file, name, FAILED, "not run", "the file ended before this spec"))
        if not self._trace:
            print(".", end="", flush=True)


def _unique(names: Sequence[str]) -> list[str]:
    """Names that several specs have, numbered."""
    seen: dict[str, int] = {}
    unique: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique


def _outcome(file: str, name: str, event: dict[str, Any]) -> Outcome:
    failures = event["failures"]
    if event["status"] == "missing":
        return Outcome(file, name, MISSING, reason="no " + ", no ".join(event["missing"]))
    if event["status"] == "pending":
        return Outcome(file, name, PENDING)
    if not failures:
        return Outcome(file, name, event["status"], uses=event["uses"])
    message = "\n".join(dict.fromkeys(f["message"] for f in failures))
    lines = [int(f["at"]) for f in failures if f.get("at")]
    return Outcome(file, name, FAILED, kind_of(message), message[:2000], min(lines, default=None))


def self_test() -> int:
    """Runs the specs of `selftest/`, whose names begin with what must come of them."""
    exclusions = Exclusions(HERE / "exclusions.toml")
    files = [f"selftest/{path.name}" for path in sorted((HERE / "selftest").glob("*_test.js"))]
    run = Run(files, "", exclusions, trace=False, spec_seconds=5)
    run.work()
    wrong = [f"{o.name}: {_came_of(o)}: {o.reason}" for o in run.outcomes if not o.name.startswith(f"[{_came_of(o)}]")]
    print(f"\n{len(run.outcomes)} specs of the harness itself, {len(wrong)} with another outcome than they name")
    print(*wrong, *run.suite_failures, sep="\n")
    return 1 if wrong or run.suite_failures or not run.outcomes else 0


def _came_of(outcome: Outcome) -> str:
    return f"{outcome.status}: {outcome.kind}" if outcome.kind else outcome.status


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="files, or full spec names, that match")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: one a core)")
    parser.add_argument("--report", type=Path, default=HERE, metavar="FOLDER", help="where the report goes")
    parser.add_argument("--at-least", type=float, default=100.0, metavar="PERCENT", help="pass rate for exit code 0")
    parser.add_argument("--spec-seconds", type=float, default=60, help="stops a spec that takes longer (default: 60)")
    parser.add_argument("--trace", action="store_true", help="prints each call as Python; one job")
    parser.add_argument("--self-test", action="store_true", help="runs the harness's own specs instead")
    options = parser.parse_args()

    modules = Path(os.environ.get("VARIGRAD_NODE_MODULES") or HERE / "node_modules")
    dist = modules / "@tensorflow" / "tfjs-core" / "dist"
    if not shutil.which("node") or not dist.is_dir() or not (modules / "jasmine-core").is_dir():
        print("needs Node 20 and the suite: npm install --prefix tests/conformance", file=sys.stderr)
        return 2
    started = subprocess.run([sys.executable, "-c", "import varigrad"], capture_output=True, text=True, check=False)
    if started.returncode:
        print("varigrad cannot be imported:", started.stderr, sep="\n", file=sys.stderr)
        return 2
    if options.self_test:
        return self_test()
    return suite(dist, options)


def suite(dist: Path, options: argparse.Namespace) -> int:
    """Runs TensorFlow.js's specs and writes the report."""
    files = sorted(str(path.relative_to(dist)) for path in dist.rglob("*_test.js"))
    if chosen := [file for file in files if re.search(options.only, file)]:
        files = chosen
    files.sort(key=lambda file: -(dist / file).stat().st_size)  # the long ones first

    started = time.monotonic()
    exclusions = Exclusions(HERE / "exclusions.toml")
    run = Run(files, options.only, exclusions, options.trace, options.spec_seconds)
    workers = [threading.Thread(target=run.work) for _ in range(1 if options.trace else min(options.jobs, len(files)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print()
    report = Report(run.outcomes, time.monotonic() - started)
    report.write(options.report)
    print(report.summary())
    for failure in run.suite_failures:
        print("outside a spec:", failure)
    if not options.only and exclusions.unused:
        print("exclusions that match no spec:", *sorted(map(str, exclusions.unused)), sep="\n  ")
        return 1
    return 0 if report.pass_rate >= options.at_least and not run.suite_failures else 1


if __name__ == "__main__":
    sys.exit(main())
