"""When a compiled function goes, what it was compiled for goes with it, and not when garbage is collected."""

import gc
import weakref

import numpy as np
import pytest

import varigrad as vg


def of_a_model(executor):
    model = vg.sequential(layers=[vg.layers.dense(units=30, input_shape=[40])])
    return vg.jit(lambda x: model(x), executor=executor), [model, model.weights[0]]


def of_an_array(executor):
    scale = np.ones(3)
    w = vg.variable(vg.ones([40]))
    return vg.jit(lambda x: x * w * float(scale[0]), executor=executor), [w]


def of_a_step(executor):
    model = vg.sequential(layers=[vg.layers.dense(units=30, input_shape=[40])])
    optimizer = vg.train.adam(0.1)

    def step(x):
        value, grads = vg.variable_grads(lambda: model(x).square().sum())
        optimizer.apply_gradients(grads)
        return value

    return vg.jit(step, executor=executor), [model, model.weights[0], optimizer]


@pytest.mark.parametrize("make", [of_a_model, of_an_array, of_a_step])
def test_what_a_function_was_compiled_for_goes_with_it(make, executor):
    gc.collect()
    gc.disable()
    try:
        function, held = make(executor)
        for _ in range(3):
            function(vg.ones([2, 40]))
        assert function.compilations == 1
        function.timeline(vg.ones([2, 40]))
        references = [weakref.ref(item) for item in (function, *held)]
        del function, held
        assert [reference() for reference in references] == [None] * len(references)
    finally:
        gc.enable()
