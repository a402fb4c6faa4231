"""Wherever a value that a function reads is kept, it counts as it is at each call."""

import array
import collections
import configparser
import contextvars
import types
import weakref

import numpy as np
import pytest

import varigrad as vg

X = vg.tensor([1.0, 2.0])


def follows(f, *changes, compilations=None):
    """Asserts that a compiled function gives what the function does, before and after each change."""
    compiled = vg.jit(f)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X).numpy(), f(X).numpy())
    assert compiled.compilations == (1 + len(changes) if compilations is None else compilations), compiled.explain()


class Kept:
    """An object that others keep or point at."""

    def __init__(self, scale):
        self.scale = scale


def parsed():
    parser = configparser.ConfigParser()
    parser.read_string("[training]\nscale = 2.0")
    return parser


# What makes a holder, how a value is read from it, and how it is changed.
HOLDERS = {
    "array.array": (lambda: array.array("f", [2.0]), lambda held: held[0], lambda held: held.__setitem__(0, 3.0)),
    "memoryview": (lambda: memoryview(bytearray(b"\2")), lambda held: held[0], lambda held: held.__setitem__(0, 3)),
    "bytearray": (lambda: bytearray(b"\2"), lambda held: held[0], lambda held: held.__setitem__(0, 3)),
    "UserDict": (lambda: collections.UserDict(k=2.0), lambda held: held["k"], lambda held: held.update(k=3.0)),
    "UserList": (lambda: collections.UserList([2.0]), lambda held: held[0], lambda held: held.__setitem__(0, 3.0)),
    "ChainMap": (
        lambda: collections.ChainMap({}, {"k": 2.0}),
        lambda held: held["k"],
        lambda held: held.maps[1].update(k=3.0),
    ),
    "ConfigParser": (
        parsed,
        lambda held: held.getfloat("training", "scale"),
        lambda held: held.set("training", "scale", "3.0"),
    ),
    "SimpleNamespace": (
        lambda: types.SimpleNamespace(k=2.0),
        lambda held: held.k,
        lambda held: setattr(held, "k", 3.0),
    ),
    "ContextVar": (
        lambda: contextvars.ContextVar("held_by_a_test", default=2.0),
        lambda held: held.get(),
        lambda held: held.set(3.0),
    ),
    "TensorBuffer": (
        lambda: vg.buffer([2], "float32", [2.0, 2.0]),
        lambda held: held.to_tensor(),
        lambda held: held.set(3.0, 1),
    ),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_values_count_in_whatever_holds_them(kind):
    make, read, change = HOLDERS[kind]
    held = make()
    follows(lambda x: x * read(held), lambda: change(held))


def test_what_a_weak_reference_points_at_counts():
    kept = Kept(2.0)
    reference = weakref.ref(kept)
    follows(lambda x: x * reference().scale, lambda: setattr(kept, "scale", 3.0))


class Table:
    """What turns into an array, as tables of other libraries do."""

    def __init__(self, values):
        self._values = list(values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)

    def change(self, value):
        self._values[0] = value


@pytest.mark.parametrize("values", [[2.0, 3.0], [2.0, None]])
def test_what_turns_into_an_array_counts_as_one(values):
    table = Table(values)
    follows(lambda x: x * np.asarray(table)[0], lambda: table.change(5.0))


def test_an_attribute_that_comes_or_goes_counts():
    settings = Kept(2.0)

    def asked(x):
        return x * settings.extra if hasattr(settings, "extra") else x

    def caught(x):
        try:
            return x * settings.extra
        except AttributeError:
            return x

    for f in (asked, caught):
        follows(f, lambda: setattr(settings, "extra", 5.0), lambda: delattr(settings, "extra"), compilations=2)


def test_methods_put_in_place_of_others_count():
    class Net:
        def forward(self, x):
            return x * 2

        @staticmethod
        def shifted(x):
            return x + 1

        @classmethod
        def named(cls, x):
            return x * len(cls.__name__)

        @property
        def factor(self):
            return 3.0

        def __call__(self, x):
            return self.named(self.shifted(self.forward(x))) * self.factor

    class Wider(Net):
        pass

    net = Wider()
    follows(
        lambda x: net(x),
        lambda: setattr(Net, "forward", lambda self, x: x * 7),
        lambda: setattr(Wider, "forward", lambda self, x: x * 8),
        lambda: setattr(Net, "shifted", staticmethod(lambda x: x + 5)),
        lambda: setattr(Net, "named", classmethod(lambda cls, x: x * 11)),
        lambda: setattr(Net, "factor", property(lambda self: 13.0)),
        lambda: setattr(Net, "__call__", lambda self, x: x),
    )


def test_code_and_defaults_put_in_place_of_others_count():
    def scaled(x, factor=2.0):
        return x * factor

    def other(x, factor=3.0):
        return x - factor

    follows(
        lambda x: scaled(x),
        lambda: setattr(scaled, "__defaults__", (5.0,)),
        lambda: setattr(scaled, "__code__", other.__code__),
    )


def test_attributes_behind_descriptors_and_metaclasses_count():
    class Doubled:
        def __get__(self, instance, owner):
            return instance.half * 2

    class Meta(type):
        @property
        def scale(cls):
            return cls.base * 3

    class Holder(metaclass=Meta):
        base = 2.0
        whole = Doubled()

    holder = Holder()
    holder.half = 1.0
    follows(
        lambda x: x * holder.whole * Holder.scale,
        lambda: setattr(holder, "half", 5.0),
        lambda: setattr(Holder, "base", 7.0),
    )


def test_an_object_that_finds_attributes_in_a_dict_of_its_own():
    class Settings:
        def __init__(self, **items):
            self.__dict__["items"] = items

        def __getattr__(self, name):
            return self.__dict__["items"][name]  # KeyError where there is none

        def __setattr__(self, name, value):
            self.__dict__["items"][name] = value

    settings = Settings(scale=2.0)
    follows(lambda x: x * settings.scale, lambda: setattr(settings, "scale", 3.0))


def test_a_compiled_method_that_asks_for_attributes():
    class Trainer:
        def __init__(self):
            self.scale, self.calls = 2.0, 0

        @vg.jit
        def scaled(self, x):
            if not hasattr(self, "shift"):
                self.shift = vg.variable([1.0, 1.0])
            return x * self.scale + self.shift

    trainer = Trainer()
    for _ in range(5):
        assert trainer.scaled(X).tolist() == [3, 5]
        trainer.calls += 1  # nobody asks for it
    assert trainer.scaled.compilations == 1
    trainer.scale = 3.0
    assert trainer.scaled(X).tolist() == [4, 7]


def test_a_name_that_stands_for_nothing_yet_is_pythons_error():
    f = vg.jit(lambda x: later(x))
    with pytest.raises(NameError, match="later"):
        f(X)

    def later(x):
        return x * 3

    assert [f(X).tolist(), f(X).tolist()] == [[3, 6], [3, 6]]


def test_a_call_looks_at_little_of_a_model():
    model = vg.sequential([vg.layers.dense(units=2, input_shape=[2])])
    f = vg.jit(lambda x: model(x))
    f(X.expand_dims(0))
    (trace,) = next(iter(f._record.traces.values()))
    assert {str(place.path) for place in trace.guards.places if not place.counted} == {"the function.__code__", "model"}
    assert not trace.guards._contents  # copies to compare with at each call


def test_what_stays_is_compiled_once():
    table, reference = Table([2.0, 3.0]), weakref.ref(Kept)
    variable = contextvars.ContextVar("of_a_test", default=1.0)
    follows(lambda x: x * np.asarray(table)[1] * len(reference().__name__) * variable.get(), compilations=1)
