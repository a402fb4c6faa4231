"""The functions that make layers: `vg.layers.dense` for the class `Dense`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from varigrad.keywords import snake_case
from varigrad.layers.base import Layer
from varigrad.layers.registry import register_class

__all__ = ["factory", "merging"]

P = ParamSpec("P")
LayerT = TypeVar("LayerT", bound=Layer)


def factory(cls: Callable[P, LayerT], name: str | None = None) -> Callable[P, LayerT]:
    """The function that makes layers of a class, which it registers for files; `name` if it is not the class's."""

    def make(*args: P.args, **kwargs: P.kwargs) -> LayerT:
        try:
            return cls(*args, **kwargs)
        except TypeError as error:
            missing = _missing(cls, args, kwargs)
            if missing is None:
                raise
            raise TypeError(f"{make.__name__}: {missing}") from error

    class_name = snake_case(register_class(cls).class_name)  # pyright: ignore
    make.__name__ = make.__qualname__ = name or class_name
    make.__doc__ = cls.__doc__
    make.__wrapped__ = cls  # pyright: ignore  # `help` and editors show the class's arguments
    return make


def merging(cls: Callable[P, LayerT]) -> Callable[..., Any]:
    """The function that makes layers of a class that merges, or given a list of tensors, merges them at once."""
    make = factory(cls)

    def merge(*inputs: Any, **options: Any) -> Any:
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) and inputs[0]:
            return make(**options)(inputs[0])  # pyright: ignore
        return make(*inputs, **options)  # pyright: ignore

    merge.__name__ = merge.__qualname__ = make.__name__
    merge.__doc__ = cls.__doc__
    merge.__wrapped__ = cls  # pyright: ignore
    return merge


def _missing(cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments as a whole, if anything is."""
    import inspect  # only errors need it

    parameters = inspect.signature(cls).parameters.values()
    if args:
        first = next((p.name for p in parameters if p.kind is p.KEYWORD_ONLY), None)
        hint = "" if first is None or isinstance(args[0], dict) else f"; write {first}=…"
        return f"takes keyword arguments only, got {args[0]!r}{hint}"
    names = [p.name for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY and p.name not in kwargs]
    return f"needs {' and '.join(names)}" if names else None
