"""Signatures as text."""

from __future__ import annotations

import inspect
from typing import Any, ForwardRef


def signature_text(name: str, value: Any, method: bool = False) -> str:
    """A call as it is written in Python, on one line if it fits, else an argument a line."""
    function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    shown = list(signature.parameters.values())
    if method and not isinstance(value, staticmethod):
        shown = shown[1:]
    arguments: list[str] = []
    for parameter in shown:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments and not _takes_rest(shown):
            arguments.append("*")
        arguments.append(_parameter(parameter))
    result = signature.return_annotation
    shown_result = result is not signature.empty and not inspect.isclass(value)
    end = f") -> {_annotation(result)}" if shown_result else ")"
    start = "async " if inspect.iscoroutinefunction(function) else ""
    line = f"{start}{name}({', '.join(arguments)}{end}"
    if len(line) <= 88:
        return line
    return f"{start}{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + end


def _takes_rest(parameters: list[inspect.Parameter]) -> bool:
    return any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        default = parameter.default
        shown = getattr(default, "__name__", None) if callable(default) else None
        text += f" = {shown or repr(default)}" if ":" in text else f"={shown or repr(default)}"
    return text


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, ForwardRef):  # the fields of a named tuple
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def parameter_names(value: Any) -> list[str]:
    """The names of a callable's arguments; none where they cannot be told."""
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []


def argument_list(function: Any) -> str:
    """The names of a function's arguments after the first, as they are passed to a method."""
    return ", ".join(parameter_names(function)[1:])
