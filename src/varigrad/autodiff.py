"""Gradients of functions: `grad`, `grads`, `value_and_grad(s)`, `variable_grads`; and `stop_gradient`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import DIFFERENTIABLE, is_differentiable
from varigrad.engine import make_tensor, run_kernel
from varigrad.errors import GradientError
from varigrad.observe import OBSERVERS, observing
from varigrad.ops.arguments import TensorLike, convert, operands
from varigrad.tape import Tape
from varigrad.tensor import Tensor, Variable, format_shape, registered_variables

__all__ = [
    "ValueAndGrad",
    "ValueAndGrads",
    "VariableGrads",
    "grad",
    "grads",
    "stop_gradient",
    "value_and_grad",
    "value_and_grads",
    "variable_grads",
]


class ValueAndGrad(NamedTuple):
    """What `vg.value_and_grad` gives: a function's value and its gradient."""

    value: Tensor
    grad: Tensor


class ValueAndGrads(NamedTuple):
    """What `vg.value_and_grads` gives: a function's value and its gradient for each argument."""

    value: Tensor
    grads: list[Tensor]


class VariableGrads(NamedTuple):
    """What `vg.variable_grads` returns: a value and its gradient for each variable, by the variable's name."""

    value: Tensor
    grads: dict[str, Tensor]


class _VariableGradsWithParts(VariableGrads):
    """`VariableGrads` that unpacks into two and has `parts`: the scalars as `f` returned them."""

    parts: Any = None


def grad(f: Callable[[Any], Tensor]) -> Callable[..., Tensor]:
    """The function `g(x, dy=None)` that gives the gradient of `f` with respect to `x`, of x's shape.

    Without `dy`, the sum of the outputs of `f` is differentiated; `dy`, of the output's shape, weights them. The result
    can be differentiated again. Mirrors `tf.grad`.

    A result that depends on `x` only through integers or bools (`arg_max`, a comparison) is piecewise constant, and has
    the gradient 0. Of an integer `x` the gradient is that for the number it is.

    Raises:
        GradientError: `f` does not depend on `x`.

    >>> import varigrad as vg
    >>> vg.grad(lambda x: x.square())(vg.tensor([1, 2])).tolist()
    [2.0, 4.0]
    >>> vg.grad(vg.grad(lambda x: x**3))(vg.scalar(2.0)).item()
    12.0
    """

    def gradient(x: Any, dy: Any = None) -> Tensor:
        return _differentiate("grad", f, [x], dy).grads[0]

    _check_function("grad", f)
    return gradient


def grads(f: Callable[..., Tensor]) -> Callable[..., list[Tensor]]:
    """The function `g(args, dy=None)` that gives the gradient of `f(*args)` for each argument. Mirrors `tf.grads`.

    >>> import varigrad as vg
    >>> [g.item() for g in vg.grads(lambda a, b: a * b)([vg.scalar(2.0), vg.scalar(3.0)])]
    [3.0, 2.0]
    """

    def gradients(args: Sequence[Any], dy: Any = None) -> list[Tensor]:
        return _differentiate("grads", f, args, dy).grads

    _check_function("grads", f)
    return gradients


def value_and_grad(f: Callable[[Any], Tensor]) -> Callable[..., ValueAndGrad]:
    """Like `vg.grad`, giving `(value, grad)`. Mirrors `tf.valueAndGrad`.

    >>> import varigrad as vg
    >>> value, grad = vg.value_and_grad(lambda x: x * x)(vg.scalar(3.0))
    >>> value.item(), grad.item()
    (9.0, 6.0)
    """

    def value_and_gradient(x: Any, dy: Any = None) -> ValueAndGrad:
        value, gradients = _differentiate("value_and_grad", f, [x], dy)
        return ValueAndGrad(value, gradients[0])

    _check_function("value_and_grad", f)
    return value_and_gradient


def value_and_grads(f: Callable[..., Tensor]) -> Callable[..., ValueAndGrads]:
    """Like `vg.grads`, giving `(value, grads)`. Mirrors `tf.valueAndGrads`.

    >>> import varigrad as vg
    >>> value, grads = vg.value_and_grads(lambda a, b: a * b)([vg.scalar(2.0), vg.scalar(3.0)])
    >>> value.item(), [g.item() for g in grads]
    (6.0, [3.0, 2.0])
    """

    def value_and_gradients(args: Sequence[Any], dy: Any = None) -> ValueAndGrads:
        return _differentiate("value_and_grads", f, args, dy)

    _check_function("value_and_grads", f)
    return value_and_gradients


def _check_function(op: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"{op}: f must be a function, got {type(f).__name__}")


def _differentiate(op: str, f: Callable[..., Tensor], args: Sequence[Any], dy: Any) -> ValueAndGrads:
    if isinstance(args, Tensor) or not isinstance(args, (list, tuple)):
        raise TypeError(f"{op}: takes the arguments of f as a list, got {type(args).__name__}")
    # Fresh tensors stand for the arguments, so that an outer gradient of the same tensor keeps its own account.
    sources = [run_kernel("Identity", (convert(x, op, f"args[{i}]"),)) for i, x in enumerate(args)]
    tape = Tape(sources)
    with observing(tape):
        try:
            value = f(*sources)
        except TypeError as error:
            if _takes(f, len(sources)):
                raise
            several = "; vg.grads(f)([a, b]) differentiates for each of several" if len(sources) == 1 else ""
            raise TypeError(f"{op}: f does not take {len(sources)} arguments ({error}){several}") from error
    if not isinstance(value, Tensor):
        raise TypeError(f"{op}: f must return a tensor, got {type(value).__name__}")
    if dy is None:
        seed = _ones_like(value)
    else:
        seed = convert(dy, op, "dy")
        if seed.shape != value.shape:
            raise ValueError(
                f"{op}: dy has shape {format_shape(seed.shape)} but f returned {format_shape(value.shape)}"
            )
        if not is_differentiable(seed.storage.dtype):
            raise TypeError(f"{op}: dy must be floating, got {seed.dtype}; cast it with .cast('float32')")
        if is_differentiable(value.storage.dtype):
            seed = convert(seed, op, "dy", value.dtype)
    taken = tape.taken()
    found = tape.gradients(value, seed, sources)
    for position, gradient in enumerate(found):
        if gradient is None:
            source = sources[position]
            # It may count in a way that no gradient tells: through a comparison, or as the condition of where.
            silent = tape.broken_by or not is_differentiable(source.storage.dtype)
            if source.id not in taken or not silent:
                raise GradientError(
                    f"{op}: the result of f does not depend on argument {position}; "
                    "compute it from the arguments that f is given"
                )
            found[position] = run_kernel("ZerosLike", (_ones_like(source),))
    return ValueAndGrads(value, cast("list[Tensor]", found))


def _takes(f: Callable[..., Any], count: int) -> bool:
    """Whether a function may be called with so many arguments, as far as it tells."""
    try:
        inspect.signature(f).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not tell
        return True
    return True


def variable_grads(f: Callable[[], Any], var_list: Sequence[Variable] | None = None) -> VariableGrads:
    """The value of `f()` and its gradient with respect to variables, as `(value, grads)`.

    `grads` maps a variable's name to its gradient, of the variable's shape; a variable that the value does not depend
    on is absent. Without `var_list`, the trainable variables that `f` uses are taken; with it, those in it that are
    trainable. `f` returns a scalar; or a list, tuple or dict of scalars, which are summed, and come back as `.parts`.
    Mirrors `tf.variableGrads`.

    Raises:
        GradientError: there is no trainable variable, or the value depends on none.
        ValueError: the value is not a scalar.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0, 3.0], name="vg_example")
    >>> value, grads = vg.variable_grads(lambda: w.square().sum(), [w])
    >>> value.item(), grads["vg_example"].tolist()
    (14.0, [2.0, 4.0, 6.0])
    """
    if not callable(f):
        raise TypeError(f"variable_grads: f must be a function of no arguments, got {type(f).__name__}")
    listed = None if var_list is None else _trainable(var_list)
    tape = Tape(watch_variables=True) if listed is None else Tape(listed)
    token = OBSERVERS.set((*OBSERVERS.get(), tape))
    try:
        returned = f()
        value = _total(returned)
    finally:
        OBSERVERS.reset(token)
    sources = sorted(tape.variables.values(), key=lambda v: v.id) if listed is None else listed
    found = tape.gradients(value, _ones_like(value), sources)
    named = {v.name: g for v, g in zip(sources, found, strict=True) if g is not None}
    if not named:
        raise GradientError(_no_path(tape, var_list))
    result = _VariableGradsWithParts(value, named)
    result.parts = returned
    return result


def stop_gradient(x: TensorLike) -> Tensor:
    """The values of `x`, which gradients take for a constant.

    Of any order, and under `vg.jit` too: for targets, baselines, the weights of another network, or an estimator that
    passes a gradient straight through what has none, as below. A variable that counts through it alone is absent from
    the gradients of `vg.variable_grads`. Not in TensorFlow.js; as in TensorFlow and JAX.

    Args:
        x: Of any shape and dtype.

    Returns:
        A tensor like `x`.

    >>> import varigrad as vg
    >>> vg.grad(lambda x: x * vg.stop_gradient(x))(vg.scalar(3.0)).item()
    3.0
    >>> vg.grad(lambda x: (x + vg.stop_gradient(x.round() - x)).square())(vg.scalar(1.75)).item()
    4.0
    """
    with observing(instead_of=Tape):
        return run_kernel("Identity", (convert(x, "stop_gradient", "x"),))


def _trainable(var_list: Sequence[Variable]) -> list[Variable]:
    if not isinstance(var_list, (list, tuple)) or not var_list:
        raise ValueError("variable_grads: var_list must be a list of at least one variable")
    for position, variable in enumerate(var_list):
        if not isinstance(variable, Variable):
            raise TypeError(f"variable_grads: var_list[{position}] is a {type(variable).__name__}, not a variable")
    trainable = [v for v in var_list if v.trainable and is_differentiable(v.storage.dtype)]
    if not trainable:
        names = ", ".join(f"{v.name!r} {v.dtype}" for v in var_list)
        raise GradientError(f"variable_grads: none of the variables is trainable and floating ({names})")
    return trainable


def _total(returned: Any) -> Tensor:
    """The scalar that `f` returned, or the sum of the scalars."""
    if returned.__class__ is Tensor and not returned.storage.shape:
        return returned
    scalars = list(_scalars_in(returned))
    if not scalars:
        raise TypeError(
            f"variable_grads: f must return a scalar tensor, or a list, tuple or dict of them, "
            f"got an empty {type(returned).__name__}"
        )
    for scalar in scalars:
        if scalar.rank != 0:
            raise ValueError(
                f"variable_grads: f returned a tensor of shape {format_shape(scalar.shape)}; "
                "reduce it to a scalar, for instance with .sum() or .mean()"
            )
    total = scalars[0]
    for scalar in scalars[1:]:
        total = run_kernel("Add", operands("variable_grads", total, scalar))
    # A variable stands for the value that it has now.
    return run_kernel("Identity", (total,)) if isinstance(total, Variable) else total


def _scalars_in(returned: Any) -> Iterator[Tensor]:
    """What is to be summed, as often as it is there."""
    if isinstance(returned, Tensor):
        yield returned
    elif isinstance(returned, Mapping):
        for item in cast("Mapping[Any, Any]", returned).values():
            yield from _scalars_in(item)
    elif isinstance(returned, (list, tuple, set, frozenset)):
        for item in cast("Iterable[Any]", returned):
            yield from _scalars_in(item)
    else:
        raise TypeError(
            f"variable_grads: f must return a scalar tensor, or a list, tuple or dict of them, "
            f"got {type(returned).__name__}"
        )


def _no_path(tape: Tape, var_list: Sequence[Variable] | None) -> str:
    looked_at = [v for v in registered_variables() if v.trainable] if var_list is None else var_list
    if not looked_at:
        return "variable_grads: there are no trainable variables; make one with vg.variable"
    names = ", ".join(repr(v.name) for v in looked_at[:10])
    more = f" and {len(looked_at) - 10} more" if len(looked_at) > 10 else ""
    why = _broken(tape) or "; a value read out, as by numpy() or item(), is a constant, and so is that of stop_gradient"
    return f"variable_grads: the value of f depends on none of the variables {names}{more}{why}"


def _broken(tape: Tape) -> str:
    if not tape.broken_by:
        return ""
    kernels = ", ".join(tape.broken_by)
    return f" (they went into {kernels}, which cannot be differentiated)"


def _ones_like(value: Tensor) -> Tensor:
    storage = value.storage
    dtype = storage.dtype if storage.dtype.char in DIFFERENTIABLE else np.float32
    return make_tensor(np.ones(storage.shape, dtype) if storage.shape else np.array(1, dtype))
