"""What came of each spec, and the report of it."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

PASSED, FAILED, MISSING, EXCLUDED, PENDING = "passed", "failed", "missing", "excluded", "pending"


@dataclass(frozen=True)
class Outcome:
    """One spec: where it is, its full name, and what came of it.

    `status` is `passed`; `failed`, with the reason and its kind; `missing`, where VariGrad lacks a name or argument
    that the spec uses (a failure of its own kind); `excluded`, with the reason from `exclusions.toml`; or `pending`,
    where TensorFlow.js's suite itself has switched the spec off.
    """

    file: str
    name: str
    status: str
    kind: str = ""
    reason: str = ""
    line: int | None = None
    uses: int = 0  # how often it called on VariGrad


# The kinds of failure by what their message says, the first that fits.
_KINDS = {
    "missing error": r"to throw|to be rejected",
    "improper error": r"^improper error",
    "unexpected error": r"VariGradError",
    "wrong shape": r"different shapes|different lengths|Expected (\$\S* )?\[.*\] to equal \[|Expected \$\S*length",
    "wrong dtype": r"of different type|'(float32|int32|bool|string|complex64)'",
    "wrong value": r"differ|out of range|to be close",
    "timed out": r"timed out|Timeout|did not complete",
}


def kind_of(message: str) -> str:
    """A word for a failure."""
    return next((kind for kind, pattern in _KINDS.items() if re.search(pattern, message)), "other")


def percentage(part: int, whole: int) -> float:
    """A percentage; 100 of nothing."""
    return 100 * part / whole if whole else 100.0


class Report:
    """All outcomes, and the counts."""

    def __init__(self, outcomes: Iterable[Outcome], seconds: float) -> None:
        self.outcomes = sorted(outcomes, key=lambda o: (o.file, o.name))
        self.seconds = seconds
        self.counts = Counter(o.status for o in self.outcomes)

    @property
    def counted(self) -> int:
        """How many specs count: all but the excluded and the pending ones."""
        return self.counts[PASSED] + self.counts[FAILED] + self.counts[MISSING]

    @property
    def pass_rate(self) -> float:
        """The percentage of those that count that passed."""
        return percentage(self.counts[PASSED], self.counted)

    @property
    def excluded_rate(self) -> float:
        """The percentage of all that are excluded."""
        return percentage(self.counts[EXCLUDED], self.counted + self.counts[EXCLUDED])

    def summary(self) -> str:
        """The counts, in a few lines."""
        failures = Counter(o.kind for o in self.outcomes if o.status == FAILED)
        kinds = ", ".join(f"{number} {kind}" for kind, number in failures.most_common())
        idle = sum(o.status == PASSED and not o.uses for o in self.outcomes)
        lines = [
            f"{len(self.outcomes)} specs in {self.seconds:.0f} s",
            f"  passed    {self.counts[PASSED]:5}  {self.pass_rate:.2f}% of the {self.counted} that count"
            f" ({idle} never called VariGrad)",
            f"  failed    {self.counts[FAILED]:5}  {kinds}",
            f"  missing   {self.counts[MISSING]:5}  use a name or argument that VariGrad lacks",
            f"  excluded  {self.counts[EXCLUDED]:5}  {self.excluded_rate:.2f}% of all",
            f"  pending   {self.counts[PENDING]:5}  switched off in the suite itself",
        ]
        return "\n".join(lines)

    def text(self) -> str:
        """The whole report, to be read."""
        parts = [self.summary()]
        missing: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in self.outcomes:
            if outcome.status == MISSING:
                missing[outcome.reason].append(outcome)
        if missing:
            parts.append(_heading("Missing, by name"))
            parts += [f"{len(group):5}  {reason}" for reason, group in sorted(missing.items(), key=_by_size)]
        failed = [o for o in self.outcomes if o.status == FAILED]
        if failed:
            parts.append(_heading("Failed"))
            parts += [
                f"{o.file}:{o.line or '?'}: {o.name}\n    {o.kind}: {o.reason.replace(chr(10), chr(10) + '    ')}"
                for o in failed
            ]
        idle = [o for o in self.outcomes if o.status == PASSED and not o.uses]
        if idle:
            parts.append(_heading("Passed without a call to VariGrad"))
            parts += [f"{o.file}: {o.name}" for o in idle]
        excluded: dict[tuple[str, str], int] = Counter(
            (o.reason, o.file) for o in self.outcomes if o.status == EXCLUDED
        )
        if excluded:
            parts.append(_heading("Excluded"))
            parts += [f"{number:5}  {file}: {reason}" for (reason, file), number in sorted(excluded.items())]
        return "\n".join(parts) + "\n"

    def write(self, folder: Path) -> None:
        """Writes `report.json` and `report.txt`."""
        data = {
            "counts": dict(self.counts),
            "pass_rate": self.pass_rate,
            "excluded_rate": self.excluded_rate,
            "seconds": self.seconds,
            "specs": [asdict(o) for o in self.outcomes],
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(json.dumps(data, indent=1) + "\n")
        (folder / "report.txt").write_text(self.text())


def _heading(title: str) -> str:
    return f"\n{title}\n{'-' * len(title)}"


def _by_size(item: tuple[str, list[Outcome]]) -> tuple[int, str]:
    return -len(item[1]), item[0]
