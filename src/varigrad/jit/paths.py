"""How a person would write where a value stands, such as `model.layers[2].rate`."""

from __future__ import annotations

__all__ = ["Path", "spelled"]


class Path:
    """A name, or a step on from another path; `str` writes it out.

    A deep model has as many places as steps to the deepest one: written out all at once, they would fill megabytes.

    >>> str(Path("model").attribute("layers").item(2).attribute("rate"))
    'model.layers[2].rate'
    """

    __slots__ = ("_before", "_step")

    def __init__(self, step: str, before: Path | None = None) -> None:
        self._step = step
        self._before = before

    def attribute(self, name: str) -> Path:
        """That of what stands here."""
        return Path(f".{name}", self)

    def item(self, key: object) -> Path:
        """That of what stands here."""
        return Path(f"[{key!r}]", self)

    @property
    def owner(self) -> Path:
        """Where the object stands of which this is an attribute."""
        return Path("self") if self._before is None or self._step[0] != "." else self._before

    def __str__(self) -> str:
        steps: list[str] = []
        path: Path | None = self
        while path is not None:
            steps.append(path._step)
            path = path._before
        return "".join(reversed(steps))


def spelled(name: str, cls: type) -> str:
    """How a user reaches an attribute of an object of this class: VariGrad's `_layers` is read as `layers`."""
    public = name.lstrip("_")
    return public if public != name and cls.__module__.startswith("varigrad.") and hasattr(cls, public) else name
