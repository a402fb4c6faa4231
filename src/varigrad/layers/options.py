"""The options of layers: the arguments of a constructor, each declared once, at the top of the class.

A declaration says how an argument is read, and whether files hold it. The constructor hands what it was given to
`_take`, which makes attributes of it, and `get_config` stores these:

    class Scale(Layer):
        factor = option(number, 0.0)
        offset_initializer = initializer_option("zeros")

        def __init__(self, *, factor: float = 1.0, offset_initializer: str | None = None, **options) -> None:
            super().__init__(**options)
            self._take(locals())

Constructors write their arguments out, because `help` and editors show these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from varigrad.keywords import snake_case
from varigrad.layers.activations import ActivationFunction, get_activation
from varigrad.layers.constraints import Constraint, get_constraint
from varigrad.layers.initializers import Initializer, get_initializer
from varigrad.layers.registry import Getter, serialize
from varigrad.layers.regularizers import Regularizer, get_regularizer
from varigrad.layers.weights import WeightHolder
from varigrad.tensor import Variable

__all__ = [
    "Option",
    "OptionHolder",
    "activation_option",
    "constraint_option",
    "initializer_option",
    "option",
    "option_per_axis",
    "or_none",
    "regularizer_option",
]

T = TypeVar("T")

_ALWAYS = object()


class Option(NamedTuple):
    """One argument of a layer's constructor: what it is read by, and whether `get_config` stores it."""

    read: Callable[[Any, str, Any], Any]  # of the layer, the argument's name and its value
    stored: bool = True
    unless: Any = _ALWAYS  # the value that goes without saying


def option(read: Callable[..., T], *limits: Any, default: Any = None, stored: bool = True, unless: Any = _ALWAYS) -> T:
    """Declares an argument of a constructor.

    It is typed as the attribute that layers have; the class itself hands it to `OptionHolder` when it is made.

    Args:
        read: Checks and converts it, `read(owner, argument, value, *limits)`; see `arguments.py`.
        limits: What else `read` takes.
        default: What None stands for.
        stored: Whether `get_config` stores it.
        unless: A value that is not stored: that which files mean when they say nothing, in formats without the option.
    """

    def read_argument(layer: Any, argument: str, value: Any) -> T:
        return read(layer._owner, argument, default if value is None else value, *limits)

    return cast("T", Option(read_argument, stored, unless))


def option_per_axis(
    read: Callable[[str, str, Any, int], T], *, default: Any = None, stored: bool = True, unless: Any = _ALWAYS
) -> T:
    """Declares an argument with a value for each of the layer's spatial `axes`."""

    def read_argument(layer: Any, argument: str, value: Any) -> T:
        return read(layer._owner, argument, default if value is None else value, layer.axes)

    return cast("T", Option(read_argument, stored, unless))


def or_none(read: Callable[..., T]) -> Callable[..., T | None]:
    """For `option`: a reader that lets None pass."""

    def read_or_none(owner: str, argument: str, value: Any, *limits: Any) -> T | None:
        return None if value is None else read(owner, argument, value, *limits)

    return read_or_none


def initializer_option(default: str) -> Initializer:
    """Declares an initializer, by its name, its stored form, or itself."""
    return _named_option(get_initializer, default)


def regularizer_option() -> Regularizer | None:
    """Declares a regularizer, likewise; none by default."""
    return _named_option(get_regularizer)


def constraint_option() -> Constraint | None:
    """Declares a constraint, likewise; none by default."""
    return _named_option(get_constraint)


def activation_option() -> ActivationFunction:
    """Declares an activation, by its name, or a function of a tensor; `linear` by default."""
    return _named_option(get_activation)


def _named_option(get: Getter[T], default: str | None = None) -> T:
    def read_argument(layer: OptionHolder, argument: str, value: Any) -> T:
        return get(value or default, f"{layer.name}: {argument}")

    return cast("T", Option(read_argument))


class OptionHolder(WeightHolder):
    """What has options: the base of `Layer` that reads and stores them."""

    # The options of a class and its bases by name; one that is declared anew takes the place of the old one.
    _options: ClassVar[Mapping[str, Option]] = MappingProxyType({})
    # What errors call a layer whose arguments are wrong: the function that makes it.
    _owner: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Option)}
        for name in own:
            delattr(cls, name)  # only layers have values
        for base in cls.__mro__[1:]:
            inherited: Mapping[str, Option] = vars(base).get("_options", {})
            own.update({name: each for name, each in inherited.items() if name not in own})
        cls._options = MappingProxyType(own)
        if "_owner" not in vars(cls):
            cls._owner = snake_case(cls.class_name)

    @classmethod
    def stored_options(cls) -> tuple[str, ...]:
        """The names of the options that files may hold."""
        return tuple(name for name, each in cls._options.items() if each.stored)

    def _take(self, arguments: Mapping[str, Any]) -> None:
        """Reads the options among the arguments of a constructor, its `locals()`, that a base class has not read yet.

        Raises:
            TypeError or ValueError: A value is wrong; the message names the layer and the argument.
        """
        for name, each in self._options.items():
            if name in arguments and name not in vars(self):
                setattr(self, name, each.read(self, name, arguments[name]))

    def _add_optioned_weight(
        self, name: str, shape: Sequence[int], prefix: str | None = None, *, trainable: bool = True
    ) -> Variable:
        """Makes a weight by the options `<prefix>_initializer`, `_regularizer` and `_constraint`, if there are such.

        Args:
            name: The weight's.
            shape: The weight's.
            prefix: The name by default.
            trainable: As for `add_weight`.
        """
        what = {each: getattr(self, f"{prefix or name}_{each}", None) for each in _OF_WEIGHTS}
        return self.add_weight(name, shape, trainable=trainable, **what)

    def _stored_options(self) -> dict[str, Any]:
        """The options as files hold them."""
        values = {name: getattr(self, name) for name in self.stored_options()}
        return {name: serialize(value) for name, value in values.items() if value != self._options[name].unless}


_OF_WEIGHTS = ("initializer", "regularizer", "constraint")
