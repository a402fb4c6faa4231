"""What `import varigrad` takes beyond importing NumPy, measured in fresh processes by turns.

python benchmarks/import_time.py [RUNS]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from statistics import median


def milliseconds(statement: str, module: str) -> float:
    """The cumulative import time that `-X importtime` gives for a module."""
    # As installed: with compiled bytecode.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-X", "importtime", "-c", statement]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(rf"\|\s*(\d+) \| {module}$", run.stderr, re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1000


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    ours, numpys = [], []
    milliseconds("import numpy; import varigrad", "varigrad")  # compiles what is not compiled yet
    for _ in range(runs):
        numpys.append(milliseconds("import numpy", "numpy"))
        ours.append(milliseconds("import numpy; import varigrad", "varigrad"))
    print(f"numpy {median(numpys):.0f} ms; varigrad beyond it {median(ours):.0f} ms (median of {runs})")


if __name__ == "__main__":
    main()
