"""Arguments of a compiled function: which are inputs, and which a compilation is for."""

import numpy as np
import pytest

import varigrad as vg


def values(tensor):
    return np.asarray(tensor).tolist()


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
