"""The Python side of the bridge: starts Node, and calls VariGrad for it.

Run by `run.py`, which writes jobs to this process's standard input, one line each, and reads events from its standard
output. Node and this process talk over two pipes, one message at a time: whoever asks waits for the answer, and while
waiting answers what the other side asks in turn. So a JavaScript function passed to VariGrad runs in the middle of the
call that it was passed to.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import varigrad as vg
from varigrad.observe import OBSERVERS
from varigrad.tape import Tape
from varigrad.tensor import registered_variables

from .handles import Handles
from .names import to_snake
from .values import UNDEFINED, Codec, as_stored

HERE = Path(__file__).parent

# The errors that DESIGN §6 allows; any other class is a failure of the spec that meets it.
_PROPER_ERRORS = (ValueError, TypeError, vg.VariGradError)

# TensorFlow.js tidies up after the functions it is given, except after those that it only reports on. After `tidy`'s,
# VariGrad does so itself.
_LEAVES_TENSORS = {"tidy", "profile", "time"}

# The requests that use VariGrad; the others are about the harness.
_USES = {"call", "new", "static", "method", "invoke", "get", "runKernel"}

# Methods that read a tensor's values as nested lists.
_READS_NESTED = {"array", "array_sync"}


class MissingName(Exception):
    """VariGrad has no such function, method or argument."""


class JavaScriptError(Exception):
    """An error that a JavaScript function threw; JavaScript keeps it under this number."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


class Bridge:
    """Answers JavaScript's requests."""

    def __init__(self, read_from: int, write_to: int, events: Any) -> None:
        self._read_from = os.fdopen(read_from, "rb")
        self._write_to = os.fdopen(write_to, "wb")
        self._events = events
        self._handles = Handles()
        self._codec = Codec(self._handles, self._call_back)
        self._scopes: list[Any] = []
        self._errors: dict[int, Exception] = {}
        self._tidies_up = [True]  # whether functions passed to the call in progress leave nothing behind
        self._spec_mark = 0
        self._uses = 0  # requests of the spec that used VariGrad
        self._trace = bool(os.environ.get("VARIGRAD_TRACE"))

    # Messages

    def serve(self) -> dict[str, Any] | None:
        """Answers requests until an answer to a question of ours comes, or the other side ends."""
        while True:
            header = self._read_from.read(4)
            if len(header) < 4:
                return None
            message = json.loads(self._read_from.read(struct.unpack("<I", header)[0]))
            if "answer" in message:
                return message
            self._write(self._respond(message))

    def _write(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, allow_nan=False).encode()
        self._write_to.write(struct.pack("<I", len(data)) + data)
        self._write_to.flush()

    def _respond(self, message: dict[str, Any]) -> dict[str, Any]:
        promised = False
        self._uses += message["do"] in _USES
        try:
            value = getattr(self, "_do_" + to_snake(message["do"]))(**message.get("with", {}))
            if inspect.iscoroutine(value):
                promised = True
                value = _finish(value)
            if message.get("nested") and self._is_nested_read(message):
                value = as_stored(value)
            response = {"value": self._codec.encode(value)}
        except MissingName as error:
            response = {"missing": str(error)}
        except JavaScriptError as error:
            response = {"thrown": error.number}
        except Exception as error:
            response = {"error": self._describe(error)}
        if promised:
            response["promised"] = True
        return response

    def _is_nested_read(self, message: dict[str, Any]) -> bool:
        return to_snake(message["with"]["name"]) in _READS_NESTED

    def _describe(self, error: Exception) -> dict[str, Any]:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [f for f in frames if f"{os.sep}varigrad{os.sep}" in f.filename]
        where = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else ""
        number = len(self._errors)
        # A traceback holds the frames' tensors; drop it, or they count as alive.
        seen: BaseException | None = error
        while seen is not None:
            seen.__traceback__ = None
            seen = seen.__cause__ or seen.__context__
        self._errors[number] = error
        return {
            "id": number,
            "class": type(error).__name__,
            "message": str(error),
            "where": where,
            "proper": isinstance(error, _PROPER_ERRORS),
        }

    def _call_back(self, number: int, args: tuple[Any, ...]) -> Any:
        """Calls a JavaScript function."""
        tidies_up = self._tidies_up[-1]
        mark = self._handles.mark()
        self._write({"call": number, "args": [self._codec.encode(arg) for arg in args]})
        message = self.serve()
        if message is None:
            raise EOFError("Node ended in the middle of a function")
        try:
            if "value" in message:
                return self._codec.decode_result(message["value"])
            if "error" in message:
                raise self._errors[message["error"]]
            raise JavaScriptError(message["thrown"], message["message"])
        finally:
            if tidies_up:
                self._handles.let_go(mark)

    # Requests about VariGrad

    def _do_call(self, path: list[str], args: list[Any]) -> Any:
        """`tf.a.b(…)` is `vg.a.b(…)`."""
        name = ".".join(["vg", *[to_snake(part) for part in path]])
        target: Any = vg
        for part in path:
            target = getattr(target, to_snake(part), None)
        if not callable(target):
            raise MissingName(name)
        return self._apply(name, target, args)

    def _do_new(self, name: str, args: list[Any]) -> Any:
        """`new tf.Foo(…)` is `vg.Foo(…)`, or `vg.train.Foo(…)`."""
        return self._apply(f"vg.{name}", self._class(name), args)

    def _do_static(self, cls: str, name: str, args: list[Any]) -> Any:
        target = getattr(self._class(cls), to_snake(name), None)
        if target is None:
            raise MissingName(f"vg.{cls}.{to_snake(name)}")
        return self._apply(f"vg.{cls}.{to_snake(name)}", target, args) if callable(target) else target

    def _class(self, name: str) -> Any:
        target = getattr(vg, name, None) or getattr(vg.train, name, None)
        if target is None:
            raise MissingName(f"vg.{name}")
        return target

    def _do_method(self, of: int, name: str, args: list[Any]) -> Any:
        """`x.foo(…)`."""
        if name == "dispose" and not self._handles.is_alive(of):
            return None
        owner = self._handles[of]
        label = f"{type(owner).__name__}.{to_snake(name)}"
        target = getattr(owner, to_snake(name), None)
        if target is None:
            raise MissingName(label)
        return self._apply(label, target, args)

    def _do_invoke(self, of: int, args: list[Any]) -> Any:
        """A call of a function that VariGrad returned."""
        return self._apply("a returned function", self._handles[of], args)

    def _do_get(self, of: int, name: str) -> Any:
        owner = self._handles[of]
        try:
            return getattr(owner, to_snake(name))
        except AttributeError:
            raise MissingName(f"{type(owner).__name__}.{to_snake(name)}") from None

    def _do_set(self, of: int, name: str, value: Any) -> None:
        setattr(self._handles[of], to_snake(name), self._codec.decode(value))

    def _apply(self, name: str, target: Callable[..., Any], wire_args: list[Any]) -> Any:
        args = [self._codec.decode(arg) for arg in wire_args]
        while args and args[-1] is UNDEFINED:
            args.pop()
        if any(isinstance(arg, str) and arg == "string" for arg in args):
            args = [_strings(arg) for arg in args]
        parameters = _parameters(target)
        keywords = self._options(args, parameters)
        _leave_out_nulls(args, keywords, parameters)
        while args and args[-1] is UNDEFINED:
            args.pop()
        if any(arg is UNDEFINED for arg in args):
            args, keywords = _skip_undefined(args, keywords, parameters)
        if parameters is not None:
            try:
                inspect.signature(target).bind(*args, **keywords)
            except TypeError as error:
                if str(error).startswith("missing a required argument") and parameters.keys() >= keywords.keys():
                    raise TypeError(f"{name}: {error}") from None  # the caller's fault, as in any call in Python
                raise MissingName(f"argument of {name}: {error}") from None
        if self._trace:
            given = [*map(repr, args), *[f"{k}={v!r}" for k, v in keywords.items()]]
            print(f"{'  ' * len(self._tidies_up)}{name}({', '.join(given)})", file=sys.stderr, flush=True)
        self._tidies_up.append(name.rpartition(".")[2] not in _LEAVES_TENSORS)
        try:
            result = target(*args, **keywords)
        finally:
            self._tidies_up.pop()
        if name == "vg.keep":
            self._handles.keep(result)
        return result

    def _options(self, args: list[Any], parameters: dict[str, inspect.Parameter] | None) -> dict[str, Any]:
        """Takes an options object off the arguments: a last object that has a parameter's name among its keys."""
        if not args or not isinstance(args[-1], dict) or parameters is None:
            return {}
        options = {to_snake(key): value for key, value in args[-1].items() if value is not UNDEFINED}
        if not any(key in parameters for key in options):
            return {}
        args.pop()
        return options

    # Requests about the engine and the harness

    def _do_start_scope(self) -> None:
        scope = vg.tidy()
        scope.__enter__()
        self._scopes.append(scope)

    def _do_end_scope(self) -> None:
        if self._scopes:
            self._scopes.pop().__exit__(None, None, None)

    def _do_reset(self) -> None:
        while self._scopes:
            self._do_end_scope()
        vg.dispose_variables()

    def _do_dispose_variables(self) -> None:
        vg.dispose_variables()

    def _do_is_tape_on(self) -> bool:
        return any(isinstance(observer, Tape) for observer in OBSERVERS.get())

    def _do_run_kernel(self, name: str, inputs: Any, attrs: Any) -> Any:
        given = self._codec.decode(inputs)
        tensors = tuple(given.values() if isinstance(given, dict) else given)
        attributes = {to_snake(key): value for key, value in (self._codec.decode(attrs) or {}).items()}
        return vg.run_kernel(name, tensors, attributes)

    def _do_registered_variables(self) -> Any:
        return {variable.name: variable for variable in registered_variables()}

    def _do_is_disposed(self, of: int) -> bool:
        return not self._handles.is_alive(of) or self._handles[of].is_disposed

    def _do_data_id(self, of: int) -> int:
        """A number for the memory behind a tensor: tensors that share it have the same."""
        array = self._handles[of].storage
        while isinstance(array.base, type(array)):
            array = array.base
        return id(array)

    def _do_members(self) -> dict[str, list[str]]:
        """What tensors and variables have, for JavaScript's classes to have the same."""
        return {"Tensor": dir(vg.Tensor), "Variable": dir(vg.Variable)}

    def _do_snake(self, names: list[str]) -> list[str]:
        return [to_snake(name) for name in names]

    def _do_next_job(self) -> Any:
        line = sys.stdin.readline()
        self._do_reset()
        self._handles.forget()
        return json.loads(line) if line else None

    def _do_event(self, event: dict[str, Any]) -> None:
        self._events.write(json.dumps(event) + "\n")
        self._events.flush()

    def _do_spec_started(self, event: dict[str, Any]) -> None:
        self._spec_mark = self._handles.mark()
        self._uses = 0
        self._do_event(event)

    def _do_spec_done(self, event: dict[str, Any]) -> None:
        self._handles.forget(self._spec_mark)
        self._errors.clear()
        gc.collect()
        self._do_event({**event, "uses": self._uses})


def _finish(coroutine: Any) -> Any:
    """Runs a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    raise RuntimeError("a coroutine of VariGrad waits for something outside it")


def _parameters(target: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        return None


def _leave_out_nulls(
    args: list[Any], keywords: dict[str, Any], parameters: dict[str, inspect.Parameter] | None
) -> None:
    """Takes null for an argument left out, which is what TensorFlow.js takes it for, where the default is another."""
    optional = [p.name for p in (parameters or {}).values() if p.default not in (None, p.empty)]
    for position, name in enumerate(parameters or {}):
        if name in optional and position < len(args) and args[position] is None:
            args[position] = UNDEFINED
        if name in optional and name in keywords and keywords[name] is None:
            del keywords[name]


def _skip_undefined(
    args: list[Any], keywords: dict[str, Any], parameters: dict[str, inspect.Parameter] | None
) -> tuple[list[Any], dict[str, Any]]:
    """Passes what follows a left-out argument by name."""
    first = next(i for i, arg in enumerate(args) if arg is UNDEFINED)
    names = list(parameters or {})[first:]
    named = {name: arg for name, arg in zip(names, args[first:]) if arg is not UNDEFINED}
    return args[:first], named | keywords


def _strings(value: Any) -> Any:
    """Bytes for the `Uint8Array`s in which TensorFlow.js takes encoded strings."""
    if isinstance(value, list):
        return [_strings(item) for item in value]
    if hasattr(value, "dtype") and not isinstance(value, vg.Tensor) and value.dtype == "uint8":
        return value.tobytes()
    return value


def main() -> None:
    """Starts Node and serves it until it ends."""
    events = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what VariGrad and Node print goes to the log
    to_node, to_python = os.pipe(), os.pipe()
    environment = {
        **os.environ,
        "VARIGRAD_READ_FROM": str(to_node[0]),
        "VARIGRAD_WRITE_TO": str(to_python[1]),
        "VARIGRAD_NODE_MODULES": os.environ.get("VARIGRAD_NODE_MODULES") or str(HERE / "node_modules"),
    }
    node = subprocess.Popen(
        ["node", "--no-warnings", str(HERE / "node" / "main.mjs")],
        pass_fds=(to_node[0], to_python[1]),
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    os.close(to_node[0])
    os.close(to_python[1])
    gc.collect()
    gc.freeze()  # what is loaded by now is looked through neither by the collector nor by vg.memory
    Bridge(to_python[0], to_node[1], events).serve()
    sys.exit(node.wait())


if __name__ == "__main__":
    main()
