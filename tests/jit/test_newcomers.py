"""What people write who are new to compiled functions: each comes out as in eager mode, or ends in one clear error."""

import asyncio
import dataclasses
import datetime
import enum
import functools
import random
import sys
import threading
import time
from time import perf_counter

import numpy as np
import pytest

import varigrad as vg

X = vg.tensor([1.0, 2.0])


class Mode(enum.Enum):
    DOUBLE = 2
    TRIPLE = 3


@dataclasses.dataclass
class Batch:
    x: vg.Tensor
    y: vg.Tensor
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Settings:
    factor: int = 2


class Scaler:
    """Methods of every kind, each compiled."""

    def __init__(self, factor):
        self.factor = factor

    @vg.jit
    def scale(self, x, more=1.0):
        return x * self.factor * more

    @staticmethod
    @vg.jit
    def twice(x):
        return x * 2

    @vg.jit
    @staticmethod
    def thrice(x):
        return x * 3

    @classmethod
    @vg.jit
    def named(cls, x):
        return x * len(cls.__name__)

    @property
    @vg.jit
    def squared(self):
        return vg.scalar(1.0) * self.factor * self.factor

    doubled = functools.partialmethod(scale, more=2.0)

    def __call__(self, x):
        return x * self.factor


class Other(Scaler):
    pass


def recursive(x, n):
    return x if n == 0 else recursive(x, n - 1) * x


compiled_recursive = vg.jit(lambda x, n: x if n == 0 else compiled_recursive(x, n - 1) * x)


def catches(x):
    try:
        return x + vg.ones([3])
    except ValueError:
        return x * 5


def adds_in_place(x):
    x += 1
    x *= 2
    return x


def disposes_of_its_own(x):
    y = x * 2
    z = y + 1
    y.dispose()
    return z


# A function, and the calls that it gets: of each the arguments by position and by name.
CALLS = {
    "recursion": (recursive, [((X, 3), {}), ((X, 2), {})]),
    "a compiled function that calls itself": (compiled_recursive, [((X, 3), {}), ((X, 2), {})]),
    "defaults": (lambda x, y=2.0: x * y, [((X,), {}), ((X, 3.0), {}), ((X,), {"y": 4.0}), ((), {"y": 5.0, "x": X})]),
    "any number of arguments": (lambda *xs, k=2: sum(xs[1:], xs[0]) * k, [((X,), {}), ((X, X), {}), ((X,), {"k": 3})]),
    "any names": (lambda x, **rest: x * rest.get("b", 1.0), [((X,), {}), ((X,), {"b": 3.0}), ((X,), {"b": X})]),
    "None for a mask": (
        lambda x, mask=None: x if mask is None else x * mask,
        [((X,), {}), ((X, X), {}), ((X, None), {})],
    ),
    "nothing returned": (lambda x: None, [((X,), {})]),
    "no arguments": (lambda: vg.ones([2]) * 3, [((), {})]),
    "functools.partial": (functools.partial(lambda x, y, k: x * y * k, k=3), [((X, 2.0), {}), ((X, 4.0), {"k": 5})]),
    "an object that is called": (Scaler(3.0), [((X,), {})]),
    "a function as an argument": (lambda f, x: f(x), [((vg.tanh, X), {}), ((vg.exp, X), {})]),
    "an enumeration": (
        lambda x, m: x * (2 if m is Mode.DOUBLE else 3),
        [((X, Mode.DOUBLE), {}), ((X, Mode.TRIPLE), {})],
    ),
    "a dataclass": (lambda b: b.x * b.y * b.scale, [((Batch(X, X),), {}), ((Batch(X * 2, X, 3.0),), {})]),
    "a frozen dataclass": (lambda x, s: x * s.factor, [((X, Settings(2)), {}), ((X, Settings(5)), {})]),
    "lists of several lengths": (lambda xs: sum(xs[1:], xs[0]), [(([X],), {}), (([X, X],), {}), (((X, 1.0),), {})]),
    "shapes in the arithmetic": (
        lambda x: x.reshape([x.shape[0] * 2, -1]) * len(x),
        [((vg.ones([n, 4]),), {}) for n in (1, 2, 3, 1)],
    ),
    "an error caught inside": (catches, [((X,), {})]),
    "in-place operators": (adds_in_place, [((X,), {})]),
    "an intermediate result disposed of": (disposes_of_its_own, [((X,), {})]),
    "an index": (lambda x, i: x[i], [((X, 0), {}), ((X, 1), {}), ((X, vg.scalar(1, dtype="int32")), {})]),
    "integers": (lambda x, n: x * n, [((X, n), {}) for n in range(3)]),
    "the type of a float": (
        lambda x, k: x * (k if type(k) is float else 100),
        [((X, 2.0), {}), ((X, 3.0), {}), ((X, 3), {})],
    ),
    "a compiled function compiled again": (vg.jit(lambda x: x * 2), [((X,), {})]),
    "complex numbers": (lambda x: vg.abs(vg.complex(x, x)), [((X,), {})]),
    "texts": (lambda s: vg.string.string_to_hash_bucket_fast(s, 10), [((vg.tensor(["a", "b"]),), {})]),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_in_eager_mode(name):
    function, calls = CALLS[name]
    compiled = vg.jit(function)
    for _ in range(3):
        for args, kwargs in calls:
            expected, found = function(*args, **kwargs), compiled(*args, **kwargs)
            assert type(found) is type(expected)
            if expected is not None:
                np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_methods_of_every_kind():
    first, second = Scaler(2.0), Other(5.0)
    for _ in range(3):
        assert [s.scale(X).tolist() for s in (first, second)] == [[2, 4], [5, 10]]
        assert [s.doubled(X).tolist() for s in (first, second)] == [[4, 8], [10, 20]]
        assert [s.twice(X).tolist() for s in (first, Scaler)] == [[2, 4], [2, 4]]
        assert [s.thrice(X).tolist() for s in (first, Scaler)] == [[3, 6], [3, 6]]
        assert [s.named(X).tolist() for s in (first, Scaler, second, Other)] == [[6, 12], [6, 12], [5, 10], [5, 10]]
        assert [s.squared.item() for s in (first, second)] == [4, 25]
    first.factor = 3.0
    assert (first.scale(X).tolist(), first.squared.item()) == ([3, 6], 9)


async def coroutine(x):
    return x


def generator(x):
    yield x


async def generator_of_coroutines(x):
    yield x


@pytest.mark.parametrize("function", [coroutine, generator, generator_of_coroutines])
def test_what_runs_in_pieces_is_refused_at_once(function):
    with pytest.raises(TypeError, match="plain function, neither a coroutine function nor a generator"):
        vg.jit(function)


def test_a_class_method_says_which_way_round():
    with pytest.raises(TypeError, match=r"write @classmethod above @vg\.jit"):
        vg.jit(classmethod(lambda cls, x: x))


def _appends(xs):
    xs.append(xs[0] * 2)
    return xs[-1]


def _puts_into_a_dict(table):
    table["y"] = table["x"] * 2
    return table["y"]


def _replaces_an_item(xs):
    xs[0] = xs[0] * 2
    return xs[0]


def _pops_from_one_inside(pair):
    return pair[1].pop("mask")


def _sets_a_field(batch):
    batch.scale = 5.0
    return batch.x


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (_appends, [X]),
        (_puts_into_a_dict, {"x": X}),
        (_replaces_an_item, [X]),
        (_pops_from_one_inside, (1.0, {"mask": X})),
        (_sets_a_field, Batch(X, X)),
    ],
)
def test_changing_a_container_that_was_given_is_an_error(function, argument):
    compiled = vg.jit(function)
    for _ in range(2):
        with pytest.raises(vg.JitError, match=r"changes a list.* that it is given.*return what is new"):
            compiled(argument)
    assert compiled.compilations == 0


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A dataclass without a dict, with a method that reads a global."""

    first: vg.Tensor
    second: list

    def total(self):
        return (self.first + self.second[0]) * WEIGHT


WEIGHT = 2.0


def test_dataclasses_are_containers_of_what_they_hold(monkeypatch):
    f = vg.jit(lambda batch: Batch(batch.x * batch.scale, batch.y))
    for k in range(4):
        result = f(Batch(X * k, X, 1.0 + k))
        assert type(result) is Batch
        assert (result.x.tolist(), result.y.tolist(), result.scale) == ([k * (1 + k), 2 * k * (1 + k)], [1, 2], 1.0)
        assert f.compilations == 1

    g = vg.jit(lambda pair: Pair(pair.total(), pair.second))
    for k in range(3):
        assert g(Pair(X, [X * k])).first.tolist() == [2 + 2 * k, 4 + 4 * k]
    assert g.compilations == 1
    monkeypatch.setattr(sys.modules[__name__], "WEIGHT", 3.0)
    assert g(Pair(X, [X])).first.tolist() == [6, 12]
    assert g.compilations == 2


@dataclasses.dataclass
class Summed:
    """A dataclass that keeps more than its fields."""

    x: vg.Tensor

    def __post_init__(self):
        self.total = self.x.sum()


def test_a_dataclass_that_keeps_more_than_its_fields_is_an_object_like_others():
    f = vg.jit(lambda s: s.total * s.x)
    for k in range(3):
        assert f(Summed(X * k)).tolist() == [3 * k * k, 6 * k * k]


def test_asking_the_clock_is_an_error_by_whatever_name():
    clock = time
    for body in (
        lambda x: x * perf_counter(),
        lambda x: x * clock.time(),
        lambda x: x * datetime.datetime.now().timestamp(),
        lambda x: (lambda: x * clock.monotonic())(),
    ):
        with pytest.raises(vg.JitError, match="gives the time"):
            vg.jit(body)(X)


READING = {
    "a loop while a value is small": lambda x: x if x.sum() < 10 else x * 2,
    "assert": lambda x: x if (x > 0).all() else -x,
    "float": lambda x: float(x.sum()),
    "int": lambda x: x[int(x[0])],
    "NumPy's functions": lambda x: np.sin(x),
    "numpy()": lambda x: x * np.sin(x.numpy()),
    "vg.print": lambda x: vg.print(x),
    "an f-string": lambda x: f"{x:.2f}" and x,
    "the length of a range": lambda x: vg.range(0, x[0], 1),
    "max": lambda x: max(x[0], x[1]),
    "in": lambda x: 1.0 in x.tolist(),
}


@pytest.mark.parametrize("name", READING)
def test_reading_a_value_says_where_and_what_to_do(name):
    with pytest.raises(vg.JitError, match=r"reads the value.*vg\.where") as caught:
        vg.jit(READING[name])(X)
    assert f"{__file__}:{READING[name].__code__.co_firstlineno}" in str(caught.value)


def test_an_error_raised_inside_is_that_error_each_time_and_later_calls_go_on():
    @vg.jit
    def f(x, fail):
        y = x * 2
        if fail:
            raise KeyError("mine")
        return y

    for _ in range(3):
        assert f(X, False).tolist() == [2, 4]
        with pytest.raises(KeyError, match="mine"):
            f(X, True)
    assert f.compilations == 1


def test_what_was_done_before_an_error_stays_done_as_in_eager_mode():
    w = vg.variable(0.0)

    @vg.jit
    def f(x):
        w.assign(w + 1.0)
        return x + vg.ones([3])

    for call in range(1, 4):
        with pytest.raises(ValueError, match="cannot be broadcast"):
            f(X)
        assert w.item() == call


def test_arguments_and_results_disposed_of():
    f = vg.jit(lambda x: [x * 2, x])
    for _ in range(3):
        x = vg.tensor([1.0])
        result, same = f(x)
        assert same is x
        x.dispose()
        assert result.tolist() == [2]
        result.dispose()
    with pytest.raises(vg.DisposedError, match=__file__):
        f(x)


def test_results_inside_tidy_are_disposed_of_unless_they_are_kept_or_returned():
    f = vg.jit(lambda x: [x * 2, x * 3])
    for _ in range(3):
        before = vg.memory().num_tensors
        with vg.tidy():
            kept, lost = f(X)
            vg.keep(kept)
        returned = vg.tidy(lambda: f(X)[1])
        assert (kept.is_disposed, lost.is_disposed, returned.tolist()) == (False, True, [3, 6])
        vg.dispose([kept, returned])
        assert vg.memory().num_tensors == before


def test_a_compiled_loss_in_a_compiled_step_trains():
    w = vg.variable([1.0, 2.0])
    optimizer = vg.train.sgd(0.1)
    loss = vg.jit(lambda x: (w * x).sum())

    @vg.jit
    def step(x):
        value, grads = vg.variable_grads(lambda: loss(x))
        optimizer.apply_gradients(grads)
        return value

    assert [step(X).item() for _ in range(4)] == pytest.approx([5, 4.5, 4, 3.5])
    assert step.compilations == 1


def test_steps_of_tasks_on_one_event_loop():
    f = vg.jit(lambda x, k: x * k)

    async def task(k):
        found = []
        for _ in range(5):
            found.append((await f(X, k).data()).tolist())
            await asyncio.sleep(0)
        return found

    async def both():
        return await asyncio.gather(task(2.0), task(3.0))

    assert asyncio.run(both()) == [[[2, 4]] * 5, [[3, 6]] * 5]


def test_a_function_compiled_in_one_thread_runs_in_threads_of_other_scopes():
    f = vg.jit(lambda x: x * 2)
    f(X)
    found = []

    def work():
        with vg.tidy():
            found.append(f(X).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2, 4]] * 4


def test_random_numbers_of_python_are_drawn_at_each_call():
    f = vg.jit(lambda x: x * random.random())
    with pytest.warns(vg.JitWarning, match="Python's random numbers"):
        assert len({f(X)[0].item() for _ in range(5)}) == 5


def test_the_wrong_arguments_are_what_python_says():
    f = vg.jit(lambda x, y: x)
    for args, kwargs in (((X,), {}), ((X, X, X), {}), ((X, X), {"z": 1})):
        with pytest.raises(TypeError, match="argument"):
            f(*args, **kwargs)
    with pytest.raises(TypeError, match="static_argnums"):
        vg.jit(lambda x: x, static_argnums=0)


def test_an_argument_that_is_disposed_of_inside_is_gone_as_in_eager_mode():
    def last_use(x, fail=False):
        y = x * 2
        x.dispose()
        if fail:
            raise KeyError("mine")
        return y

    compiled = vg.jit(last_use)

    def call_all():
        for _ in range(5):
            x = X.clone()
            assert compiled(x).tolist() == [2, 4]
            assert x.is_disposed

    with pytest.warns(vg.JitWarning, match="disposes of an argument"):
        call_all()
    x = X.clone()
    with pytest.raises(KeyError, match="mine"):
        compiled(x, fail=True)
    assert x.is_disposed
