"""What `vg` and its namespaces say of a name that is not there, such as one in TensorFlow.js's camelCase, and which
names they show.

Type checkers know nothing of it: to them such a name is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from varigrad.elsewhere import FUNCTIONS, answer

__all__ = ["answer_names", "no_such_name"]


def no_such_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name that a module has not, with the one that it is by the naming rule, if that is there.

    >>> no_such_name("varigrad.train", "rmsProp", ["RMSPropOptimizer", "rmsprop", "sgd"])
    AttributeError("module 'varigrad.train' has no attribute 'rmsProp'; it is 'rmsprop' here")
    """
    return AttributeError(f"module {module!r} has no attribute {name!r}{answer(name, known, FUNCTIONS)}")


def answer_names(**namespaces: ModuleType) -> None:
    """Has modules say what a missing name is called here; each is given under its name in `vg`.

    Those with an `__all__` show these names alone, to `dir` and so to editors, and not what they are made with.

    >>> import varigrad as vg
    >>> vg.layers.maxPooling2d
    Traceback (most recent call last):
    AttributeError: module 'varigrad.layers' has no attribute 'maxPooling2d'; it is 'max_pooling2d' here
    """
    for public, module in namespaces.items():
        _answer(f"varigrad.{public}", module)


def _answer(public: str, module: ModuleType) -> None:
    names = vars(module)
    shown: list[str] | None = names.get("__all__")

    def missing(name: str) -> Any:
        raise no_such_name(public, name, names if shown is None else shown)

    names["__getattr__"] = missing
    if shown is not None:
        names["__dir__"] = lambda: sorted(shown)
