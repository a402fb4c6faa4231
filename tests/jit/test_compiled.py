"""What a compiled function does, from call to call."""

import copy
import functools
import random
import threading
import time
import types

import numpy as np
import pytest

import varigrad as vg


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


def test_arguments_and_results_keep_their_containers():
    @vg.jit
    def f(pair, *, options):
        return {"sum": pair[0] + pair[1], "same": pair[0], "n": options["n"], "list": [pair[1], None, "text"]}

    for _ in range(3):
        a, b = vg.tensor([1.0]), vg.tensor([2.0])
        result = f((a, b), options={"n": 3})
        assert values(result["sum"]) == [3.0]
        assert result["same"] is a
        assert result["n"] == 3
        assert result["list"][0] is b
        assert result["list"][1:] == [None, "text"]
    assert f.compilations == 1


def test_one_tensor_given_twice_is_two_inputs():
    f = vg.jit(lambda a, b: a - b)
    x = vg.scalar(5.0)
    assert f(x, x).item() == 0
    assert f(x, vg.scalar(2.0)).item() == 3


def test_arrays_are_inputs_like_tensors():
    f = vg.jit(lambda x: x + 1)
    assert values(f(np.array([1.0, 2.0]))) == [2, 3]
    assert values(f(np.array([3.0, 4.0]))) == [4, 5]
    assert f.compilations == 1


def test_the_values_of_ints_bools_and_texts_are_part_of_the_signature():
    @vg.jit
    def f(x, n, flag, mode):
        y = x * n if flag else x
        return -y if mode == "negative" else y

    x = vg.scalar(1.5)
    assert f(x, 2, True, "negative").item() == -3
    assert f(x, 3, True, "negative").item() == -4.5
    assert f(x, 3, False, "positive").item() == 1.5
    assert f(x, 2, True, "negative").item() == -3
    assert f.compilations == 3


@pytest.mark.parametrize("number", [1, True])
def test_an_int_is_not_a_bool(number):
    f = vg.jit(lambda x, n: (x, type(n).__name__))
    x = vg.scalar(1.0)
    assert f(x, 1)[1] == "int"
    assert f(x, number)[1] == type(number).__name__


# Floats as arguments


def test_a_float_argument_is_an_input():
    f = vg.jit(lambda x, rate: x * (1 - rate) + rate / 2)
    for rate in (0.25, 0.5, 0.75, 1.0):
        assert f(vg.scalar(4.0), rate).item() == 4 * (1 - rate) + rate / 2
    assert f.compilations == 1


def test_arithmetic_on_a_float_argument_is_done_in_double_precision_as_in_python():
    f = vg.jit(lambda x, a: x * (a - 1.0))
    for a in (1.0 + 1e-10, 1.0 + 3e-10):
        assert f(vg.scalar(1.0), a).item() == np.float32(a - 1.0)
    assert f.compilations == 1


def test_a_float_argument_takes_the_dtype_of_the_tensor_that_it_meets():
    f = vg.jit(lambda x, a: x * a)
    for dtype in ("float64", "float32", "float16"):
        for a in (0.1, 0.7):
            result = f(vg.tensor([1.0], dtype=dtype), a)
            assert result.dtype == dtype
            assert result.item() == np.array(a, dtype)


@pytest.mark.parametrize(
    "body",
    [
        lambda x, a: x + 1 if a > 0 else x - 1,
        lambda x, a: x * np.sqrt(abs(a)),
        lambda x, a: x * round(a),
        lambda x, a: vg.leaky_relu(-x, abs(a)),
        lambda x, a: x**a,
        lambda x, a: x * float(a),
        lambda x, a: x * np.float32(a),
        lambda x, a: x + vg.tensor([a, 1.0]),
        lambda x, a: vg.fill([2], a) * x,
        lambda x, a: x * max(a, 0.5),
        lambda x, a: vg.clip_by_value(x, -1, abs(a) + 1),
        lambda x, a: x * (1 + 2j).real * a if isinstance(a, float) else x,
    ],
)
def test_a_float_whose_value_matters_gives_what_it_gives_eagerly(body):
    f = vg.jit(body)
    x = vg.tensor([1.5, 2.5])
    for a in (2.0, -2.0, 0.25, 2.0, -3.0):
        assert np.array_equal(f(x, a), body(x, a))


def test_a_float_argument_may_be_returned():
    f = vg.jit(lambda x, a: (x, a, a * 2))
    for a in (1.0, 2.5):
        assert f(vg.scalar(0.0), a)[1:] == (a, 2 * a)
        assert type(f(vg.scalar(0.0), a)[2]) is float


# What is around the function


def test_a_number_in_a_closure_counts_with_the_value_it_has_at_each_call():
    a = 10
    f = vg.jit(vg.grad(lambda v: a * (v**2).sum()))
    x = vg.tensor([1.0, 2.0])
    assert values(f(x)) == [20, 40]
    a = 20
    assert values(f(x)) == [40, 80]
    assert "a was 10 and is 20" in f.explain()


SCALE = 2.0


def test_a_global_an_attribute_a_list_element_a_dict_value_and_an_array_count_as_they_are(monkeypatch):
    config = types.SimpleNamespace(scale=2.0)
    numbers = [2.0, 5.0]
    table = {"scale": 2.0}
    array = np.array([2.0, 2.0], np.float32)

    class Settings:
        scale = 2.0

    functions = {
        "global": vg.jit(lambda x: x * SCALE),
        "attribute": vg.jit(lambda x: x * config.scale),
        "element": vg.jit(lambda x: x * numbers[0]),
        "dict": vg.jit(lambda x: x * table["scale"]),
        "array": vg.jit(lambda x: x * array),
        "class": vg.jit(lambda x: x * Settings.scale),
        "length": vg.jit(lambda x: x * len(numbers)),
    }
    x = vg.tensor([1.0, 2.0])
    for f in functions.values():
        for _ in range(3):
            assert values(f(x)) == [2, 4]
        assert f.compilations == 1
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    config.scale = table["scale"] = numbers[0] = Settings.scale = 3.0
    array[:] = 3.0
    numbers.append(0.0)
    for name, f in functions.items():
        assert values(f(x)) == [3, 6], name
        assert values(f(x)) == [3, 6], name
        assert f.compilations == 2


def test_an_equal_number_of_another_type_is_another_number():
    config = types.SimpleNamespace(scale=1)
    f = vg.jit(lambda x: x * config.scale)
    x = vg.tensor([1, 2], dtype="int32")
    assert f(x).dtype == "int32"
    config.scale = 1.0
    assert f(x).dtype == "float32"


def test_what_the_code_does_not_mention_does_not_count():
    config = types.SimpleNamespace(scale=2.0, epoch=0)
    f = vg.jit(lambda x: x * config.scale)
    for epoch in range(5):
        config.epoch = epoch
        assert f(vg.scalar(1.0)).item() == 2
    assert f.compilations == 1


def test_a_number_set_anew_to_the_same_value_does_not_recompile():
    config = types.SimpleNamespace(scale=2.0)
    f = vg.jit(lambda x: x * config.scale)
    for _ in range(5):
        config.scale = float("2.0")
        assert f(vg.scalar(1.0)).item() == 2
    assert f.compilations == 1


def test_a_function_called_by_the_function_is_followed():
    scale = 2.0

    def inner(x):
        return x * scale

    registry = {"inner": inner}
    f = vg.jit(lambda x: registry["inner"](x) + 1)
    assert f(vg.scalar(1.0)).item() == 3
    scale = 5.0
    assert f(vg.scalar(1.0)).item() == 6
    registry["inner"] = vg.neg
    assert f(vg.scalar(1.0)).item() == 0


def test_attributes_of_an_object_passed_as_an_argument_count():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

    f = vg.jit(lambda model, x: model(x))
    first, second = Model(2.0), Model(3.0)
    x = vg.scalar(1.0)
    assert [f(first, x).item(), f(second, x).item(), f(first, x).item()] == [2, 3, 2]
    assert f.compilations == 2
    first.scale = 7.0
    assert f(first, x).item() == 7


def test_an_attribute_that_only_one_of_many_objects_mentions_counts():
    class Part:
        def __init__(self, weight, work):
            self.weight = weight
            self.work = work

    parts = [Part(1.0, lambda part: 1.0) for _ in range(30)]
    parts[17].work = lambda part: part.weight
    f = vg.jit(lambda x: sum([part.work(part) for part in parts]) * x)
    x = vg.scalar(1.0)
    assert f(x).item() == f(x).item() == 30
    parts[17].weight = 4.0
    assert f(x).item() == f(x).item() == 33
    assert f.compilations == 2


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


# What cannot be compiled


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
    with pytest.raises(vg.JitError, match=r"test_compiled\.py:\d+.* reads the value.*return the tensor") as info:
        vg.jit(body)(vg.scalar(1.0))
    assert f"test_compiled.py:{body.__code__.co_firstlineno}" in str(info.value)


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


# Random numbers, threads, other observers


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


# Looking inside


@vg.jit
def chain(x, y):
    return (x + 0.5).mat_mul((y * 1).transpose()).sum()


def test_the_graph_is_shown_before_and_after_passes():
    x = vg.ones([2, 3])
    chain(x, x)
    before, after = chain.graph("capture"), chain.graph()
    assert "Transpose" in before
    assert "Transpose" not in chain.graph("absorb_transposes").split("MatMul")[1]
    assert "transpose_b=True" in after
    assert after.count("Multiply") == 0 < before.count("Multiply")
    assert "argument x: float32 [2, 3]" in after
    assert "test_compiled.py:" in after
    with pytest.raises(ValueError, match="drop_dead_code"):
        chain.graph("nonsense")


def test_what_runs_is_shown(executor):
    f = vg.jit(lambda x: vg.exp(x) + 1)
    with pytest.raises(vg.JitError, match="call it first"):
        f.graph()
    f(vg.ones([3]))
    if executor == "numpy":
        assert "def step" in f.source()
        with pytest.raises(vg.JitError, match="executor='native'"):
            f.ir()
        with pytest.raises(vg.JitError, match=r"has no fusion .* executor='native'"):
            f.graph("fusion")
    else:
        assert "define" in f.ir()
        assert "ret" in f.asm()
        with pytest.raises(vg.JitError, match="executor='numpy'"):
            f.source()


def test_a_timeline_is_one_call_with_a_line_for_each_kernel():
    w = vg.variable(0.0)
    optimizer = vg.train.sgd(1.0)
    step = vg.jit(lambda x: optimizer.minimize(lambda: (w - x).square()))
    with pytest.raises(vg.JitError, match="call it first"):
        step.timeline(vg.scalar(3.0))
    step(vg.scalar(3.0))
    assert w.item() == 6
    _, *kernels, total = step.timeline(vg.scalar(3.0)).splitlines()
    assert w.item() == 0
    assert "ApplyGradientDescent" in kernels[-1]
    times = [float(line.split()[0]) for line in kernels]
    assert min(times) >= 0
    assert total.split()[1:] == ["in", "all"]
    assert float(total.split()[0]) == pytest.approx(sum(times), abs=1e-4 * len(kernels))


class Block(vg.layers.Layer):
    """Two layers of its own around one line of arithmetic."""

    def build(self, input_shape):
        self.first = vg.layers.dense(units=3, name="first")
        self.second = vg.layers.dense(units=3, name="second")

    def call(self, x):
        return self.second(self.first(x).sin())


class LoudBlock(Block):
    def call(self, x):
        return super().call(x).cos()


def test_graph_and_timeline_name_the_layers(executor):
    model = vg.sequential([LoudBlock(name="block", input_shape=[3]), vg.layers.dense(units=2, name="end")], name="net")
    f = vg.jit(lambda x: model(x).exp())
    x = vg.ones([2, 3])
    f(x)
    inside = {}
    for line in f.graph("capture").splitlines():
        if "    # " in line:
            kernel = line.split(" = ")[1].partition("(")[0]
            site = line.partition("    # ")[2]
            assert site.startswith(__file__)
            inside.setdefault(kernel, []).append(site.partition(" ")[2])
    assert inside == {
        "_FusedMatMul": ["(net/block/first)", "(net/block/second)", "(net/end)"],
        "Sin": ["(net/block)"],
        "Cos": ["(net/block)"],
        "Exp": [""],
    }
    assert "(net/block/first)" in f.timeline(x)


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


# Side effects, however they come about


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


def test_a_cached_function_is_followed():

    scale = 2.0

    @functools.lru_cache
    def factor():
        return scale

    f = vg.jit(lambda x: x * factor())
    assert [f(vg.scalar(1.0)).item() for _ in range(3)] == [2, 2, 2]
    scale = 3.0
    factor.cache_clear()
    assert f(vg.scalar(1.0)).item() == 3


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


def test_the_globals_of_a_function_made_by_exec_are_followed():
    namespace = {"scale": 2.0}
    exec("def f(x): return x * scale", namespace)
    f = vg.jit(namespace["f"])
    assert [f(vg.scalar(1.0)).item() for _ in range(2)] == [2, 2]
    namespace["scale"] = 3.0
    assert f(vg.scalar(1.0)).item() == 3


@pytest.mark.parametrize(
    "read",
    [
        lambda holder: getattr(holder, "sca" + "le"),
        lambda holder: holder.__dict__["scale"],
        lambda holder: vars(holder)["scale"],
    ],
)
def test_an_attribute_found_by_a_name_that_is_not_in_the_code_counts(read):
    holder = types.SimpleNamespace(scale=2.0)
    f = vg.jit(lambda x: x * read(holder))
    assert [f(vg.scalar(1.0)).item() for _ in range(2)] == [2, 2]
    holder.scale = 3.0
    assert f(vg.scalar(1.0)).item() == 3


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
    assert copy.deepcopy(chain) is chain


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


def test_long_lists_and_dicts_of_numbers_are_followed():
    numbers, table = [1.0] * 1000, dict.fromkeys(range(1000), 1.0)
    f = vg.jit(lambda x: x * numbers[500] * table[500])
    assert [f(vg.scalar(1.0)).item() for _ in range(2)] == [1, 1]
    numbers[500] = 2.0
    assert f(vg.scalar(1.0)).item() == 2
    table[500] = 3.0
    assert f(vg.scalar(1.0)).item() == 6
    assert f.compilations == 3


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


def test_an_explanation_is_by_what_comes_nearest_and_the_latest_graph_is_shown():
    table = {"scale": 2.0, "shift": 0.0, "items": (1.0,)}
    f = vg.jit(lambda x: x * table["scale"] + table["shift"] if table["items"] else x)
    x = vg.tensor([1.0, 2.0])
    for changed in ({}, {"shift": 1.0}, {"shift": 0.0, "scale": 3.0}, {"shift": 1.0, "scale": 2.0}, {"scale": 7.0}):
        table.update(changed)
        assert f(x).tolist() == [table["scale"] + table["shift"], 2 * table["scale"] + table["shift"]]
    assert f.explain().splitlines()[2:] == [
        "  2. table['shift'] was 0.0 and is 1.0",
        "  3. table['scale'] was 2.0 and is 3.0",
        "  4. table['scale'] was 2.0 and is 7.0",  # and not that the shift was 0
    ]
    assert "constant 7" in f.graph("capture")
    f(vg.ones([3]))
    table["scale"] = 9.0
    f(x)
    assert "constant 9" in f.graph("capture")


def test_an_explanation_says_that_an_object_is_another_one():
    table = {"step": lambda x: x * 2}
    f = vg.jit(lambda x: table["step"](x))
    assert f(vg.scalar(1.0)).item() == 2
    table["step"] = lambda x: x * 3
    assert f(vg.scalar(1.0)).item() == 3
    assert "table['step'] was a function and is another function" in f.explain()
