"""Debug mode names the first kernel that makes a NaN."""

import threading
import warnings

import numpy as np
import pytest

import varigrad as vg
from varigrad.debugging import _Debugger
from varigrad.observe import OBSERVERS


@pytest.fixture(autouse=True)
def debug_mode():
    vg.enable_debug_mode()
    yield
    vg.enable_debug_mode(False)


def messages(f):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", vg.NonFiniteWarning)
        f()
    assert {w.category for w in caught} <= {vg.NonFiniteWarning}
    assert {w.filename for w in caught} <= {__file__}
    return [str(w.message) for w in caught]


def test_the_op_the_kernel_the_shapes_and_the_line_are_named():
    x = vg.tensor([[4.0, -1.0], [-2.0, 9.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", vg.NonFiniteWarning)
        vg.sqrt(x)
    assert [str(w.message) for w in caught] == [
        "debug mode: sqrt: the kernel Sqrt made 2 of 4 values NaN (inputs: [2, 2] float32; output: [2, 2] float32)"
    ]
    assert caught[0].filename == __file__
    assert caught[0].lineno == test_the_op_the_kernel_the_shapes_and_the_line_are_named.__code__.co_firstlineno + 4


def test_infinite_values_are_named_as_what_they_are():
    found = messages(lambda: vg.div([1, 2], vg.tensor([0.0, 1.0])))
    assert len(found) == 1
    assert "div: the kernel RealDiv made 1 of 2 values infinite (inputs: [2] float32, [2] float32" in found[0]


def test_only_the_first_of_a_chain_is_named():
    found = messages(lambda: vg.exp(vg.log(vg.tensor([-1.0])) * 2.0 + 1.0))
    assert len(found) == 1
    assert "log: " in found[0]


def test_nan_made_of_infinite_values_is_named_too():
    found = messages(lambda: (lambda x: x - x)(vg.exp(vg.tensor([1000.0]))))
    assert ["the kernel Exp" in found[0], "the kernel Sub" in found[1]] == [True, True]


def test_operators_and_ops_made_of_ops_are_named():
    assert "the kernel RealDiv" in messages(lambda: vg.tensor([1.0]) / vg.tensor([0.0]))[0]
    assert "debug mode: norm: " in messages(lambda: vg.norm(vg.tensor([3e38, 3e38]), 1))[0]


def test_a_kernel_of_a_gradient_is_named_with_what_is_differentiated():
    found = messages(lambda: vg.grad(lambda x: vg.sqrt(x))(vg.tensor([0.0])))
    assert len(found) == 1
    assert "in the gradient of Sqrt made 1 of 1 values" in found[0]


def test_an_optimizer_that_spoils_a_variable_is_named():
    w = vg.variable([1.0, 2.0], name="debugged")
    optimizer = vg.train.sgd(1e30)
    gradient = vg.tensor([1e30, 0.0])
    found = messages(lambda: (optimizer.apply_gradients({"debugged": gradient}), w.numpy()))
    assert len(found) == 1
    assert "made 1 of 2 values infinite in the variable 'debugged' of shape [2]" in found[0]


def test_a_variable_that_is_spoilt_already_is_not_blamed_on_the_optimizer():
    vg.enable_debug_mode(False)
    w = vg.variable([np.inf], name="spoilt")
    vg.enable_debug_mode()
    assert messages(lambda: (vg.train.sgd(0.1).apply_gradients({"spoilt": vg.tensor([1.0])}), w.numpy())) == []


@pytest.mark.parametrize("values", [[1.0, np.nan], np.array([np.inf], np.float32), complex(np.nan, 1)])
def test_a_tensor_made_from_values_that_are_not_finite_is_an_error(values):
    with pytest.raises(ValueError, match=r"debug mode: a tensor of shape \[.*test_debugging.py:\d+\)"):
        vg.tensor(values)


def test_integers_strings_and_finite_values_pass():
    def f():
        vg.add([1, 2], [3, 4]).sum()
        vg.tensor(["a"])
        vg.tensor([1], dtype="int32") + 1

    assert messages(f) == []


def test_the_warning_can_be_made_an_error_that_stops_there():
    with warnings.catch_warnings():
        warnings.simplefilter("error", vg.NonFiniteWarning)
        with pytest.raises(vg.NonFiniteWarning, match="log"):
            vg.log(vg.tensor([-1.0]))


def test_debug_mode_is_on_in_other_threads_and_outlasts_scopes():
    found = []

    def f():
        found.extend(messages(lambda: vg.log(vg.tensor([-1.0]))))

    thread = threading.Thread(target=f)
    thread.start()
    thread.join()
    assert len(found) == 1
    vg.enable_debug_mode(False)
    with vg.tidy():
        vg.enable_debug_mode()
        assert len(messages(lambda: vg.log(vg.tensor([-1.0])))) == 1
    assert len(messages(lambda: vg.log(vg.tensor([-1.0])))) == 1
    with vg.tidy():
        vg.enable_debug_mode(False)
        assert messages(lambda: vg.log(vg.tensor([-1.0]))) == []
    assert not any(isinstance(observer, _Debugger) for observer in OBSERVERS.get())


def test_switching_it_on_twice_warns_once_and_off_leaves_nothing():
    vg.enable_debug_mode()
    assert len(messages(lambda: vg.log(vg.tensor([-1.0])))) == 1
    vg.enable_debug_mode(False)
    assert messages(lambda: vg.log([-1.0, np.nan])) == []
    assert not any(isinstance(observer, _Debugger) for observer in OBSERVERS.get())
