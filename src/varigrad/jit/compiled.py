"""A function that runs as it is written the first time, and compiled from then on: what `vg.jit` makes."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar, cast

from varigrad.engine import NO_ATTRS
from varigrad.jit.capture import Capture
from varigrad.jit.collection import collection_paused
from varigrad.jit.differentiation import Together
from varigrad.jit.errors import JitError
from varigrad.jit.graph import HOST, owners
from varigrad.jit.guards import Guards, changes
from varigrad.jit.passes import PASSES, optimize
from varigrad.jit.quick import MISS, QuickCall, never, quick_call
from varigrad.jit.record import Record
from varigrad.jit.signature import describe, flatten, replaced, untouched
from varigrad.jit.straight_line import Stale
from varigrad.jit.surroundings import Surroundings, look_around
from varigrad.jit.trace import Trace, variable_places
from varigrad.jit.trials import compared
from varigrad.observe import OBSERVERS, Observer, observing
from varigrad.scopes import dispose
from varigrad.tape import Tape
from varigrad.tensor import Tensor, Variable

__all__ = ["CompiledFunction"]

P = ParamSpec("P")
R = TypeVar("R")


class CompiledFunction(Generic[P, R]):
    """What `vg.jit` returns: called like the function that it was made of, which is its `function`.

    One that is `lenient` runs as it is written where it cannot be compiled, without an error or a warning; `refusal`
    says why. That call counts, too: nothing is run twice.
    """

    def __init__(
        self, function: Callable[P, R], check: bool = False, executor: str | None = None, lenient: bool = False
    ) -> None:
        self.function = function
        self.check = check
        self.executor = executor
        self.lenient = lenient
        functools.update_wrapper(cast("Any", self), function)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._record = Record(self._name, lenient)
        self._lock = threading.RLock()
        together = functools.partial(CompiledFunction[..., Any], executor=executor, lenient=True)
        self._together = Together(function, together)
        self._quick: QuickCall = never  # that of the trace that ran last

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        observers = OBSERVERS.get()
        if not observers:
            result = self._quick(args, kwargs)
            if result is not MISS:
                return result
        return self._call(args, kwargs, observers)

    def _call(self, args: Any, kwargs: Any, observers: Sequence[Observer]) -> R:
        """The usual way: by the key of the arguments to the trace for it, or to a new one."""
        function: Any = self.function
        if observers and _see_inside(observers):
            return function(*args, **kwargs)
        leaves: list[Any] = []
        objects: list[Any] = []
        key = flatten(args, kwargs, leaves, objects)
        if observers and not self.check:
            result = self._together.call(observers, args, kwargs, key, leaves)
            if result is not MISS:
                return result
        for trace in self._record.traces.get(key, ()):
            if trace.guards.hold() and (not trace.known or trace.knows(leaves)):
                if observers and any(_is_watching(o, leaves, trace.variables) for o in observers):
                    return function(*args, **kwargs)
                try:
                    return self._run(trace, args, kwargs, leaves, observers)
                except Stale:
                    with self._lock:
                        self._quick = never
                        self._record.remove(key, trace)
                    break
        if observers and any(isinstance(o, Tape) for o in observers):
            return function(*args, **kwargs)
        with self._lock:
            # Another thread may have compiled it meanwhile.
            if not any(trace.guards.hold() and trace.knows(leaves) for trace in self._record.traces.get(key, ())):
                return self._trace(args, kwargs, key, leaves, objects)
        return self._call(args, kwargs, observers)

    def outside(self) -> list[Tensor]:
        """The tensors made outside that the function reads, as far as it was compiled."""
        return [tensor for traces in self._record.traces.values() for trace in traces for tensor in trace.outside]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A compiled method: each object has compilations of its own."""
        if instance is None or isinstance(self.function, staticmethod):
            return self
        attributes = getattr(instance, "__dict__", {})  # where it is kept, as long as the object
        place = f"_compiled_{self._name}_{id(self):x}"  # a subclass may have another method of the name
        bound = attributes.get(place)
        if bound is None:
            bound = CompiledFunction(MethodType(self.function, instance), self.check, self.executor)
            if isinstance(instance, type):  # the attributes of a class, below @classmethod, are set by itself alone
                setattr(instance, place, bound)
            else:
                bound = attributes.setdefault(place, bound)
        return bound

    def __reduce__(self) -> Any:
        if isinstance(self.function, MethodType):
            return getattr, (self.function.__self__, self._name)
        path: str = getattr(self.function, "__qualname__", "")  # not every callable has one
        found: Any = sys.modules.get(self.function.__module__)
        for name in path.split("."):
            found = getattr(found, name, None)
        settings = (self.check, self.executor, self.lenient)
        return path if found is self else (CompiledFunction, (self.function, *settings))

    # Running

    def _run(
        self,
        trace: Trace,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        leaves: Sequence[Any],
        observers: Sequence[Observer],
    ) -> Any:
        if not (observers or self.check):
            if trace.quick is None:
                trace.quick = quick_call(trace, args, kwargs, leaves)
            self._quick = trace.quick
            if not trace.updates:
                return trace.build([Tensor(array) for array in trace.program(leaves)], leaves)
            with trace.lock:
                return trace.build([Tensor(array) for array in trace.program(leaves)], leaves)
        if self.check:
            with trace.lock:
                return compared(self._name, trace.program, trace.build, leaves, lambda: self.function(*args, **kwargs))
        started = perf_counter_ns()
        if trace.updates:
            with trace.lock:
                for observer in observers:
                    observer.updating("CompiledFunction", trace.targets, (), NO_ATTRS, ())
                arrays = trace.program(leaves)
        else:
            arrays = trace.program(leaves)
        outputs = [Tensor(array) for array in arrays]
        if outputs:
            given = tuple([leaf for leaf in leaves if isinstance(leaf, Tensor)])
            for observer in observers:
                observer.ran("CompiledFunction", given, NO_ATTRS, tuple(outputs), perf_counter_ns() - started)
        return trace.build(outputs, leaves)

    # Compiling

    def _trace(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], key: Any, leaves: list[Any], objects: list[Any]
    ) -> Any:
        """Runs the function as it is written, and writes down what it does, and compiles it, if that may pay."""
        if key in self._record.left_alone:
            return self.function(*args, **kwargs)  # pyright: ignore[reportCallIssue]
        if not self._record.pays(key, leaves):
            return self._as_written(args, kwargs, key, leaves)
        reason = self._record.reason(key, leaves)
        try:
            before = look_around(self.function, objects)
        except JitError as error:
            self._record.leave_alone(key, error)
            return self.function(*args, **kwargs)  # pyright: ignore[reportCallIssue]
        labels = _labels(self.function, args, kwargs, len(leaves))
        capture = Capture(self._name, leaves, labels, self.lenient, before.asks_types)
        given, named = replaced(args, kwargs, capture.stand_ins)
        try:
            with observing(capture):
                result = self.function(*given, **named)  # pyright: ignore[reportCallIssue]
        finally:
            dispose([leaves[position] for position in capture.disposed])
        try:
            if capture.refusal is not None:
                raise JitError(capture.refusal)
            self._check_untouched((given, named), (args, kwargs), capture.stand_ins)
            with collection_paused():
                return self._compile(capture, result, before, reason, key, leaves, objects)
        except Exception as error:  # whatever it is, the function has run
            self._record.leave_alone(key, error)
            return result

    def _compile(
        self,
        capture: Capture,
        result: Any,
        before: Surroundings,
        reason: str,
        key: Any,
        leaves: list[Any],
        objects: list[Any],
    ) -> Any:
        """Makes a program of what a call did, and returns what the call gave."""
        graph, build = capture.finish(result)
        after = look_around(self.function, objects, before)
        unfit = capture.unfit + [f"it changes {change}" for change in changes(before, after)]
        if any(after.hosts.isdisjoint(map(id, owners(node))) for node in graph.nodes if node.kernel == HOST):
            unfit.append(
                "it trains with an optimizer that it makes itself, or reaches in a way that cannot be followed"
            )
        if unfit:
            self._record.give_up_later(key, unfit)
        else:
            guards = Guards(after.with_vouched_of(before), variable_places(capture.variables.values()))
            known = {position: leaves[position] for position in sorted(capture.numbers.looked_at)}
            number = self.compilations + 1
            trace = Trace(graph, build, guards, known, objects, self.executor, number)
            self._record.add(key, trace, reason, after.asked)
        return build(capture.output_tensors, leaves)

    def _as_written(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], key: Any, leaves: list[Any]) -> Any:
        """Runs the function for a call that may never come again: as it is written, but of arrays as tensors."""
        given, named = replaced(args, kwargs, leaves)
        result = self.function(*given, **named)  # pyright: ignore[reportCallIssue]
        try:
            self._check_untouched((given, named), (args, kwargs), leaves)
        except JitError as error:
            self._record.leave_alone(key, error)
        return result

    def _check_untouched(self, given: Any, original: Any, leaves: Sequence[Any]) -> None:
        """Raises an error if the function has changed a container that it was given, made of these leaves."""
        if not untouched(given, original, iter(leaves)):
            raise JitError(
                f"jit: {self._name} changes a list, dict or dataclass that it is given, of which a compiled "
                "function has a copy; return what is new"
            )

    # Looking inside

    @property
    def compilations(self) -> int:
        """How often the function was compiled."""
        return self._record.compilations

    @property
    def refusal(self) -> str | None:
        """Why a lenient one is not compiled, if it is not."""
        return self._record.refusal

    def explain(self) -> str:
        """Why the function was compiled each time, and what became of it.

        >>> import varigrad as vg
        >>> double = vg.jit(lambda x: x + x)
        >>> _ = double(vg.tensor([1, 2])), double(vg.tensor([1, 2, 3]))
        >>> print(double.explain())
        <lambda> was compiled 2 times:
          1. the first call, with (float32[2])
          2. other arguments: (float32[3])
        """
        lines = self._record.explanation()
        lines += [f"with {describe(key)} it was compiled together with its gradients" for key in self._together.kinds()]
        return "\n".join(lines)

    def graph(self, after: str | None = None) -> str:
        """The graph of the latest compilation as text: as it is run, or after one of the passes.

        Args:
            after: `"capture"`, for the graph before all passes; the name of a pass in `varigrad.jit.passes.PASSES` or,
                of machine code, in `varigrad.backends.native.arrangement.ARRANGEMENTS`; or `"fusion"`, for what machine
                code does in one pass over memory, what of it stays in registers, and what is updated in place.

        >>> import varigrad as vg
        >>> double = vg.jit(lambda x: x + x * 1)
        >>> _ = double(vg.tensor([1, 2]))
        >>> print(double.graph())  # doctest: +ELLIPSIS
        <lambda>:
          %0 = argument x: float32 [2]
          %1: float32 [2] = Add(%0, %0)    # ...
          return %1
        """
        trace = self._record.latest()
        if after is None:
            return str(trace.program.graph)
        if after == "capture":
            return str(trace.captured)
        if after in PASSES:
            return str(optimize(trace.captured, after))
        if after == "fusion":
            return self._shown("native", "fusion")()
        from varigrad.backends.native.arrangement import ARRANGEMENTS, arrange  # where there is machine code alone

        if after not in ARRANGEMENTS:
            names = ", ".join([repr(name) for name in ("capture", *PASSES, *ARRANGEMENTS)])
            raise ValueError(f"graph: after must be {names} or 'fusion', got {after!r}")
        return str(arrange(optimize(trace.captured), after))

    def source(self) -> str:
        """The Python that runs in place of this function, of the latest compilation by the executor `"numpy"`."""
        return self._shown("numpy", "source")

    def memory_plan(self) -> str:
        """Where intermediate values lie in one arena, and while which parts of the latest compilation.

        These are nodes of `graph()` for the executor `"numpy"`, and for machine code steps of `graph("fusion")`.

        >>> import varigrad as vg
        >>> f = vg.jit(lambda x: vg.exp(vg.sin(vg.cos(x))).sum(), executor="numpy")
        >>> _ = f(vg.zeros([1024]))
        >>> print(f.memory_plan())
        arena of 8,192 bytes for 12,288
                   0  %1: float32 [1024], nodes 0 to 1
                4096  %2: float32 [1024], nodes 1 to 2
                   0  %3: float32 [1024], nodes 2 to 3
        """
        return self._record.latest().program.memory_plan()

    def ir(self) -> str:
        """The text in LLVM's language of the latest compilation by the executor `"native"`."""
        return self._shown("native", "ir")()

    def asm(self) -> str:
        """The assembly of the latest compilation by the executor `"native"`."""
        return self._shown("native", "asm")()

    def timeline(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Calls the function, and says how long each kernel took: in milliseconds, with the line that it comes from.

        Of a layer's kernels it names the layer, and those around it; of kernels for gradients the line alone.

        The function must have been compiled for such arguments. The call counts: variables are updated. In machine
        code several kernels run in one pass, and share its time.

        >>> import varigrad as vg
        >>> double = vg.jit(lambda x: x + x, executor="numpy")
        >>> _ = double(vg.tensor([1, 2]))
        >>> print(double.timeline(vg.tensor([3, 4])))  # doctest: +ELLIPSIS
              ms  kernel
        ...  Add    # ...
        ...  in all
        """
        leaves: list[Any] = []
        key = flatten(args, kwargs, leaves, [])
        trace = next((t for t in self._record.traces.get(key, ()) if t.guards.hold() and t.knows(leaves)), None)
        if trace is None:
            raise JitError(
                f"jit: {self._name} has not been compiled for {describe(key)} yet; call it first, and give timeline "
                "the arguments of such a call"
            )
        with trace.lock:
            _, times = trace.program.timeline(leaves)
        rows = [f"{1e3 * seconds:8.4f}  {node.kernel}    # {node.site}" for node, seconds in times]
        total = f"{1e3 * sum([seconds for _, seconds in times]):8.4f}  in all"
        return "\n".join([f"{'ms':>8}  kernel", *rows, total])

    def _shown(self, executor: str, what: str) -> Any:
        program: Any = self._record.latest().program
        if not hasattr(program, what):
            raise JitError(
                f"jit: {self._name} has no {what} by the executor that it runs with; executor={executor!r} has"
            )
        return getattr(program, what)

    def __repr__(self) -> str:
        return f"<jit {self._name}: {self.compilations} compilations>"


def _see_inside(observers: Sequence[Observer]) -> bool:
    """Whether someone wants to be told of every kernel."""
    return any(isinstance(observer, Capture) or observer.sees_inside for observer in observers)


def _is_watching(observer: Observer, leaves: Sequence[Any], variables: Sequence[Variable]) -> bool:
    return isinstance(observer, Tape) and observer.watches([x for x in leaves if isinstance(x, Tensor)], variables)


def _labels(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], count: int) -> list[str]:
    """What each leaf is called: by the parameters where each of these is one leaf."""
    try:
        names = list(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"leaf {position}" for position in range(count)]
