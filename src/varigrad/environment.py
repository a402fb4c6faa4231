"""Flags: `vg.env()`, and the functions that switch them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from varigrad.tensor import call_site

__all__ = ["Environment", "deprecation_warn", "disable_deprecation_warnings", "enable_prod_mode", "env"]

FlagValue: TypeAlias = bool | int | float | str


class Environment:
    """Named flags, each with a default and perhaps something to do when it is set.

    `vg.env()` is the one in use. `DEBUG` is debug mode (`vg.enable_debug_mode`), `PROD` production mode
    (`vg.enable_prod_mode`) and `DEPRECATION_WARNINGS_ENABLED` what its name says. Mirrors `tf.Environment`.

    >>> import varigrad as vg
    >>> vg.env().get_bool("DEBUG")
    False
    """

    def __init__(self) -> None:
        self._defaults: dict[str, Callable[[], FlagValue]] = {}
        self._hooks: dict[str, Callable[[FlagValue], None]] = {}
        self._values: dict[str, FlagValue] = {}

    def register_flag(
        self,
        flag_name: str,
        evaluation_fn: Callable[[], FlagValue],
        set_hook: Callable[[FlagValue], None] | None = None,
    ) -> None:
        """Adds a flag: `evaluation_fn` gives its value until it is set; `set_hook` is called with each value set."""
        self._defaults[flag_name] = evaluation_fn
        if set_hook is not None:
            self._hooks[flag_name] = set_hook

    def get(self, flag_name: str) -> FlagValue:
        """The flag's value.

        Raises:
            ValueError: There is no such flag.
        """
        self._check(flag_name)
        if flag_name not in self._values:
            self._values[flag_name] = self._defaults[flag_name]()
        return self._values[flag_name]

    def get_bool(self, flag_name: str) -> bool:
        """The flag's value as a bool."""
        return bool(self.get(flag_name))

    def get_number(self, flag_name: str) -> float:
        """The flag's value as a number."""
        return float(self.get(flag_name))

    def get_string(self, flag_name: str) -> str:
        """The flag's value as text."""
        return str(self.get(flag_name))

    def get_flags(self) -> Mapping[str, FlagValue]:
        """Every flag's value."""
        return MappingProxyType({name: self.get(name) for name in self._defaults})

    def set(self, flag_name: str, value: FlagValue) -> None:
        """Sets a flag.

        Raises:
            ValueError: There is no such flag.
        """
        self._check(flag_name)
        self._values[flag_name] = value
        if flag_name in self._hooks:
            self._hooks[flag_name](value)

    def reset(self) -> None:
        """Gives every flag its default."""
        for name, value in list(self._values.items()):
            default = self._defaults[name]()
            if value != default:
                self.set(name, default)

    def _check(self, flag_name: str) -> None:
        if flag_name not in self._defaults:
            raise ValueError(f"env: no flag named {flag_name!r}; there is {', '.join(sorted(self._defaults))}")


_environment = Environment()


def env() -> Environment:
    """The flags of this process. Mirrors `tf.env`.

    >>> import varigrad as vg
    >>> sorted(vg.env().get_flags())
    ['DEBUG', 'DEPRECATION_WARNINGS_ENABLED', 'PROD']
    """
    return _environment


def _set_prod(value: FlagValue) -> None:
    if value:
        _environment.set("DEBUG", False)


_environment.register_flag("DEPRECATION_WARNINGS_ENABLED", lambda: True)
_environment.register_flag("PROD", lambda: False, _set_prod)


def enable_prod_mode() -> None:
    """Production mode: no debug mode, which a program may have switched on. Mirrors `tf.enableProdMode`.

    >>> import varigrad as vg
    >>> vg.enable_debug_mode()
    >>> vg.enable_prod_mode()
    >>> vg.env().get("DEBUG")
    False
    >>> vg.env().reset()
    """
    _environment.set("PROD", True)


def disable_deprecation_warnings() -> None:
    """Silences `vg.deprecation_warn`. Mirrors `tf.disableDeprecationWarnings`.

    >>> import varigrad as vg
    >>> vg.disable_deprecation_warnings()
    >>> vg.deprecation_warn("never shown")
    >>> vg.env().reset()
    """
    _environment.set("DEPRECATION_WARNINGS_ENABLED", False)


def deprecation_warn(msg: str) -> None:
    """A `DeprecationWarning` for the caller outside VariGrad, if these are on. Mirrors `tf.deprecationWarn`.

    >>> import warnings
    >>> import varigrad as vg
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     vg.deprecation_warn("old_op goes; use new_op")
    >>> print(caught[0].message)
    old_op goes; use new_op
    """
    if _environment.get_bool("DEPRECATION_WARNINGS_ENABLED"):
        file, _, line = call_site().rpartition(":")
        warnings.warn_explicit(msg, DeprecationWarning, file, int(line))
