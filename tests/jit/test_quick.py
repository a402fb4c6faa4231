"""The quick way through a compiled function, which is taken from its third call on, does what the function does."""

import dataclasses
import threading
from typing import NamedTuple

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit import compiled, quick

X, Y = vg.tensor([1.0, 2.0]), vg.tensor([3.0, 4.0])


@dataclasses.dataclass
class Batch:
    x: vg.Tensor
    rate: float


class Pair(NamedTuple):
    a: vg.Tensor
    b: vg.Tensor


@pytest.fixture(autouse=True)
def misses(monkeypatch):
    """How often the quick way was not taken in the test, once there was one."""
    found = []
    usual = compiled.CompiledFunction._call

    def call(self, args, kwargs, observers):
        if self._quick is not quick.never:
            found.append(args)
        return usual(self, args, kwargs, observers)

    monkeypatch.setattr(compiled.CompiledFunction, "_call", call)
    return found


def warmed(f, *args, **kwargs):
    """The function compiled, after the two calls that it takes."""
    f = vg.jit(f)
    f(*args, **kwargs)
    f(*args, **kwargs)
    assert f._quick is not quick.never
    return f


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (lambda: vg.ones([2]), (), {}),
        (lambda x, y: x - y, (X, Y), {}),
        (lambda x, *, y: x - y, (X,), {"y": Y}),
        (lambda x, rate: x * rate, (X, 0.5), {}),
        (
            lambda x, n, text, flag, none: x * n if flag and text == "a" and none is None else x,
            (X, 3, "a", True, None),
            {},
        ),
        (lambda batch: batch[0] - batch[1], ((X, Y),), {}),
        (lambda batch: batch[0] - batch[1], ([X, Y],), {}),
        (lambda batch: batch["x"] - batch["y"][0], ({"x": X, "y": [Y]},), {}),
        (lambda pair: pair.a - pair.b, (Pair(X, Y),), {}),
        (lambda batch: batch.x * batch.rate, (Batch(X, 0.5),), {}),
        (lambda x: x * 2, (np.array([1.0, 2.0]),), {}),
        (lambda x: x * 2, (np.array([1, 2], np.int32),), {}),
    ],
)
def test_arguments_of_every_kind(f, args, kwargs, misses):
    compiled_function = warmed(f, *args, **kwargs)
    assert compiled_function(*args, **kwargs).tolist() == f(*args, **kwargs).tolist()
    assert not misses
    assert compiled_function.compilations == 1


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: None, None),
        (lambda x: x, X),
        (lambda x: {"a": x * 2, "b": (x + 1, 7)}, {"a": vg.tensor([2.0, 4.0]), "b": (vg.tensor([2.0, 3.0]), 7)}),
        (lambda x: [x + n for n in range(20)], [vg.tensor([1.0 + n, 2.0 + n]) for n in range(20)]),
        (lambda x: x.sum(), vg.scalar(3.0)),
    ],
)
def test_results_of_every_kind(f, expected, misses):
    def plain(value):
        if isinstance(value, vg.Tensor):
            return value.tolist()
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return type(value)(plain(item) for item in value) if isinstance(value, (list, tuple)) else value

    assert plain(warmed(f, X)(X)) == plain(expected)
    assert not misses


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ((X,), (vg.ones([3]),)),
        ((X,), (vg.tensor([1, 2], dtype="int32"),)),
        ((X,), (X, X)),
        ((X,), (0.5,)),
        ((X,), ([X],)),
        (([X],), ((X,),)),
        (([X],), ([X, X],)),
        (({"a": X, "b": Y},), ({"b": X, "a": Y},)),
        (({"a": X},), ({"a": X, "b": Y},)),
        ((1,), (True,)),
        ((1,), (2,)),
        ((None,), (X,)),
        ((Batch(X, 0.5),), (Batch(vg.ones([3]), 0.5),)),
        ((Batch(X, 0.5),), (Batch(X, "half"),)),
        ((np.ones(2, np.float32),), (np.ones(3, np.float32),)),
    ],
)
def test_other_arguments_are_told_from_those_before(first, other):
    def f(*args):
        return args, vg.ones([1])

    function = warmed(f, *first)
    given, _ = function(*other)
    assert function.compilations == 2
    assert str(given) == str(other) or np.array_equal(given[0], other[0])
    given, _ = function(*first)
    assert function.compilations == 2
    assert str(given) == str(first) or np.array_equal(given[0], first[0])


def test_many_arguments_go_the_usual_way():
    f = vg.jit(lambda xs: xs[0] + xs[-1])
    many = [vg.scalar(float(n)) for n in range(500)]
    for _ in range(3):
        assert f(many).item() == 499.0
    assert f._quick is quick.never


def test_variables_and_other_objects_are_told_apart_by_identity(misses):
    v, w = vg.variable([1.0, 2.0]), vg.variable([3.0, 4.0])
    f = warmed(lambda variable, choose: choose(variable) * 2, v, vg.relu)
    assert f(v, vg.relu).tolist() == [2.0, 4.0]
    assert not misses
    assert f(w, vg.relu).tolist() == [6.0, 8.0]
    assert f(v, vg.neg).tolist() == [-2.0, -4.0]


def test_what_the_function_reads_is_looked_at_each_time(misses):
    scale, table, layer = 2.0, {"rate": 3.0}, vg.layers.dense(units=1, use_bias=False)
    layer(vg.ones([1, 2]))

    def f(x):
        return x * scale * table["rate"]

    f = warmed(f, X)
    assert f(X).tolist() == [6.0, 12.0]
    assert not misses
    scale = 1.0
    assert f(X).tolist() == [3.0, 6.0]
    table["rate"] = 5.0
    assert f(X).tolist() == [5.0, 10.0]
    del table["rate"]
    with pytest.raises(KeyError):
        f(X)


def test_a_number_set_anew_to_the_same_value_is_the_same(misses):
    scale = 1.5
    f = warmed(lambda x: x * scale, X)
    scale = float("1.5")
    for _ in range(3):
        assert f(X).tolist() == [1.5, 3.0]
    assert f.compilations == 1
    assert len(misses) == 1


def test_an_array_that_changes_is_noticed(misses):
    table = np.array([1.0, 2.0], np.float32)
    f = warmed(lambda x: x * table, X)
    assert f(X).tolist() == [1.0, 4.0]
    assert not misses
    table[0] = 7.0
    assert f(X).tolist() == [7.0, 4.0]


def test_fields_of_a_frozen_dataclass_are_followed():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        rate: float
        table: dict

    settings = Settings(2.0, {"scale": 3.0})
    f = warmed(lambda x: x * settings.rate * settings.table["scale"], X)
    assert f(X).tolist() == [6.0, 12.0]
    settings.table["scale"] = 1.0
    assert f(X).tolist() == [2.0, 4.0]
    settings = Settings(5.0, {"scale": 1.0})
    assert f(X).tolist() == [5.0, 10.0]


def test_a_disposed_argument_or_variable_is_an_error():
    v = vg.variable([1.0, 1.0])
    f = warmed(lambda x: x * v, X)
    gone = vg.tensor([1.0, 2.0])
    gone.dispose()
    with pytest.raises(vg.DisposedError):
        f(gone)
    assert f(X).tolist() == [1.0, 2.0]
    v.dispose()
    with pytest.raises(vg.DisposedError):
        f(X)


def training(rate, optimizer=vg.train.adam, start=1.0):
    """A variable, and a step that trains it."""
    v = vg.variable([start, start])
    trainer = optimizer(rate)

    def step(x):
        value, grads = vg.variable_grads(lambda: ((v - x) ** 2).sum(), [v])
        trainer.apply_gradients(grads)
        return value

    return v, trainer, step


@pytest.mark.parametrize("optimizer", [vg.train.adam, vg.train.sgd, vg.train.adamax, vg.train.adagrad])
def test_the_numbers_of_each_step_are_those_of_eager_mode(optimizer, misses):
    rates = vg.train.exponential_decay(0.1, 1, 0.9)
    v, _, eager = training(rates, optimizer)
    w, trainer, step = training(rates, optimizer)
    step = vg.jit(step)
    for _ in range(6):
        assert step(X).item() == pytest.approx(eager(X).item(), rel=1e-6)
    np.testing.assert_allclose(w.numpy(), v.numpy(), rtol=1e-6)
    assert trainer.iterations == 6
    assert not misses
    trainer.learning_rate = 0.0
    held = w.tolist()
    step(X)
    assert w.tolist() == held or optimizer is vg.train.adagrad
    assert step.compilations == 1


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_rate_that_float32_does_not_reach_is_infinite_as_in_eager_mode():
    v, trainer, eager = training(0.1, vg.train.sgd)
    w, compiled_trainer, step = training(0.1, vg.train.sgd)
    step = warmed(step, X)
    eager(X), eager(X)
    trainer.learning_rate = compiled_trainer.learning_rate = 1e40
    eager(X), step(X)
    np.testing.assert_array_equal(w.numpy(), v.numpy())
    assert not np.isfinite(v.numpy()).any()


def test_what_is_no_number_is_the_error_of_eager_mode_and_no_step():
    v, trainer, step = training(0.1, lambda rate: vg.train.momentum(rate, 0.9))
    step = warmed(step, X)
    held = v.tolist()
    trainer.momentum = None
    for _ in range(2):
        with pytest.raises(TypeError, match="momentum must be a number, got None"):
            step(X)
    assert trainer.iterations == 2
    assert v.tolist() == held
    trainer.momentum = 0.9
    step(X)
    assert trainer.iterations == 3
    assert v.tolist() != held


def test_a_schedule_that_fails_leaves_the_step_undone():
    def rate(steps):
        if steps == 2:
            raise IndexError("no more rates")
        return 0.1

    v, trainer, step = training(rate)
    step = warmed(step, X)
    held = v.tolist()
    with pytest.raises(IndexError, match="no more rates"):
        step(X)
    assert trainer.iterations == 2
    assert v.tolist() == held


def test_a_variable_that_somebody_shares_keeps_its_values_there(misses):
    v, _, step = training(0.1)
    step = warmed(step, X)
    shared, held = vg.reshape(v, [2, 1]), v.tolist()
    step(X)
    assert shared.tolist() == [[number] for number in held]
    assert v.tolist() != held
    assert not misses


def test_threads_take_every_step_once():
    v, trainer, step = training(1e-3, vg.train.sgd, start=0.0)
    w, _, eager = training(1e-3, vg.train.sgd, start=0.0)
    step = warmed(step, X)
    failures = []

    def train():
        try:
            for _ in range(50):
                step(X)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(202):
        eager(X)
    assert not failures
    assert trainer.iterations == 202
    np.testing.assert_allclose(v.numpy(), w.numpy(), rtol=1e-5)


def test_results_of_many_threads_are_each_ones_own():
    f = warmed(lambda x: (x * 2, x + 1), vg.zeros([16]))
    wrong = []

    def call(number):
        x = vg.fill([16], float(number))
        for _ in range(200):
            doubled, more = f(x)
            if not (doubled.numpy() == 2 * number).all() or not (more.numpy() == number + 1).all():
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_observers_are_told(misses):
    f = warmed(lambda x: x * 2, X)
    with vg.tidy():
        inside = f(X)
    assert inside.is_disposed
    assert vg.grad(f)(X).tolist() == [2.0, 2.0]
    assert vg.profile(lambda: f(X)).kernel_names == ["CompiledFunction"]


def test_check_compares_at_every_call(misses):
    f = vg.jit(lambda x: x * 2, check=True)
    for _ in range(4):
        assert f(X).tolist() == [2.0, 4.0]
    assert f._quick is quick.never
