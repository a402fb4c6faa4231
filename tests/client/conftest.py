"""What the client's tests share: Node, and where its packages are.

They need Node and the packages of package.json: run `npm install` in this folder, or name a folder of installed
packages in the environment variable VARIGRAD_NODE_MODULES. Without them the tests are skipped, unless
VARIGRAD_REQUIRE_NODE is set.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PACKAGES = Path(os.environ.get("VARIGRAD_NODE_MODULES") or HERE / "node_modules")
NODE = shutil.which("node")


def pytest_collection_modifyitems(items):
    if os.environ.get("VARIGRAD_REQUIRE_NODE"):
        return
    reason = None
    if NODE is None:
        reason = "Node is not installed"
    elif not (PACKAGES / "@tensorflow" / "tfjs" / "package.json").is_file():
        reason = f"@tensorflow/tfjs is not in {PACKAGES}; run npm install in tests/client or set VARIGRAD_NODE_MODULES"
    if reason is not None:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=reason))


def run_node(script, *arguments, given=""):
    finished = subprocess.run(
        [NODE or "node", str(HERE / script), *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NODE_PATH": str(PACKAGES)},
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="session")
def node():
    """Runs a script of this folder in Node and returns what it prints."""
    return run_node
