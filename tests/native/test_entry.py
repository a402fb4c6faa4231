"""The ways from Python into machine code give the same."""

import gc
import types

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native import program

WAYS = {
    "built-in function": {},
    "ctypes": {"_SMALL": -1},
    "ctypes, arrays looked up by Python": {"arrays_can_be_read": lambda: False},
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(program, name, value)
    return request.param


def test_every_way_trains_as_eager_mode_does(way, compile_native):
    variables = [vg.variable(np.linspace(-1, 1, 12).reshape(4, 3)) for _ in range(2)]
    optimizers = [vg.train.adam(0.1) for _ in variables]
    x = vg.tensor(np.linspace(0, 2, 8).reshape(2, 4))

    def training(v, optimizer):
        def step(x):
            value, grads = vg.variable_grads(lambda: vg.tanh(x.mat_mul(v)).square().sum(), [v])
            optimizer.apply_gradients(grads)
            return value, v * 2

        return step

    eager, step = (training(v, optimizer) for v, optimizer in zip(variables, optimizers, strict=True))
    compiled = compile_native(step, x)
    eager(x)
    for _ in range(5):
        shared = vg.reshape(variables[1], [12])  # its values must stay, so that machine code is entered twice
        held = shared.numpy()
        for found, right in zip(compiled(x), eager(x), strict=True):
            np.testing.assert_allclose(found, right.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(shared.numpy(), held)
    np.testing.assert_allclose(variables[1].numpy(), variables[0].numpy(), rtol=1e-5)


def test_every_way_raises_what_eager_mode_does(way, compile_native):
    compiled = compile_native(vg.gather, vg.ones([3, 2]), vg.tensor([0, 2], dtype="int32"))
    with pytest.raises(vg.OutOfRangeError, match="index 3"):
        compiled(vg.ones([3, 2]), vg.tensor([0, 3], dtype="int32"))
    np.testing.assert_array_equal(compiled(vg.ones([3, 2]), vg.tensor([0, 1], dtype="int32"))[0], np.ones([2, 2]))


def test_small_programs_are_entered_by_a_built_in_function(compile_native):
    small = compile_native(lambda x: x + x, vg.ones([8]))
    assert isinstance(small.program._new_entry().enter, types.BuiltinFunctionType)
    large = compile_native(vg.mat_mul, vg.ones([256, 256]), vg.ones([256, 256]))
    assert not isinstance(large.program._new_entry().enter, types.BuiltinFunctionType)


def test_a_built_in_function_outlives_the_program(compile_native):
    small = compile_native(lambda x: x + x, vg.ones([8]))
    x, result = np.ones(8, np.float32), np.empty(8, np.float32)
    entry = small.program._new_entry()
    del small
    gc.collect()
    assert entry.enter([None, x, result]) == 0
    assert result.tolist() == [2.0] * 8
