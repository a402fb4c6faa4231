"""Backends and their kernels."""

import asyncio

import numpy as np
import pytest

import varigrad as vg


@pytest.fixture(autouse=True)
def numpy_afterwards():
    yield
    vg.set_backend("numpy")
    for name in ("test_a", "test_b"):
        if vg.find_backend_factory(name) or vg.get_kernels_for_backend(name):
            vg.remove_backend(name)


def square():
    return vg.square([3.0]).item()


class Custom:
    def __init__(self):
        self.disposed = False
        vg.register_kernel("Square", "test_a", lambda x: x + x.dtype.type(100))

    def dispose(self):
        self.disposed = True


def test_the_factory_runs_once_when_the_backend_is_first_chosen():
    made = []

    def factory():
        made.append(Custom())
        return made[-1]

    assert vg.register_backend("test_a", factory) is True
    assert vg.find_backend_factory("test_a") is factory
    assert made == []
    assert vg.set_backend("test_a") is True
    assert vg.set_backend("test_a") is True
    assert len(made) == 1
    assert vg.backend() is vg.find_backend("test_a") is made[0]
    assert square() == 103
    vg.remove_backend("test_a")
    assert made[0].disposed
    assert (vg.get_backend(), square()) == ("numpy", 9)
    assert vg.find_backend("test_a") is None
    assert vg.get_kernels_for_backend("test_a") == []


def test_a_name_that_is_taken_stays_as_it_is():
    vg.register_backend("test_a", lambda: "first")
    assert vg.register_backend("test_a", lambda: "second") is False
    assert vg.find_backend("test_a") == "first"


def test_a_factory_that_fails_leaves_the_backend_in_use():
    def fail():
        raise OSError("no device")

    vg.register_backend("test_a", fail)
    with pytest.raises(OSError, match="no device"):
        vg.set_backend("test_a")
    assert (vg.get_backend(), square()) == ("numpy", 9)


def test_kernels_registered_for_and_taken_from_the_backend_in_use_take_effect_at_once():
    vg.register_backend("test_a")
    vg.set_backend("test_a")
    assert square() == 9
    vg.register_kernel("Square", "test_a", lambda x: x + x)
    assert square() == 6
    vg.unregister_kernel("Square", "test_a")
    assert square() == 9


def test_kernels_are_found_by_name_and_backend():
    vg.register_kernel("TestFound", "test_a", np.negative)
    assert vg.get_kernel("TestFound", "test_a") == ("TestFound", "test_a", np.negative)
    assert vg.get_kernel("TestFound", "numpy") is None
    assert vg.get_kernel("TestFound", "nowhere") is None
    assert vg.get_kernels_for_backend("test_a") == [("TestFound", "test_a", np.negative)]
    assert [k.kernel_name for k in vg.get_kernels_for_backend("numpy")] == vg.kernel_names()
    vg.copy_registered_kernels("test_a", "test_b")
    assert vg.get_kernel("TestFound", "test_b").kernel_func is np.negative


def test_the_backend_of_numpy_says_how_precise_it_is():
    assert isinstance(vg.backend(), vg.KernelBackend)
    assert (vg.backend().epsilon(), vg.backend().float_precision()) == (1e-7, 32)
    before = vg.backend().num_data_ids()
    x = vg.zeros([2])
    assert vg.backend().num_data_ids() == before + 1
    x.dispose()


def test_being_ready_takes_no_time():
    assert asyncio.run(vg.ready()) is None


def test_what_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="remove_backend: no backend named 'webgl'"):
        vg.remove_backend("webgl")
    with pytest.raises(ValueError, match="'numpy' stays"):
        vg.remove_backend("numpy")
    with pytest.raises(vg.KernelError, match="no kernel 'Nothing' is registered for backend 'numpy'"):
        vg.unregister_kernel("Nothing", "numpy")
    with pytest.raises(vg.GradientError, match="no gradient is registered for the kernel 'Nothing'"):
        vg.unregister_gradient("Nothing")


def test_a_gradient_can_be_looked_up_and_taken_away():
    vg.register_kernel("TestGone", "numpy", lambda x: x + x)
    vg.register_gradient("TestGone", lambda dy: dy * 2.0, save=vg.tape.nothing)
    double = lambda x: vg.run_kernel("TestGone", (x,))  # noqa: E731
    assert vg.get_gradient("TestGone").save is vg.tape.nothing
    assert vg.grad(double)(vg.scalar(1.0)).item() == 2
    vg.unregister_gradient("TestGone")
    assert vg.get_gradient("TestGone") is None
    with pytest.raises(vg.GradientError, match="'TestGone' has no gradient"):
        vg.grad(double)(vg.scalar(1.0))
