"""TensorFlow.js in a Node process beside this one: a line of JSON a call, over its standard input and output."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PACKAGES = Path(os.environ.get("VARIGRAD_NODE_MODULES") or HERE.parent / "client" / "node_modules")

_PATIENCE = 20  # seconds, in which a case is worked out thousands of times

_DTYPES = {"float32": np.float32, "int32": np.int32, "bool": np.bool_, "complex64": np.complex64}


class TensorFlowJSError(Exception):
    """An error that TensorFlow.js raised."""


def missing() -> str | None:
    """What TensorFlow.js lacks to run here, if anything."""
    if shutil.which("node") is None:
        return "Node is not installed"
    if not (PACKAGES / "@tensorflow" / "tfjs" / "package.json").is_file():
        return f"@tensorflow/tfjs is not in {PACKAGES}; run npm install in tests/client or set VARIGRAD_NODE_MODULES"
    return None


class TensorFlowJS:
    """A process that runs TensorFlow.js's functions on its CPU backend."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            ["node", str(HERE / "tensorflow.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "NODE_PATH": str(PACKAGES)},
        )

    def __enter__(self) -> TensorFlowJS:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def call(self, name: str, args: Sequence[Any], options: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """What a function returns, named as it names them, in snake_case; by number where it returns a list."""
        response = self._exchange({"name": name, "args": _encode(args), "options": _encode(options)})
        return {key: _decode(tensor) for key, tensor in response["outputs"]}

    def gradients(
        self, name: str, args: Sequence[Any], options: dict[str, Any], positions: Sequence[int], dy: Any
    ) -> list[np.ndarray[Any, Any]]:
        """The gradients of its first output for the arguments at these positions."""
        wanted = {"positions": list(positions), "dy": _encode(dy)}
        request = {"name": name, "args": _encode(args), "options": _encode(options), "gradients": wanted}
        return [_decode(tensor) for tensor in self._exchange(request)["gradients"]]

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], _PATIENCE)[0]:
            self._process.kill()
            self._process.communicate()
            self._start()
            raise TensorFlowJSError(f"no answer in {_PATIENCE} s")
        response = json.loads(self._process.stdout.readline())
        if "error" in response:
            raise TensorFlowJSError(response["error"])
        return response


def _encode(value: Any) -> Any:
    """Arrays, and the numbers that JSON cannot write, as objects with the key `"$"`."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        data = value.ravel().tolist() if value.dtype.kind == "O" else base64.b64encode(value.tobytes()).decode()
        dtype = "string" if value.dtype.kind == "O" else value.dtype.name
        return {"$": "tensor", "dtype": dtype, "shape": list(value.shape), "data": data}
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"$": "number", "name": {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]}
    return value


def _decode(tensor: dict[str, Any]) -> np.ndarray[Any, Any]:
    if tensor["dtype"] == "string":
        array = np.empty(len(tensor["data"]), object)
        array[:] = tensor["data"]
    else:
        array = np.frombuffer(base64.b64decode(tensor["data"]), _DTYPES[tensor["dtype"]])
    return array.reshape(tensor["shape"])
