"""`tidy`, `keep`, `dispose`."""

import asyncio
import gc
import weakref

import numpy as np
import pytest

import varigrad as vg

# tidy


def test_tidy_returns_the_result_and_disposes_of_the_rest():
    made = []

    def f():
        a = vg.tensor([1.0, 2.0])
        b = a * 3.0
        made.extend([a, b])
        return b + 1.0

    y = vg.tidy(f)
    assert y.tolist() == [4.0, 7.0]
    assert all(t.is_disposed for t in made)


def test_tidy_takes_a_name_first_as_in_tensorflow_js():
    assert vg.tidy("sum", lambda: vg.tensor([1.0, 2.0]).sum()).item() == 3.0


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t: t,
        lambda t: [t],
        lambda t: (t, 1, "text", None),
        lambda t: {"a": {"b": [t]}},
        lambda t: {t},
    ],
)
def test_tensors_in_any_container_returned_survive(wrap):
    kept = []

    def f():
        t = vg.tensor([1.0])
        kept.append(t)
        return wrap(t)

    vg.tidy(f)
    assert not kept[0].is_disposed


def test_the_with_form_disposes_unless_handed_out():
    with vg.tidy() as scope:
        a = vg.tensor([1.0])
        b = scope.keep(a + a)
        c = vg.keep(a * a)
    assert a.is_disposed
    assert (b.item(), c.item()) == (2.0, 1.0)


def test_what_an_inner_scope_returns_belongs_to_the_outer_one():
    held = []

    def outer():
        inner = vg.tidy(lambda: vg.tensor([1.0]))
        held.append(inner)
        assert not inner.is_disposed

    vg.tidy(outer)
    assert held[0].is_disposed


def test_keep_outlasts_every_scope_around():
    def inner():
        return vg.keep(vg.tensor([5.0]))

    held = []
    vg.tidy(lambda: held.append(vg.tidy(inner)))
    assert held[0].tolist() == [5.0]


def test_variables_outlive_the_scope_that_made_them():
    held = []
    vg.tidy(lambda: held.append(vg.variable([1.0])))
    assert held[0].tolist() == [1.0]


def test_tidy_disposes_when_the_function_raises():
    made = []

    def f():
        made.append(vg.tensor([1.0]))
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        vg.tidy(f)
    assert made[0].is_disposed


def test_tensors_from_before_are_left_alone():
    x = vg.tensor([1.0])
    vg.tidy(lambda: x + x)
    assert x.tolist() == [1.0]


def test_a_scope_keeps_nothing_alive():
    with vg.tidy():
        x = vg.tensor(np.zeros(1000))
        watch = weakref.ref(x)
        storage = weakref.ref(x.storage)
        del x
        assert watch() is None
        assert storage() is None


def test_a_long_scope_does_not_grow():
    with vg.tidy() as scope:
        x = vg.scalar(1.0)
        for _ in range(10_000):
            x + x
        assert len(scope._made) < 2_000


def test_tidy_inside_a_gradient_keeps_what_the_gradient_needs():
    w = vg.variable([1.0, 2.0])

    def f():
        return vg.tidy(lambda: (w * w * w).sum())

    value, grads = vg.variable_grads(f, [w])
    assert value.item() == 9.0
    assert grads[w.name].tolist() == [3.0, 12.0]


def test_tidy_takes_a_name_that_is_a_string():
    assert vg.tidy("name", lambda: 5) == 5
    with pytest.raises(TypeError, match="name must be a string"):
        vg.tidy(4, lambda: 5)


@pytest.mark.parametrize("bad", [3, "text", [1]])
def test_tidy_of_something_else_is_an_error(bad):
    with pytest.raises(TypeError, match="tidy"):
        vg.tidy(bad)


# asyncio


def test_tidy_refuses_a_coroutine_function():
    async def work():
        return vg.scalar(1.0)

    with pytest.raises(TypeError, match=r"with vg.tidy"):
        vg.tidy(work)


def test_scopes_of_two_tasks_leave_each_other_alone():
    async def work(k, results):
        with vg.tidy():
            x = vg.tensor([float(k)])
            for _ in range(5):
                y = x * 2.0
                await asyncio.sleep(0)
                values = await y.data()
                results[k].append(float(values[0]))
                assert not x.is_disposed
            if k == 1:
                await asyncio.sleep(0.01)
            assert x.tolist() == [float(k)]

    async def both():
        results = {1: [], 2: []}
        await asyncio.gather(work(1, results), work(2, results))
        return results

    assert asyncio.run(both()) == {1: [2.0] * 5, 2: [4.0] * 5}


# dispose


def test_using_a_disposed_tensor_names_it_and_the_place():
    x = vg.tensor([1.0])
    x.dispose()
    x.dispose()
    for use in (lambda: x + 1.0, lambda: x.numpy(), lambda: x.shape, lambda: vg.grad(lambda y: y)(x)):
        with pytest.raises(vg.DisposedError, match=rf"tensor {x.id} was disposed at .*test_scopes\.py:\d+"):
            use()
    assert "disposed at" in repr(x)


def test_a_disposed_variable_is_named_and_its_name_is_free_again():
    v = vg.variable([1.0], name="once")
    v.dispose()
    with pytest.raises(vg.DisposedError, match="the variable 'once'"):
        v + 1.0
    assert vg.variable([2.0], name="once").tolist() == [2.0]


def test_dispose_takes_containers():
    tensors = {"a": [vg.scalar(1.0)], "b": (vg.scalar(2.0), None)}
    vg.dispose(tensors)
    assert tensors["a"][0].is_disposed
    assert tensors["b"][0].is_disposed


def test_disposing_a_reshape_leaves_the_original():
    x = vg.tensor([1.0, 2.0])
    y = x.reshape([2, 1])
    x.dispose()
    assert y.tolist() == [[1.0], [2.0]]


def test_disposing_an_input_inside_a_gradient_does_not_break_it():
    w = vg.variable([3.0])

    def f():
        y = w * w
        z = y * y
        y.dispose()
        return z.sum()

    assert vg.variable_grads(f, [w]).grads[w.name].tolist() == [108.0]


def test_dispose_variables_disposes_of_all_variables():
    gc.collect()
    v = vg.variable([1.0])
    vg.dispose_variables()
    assert v.is_disposed
