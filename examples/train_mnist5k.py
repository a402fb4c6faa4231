"""The command line on real images: 5000 handwritten digits, a model with conv2d layers, 96 % on held-out images.

    python examples/train_mnist5k.py

is `varigrad train mnist5k`, and a check of what came of it. It takes about a minute, and needs varigrad[all].
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "mnist5k")
        subprocess.run([sys.executable, "-m", "varigrad", "train", "mnist5k", "--out", str(out)], check=True)
        result = json.loads((out / "training.json").read_text())["test_result"]
    print(f"{result['accuracy']:.2%} of {result['rows']} held-out images are recognised")
    if result["accuracy"] < 0.96:
        raise SystemExit("that is less than the 96 % to be expected")
    return result["accuracy"]


if __name__ == "__main__":
    main()
