"""Lists, tuples and dicts of classes of their own, as arguments and results of compiled functions."""

import collections
import dataclasses
import gc
from typing import NamedTuple

import pytest

import varigrad as vg

X = vg.tensor([1.0, 2.0])


class Settings(dict):
    """A dict that is its own attributes."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Both(dict):
    """A dict whose items are attributes, too."""

    def __init__(self, **items):
        super().__init__()
        for name, value in items.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        super().__setitem__(name, value)


class Many(list):
    pass


class Few(tuple):
    pass


class Table(dict):
    pass


class Pair(NamedTuple):
    x: object
    scale: object


@dataclasses.dataclass
class Fields:
    x: object
    scale: object


def table_of(kind):
    """A function that makes a dict of a class that holds an `x` and a `scale`."""
    return (lambda **items: collections.defaultdict(list, items)) if kind is collections.defaultdict else kind


@pytest.mark.parametrize("kind", [collections.OrderedDict, collections.defaultdict, Settings, Both, Table])
def test_dicts_of_every_class(kind):
    make = table_of(kind)
    f = vg.jit(lambda table: make(y=table["x"] * table["scale"], n=7))
    for k in range(4):
        result = f(make(x=X + k, scale=float(k)))
        assert type(result) is kind
        assert list(result) == ["y", "n"]
        assert (result["y"].tolist(), result["n"]) == ([(1 + k) * k, (2 + k) * k], 7)
    assert f.compilations == 1


@pytest.mark.parametrize("kind", [Settings, Both])
def test_items_that_are_attributes(kind):
    f = vg.jit(lambda table: kind(y=table.x * table.scale))
    for k in range(4):
        assert f(kind(x=X + k, scale=float(k))).y.tolist() == [(1 + k) * k, (2 + k) * k]
    assert f.compilations == 1


def test_a_factory_of_missing_items_stays():
    f = vg.jit(lambda table: table)
    for _ in range(3):
        assert f(collections.defaultdict(list, x=X))["y"] == []


@pytest.mark.parametrize(
    ("kind", "items", "key"), [(Many, [X], 0), (Few, (X,), 0), (Table, {"x": X}, "x")], ids=["list", "tuple", "dict"]
)
def test_attributes_of_containers_count(kind, items, key):
    def given(**attributes):
        container = kind(items)
        vars(container).update(attributes)
        return container

    def f(container):
        y = container[key] * getattr(container, "factor", 10)
        result = kind({key: y} if kind is Table else [y])
        result.shift = getattr(container, "shift", X) + 1
        return result

    compiled = vg.jit(f)
    calls = [given(), given(factor=2), given(factor=3), given(shift=X * 5), given(shift=X * 7)]
    for _ in range(3):
        for container in calls:
            expected, found = f(container), compiled(container)
            assert type(found) is kind
            assert found[key].tolist() == expected[key].tolist()
            assert found.shift.tolist() == expected.shift.tolist()
    assert compiled.compilations == 4


def test_an_attribute_set_inside_is_an_error():
    def f(container):
        container.seen = True
        return container[0] * 2

    with pytest.raises(vg.JitError, match="changes a list, dict or dataclass"):
        vg.jit(f)(Many([X]))


@pytest.mark.parametrize(
    "make",
    [Fields, Pair, lambda x, scale: Many([x, scale]), lambda x, scale: Table(x=x, scale=scale)],
    ids=["dataclass", "named tuple", "list", "dict"],
)
def test_what_the_first_call_gave_need_not_stay(make):
    f = vg.jit(lambda x: make(x * 2, x + 1))
    gc.collect()
    before = vg.memory().num_tensors
    for _ in range(3):
        f(X)
    gc.collect()
    assert vg.memory().num_tensors == before
