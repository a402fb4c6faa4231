"""Closures, globals, attributes and what functions call count as they are at each call."""

import functools
import types

import numpy as np
import pytest

import varigrad as vg


def values(tensor):
    return np.asarray(tensor).tolist()


def test_a_number_in_a_closure_counts_with_the_value_it_has_at_each_call():
    a = 10
    f = vg.jit(vg.grad(lambda v: a * (v**2).sum()))
    x = vg.tensor([1.0, 2.0])
    assert values(f(x)) == [20, 40]
    a = 20
    assert values(f(x)) == [40, 80]
    assert "a was 10 and is 20" in f.explain()


SCALE = 2.0


def test_a_global_an_attribute_a_list_element_a_dict_value_and_an_array_count_as_they_are(monkeypatch):
    config = types.SimpleNamespace(scale=2.0)
    numbers = [2.0, 5.0]
    table = {"scale": 2.0}
    array = np.array([2.0, 2.0], np.float32)

    class Settings:
        scale = 2.0

    functions = {
        "global": vg.jit(lambda x: x * SCALE),
        "attribute": vg.jit(lambda x: x * config.scale),
        "element": vg.jit(lambda x: x * numbers[0]),
        "dict": vg.jit(lambda x: x * table["scale"]),
        "array": vg.jit(lambda x: x * array),
        "class": vg.jit(lambda x: x * Settings.scale),
        "length": vg.jit(lambda x: x * len(numbers)),
    }
    x = vg.tensor([1.0, 2.0])
    for f in functions.values():
        for _ in range(3):
            assert values(f(x)) == [2, 4]
        assert f.compilations == 1
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    config.scale = table["scale"] = numbers[0] = Settings.scale = 3.0
    array[:] = 3.0
    numbers.append(0.0)
    for name, f in functions.items():
        assert values(f(x)) == [3, 6], name
        assert values(f(x)) == [3, 6], name
        assert f.compilations == 2


def test_an_equal_number_of_another_type_is_another_number():
    config = types.SimpleNamespace(scale=1)
    f = vg.jit(lambda x: x * config.scale)
    x = vg.tensor([1, 2], dtype="int32")
    assert f(x).dtype == "int32"
    config.scale = 1.0
    assert f(x).dtype == "float32"


def test_what_the_code_does_not_mention_does_not_count():
    config = types.SimpleNamespace(scale=2.0, epoch=0)
    f = vg.jit(lambda x: x * config.scale)
    for epoch in range(5):
        config.epoch = epoch
        assert f(vg.scalar(1.0)).item() == 2
    assert f.compilations == 1


def test_a_number_set_anew_to_the_same_value_does_not_recompile():
    config = types.SimpleNamespace(scale=2.0)
    f = vg.jit(lambda x: x * config.scale)
    for _ in range(5):
        config.scale = float("2.0")
        assert f(vg.scalar(1.0)).item() == 2
    assert f.compilations == 1


def test_a_function_called_by_the_function_is_followed():
    scale = 2.0

    def inner(x):
        return x * scale

    registry = {"inner": inner}
    f = vg.jit(lambda x: registry["inner"](x) + 1)
    assert f(vg.scalar(1.0)).item() == 3
    scale = 5.0
    assert f(vg.scalar(1.0)).item() == 6
    registry["inner"] = vg.neg
    assert f(vg.scalar(1.0)).item() == 0


def test_attributes_of_an_object_passed_as_an_argument_count():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

    f = vg.jit(lambda model, x: model(x))
    first, second = Model(2.0), Model(3.0)
    x = vg.scalar(1.0)
    assert [f(first, x).item(), f(second, x).item(), f(first, x).item()] == [2, 3, 2]
    assert f.compilations == 2
    first.scale = 7.0
    assert f(first, x).item() == 7


def test_an_attribute_that_only_one_of_many_objects_mentions_counts():
    class Part:
        def __init__(self, weight, work):
            self.weight = weight
            self.work = work

    parts = [Part(1.0, lambda part: 1.0) for _ in range(30)]
    parts[17].work = lambda part: part.weight
    f = vg.jit(lambda x: sum([part.work(part) for part in parts]) * x)
    x = vg.scalar(1.0)
    assert f(x).item() == f(x).item() == 30
    parts[17].weight = 4.0
    assert f(x).item() == f(x).item() == 33
    assert f.compilations == 2


def test_a_cached_function_is_followed():

    scale = 2.0

    @functools.lru_cache
    def factor():
        return scale

    f = vg.jit(lambda x: x * factor())
    assert [f(vg.scalar(1.0)).item() for _ in range(3)] == [2, 2, 2]
    scale = 3.0
    factor.cache_clear()
    assert f(vg.scalar(1.0)).item() == 3


def test_the_globals_of_a_function_made_by_exec_are_followed():
    namespace = {"scale": 2.0}
    exec("def f(x): return x * scale", namespace)
    f = vg.jit(namespace["f"])
    assert [f(vg.scalar(1.0)).item() for _ in range(2)] == [2, 2]
    namespace["scale"] = 3.0
    assert f(vg.scalar(1.0)).item() == 3


@pytest.mark.parametrize(
    "read",
    [
        lambda holder: getattr(holder, "sca" + "le"),
        lambda holder: holder.__dict__["scale"],
        lambda holder: vars(holder)["scale"],
    ],
)
def test_an_attribute_found_by_a_name_that_is_not_in_the_code_counts(read):
    holder = types.SimpleNamespace(scale=2.0)
    f = vg.jit(lambda x: x * read(holder))
    assert [f(vg.scalar(1.0)).item() for _ in range(2)] == [2, 2]
    holder.scale = 3.0
    assert f(vg.scalar(1.0)).item() == 3


def test_long_lists_and_dicts_of_numbers_are_followed():
    numbers, table = [1.0] * 1000, dict.fromkeys(range(1000), 1.0)
    f = vg.jit(lambda x: x * numbers[500] * table[500])
    assert [f(vg.scalar(1.0)).item() for _ in range(2)] == [1, 1]
    numbers[500] = 2.0
    assert f(vg.scalar(1.0)).item() == 2
    table[500] = 3.0
    assert f(vg.scalar(1.0)).item() == 6
    assert f.compilations == 3
