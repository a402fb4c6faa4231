"""What `import varigrad` takes beyond importing NumPy, measured in fresh processes by turns.

python benchmarks/import_time.py [RUNS]
"""

from __future__ import annotations

import re
import subprocess
import sys
from statistics import median


def milliseconds(statement: str, module: str) -> float:
    """The cumulative import time that `-X importtime` gives for a module."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", statement], capture_output=True, text=True, check=True
    )
    found = re.search(rf"\|\s*(\d+) \| {module}$", run.stderr, re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1000


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    ours, numpys = [], []
    for _ in range(runs):
        numpys.append(milliseconds("import numpy", "numpy"))
        ours.append(milliseconds("import numpy; import varigrad", "varigrad"))
    print(f"numpy {median(numpys):.0f} ms; varigrad beyond it {median(ours):.0f} ms (median of {runs})")


if __name__ == "__main__":
    main()
