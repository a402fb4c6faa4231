"""Kernels by name and backend, and the running of them."""

import threading
import warnings

import numpy as np
import pytest

import varigrad as vg
from varigrad.engine import kernel_names, register_update, update_variables
from varigrad.tensor import Variable


def test_a_registered_kernel_runs_and_can_be_differentiated():
    vg.register_kernel("TestCube", "numpy", lambda x: x * x * x)
    vg.register_gradient("TestCube", lambda dy, x: dy * 3.0 * x * x, save=vg.tape.inputs)
    x = vg.tensor([1.0, -2.0])
    cube = lambda x: vg.run_kernel("TestCube", (x,))  # noqa: E731
    assert cube(x).tolist() == [1.0, -8.0]
    assert vg.grad(cube)(x).tolist() == [3.0, 12.0]
    assert vg.grad(vg.grad(cube))(x).tolist() == [6.0, -12.0]


def test_an_unknown_kernel_is_an_error_that_names_it_and_the_backend():
    with pytest.raises(vg.KernelError, match=r"'NoSuchKernel'.*'numpy'"):
        vg.run_kernel("NoSuchKernel", (vg.scalar(1),))


def test_a_kernel_without_a_gradient_is_named_when_a_gradient_reaches_it():
    vg.register_kernel("TestOpaque", "numpy", lambda x: x + x)
    with pytest.raises(vg.GradientError, match="'TestOpaque' has no gradient"):
        vg.grad(lambda x: vg.run_kernel("TestOpaque", (x,)))(vg.scalar(1.0))


def test_a_kernel_without_a_gradient_off_the_path_does_no_harm():
    vg.register_kernel("TestOpaque", "numpy", lambda x: x + x)

    def f(x):
        vg.run_kernel("TestOpaque", (x,))
        return x * x

    assert vg.grad(f)(vg.scalar(3.0)).item() == 6.0


def test_a_failing_kernel_is_reported_with_its_name_and_shapes():
    def refuse(x):
        raise ValueError("not today")

    vg.register_kernel("TestRefuse", "numpy", refuse)
    with pytest.raises(ValueError, match=r"TestRefuse: not today \(inputs: \[2, 3\] float32\)"):
        vg.run_kernel("TestRefuse", (vg.tensor(np.zeros((2, 3))),))


def test_another_backend_falls_back_on_the_reference_for_what_it_lacks():
    vg.register_kernel("TestOnlyHere", "test_backend", lambda x: x * x.dtype.type(10))
    try:
        assert vg.set_backend("test_backend") is True
        assert vg.get_backend() == "test_backend"
        x = vg.tensor([1.0])
        assert vg.run_kernel("TestOnlyHere", (x,)).item() == 10.0
        assert (x + x).item() == 2.0
    finally:
        vg.set_backend("numpy")
    with pytest.raises(vg.KernelError):
        vg.run_kernel("TestOnlyHere", (vg.tensor([1.0]),))


def test_registering_for_the_backend_in_use_takes_effect_at_once():
    vg.register_kernel("TestReplaced", "numpy", np.negative)
    vg.register_kernel("TestReplaced", "numpy", lambda x: x + x)
    assert vg.run_kernel("TestReplaced", (vg.scalar(2.0),)).item() == 4.0


def test_an_unknown_backend_is_an_error():
    with pytest.raises(ValueError, match="no backend named 'webgl'"):
        vg.set_backend("webgl")


@pytest.mark.parametrize("mode", ["error", "always"])
def test_infinities_are_values_whatever_the_warning_filters_say(mode):
    with warnings.catch_warnings():
        warnings.simplefilter(mode)
        if mode == "always":
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"varigrad\.")
        assert (vg.tensor([3e38]) * 10.0).item() == np.inf


def test_infinities_are_values_under_numpys_raise_mode():
    with np.errstate(all="raise"):
        assert (vg.tensor([3e38]) * 10.0).item() == np.inf


def test_the_users_own_numpy_still_warns():
    with pytest.warns(RuntimeWarning):
        np.float32(3e38) * np.float32(10)


def test_kernel_names_lists_the_reference_backend():
    assert {"Add", "Sum", "Reshape"} <= set(kernel_names())


# Updates


@pytest.fixture
def double():
    def function(targets, inputs, state):
        for target in targets:
            target *= 2

    register_update("TestDouble", function)
    return lambda *variables: update_variables("TestDouble", variables, ())


def test_an_update_writes_in_place_where_nobody_else_looks(double):
    v = Variable(np.ones(3, np.float32))
    address = v.storage.ctypes.data
    double(v)
    assert v.tolist() == [2, 2, 2]
    assert v.storage.ctypes.data == address


@pytest.mark.parametrize(
    "share",
    [
        lambda v: v.reshape([3, 1]),
        lambda v: np.asarray(v),
        lambda v: v.storage,
        lambda v: v.storage[1:],
    ],
)
def test_what_shares_a_variables_memory_keeps_its_value(double, share):
    v = Variable(np.ones(3, np.float32))
    other = share(v)
    double(v)
    assert v.tolist() == [2, 2, 2]
    assert np.all(np.asarray(other) == 1)


def test_a_value_saved_for_a_gradient_outlives_an_update(double):
    v = vg.variable([3.0])

    def f():
        y = (v * v).sum()
        double(v)
        return y

    value, grads = vg.variable_grads(f, [v])
    assert value.item() == 9.0
    assert grads[v.name].tolist() == [6.0]
    assert v.tolist() == [6.0]


# Threads


def test_threads_have_tapes_of_their_own():
    errors = []
    barrier = threading.Barrier(4)

    def work(k):
        try:
            x = vg.tensor(np.arange(5.0) + k)
            for _ in range(200):
                barrier.wait()
                g = vg.grad(lambda x: x * x * float(k))(x)
                np.testing.assert_allclose(g.numpy(), 2 * k * (np.arange(5.0) + k), rtol=1e-6)
        except Exception as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_a_tape_does_not_see_what_another_thread_computes():
    x = vg.variable([2.0])

    def f():
        found = []
        thread = threading.Thread(target=lambda: found.append((x * x).sum()))
        thread.start()
        thread.join()
        return found[0]

    with pytest.raises(vg.GradientError):
        vg.variable_grads(f, [x])


def test_a_variable_shares_its_first_value_until_it_is_written_to(double):
    value = vg.tensor([1.0, 2.0])
    v = vg.variable(value)
    assert v.storage is value.storage
    double(v)
    assert (v.tolist(), value.tolist()) == ([2, 4], [1, 2])


def test_an_assigned_value_is_shared_until_the_variable_is_written_to(double):
    v, value = vg.variable([0.0, 0.0]), vg.tensor([1.0, 2.0])
    v.assign(value)
    w = vg.variable([5.0, 6.0])
    w.assign(v)
    double(v)
    assert (v.tolist(), w.tolist(), value.tolist()) == ([2, 4], [1, 2], [1, 2])
    double(w)
    assert (v.tolist(), w.tolist(), value.tolist()) == ([2, 4], [2, 4], [1, 2])
