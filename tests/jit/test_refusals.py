"""What is not compiled, and what is said of it."""

import random
import time
import types

import numpy as np
import pytest

import varigrad as vg


def test_compiling_often_for_a_number_from_a_closure_warns_and_says_what_to_do():
    config = types.SimpleNamespace(scale=0.0)
    f = vg.jit(lambda x: x * config.scale)

    def call(scale):
        config.scale = scale
        return f(vg.scalar(1.0)).item()

    assert [call(float(step)) for step in range(9)] == list(range(9))
    with pytest.warns(vg.JitWarning, match=r"config\.scale was .*pass what changes as an argument") as told:
        call(9.0)
    assert [warning.filename for warning in told] == [__file__]
    assert call(10.0) == 10


@pytest.mark.parametrize(
    "body",
    [
        lambda x: x if x > 0 else -x,
        lambda x: x * float(x),
        lambda x: x * x.item(),
        lambda x: x * np.asarray(x),
        lambda x: x * x.data_sync()[0],
        lambda x: vg.tensor(x.tolist()),
    ],
)
def test_reading_a_value_is_an_error_that_names_the_line_and_the_way_out(body):
    with pytest.raises(vg.JitError, match=r"test_refusals\.py:\d+.* reads the value.*return the tensor") as info:
        vg.jit(body)(vg.scalar(1.0))
    assert f"test_refusals.py:{body.__code__.co_firstlineno}" in str(info.value)


def test_an_op_that_reads_values_is_refused_by_name():
    with pytest.raises(vg.JitError, match=r"unique\(\)"):
        vg.jit(lambda x: vg.unique(x)[0])(vg.tensor([1, 2, 1]))


def test_reading_what_is_the_same_at_each_call_is_no_error():
    constant = vg.tensor([2.0, 3.0])
    f = vg.jit(lambda x: x * vg.scalar(3.0).item() * float(constant[0] + 1))
    assert [f(vg.scalar(1.0)).item() for _ in range(3)] == [9, 9, 9]


def test_a_function_that_counts_is_left_as_it_is_with_a_warning():
    counter = types.SimpleNamespace(count=0)

    @vg.jit
    def f(x):
        counter.count += 1
        return x * counter.count

    with pytest.warns(vg.JitWarning, match=r"changes counter\.count from") as told:
        found = [f(vg.scalar(1.0)).item() for _ in range(6)]
    assert found == [1, 2, 3, 4, 5, 6]
    assert f.compilations == 0
    assert [warning.filename for warning in told] == [__file__]  # the user's line, not one of this library's


def test_a_function_that_collects_tensors_is_left_as_it_is_with_a_warning():
    history = []

    @vg.jit
    def f(x):
        history.append(x * 2)
        return x

    def call_all():
        for step in range(5):
            f(vg.scalar(step))

    with pytest.warns(vg.JitWarning, match="the length of history"):
        call_all()
    assert [h.item() for h in history] == [0, 2, 4, 6, 8]


def test_taking_from_a_stream_and_asking_the_clock_are_errors():
    stream = iter([1.0, 2.0])
    for body in (lambda x: x * next(stream), lambda x: x * time.time()):
        with pytest.raises(vg.JitError, match="argument"):
            vg.jit(body)(vg.scalar(1.0))


@pytest.mark.filterwarnings("ignore:jit. .lambda. is not compiled, because it changes:varigrad.JitWarning")
def test_numbers_drawn_from_other_generators_are_drawn_anew_at_each_call():
    generator = np.random.default_rng(1)
    own = random.Random(1)
    for draw in (lambda: generator.normal(), np.random.normal, random.random, lambda: own.random()):
        f = vg.jit(lambda x: x + draw())  # noqa: B023
        assert len({f(vg.scalar(0.0)).item() for _ in range(8)}) == 8
        assert f.compilations == 0


def test_returning_something_else_is_an_error():
    with pytest.raises(vg.JitError, match="returned a object"):
        vg.jit(lambda x: object())(vg.scalar(1.0))


@pytest.mark.parametrize("given", [3, None])
def test_only_functions_are_compiled(given):
    with pytest.raises(TypeError, match="jit"):
        vg.jit(given)(3)


@pytest.mark.filterwarnings("ignore:jit. .* is not compiled, because it changes:varigrad.JitWarning")
def test_an_attribute_or_a_global_that_the_function_makes_is_made_at_each_call():
    holder = types.SimpleNamespace()

    @vg.jit
    def keeps(x):
        holder.last = x * 2
        return x

    @vg.jit
    def declares(x):
        global LAST
        LAST = x * 2
        return x

    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        keeps(vg.scalar(value))
        declares(vg.scalar(value))
        assert holder.last.item() == LAST.item() == 2 * value


@pytest.mark.filterwarnings("ignore:jit. .* is not compiled, because it trains:varigrad.JitWarning")
def test_an_optimizer_made_inside_is_a_new_one_at_each_call():
    w = vg.variable(0.0)

    @vg.jit
    def step(x):
        vg.train.momentum(1.0, 0.5).apply_gradients({w.name: x})

    for _ in range(5):
        step(vg.scalar(1.0))
    assert w.item() == -5  # without momentum from step to step


def test_compiling_for_many_shapes_warns_and_the_oldest_are_given_up():
    f = vg.jit(lambda x: x.sum(), executor="numpy")
    for length in range(1, 10):
        f(vg.ones([length]))
    with pytest.warns(
        vg.JitWarning, match=r"10 kinds of arguments, last for other arguments: \(float32\[10\]\); .*padding"
    ) as told:
        f(vg.ones([10]))
    assert [warning.filename for warning in told] == [__file__]
    for length in range(11, 300):
        assert [f(vg.ones([length])).item() for _ in range(2)] == [length] * 2
    assert f.compilations == 299
    f(vg.ones([299]))
    assert f.compilations == 299
    for _ in range(2):
        f(vg.ones([1]))  # given up, compiled again
    assert f.compilations == 300
    assert "300. other arguments: (float32[1])" in f.explain()
    assert len(f.explain().splitlines()) == 52
