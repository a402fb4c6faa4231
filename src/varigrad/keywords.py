"""What is wrong with the arguments of a call, in words: an option by another name, one that is missing, one too many.

TensorFlow.js's options are keyword arguments here, with names in snake_case; who writes `batchSize=` is told so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from inspect import Parameter

__all__ = ["arguments_by_name", "misfit", "snake_case", "suggestion", "takes_options"]

# Names that optimizers elsewhere have for an argument: one that stands beside it here, and what to do.
_OF_OTHERS = {
    "lr": ("learning_rate", "it is 'learning_rate' here"),
    "momentum": ("learning_rate", "vg.train.momentum and vg.train.rmsprop have it"),
}

P = ParamSpec("P")
T = TypeVar("T")


def snake_case(name: str) -> str:
    """A camelCase or PascalCase name in snake_case, by TensorFlow.js's rule.

    >>> snake_case("batchInputShape"), snake_case("MaxPooling2D")
    ('batch_input_shape', 'max_pooling2d')
    """
    spaced = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub(r"([a-z])([A-Z])", r"\1_\2", spaced).lower()
    return f"private{snake}" if snake.startswith("_") else snake


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; it is …` for the snake_case form of a name, `; did you mean …?` for the nearest known one, or nothing.

    >>> suggestion("batchSize", ["batch_size", "epochs"]), suggestion("epoch", ["batch_size", "epochs"])
    ("; it is 'batch_size' here", "; did you mean 'epochs'?")
    """
    import difflib  # only errors need it

    names = sorted(known)
    snake = snake_case(name)
    if snake != name and snake in names:
        return f"; it is {snake!r} here"
    beside, answer = _OF_OTHERS.get(name, ("", ""))
    if beside in names:
        return f"; {answer}"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def takes_options(function: Callable[P, T]) -> Callable[P, T]:
    """Makes a call whose arguments do not fit an error in this library's words.

    For functions, methods and constructors that take options by keyword, where an error says which are meant.

    >>> @takes_options
    ... def resize(*, new_size):
    ...     return new_size
    >>> resize(newSize=2)
    Traceback (most recent call last):
    TypeError: resize: has no argument 'newSize'; it is 'new_size' here
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError:
            owner, target, given = _target(function, call, args)
            message = misfit(target, given, kwargs)
            if message is None:
                raise  # it is about something else
            problem = TypeError(f"{owner}: {message}")
        raise problem

    return call


def arguments_by_name(cls: type[Any], config: Any) -> Mapping[str, Any]:
    """What `from_config` of a class was given, if it is a dict by name.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(config, Mapping):
        raise TypeError(f"{cls.__name__}.from_config: takes a dict, as get_config gives, got {config!r:.100}")
    arguments = cast("Mapping[Any, Any]", config)
    for name in arguments:
        if not isinstance(name, str):
            raise TypeError(f"{cls.__name__}.from_config: takes a dict of arguments by name, got a key {name!r:.100}")
    return arguments


def misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments as a whole, if anything is: unknown, too many by position, or missing.

    Args:
        function: A function or a class.
        args: The arguments by position, without `self`.
        kwargs: The arguments by keyword.
    """
    parameters = _parameters(function)
    known = _known_names(function)
    for name in kwargs:
        if known is not None and name not in known:
            return f"has no argument {name!r}{suggestion(name, known)}"
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(args) > len(places) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return _too_many(parameters, len(places), args)
    filled = {p.name for p in places[: len(args)]} | kwargs.keys()
    missing = [p.name for p in parameters if p.default is p.empty and _has_a_name(p) and p.name not in filled]
    return f"needs {' and '.join(missing)}" if missing else None


def _too_many(parameters: Sequence[Parameter], most: int, args: Sequence[Any]) -> str:
    first = next((p.name for p in parameters if p.kind is p.KEYWORD_ONLY), None)
    extra = args[most]
    hint = "" if first is None or isinstance(extra, dict) else f"; write {first}=…"
    if most == 0:
        return f"takes keyword arguments only, got {extra!r:.100}{hint}"
    return f"takes {most} arguments by position, got one more, {extra!r:.100}{hint}"


def _known_names(function: Callable[..., Any]) -> set[str] | None:
    """The names of the arguments; None if there is no telling, as any name is taken.

    What a class's `__init__` does not name, it hands on to that of its base.
    """
    if not isinstance(function, type):
        chain: list[Any] = [function]
    else:
        classes = [cls for cls in cast("type[Any]", function).__mro__ if "__init__" in vars(cls) and cls is not object]
        chain = [vars(cls)["__init__"] for cls in classes]
    known: set[str] = set()
    for each in chain:
        parameters = _parameters(each)
        known.update(p.name for p in parameters if _has_a_name(p))
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return known - {"self"}
    return None if chain else known


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    import inspect  # only errors need it

    return list(inspect.signature(function).parameters.values())


def _has_a_name(parameter: Parameter) -> bool:
    """Whether a caller can give it by keyword."""
    return parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def _target(
    function: Callable[..., Any], wrapper: Callable[..., Any], args: Sequence[Any]
) -> tuple[str, Callable[..., Any], Sequence[Any]]:
    """Who complains, what was called, and with which arguments by position: a class is called without `self`."""
    if not args or not _parameters(function) or _parameters(function)[0].name not in ("self", "cls"):
        return function.__name__, function, args
    if function.__name__ != "__init__":
        return function.__name__, function.__get__(args[0]), args[1:]
    made = cast("type[Any]", type(args[0]))
    cls = next((each for each in made.__mro__ if vars(each).get("__init__") is wrapper), made)
    named = made if made.__init__ is wrapper else cls
    return getattr(named, "class_name", named.__name__), cls, args[1:]
