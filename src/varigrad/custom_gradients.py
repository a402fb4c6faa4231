"""`custom_grad`: functions that are differentiated by a rule of one's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from varigrad.containers import tensors_in
from varigrad.engine import run_kernel
from varigrad.observe import OBSERVERS, observing
from varigrad.ops.arguments import convert
from varigrad.tape import Gradient, Tape
from varigrad.tensor import Tensor, format_shape

__all__ = ["CustomGradient", "custom_grad"]


class CustomGradient(NamedTuple):
    """What a function given to `vg.custom_grad` returns.

    >>> import varigrad as vg
    >>> def doubled(x, save):
    ...     return vg.CustomGradient(value=x + x, grad_func=lambda dy, saved: dy * 2)
    >>> vg.grad(vg.custom_grad(doubled))(vg.scalar(3.0)).item()
    2.0
    """

    value: Tensor
    grad_func: Callable[..., Any]


def custom_grad(f: Callable[..., Any]) -> Callable[..., Tensor]:
    """A function that computes what `f` computes and is differentiated by the rule that `f` gives.

    `f(*inputs, save)` returns `(value, grad_func)`; where `f` takes no more arguments than the inputs, `save` is left
    out. `grad_func(dy, saved)` (or `grad_func(dy)`) returns the gradient for each input, a tensor or a list of them;
    `saved` lists the tensors given to `save`. What runs inside `f` is not itself differentiated.

    `grad_func` is, for gradients of the gradient. What it computes from `dy`, the inputs and the value follows them
    then; any other tensor that `f` computed is a constant, saved or not. Where `grad_func` needs one, save the inputs
    and compute it from them there. Mirrors `tf.customGrad`.

    Raises:
        TypeError: `f` or `grad_func` takes other arguments or returns something else.
        ValueError: There are not as many gradients as inputs, or they have other shapes.

    >>> import varigrad as vg
    >>> @vg.custom_grad
    ... def cautious_square(x, save):
    ...     save([x])
    ...     return x.square(), lambda dy, saved: dy * saved[0].abs()
    >>> vg.grad(cautious_square)(vg.tensor([-2.0, 3.0])).tolist()
    [2.0, 3.0]
    """
    if not callable(f):
        raise TypeError(f"custom_grad: f must be a function, got {type(f).__name__}")
    parameters = _parameters_of(f)

    @functools.wraps(f)
    def call(*args: Any) -> Tensor:
        inputs = tuple(convert(x, "custom_grad", f"argument {i}") for i, x in enumerate(args))
        saved: list[Tensor] = []

        def save(tensors: Any) -> None:
            saved.extend(tensors_in(tensors))

        def keep_saved(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> list[Tensor]:
            return saved

        with observing(instead_of=Tape):
            result = _run(f, parameters, inputs, save, saved)
        value, grad_func = _value_and_grad_func(result)
        if any(value is x for x in inputs):
            value = run_kernel("Identity", (value,))
        for observer in OBSERVERS.get():
            if isinstance(observer, Tape):
                rule = _custom_rule(grad_func, [x.shape for x in inputs])
                observer.ran("CustomGradient", inputs, {}, (value,), 0, Gradient(rule, keep_saved))
        return value

    return call


def _value_and_grad_func(result: Any) -> tuple[Tensor, Callable[..., Any]]:
    if isinstance(result, (tuple, list)):
        pair = cast("Sequence[Any]", result)
        if len(pair) == 2 and isinstance(pair[0], Tensor) and callable(pair[1]):
            return pair[0], pair[1]
    raise TypeError(
        "custom_grad: f must return a tensor and a function, (value, grad_func), "
        f"got {type(cast('object', result)).__name__}"
    )


class _Parameters(NamedTuple):
    """What a function takes by position: the names, how many of them it needs, and whether it takes any number."""

    names: list[str]
    needed: int
    variadic: bool


def _parameters_of(f: Callable[..., Any]) -> _Parameters | None:
    """What a function takes by position; None for a built-in one that does not tell."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in positional)
    return _Parameters([p.name for p in positional], needed, any(p.kind is p.VAR_POSITIONAL for p in parameters))


def _run(
    f: Callable[..., Any], parameters: _Parameters | None, inputs: Sequence[Tensor], save: Any, saved: list[Tensor]
) -> Any:
    """What `f` returns, called with `save` after the inputs if it takes one more argument than those."""
    given = len(inputs)
    if parameters is None:
        return f(*inputs)
    names, needed, variadic = parameters
    if given + 1 < needed or (given > len(names) and not variadic):
        raise TypeError(f"custom_grad: f takes {', '.join(names) or 'no inputs'}, got {given}")
    if given >= len(names) and not variadic:
        return f(*inputs)
    try:
        return f(*inputs, save)
    except (TypeError, AttributeError) as error:
        last = "save" if variadic else names[given]
        if last == "save" or saved:
            raise
        raise TypeError(
            f"custom_grad: f failed ({error}) when given {given}, and so the function save for {last!r}; if that is "
            f"an input, too, give {given + 1}"
        ) from error


def _gradients_of(result: Any) -> list[Tensor]:
    """What a grad_func returned, as a list."""
    if isinstance(result, Tensor):
        return [result]
    if not isinstance(result, (list, tuple)):
        found = type(cast("object", result)).__name__
        raise TypeError(f"custom_grad: grad_func must return a tensor or a list of them, got {found}")
    gradients = list(cast("Sequence[Any]", result))
    for position, gradient in enumerate(gradients):
        if not isinstance(gradient, Tensor):
            raise TypeError(
                f"custom_grad: grad_func must return a tensor for each input, got {type(gradient).__name__} for input "
                f"{position}; vg.zeros_like says that there is no gradient"
            )
    return gradients


def _custom_rule(grad_func: Callable[..., Any], shapes: list[tuple[int, ...]]) -> Callable[..., Any]:
    parameters = _parameters_of(grad_func)
    takes_saved = parameters is not None and (parameters.variadic or len(parameters.names) > 1)

    def rule(dy: Tensor, *saved: Tensor) -> tuple[Tensor, ...]:
        result = grad_func(dy, list(saved)) if takes_saved else grad_func(dy)
        gradients = _gradients_of(result)
        if len(gradients) != len(shapes):
            raise ValueError(f"custom_grad: grad_func returned {len(gradients)} gradients for {len(shapes)} inputs")
        for position, (gradient, shape) in enumerate(zip(gradients, shapes, strict=True)):
            if gradient.shape != shape:
                raise ValueError(
                    f"custom_grad: the gradient for input {position} has shape {format_shape(gradient.shape)}, "
                    f"but the input has {format_shape(shape)}"
                )
        return tuple(gradients)

    return rule
