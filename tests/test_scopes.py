"""`tidy`, `keep`, `dispose`, `memory`, `profile`."""

import asyncio
import gc
import threading
import weakref

import numpy as np
import pytest

import varigrad as vg


def counts():
    gc.collect()
    m = vg.memory()
    return m.num_tensors, m.num_data_buffers, m.num_bytes


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


# memory


def test_memory_counts_tensors_buffers_and_bytes():
    before = counts()
    x = vg.tensor(np.zeros((10, 10)))
    after = counts()
    assert np.subtract(after, before).tolist() == [1, 1, 400]
    y = x.reshape([100])
    assert np.subtract(counts(), before).tolist() == [2, 1, 400]
    x.dispose()
    assert np.subtract(counts(), before).tolist() == [1, 1, 400]
    del y
    assert counts() == before


def test_memory_counts_across_threads():
    before = counts()
    held = []
    thread = threading.Thread(target=lambda: held.append(vg.tensor([1.0, 2.0])))
    thread.start()
    thread.join()
    assert np.subtract(counts(), before).tolist() == [1, 1, 8]


def test_memory_by_site_names_the_line():
    vg.memory(by_site=True)
    x = [vg.tensor(np.zeros(1000)) for _ in range(3)]  # the line to be found
    sites = vg.memory(by_site=True).sites
    mine = [entry for site, entry in sites.items() if "test_scopes.py" in site]
    assert (3, 12_000) in mine
    assert len(x) == 3


def test_a_training_loop_without_tidy_holds_a_constant_number_of_tensors():
    w = vg.variable(np.ones((4, 3), np.float32))
    x = vg.tensor(np.ones((2, 4), np.float32))

    def step():
        _, grads = vg.variable_grads(lambda: (x[:, :, None] * w).square().mean(), [w])
        w.assign(w - grads[w.name] * 0.01)

    step()
    step()
    before = counts()
    for _ in range(100):
        step()
    assert counts() == before


# profile


def test_profile_reports_kernels_and_memory():
    info = vg.profile(lambda: vg.tensor([1.0, 2.0]) * vg.tensor([3.0, 4.0]))
    assert info.kernel_names == ["Multiply"]
    (kernel,) = info.kernels
    assert kernel.input_shapes == ((2,), (2,))
    assert kernel.output_shapes == ((2,),)
    assert kernel.bytes_added == 8
    assert kernel.tensors_added == 1
    assert kernel.kernel_time_ms > 0
    assert info.result.tolist() == [3.0, 8.0]
    assert (info.new_tensors, info.new_bytes, info.peak_bytes) == (1, 8, 24)
    assert "Multiply" in str(info)


def test_profile_counts_what_is_alive_after_each_kernel():
    kept = vg.zeros([10])
    gone = [vg.zeros([5])]
    gc.collect()
    before = vg.memory()
    v = vg.variable(kept)

    def f():
        x = kept.reshape([2, 5])
        gone.clear()
        y = vg.mat_mul(x, vg.ones([2, 3]), transpose_a=True)
        y.dispose()
        v.assign_add(1.0)
        return x.sum()

    info = vg.profile(f)
    alive = [(k.name, k.total_tensors_snapshot - before.num_tensors, k.tensors_added) for k in info.kernels]
    # v and x; y's factor and y, and one gone; v, x, 1.0 and what v becomes, which shared the memory of `kept` before.
    assert alive == [("Reshape", 2, 1), ("Fill", 2, 1), ("BatchMatMul", 3, 1), ("Add", 3, 1), ("Sum", 2, 1)]
    assert [k.bytes_added for k in info.kernels] == [0, 24, 60, 40, 4]
    memory = [k.total_bytes_snapshot - before.num_bytes for k in info.kernels]
    assert memory == [0, 24 - 20, 24 + 60 - 20, 4 + 40 - 20, 40 + 4 - 20]
    assert "transpose_a=True" in info.kernels[2].extra_info


def test_profile_sees_gradients_too():
    info = vg.profile(lambda: vg.grad(lambda x: x * x)(vg.scalar(2.0)))
    assert "MultiplyNoNan" in info.kernel_names


def test_tidy_takes_a_name_that_is_a_string():
    assert vg.tidy("name", lambda: 5) == 5
    with pytest.raises(TypeError, match="name must be a string"):
        vg.tidy(4, lambda: 5)


def test_memory_can_be_asked_for_while_another_thread_trains():
    done = threading.Event()
    errors: list[BaseException] = []

    def watch():
        try:
            while not done.is_set():
                vg.memory()
                vg.memory(by_site=True)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    w = vg.variable(np.ones((5, 1), np.float32), name="w")
    x = vg.ones([8, 5])
    optimizer = vg.train.adam(0.01)
    for _ in range(400):
        with vg.tidy():
            optimizer.minimize(lambda: (x.mat_mul(w) - 1.0).square().mean())
    done.set()
    thread.join()
    assert errors == []


def test_a_profile_leaves_nothing_to_the_garbage_collector():
    w = vg.variable([1.0, 2.0], name="w")
    vg.profile(lambda: (w * 2.0).sum())
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10):
            vg.profile(lambda: (w * 2.0).sum())
        assert len(gc.get_objects()) - before < 20
    finally:
        gc.enable()
