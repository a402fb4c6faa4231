"""Classes by the name under which files store them, and objects from their stored form.

`vg.serialization` is this module. A layer, initializer, regularizer or constraint is stored as
`{"class_name": …, "config": …}`: `config` holds the keyword arguments that make it again. Only classes that are
registered, or handed in as `custom_objects`, are ever made: nothing in a file is run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from varigrad.changes import Counted
from varigrad.keywords import arguments_by_name, misfit, snake_case, suggestion
from varigrad.layers.naming import spelling_key

__all__ = [
    "Serializable",
    "custom_object_scope",
    "deserialize",
    "register_class",
    "serialize",
]

T = TypeVar("T")
MadeT = TypeVar("MadeT", covariant=True)
ClassT = TypeVar("ClassT", bound="type[Serializable]")

_classes: dict[str, type[Serializable]] = {}
_custom_objects: ContextVar[Mapping[str, Any]] = ContextVar("varigrad_custom_objects", default=MappingProxyType({}))


class Serializable(Counted):
    """Base of what has a stored form. Mirrors `tf.serialization.Serializable`.

    `class_name` is the name that files use, the class's own by default.

    >>> import varigrad as vg
    >>> zeros = vg.initializers.zeros()
    >>> isinstance(zeros, vg.serialization.Serializable), zeros.class_name, zeros.get_config()
    (True, 'Zeros', {})
    """

    class_name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.class_name = cls.__dict__.get("class_name", cls.__name__)

    def get_config(self) -> dict[str, Any]:
        """The keyword arguments that make an equal object; by default, its public attributes."""
        return {name: serialize(value) for name, value in vars(self).items() if not name.startswith("_")}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """An object from what `get_config` returned.

        Raises:
            TypeError: It is no dict, or an argument in it is unknown, missing or of a wrong kind.
            ValueError: An argument has a wrong value.
        """
        arguments = arguments_by_name(cls, config)
        try:
            return cls._from_config(arguments)
        except TypeError:
            message = misfit(cls, (), arguments)
            if message is None:
                raise  # it is about something else
            problem = TypeError(f"{snake_case(cls.class_name)}: {message}")
        raise problem

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        """An object from a dict of arguments by name; what subclasses override that must first make some of them."""
        return cls(**config)


class Named:
    """Base of what has a stored form that is only a name."""

    __slots__ = ()
    name: str


def register_class(cls: ClassT, name: str | None = None) -> ClassT:
    """Makes a class known to `vg.load_layers_model` by its `class_name`; also usable as a decorator.

    Mirrors `tf.serialization.registerClass`.

    Args:
        cls: A subclass of `vg.layers.Layer`, or an initializer, regularizer or constraint, with `get_config`.
        name: Another name than `cls.class_name`.

    >>> import varigrad as vg
    >>> @vg.serialization.register_class
    ... class DoubleExample(vg.layers.Layer):
    ...     def call(self, inputs, training=None):
    ...         return inputs + inputs
    >>> model = vg.sequential(layers=[DoubleExample(input_shape=[2])])
    >>> vg.Sequential.from_config(model.get_config()).predict([[1, 2]]).tolist()
    [[2.0, 4.0]]
    """
    if not isinstance(cls, type) or not issubclass(cls, Serializable):
        raise TypeError(f"register_class: needs a layer, initializer, regularizer or constraint class, got {cls!r}")
    _classes[name or cls.class_name] = cls
    return cls


def registered_class(name: str) -> type[Serializable] | None:
    """The class registered under a name, if there is one."""
    return _classes.get(name)


def serialize(value: Any) -> Any:
    """The stored form of an argument: objects as class name and config, tuples as lists.

    >>> import varigrad as vg
    >>> vg.serialization.serialize(vg.initializers.identity(gain=2))
    {'class_name': 'Identity', 'config': {'gain': 2}}
    """
    if isinstance(value, (list, tuple)):
        return [serialize(item) for item in cast("list[Any]", value)]
    if isinstance(value, Named):
        return value.name
    if isinstance(value, Serializable):
        return {"class_name": value.class_name, "config": value.get_config()}
    return value


def deserialize(
    stored: Any,
    kind: type[T],
    factories: Mapping[str, Callable[..., T]] | None = None,
) -> T:
    """The object whose stored form is given.

    Args:
        stored: `{"class_name": …, "config": …}`.
        kind: The class that the object must be of.
        factories: Functions that make the built-in ones, by `spelling_key` of their class names.

    Raises:
        ValueError: The class is unknown, or its config does not fit it.

    >>> import varigrad as vg
    >>> stored = {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.0}}
    >>> vg.serialization.deserialize(stored, vg.regularizers.Regularizer, {"l1l2": vg.regularizers.l1l2}).l1
    0.5
    """
    what = snake_case(kind.__name__).split("_")[-1]
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", stored) if isinstance(stored, Mapping) else {}
    class_name, config = fields.get("class_name"), fields.get("config", {})
    if not isinstance(class_name, str) or not isinstance(config, Mapping):
        raise ValueError(f"a stored {what} needs 'class_name' and 'config', got {stored!r:.200}")
    registered = _classes.get(class_name)
    maker: Any = _custom_objects.get().get(class_name) or registered
    # A layer and an initializer may have one name, as Identity has.
    if factories is not None and maker is registered and not (registered and issubclass(registered, kind)):
        maker = factories.get(spelling_key(class_name), registered)
    if maker is None:
        known = {name for name, cls in _classes.items() if issubclass(cls, kind)}
        raise ValueError(
            f"unknown {what} class {class_name!r}{suggestion(class_name, known)}; register it with "
            "vg.serialization.register_class, or pass it in custom_objects"
        )
    arguments = {str(key): value for key, value in cast("Mapping[str, Any]", config).items()}
    try:
        made = maker.from_config(arguments) if hasattr(maker, "from_config") else maker(**arguments)
    except (TypeError, ValueError) as error:
        where = f" {arguments['name']!r}" if isinstance(arguments.get("name"), str) else ""
        raise ValueError(f"the {what}{where} of class {class_name} cannot be made: {error}") from error
    if not isinstance(made, kind):
        raise TypeError(f"{class_name!r} makes a {type(made).__name__}, where a {what} is wanted")
    return made


def deserialize_argument(owner: str, config: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """The object whose stored form is an argument in a stored config.

    Raises:
        ValueError: The argument is missing or no such object; the message names the owner and the argument.
    """
    if config.get(name) is None:
        raise ValueError(f"{owner}: needs {name}")
    try:
        return deserialize(config[name], kind)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{owner}: {name}: {error}") from error


class Getter(Protocol[MadeT]):
    """A function from what a layer's argument may be, a name or a stored form, to the object."""

    def __call__(self, identifier: Any, owner: str = "") -> MadeT:
        """The object; an error says the owner, the layer and its argument."""
        ...


def naming_owner(getter: Callable[[Any], MadeT]) -> Getter[MadeT]:
    """Makes errors say whose argument is wrong: `dense1: activation: unknown activation 'rellu'`."""

    @wraps(getter)
    def get(identifier: Any, owner: str = "") -> MadeT:
        try:
            return getter(identifier)
        except (TypeError, ValueError) as error:
            if not owner:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{owner}: {error}") from error

    return get


def lookup(what: str, name: str, table: Mapping[str, T], owner: str = "", also: Iterable[str] = ()) -> T:
    """The entry of a table keyed by `spelling_key`, or a custom object of that name.

    Raises:
        ValueError: There is neither; the message suggests the nearest name, also of those that the caller knows
            besides, or lists them all.
    """
    custom = _custom_objects.get()
    if name in custom:
        return custom[name]
    try:
        return table[spelling_key(name)]
    except KeyError:
        known = [*also, *(_spelled(key, entry) for key, entry in table.items())]
        hint = suggestion(snake_case(name), known) or f"; there are {', '.join(sorted(known))}"
        raise ValueError(f"{owner}unknown {what} {name!r}{hint}") from None


def _spelled(key: str, entry: object) -> str:
    """An entry's key as one would write it: as the name of the entry itself, if that is where the key comes from."""
    own = getattr(entry, "name", None) or getattr(entry, "__name__", None)
    return own if isinstance(own, str) and spelling_key(own) == key else key


@contextmanager
def custom_object_scope(custom_objects: Mapping[str, Any] | None) -> Generator[None]:
    """Inside the block, names in files mean these classes and functions first.

    >>> import varigrad as vg
    >>> with vg.serialization.custom_object_scope({"double_example": lambda x: x + x}):
    ...     layer = vg.layers.activation(activation="double_example")
    >>> layer([[1.0, 2.0]]).tolist()
    [[2.0, 4.0]]
    """
    token = _custom_objects.set({**_custom_objects.get(), **(custom_objects or {})})
    try:
        yield
    finally:
        _custom_objects.reset(token)
