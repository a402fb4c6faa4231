"""What a compiled function does, from call to call."""

import copy
import functools
import threading

import numpy as np
import pytest

import varigrad as vg


@vg.jit
def doubled(x):
    return x * 2


def values(tensor):
    return np.asarray(tensor).tolist()


def test_a_function_is_compiled_once_for_one_signature_and_again_for_another_shape():
    f = vg.jit(lambda x: x * 2)
    assert [values(f(vg.tensor(v))) for v in ([1, 2], [3, 4], [5, 6, 7])] == [[2, 4], [6, 8], [10, 12, 14]]
    assert f.compilations == 2
    assert "float32[3]" in f.explain()


def test_the_python_function_runs_only_to_be_captured(capsys):
    @vg.jit
    def f(x):
        print("running")
        return x + 1

    for start in range(4):
        assert f(vg.scalar(start)).item() == start + 1
    assert capsys.readouterr().out == "running\n"


def test_a_compiled_method_has_compilations_for_each_object():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @vg.jit
        def predict(self, x):
            return x * self.scale

    first, second = Model(2.0), Model(3.0)
    x = vg.scalar(1.0)
    for _ in range(2):
        assert (first.predict(x).item(), second.predict(x).item()) == (2, 3)
    assert first.predict.compilations == 1


def test_random_numbers_are_fresh_at_each_call_and_those_of_eager_mode():
    def noise(x):
        _ = vg.random_uniform([2])  # not used, but drawn
        return x + vg.random_normal([3]), vg.dropout(vg.ones([4]), 0.5)

    compiled = vg.jit(noise)
    x = vg.zeros([3])
    compiled(x)
    vg.set_random_seed(3)
    expected = [[t.tolist() for t in noise(x)] for _ in range(3)]
    vg.set_random_seed(3)
    assert [[t.tolist() for t in compiled(x)] for _ in range(3)] == expected
    assert expected[0] != expected[1]


def test_threads_may_share_a_compiled_function():
    f = vg.jit(lambda x: vg.tanh(x.mat_mul(x)) + x)
    f(vg.ones([64, 64]))
    failures = []

    def work(start):
        for step in range(50):
            x = vg.fill([64, 64], 0.01 * (start + step))
            expected = np.tanh(np.asarray(x) @ np.asarray(x)) + np.asarray(x)
            if not np.allclose(f(x), expected, rtol=1e-5):
                failures.append((start, step))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert f.compilations == 1


def test_a_compiled_function_can_be_differentiated_to_any_order():
    f = vg.jit(lambda x: (x**3).sum())
    x = vg.tensor([1.0, 2.0])
    f(x)
    assert values(vg.grad(f)(x)) == [3, 12]
    assert values(vg.grad(lambda y: vg.grad(f)(y).sum())(x)) == [6, 12]
    w = vg.variable([1.0, 2.0])
    _, grads = vg.variable_grads(lambda: f(w * 2))
    assert values(grads[w.name]) == [24, 96]


def test_compiled_functions_may_call_each_other():
    inner = vg.jit(lambda x: x * 2)
    outer = vg.jit(lambda x: inner(x) + 1)
    inner(vg.scalar(1.0))
    assert [outer(vg.scalar(v)).item() for v in (1.0, 2.0)] == [3, 5]


def test_gradients_and_gradients_of_gradients_are_compiled():
    f = vg.jit(vg.grad(lambda x: vg.grad(lambda y: vg.tanh(y).sum())(x).square().sum()))
    for start in (0.3, 0.7):
        t = np.tanh(start)
        slope = 1 - t * t
        assert f(vg.scalar(start)).item() == pytest.approx(2 * slope * -2 * t * slope, rel=1e-5)
    assert f.compilations == 1


def test_custom_gradients_are_compiled():
    @vg.custom_grad
    def clipped(x, save):
        save([x])
        return x.square(), lambda dy, saved: dy * saved[0].abs()

    f = vg.jit(vg.grad(clipped))
    assert [f(vg.scalar(v)).item() for v in (-3.0, 4.0)] == [3, 4]


def test_tidy_inside_and_outside():
    @vg.jit
    def f(x):
        return vg.tidy(lambda: vg.tidy(lambda: x * 2) + 1)

    f(vg.scalar(1.0))
    before = vg.memory().num_tensors
    with vg.tidy() as scope:
        dropped, kept = f(vg.scalar(1.0)), scope.keep(f(vg.scalar(2.0)))
    assert dropped.is_disposed
    assert kept.item() == 5
    del dropped, kept
    assert vg.memory().num_tensors == before


def test_a_profile_shows_a_compiled_call_as_one_kernel():
    f = vg.jit(lambda x: x * 2 + 1)
    x = vg.ones([4])
    f(x)
    assert vg.profile(lambda: f(x)).kernel_names == ["CompiledFunction"]


def test_results_of_different_calls_have_memory_of_their_own():
    f = vg.jit(lambda x: (vg.exp(x) + 1, x.reshape([-1])))
    x = vg.ones([100, 100])
    first = f(x)
    kept = first[0].numpy()
    f(x * 2)
    assert np.array_equal(first[0], kept)


def test_an_argument_is_never_written_to():
    f = vg.jit(lambda x: vg.exp(x + 1) * 2 - 3)
    x = vg.ones([100, 100])
    for _ in range(3):
        f(x)
    assert np.asarray(x).min() == np.asarray(x).max() == 1


def test_an_error_in_a_kernel_names_it_the_shapes_and_the_line():
    def kernel(x):
        if x[0] < 0:
            raise ValueError("must not be negative")
        return x + 1

    vg.register_kernel("PositiveTest", "numpy", kernel)
    f = vg.jit(lambda x: vg.run_kernel("PositiveTest", (x,)))
    assert values(f(vg.tensor([1.0, 2.0]))) == [2, 3]
    with pytest.raises(ValueError, match=r"PositiveTest: must not be negative.*\[2\] float32.*test_compiled\.py"):
        f(vg.tensor([-1.0, 2.0]))
    assert values(f(vg.tensor([3.0, 4.0]))) == [4, 5]


def test_an_index_outside_its_axis_is_an_error_as_in_eager_mode():
    f = vg.jit(lambda x, i: vg.gather(x, i))
    x = vg.tensor([1.0, 2.0])
    assert f(x, vg.tensor([1], dtype="int32")).item() == 2
    with pytest.raises(vg.OutOfRangeError, match="index 7"):
        f(x, vg.tensor([7], dtype="int32"))
    assert f(x, vg.tensor([0], dtype="int32")).item() == 1


def test_an_executor_that_there_is_not_is_an_error():
    with pytest.raises(ValueError, match="'native', 'numpy' or None"):
        vg.jit(lambda x: x, executor="magic")


def test_an_embedding_refuses_an_index_outside_its_table_at_every_call():
    layer = vg.layers.embedding(input_dim=3, output_dim=2)
    f = vg.jit(lambda x: layer(x))
    for _ in range(3):
        f(vg.tensor([[0, 2]], dtype="int32"))
    for wrong in ([[0, 3]], [[0, -1]]):
        with pytest.raises((ValueError, IndexError), match=str(wrong[0][1])):
            f(vg.tensor(wrong, dtype="int32"))


def test_threads_that_come_first_together_compile_once():
    f = vg.jit(lambda x: vg.tanh(x) * 2)
    barrier = threading.Barrier(4)
    found = []

    def call():
        barrier.wait()
        found.append(f(vg.scalar(0.0)).item())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0, 0, 0, 0]
    assert f.compilations == 1


class Base:
    def __init__(self, scale):
        self.scale = scale

    @vg.jit
    def predict(self, x):
        return x * self.scale


class Derived(Base):
    @vg.jit
    def predict(self, x):
        return super().predict(x) + 1


def test_a_compiled_method_that_calls_that_of_its_base_class():
    model = Derived(2.0)
    assert [model.predict(vg.scalar(v)).item() for v in (1.0, 2.0)] == [3, 5]


def test_an_object_with_compiled_methods_is_copied():
    first = Base(2.0)
    first.predict(vg.scalar(1.0))
    second = copy.deepcopy(first)
    second.scale = 3.0
    assert [m.predict(vg.scalar(1.0)).item() for m in (first, second, first)] == [2, 3, 2]
    assert copy.deepcopy(doubled) is doubled


def test_a_copy_of_a_compiled_function_without_a_name_has_its_settings():
    f = vg.jit(functools.partial(vg.pow, exp=2.0), check=True, executor="numpy")
    found = copy.copy(f)
    assert found is not f
    assert (found.check, found.executor) == (True, "numpy")
    assert found(vg.scalar(3.0)).item() == 9


def test_methods_of_objects_with_slots():
    class Slotted:
        __slots__ = ("scale",)

        @vg.jit
        def predict(self, x):
            return x * self.scale

    model = Slotted()
    model.scale = 2.0
    assert model.predict(vg.scalar(1.0)).item() == 2
    model.scale = 3.0
    assert model.predict(vg.scalar(1.0)).item() == 3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_debug_mode_looks_inside():
    f = vg.jit(lambda x: vg.log(x) * 2)
    f(vg.scalar(1.0))
    vg.enable_debug_mode()
    try:
        with pytest.warns(vg.NonFiniteWarning, match="log"):
            f(vg.scalar(-1.0))
    finally:
        vg.enable_debug_mode(False)
    assert np.isnan(f(vg.scalar(-1.0)).item())


def test_a_tape_outside_that_saved_a_variable_keeps_the_value_it_had():
    w = vg.variable(3.0)
    update = vg.jit(lambda x: w.assign(x))
    w.trainable = False
    update(vg.scalar(3.0))

    def f(x):
        y = w * x * x
        update(vg.scalar(100.0))
        return y

    assert vg.grad(f)(vg.scalar(2.0)).item() == 12
    assert w.item() == 100


def test_results_and_state_outlive_the_function():
    w = vg.variable([1.0, 2.0])
    f = vg.jit(lambda x: w * x)
    result = f(vg.scalar(2.0))
    result = f(vg.scalar(3.0))
    del f
    assert result.tolist() == [3, 6]
