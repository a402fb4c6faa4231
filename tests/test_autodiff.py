"""Gradients of functions: values, orders, errors."""

import math

import numpy as np
import pytest

import varigrad as vg


@pytest.fixture
def w():
    return vg.variable([1.0, 2.0, 3.0], name="w")


# grad, grads, value_and_grad(s)


def test_grad_of_a_square():
    assert vg.grad(lambda x: x.square())([1.0, 2.0]).tolist() == [2.0, 4.0]


def test_dy_weights_the_outputs():
    assert vg.grad(lambda x: x.square())([1.0, 2.0], [10.0, 100.0]).tolist() == [20.0, 400.0]


def test_dy_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match=r"dy has shape \[3\] but f returned \[2\]"):
        vg.grad(lambda x: x.square())([1.0, 2.0], [1.0, 2.0, 3.0])


def test_grads_of_two_arguments():
    da, db = vg.grads(lambda a, b: a * b.square())([[2.0], [3.0]])
    assert (da.item(), db.item()) == (9.0, 12.0)


def test_grads_takes_a_list():
    with pytest.raises(TypeError, match="as a list"):
        vg.grads(lambda a: a)(vg.scalar(1.0))


def test_value_and_grad():
    value, gradient = vg.value_and_grad(lambda x: x.square().sum())([1.0, 2.0])
    assert (value.item(), gradient.tolist()) == (5.0, [2.0, 4.0])


def test_value_and_grads_by_field():
    result = vg.value_and_grads(lambda a, b: a * b)([2.0, 3.0])
    assert result.value.item() == 6.0
    assert [g.item() for g in result.grads] == [3.0, 2.0]


def test_an_argument_used_often_sums_its_gradients():
    assert vg.grad(lambda x: x * x + x * x * x + x)(vg.scalar(2.0)).item() == 4.0 + 12.0 + 1.0


def test_an_argument_returned_as_it_is_has_gradient_one():
    assert vg.grad(lambda x: x)([5.0, 6.0]).tolist() == [1.0, 1.0]


def test_gradients_to_the_fourth_order():
    f = lambda x: x * x * x * x  # noqa: E731
    expected = [32.0, 48.0, 48.0, 24.0]
    for value in expected:
        f = vg.grad(f)
        assert f(vg.scalar(2.0)).item() == value


def test_an_inner_gradient_of_the_same_tensor_keeps_its_own_account():
    # d/dx [x * d/dy (x*y) at y=x] = d/dx [x * x] = 2x; counting x as y too would give 4x.
    outer = vg.grad(lambda x: x * vg.grad(lambda y: x * y)(x))
    assert outer(vg.scalar(3.0)).item() == 6.0


def test_an_inner_gradient_may_use_the_outer_argument():
    # d/dx [d/dy (x² y²) at y=3] = 12x
    assert vg.grad(lambda x: vg.grad(lambda y: x * x * y * y)(vg.scalar(3.0)))(vg.scalar(2.0)).item() == 24.0


def test_a_gradient_penalty_reaches_the_variables(w):
    x = vg.tensor([1.0, -1.0, 2.0])

    def penalty():
        slope = vg.grad(lambda x: (w * x * x).sum())(x)
        return slope.square().sum()

    # slope = 2 w x; penalty = Σ 4 w² x²; derivative 8 w x²
    assert vg.variable_grads(penalty, [w]).grads["w"].tolist() == [8.0, 16.0, 96.0]


def test_variable_grads_inside_variable_grads(w):
    def outer():
        inner = vg.variable_grads(lambda: (w * w * w).sum(), [w])
        return inner.grads["w"].square().sum()

    # gradient 3w²; its square 9w⁴; derivative 36w³
    assert vg.variable_grads(outer, [w]).grads["w"].tolist() == [36.0, 288.0, 972.0]


def test_control_flow_is_ordinary_python():
    def f(x):
        y = x
        for _ in range(3):
            if y.sum() < 100:
                y = y * 2.0
        return y

    assert vg.grad(f)([1.0, 1.0]).tolist() == [8.0, 8.0]


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.numpy(), lambda x: x.tolist()])
def test_arguments_may_be_tensors_arrays_or_lists(make):
    assert vg.grad(lambda x: x.square())(make(vg.tensor([3.0]))).tolist() == [6.0]


def test_no_path_from_the_argument_names_its_position():
    with pytest.raises(vg.GradientError, match="does not depend on argument 1"):
        vg.grads(lambda a, b: a * 2.0)([vg.scalar(1.0), vg.scalar(2.0)])


def test_a_function_of_more_arguments_than_are_given_says_what_differentiates_it():
    with pytest.raises(TypeError, match=r"grad: f does not take 1 arguments .*'b'\); vg\.grads\(f\)\(\[a, b\]\)"):
        vg.grad(lambda a, b: a * b)(vg.scalar(1.0), vg.scalar(2.0))
    with pytest.raises(TypeError, match="grads: f does not take 2 arguments"):
        vg.grads(lambda a: a)([vg.scalar(1.0), vg.scalar(2.0)])
    with pytest.raises(TypeError, match=r"^add: b holds object"):
        vg.grad(lambda a: a + object())(vg.scalar(1.0))


def test_what_f_returns_must_be_a_tensor():
    with pytest.raises(TypeError, match="f must return a tensor, got float"):
        vg.grad(lambda x: 3.0)(vg.scalar(1.0))


# variable_grads


def test_variable_grads_by_name(w):
    v = vg.variable([0.5], name="v")
    value, grads = vg.variable_grads(lambda: w.square().sum() + v.sum())
    assert value.item() == 14.5
    assert {k: g.tolist() for k, g in grads.items()} == {"w": [2.0, 4.0, 6.0], "v": [1.0]}


def test_gradients_come_in_the_order_in_which_variables_were_made():
    first, second = vg.variable([1.0], name="first"), vg.variable([1.0], name="second")
    assert list(vg.variable_grads(lambda: (second * first).sum()).grads) == ["first", "second"]


def test_a_variable_off_the_path_is_absent(w):
    b = vg.variable([1.0], name="b")
    assert list(vg.variable_grads(lambda: w.sum(), [w, b]).grads) == ["w"]


def test_var_list_limits_what_is_differentiated(w):
    v = vg.variable([1.0], name="v")
    assert list(vg.variable_grads(lambda: (w * v).sum(), [v]).grads) == ["v"]


def test_frozen_variables_are_left_out(w):
    frozen = vg.variable([1.0], trainable=False, name="frozen")
    assert list(vg.variable_grads(lambda: (w * frozen).sum()).grads) == ["w"]
    assert list(vg.variable_grads(lambda: (w * frozen).sum(), [w, frozen]).grads) == ["w"]
    with pytest.raises(vg.GradientError, match=r"none of the variables is trainable .*frozen"):
        vg.variable_grads(lambda: (w * frozen).sum(), [frozen])


def test_a_variable_may_be_frozen_between_two_calls(w):
    v = vg.variable([1.0], name="v")
    w.trainable = False
    assert list(vg.variable_grads(lambda: (w * v).sum()).grads) == ["v"]
    w.trainable = True
    assert list(vg.variable_grads(lambda: (w * v).sum()).grads) == ["w", "v"]


@pytest.mark.parametrize("collect", [lambda a, b: [a, b], lambda a, b: (a, b), lambda a, b: {"first": a, "second": b}])
def test_scalars_in_a_container_are_summed_and_come_back_as_parts(w, collect):
    def f():
        return collect(w.sum(), w.square().sum())

    result = vg.variable_grads(f)
    value, grads = result
    assert value.item() == 20.0
    assert grads["w"].tolist() == [3.0, 5.0, 7.0]
    parts = result.parts
    assert [p.item() for p in (parts.values() if isinstance(parts, dict) else parts)] == [6.0, 14.0]


def test_a_value_that_is_no_scalar_is_an_error_with_its_shape(w):
    with pytest.raises(ValueError, match=r"shape \[3\]; reduce it to a scalar"):
        vg.variable_grads(lambda: w.square())
    with pytest.raises(ValueError, match=r"shape \[3\]"):
        vg.variable_grads(lambda: [w.sum(), w])


@pytest.mark.parametrize("returned", [None, 3.0, [], "text"])
def test_a_value_that_is_no_tensor_is_an_error(w, returned):
    with pytest.raises(TypeError, match="must return a scalar tensor"):
        vg.variable_grads(lambda: returned)


def test_a_constant_value_names_the_variables_that_were_looked_at(w):
    with pytest.raises(vg.GradientError, match=r"depends on none of the variables .*'w'"):
        vg.variable_grads(lambda: vg.scalar(1.0) * 2.0, [w])


def test_an_op_that_breaks_the_path_is_named(w):
    with pytest.raises(vg.GradientError, match=r"ArgMax.*cannot be differentiated"):
        vg.variable_grads(lambda: vg.arg_max(w).cast("float32").sum(), [w])


def test_a_value_read_out_breaks_the_path_and_the_error_says_so(w):
    with pytest.raises(vg.GradientError, match=r"depends on none .*; a value read out, as by numpy\(\) or item\(\)"):
        vg.variable_grads(lambda: vg.tensor(w.numpy()).sum(), [w])


@pytest.mark.parametrize("bad", [[], (), "w"])
def test_var_list_must_be_a_list_of_variables(w, bad):
    with pytest.raises(ValueError, match="at least one variable"):
        vg.variable_grads(lambda: w.sum(), bad)


def test_var_list_of_tensors_is_an_error(w):
    with pytest.raises(TypeError, match=r"var_list\[1\] is a Tensor, not a variable"):
        vg.variable_grads(lambda: w.sum(), [w, vg.scalar(1.0)])


def test_f_must_be_callable(w):
    with pytest.raises(TypeError, match="function of no arguments, got Tensor"):
        vg.variable_grads(w.sum())


def test_gradients_are_for_the_value_a_variable_had(w):
    def f():
        y = (w * w).sum()
        w.assign([0.0, 0.0, 0.0])
        return y

    assert vg.variable_grads(f).grads["w"].tolist() == [2.0, 4.0, 6.0]


def test_an_exception_in_f_leaves_no_tape_behind(w):
    def f():
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        vg.variable_grads(f)
    assert vg.variable_grads(lambda: w.sum()).grads["w"].tolist() == [1.0, 1.0, 1.0]


def test_no_trainable_variables_says_so():
    import subprocess
    import sys

    code = "import varigrad as vg; vg.variable_grads(lambda: vg.scalar(1.0))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "there are no trainable variables" in run.stderr


# variables


def test_two_variables_of_one_name_are_an_error(w):
    with pytest.raises(ValueError, match="a variable named 'w' exists already"):
        vg.variable([1.0], name="w")


def test_a_name_is_free_once_its_variable_is_gone():
    vg.variable([1.0], name="fleeting")
    assert vg.variable([2.0], name="fleeting").item() == 2.0


@pytest.mark.parametrize("value", [[1.0, 2.0], [[1.0, 2.0, 3.0]], 1.0])
def test_assigning_another_shape_is_an_error_and_changes_nothing(w, value):
    with pytest.raises(ValueError, match=r"'w'.*\[3\]"):
        w.assign(value)
    assert w.tolist() == [1.0, 2.0, 3.0]


def test_assigning_a_tensor_of_another_dtype_is_an_error(w):
    with pytest.raises((TypeError, ValueError), match=r"'w'.*float32.*int32|'w'.*int32.*float32"):
        w.assign(vg.tensor([1, 2, 3], dtype="int32"))


# custom_grad


def test_what_stop_gradient_gives_is_a_constant_at_any_order():
    def f(x):
        return x**3 * vg.stop_gradient(x**2)

    x = vg.scalar(2.0)
    assert f(x).item() == 32.0
    assert vg.grad(f)(x).item() == 48.0  # 3 x² · 4
    assert vg.grad(vg.grad(f))(x).item() == 48.0  # 6 x · 4


def test_stop_gradient_inside_an_inner_gradient_stops_the_outer_one_too():
    """First-order MAML: with lr * stop_gradient(2 w), the step's slope is 1, and not 1 - 2 lr."""

    def after_a_step(w):
        return (w - 0.25 * vg.stop_gradient(vg.grad(lambda v: v.square())(w))).square()

    assert vg.grad(after_a_step)(vg.scalar(4.0)).item() == 4.0  # 2 (w - 0.25 · 2 w) · 1


@pytest.mark.parametrize("wrap", [lambda f: f, vg.jit], ids=["eager", "jit"])
def test_a_variable_that_counts_through_stop_gradient_alone_is_absent(wrap):
    target, online = vg.variable([1.0, 2.0], name="stopped"), vg.variable([3.0, 5.0], name="moving")

    @wrap
    def step():
        return vg.variable_grads(lambda: (online - vg.stop_gradient(target)).square().sum()).grads

    for _ in range(2):
        assert {name: grad.tolist() for name, grad in step().items()} == {"moving": [4.0, 6.0]}


def test_gradients_of_a_compiled_function_stop_where_its_own_do():
    f = vg.jit(lambda x: (x * vg.stop_gradient(x)).sum())
    for _ in range(3):
        assert vg.grad(f)(vg.tensor([2.0, 3.0])).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("x", [3, True, [1 + 2j], ["a"]])
def test_stop_gradient_takes_any_dtype(x):
    given = vg.tensor(x)
    assert vg.stop_gradient(given).dtype == given.dtype
    assert vg.stop_gradient(given).tolist() == given.tolist()


def test_a_value_of_which_stop_gradient_leaves_nothing_is_an_error_that_says_so(w):
    with pytest.raises(vg.GradientError, match="so is that of stop_gradient"):
        vg.variable_grads(lambda: vg.stop_gradient(w).sum())


def test_custom_grad_replaces_the_rule():
    @vg.custom_grad
    def f(x, save):
        save([x])
        return x * x, lambda dy, saved: dy * saved[0] * 100.0

    assert f([2.0]).tolist() == [4.0]
    assert vg.grad(f)([2.0]).tolist() == [200.0]
    assert f.__name__ == "f"


def test_custom_grad_rules_can_be_differentiated():
    @vg.custom_grad
    def f(x, save):
        save([x])
        return x * x * x, lambda dy, saved: dy * 3.0 * saved[0] * saved[0]

    assert vg.grad(vg.grad(f))([2.0]).tolist() == [12.0]


def test_custom_grad_of_two_inputs():
    @vg.custom_grad
    def f(a, b, save):
        save([a, b])
        return a * b, lambda dy, saved: [dy * saved[1], dy * saved[0] * 2.0]

    assert [g.item() for g in vg.grads(f)([vg.scalar(3.0), vg.scalar(5.0)])] == [5.0, 6.0]


def test_save_may_be_left_out_and_grad_func_may_take_dy_alone():
    f = vg.custom_grad(lambda x: (x * x, lambda dy: dy * 7.0))
    assert vg.grad(f)([1.0, 2.0]).tolist() == [7.0, 7.0]


def test_custom_grad_that_returns_its_input():
    f = vg.custom_grad(lambda x: (x, lambda dy: dy * -1.0))
    assert vg.grad(lambda x: f(x).square())([3.0]).tolist() == [-6.0]


def test_custom_grad_reaches_variables_through_its_inputs(w):
    f = vg.custom_grad(lambda x: (x * 2.0, lambda dy: dy * 5.0))
    assert vg.variable_grads(lambda: f(w).sum()).grads["w"].tolist() == [5.0, 5.0, 5.0]


def test_a_custom_gradient_of_the_wrong_shape_is_an_error():
    f = vg.custom_grad(lambda x: (x.sum(), lambda dy: dy))
    with pytest.raises(ValueError, match=r"input 0 has shape \[\], but the input has \[2\]"):
        vg.grad(f)([1.0, 2.0])


@pytest.mark.parametrize(("what", "expected"), [("input", 2 * math.e), ("value", 2 * math.e), ("made inside", math.e)])
def test_what_custom_grad_saves_is_a_constant_unless_it_is_an_input_or_the_value(what, expected):
    @vg.custom_grad
    def exponential(x, save):
        y = x.exp()
        save([x] if what == "input" else [y])
        return (
            y * 1.0 if what == "made inside" else y,
            lambda dy, saved: dy * (saved[0].exp() if what == "input" else saved[0]),
        )

    assert vg.grad(lambda x: vg.grad(exponential)(x) * x)(vg.scalar(1.0)).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (lambda x, y, save: (x * y, None), 1, "f takes x, y, save, got 1"),
        (lambda x, y: (x * y, None), 3, "f takes x, y, got 3"),
        (lambda: None, 1, "f takes no inputs, got 1"),
        (lambda x, y: (x * y, None), 1, r"f failed \(mul: b .*\) when given 1, .* save for 'y'; .*, give 2$"),
        (lambda x, y: (y.square(), None), 1, r"f failed \(.* 'square'\) when given 1, .* save for 'y'; .*, give 2$"),
    ],
)
def test_a_custom_gradient_called_with_too_few_or_many_inputs_is_told_so(function, inputs, message):
    with pytest.raises(TypeError, match=f"^custom_grad: {message}"):
        vg.custom_grad(function)(*[1.0] * inputs)


def test_an_error_of_a_function_that_was_given_save_is_its_own():
    def fails(x, save):
        raise TypeError("inside")

    with pytest.raises(TypeError, match=r"^inside$"):
        vg.custom_grad(fails)(1.0)


def test_too_few_custom_gradients_are_an_error():
    f = vg.custom_grad(lambda a, b: (a * b, lambda dy: [dy]))
    with pytest.raises(ValueError, match="1 gradients for 2 inputs"):
        vg.grads(f)([vg.scalar(1.0), vg.scalar(2.0)])


def test_an_error_inside_grad_func_is_not_hidden():
    def rule(dy, saved):
        raise TypeError("inside")

    f = vg.custom_grad(lambda x: (x * x, rule))
    with pytest.raises(TypeError, match="inside"):
        vg.grad(f)([1.0])


# check_gradients itself


def test_check_gradients_finds_a_wrong_first_order_rule():
    wrong = vg.custom_grad(lambda x: (x * x, lambda dy: dy * 2.1))
    with pytest.raises(AssertionError, match="first order: the gradient for argument 0"):
        vg.testing.check_gradients(wrong, [1.0])


def test_check_gradients_finds_a_wrong_second_order_rule():
    @vg.custom_grad
    def wrong(x, save):
        save([x])
        return x * x * x, lambda dy, saved: dy * vg.tensor(3 * saved[0].numpy() ** 2, dtype="float64")

    vg.testing.check_gradients(wrong, [1.5], order=1)
    with pytest.raises(AssertionError, match="second order"):
        vg.testing.check_gradients(wrong, [1.5])


def test_check_gradients_sees_a_dtype_that_is_lost():
    with pytest.raises(AssertionError, match="float32"):
        vg.testing.check_gradients(lambda x: x.cast("float32"), [1.0])


def test_gradients_of_float64_are_float64():
    g = vg.grad(lambda x: (x * x).sum())(vg.tensor([1 / 3], dtype="float64"))
    assert g.dtype == "float64"
    np.testing.assert_array_equal(g.numpy(), [2 / 3])


# integers and piecewise constant functions


def test_integer_arguments_count_as_the_numbers_they_are():
    a, b = vg.tensor([3, 1], dtype="int32"), vg.tensor([2, 3], dtype="int32")
    da, db = vg.grads(lambda a, b: a * b)([a, b], vg.tensor([1.0, 10.0]))
    assert (da.tolist(), db.tolist()) == ([2.0, 30.0], [3.0, 10.0])
    assert vg.grad(lambda x: x * x * x)(a).tolist() == [27.0, 3.0]


@pytest.mark.parametrize(
    "f",
    [lambda x: vg.arg_max(x), lambda x: vg.is_nan(x), lambda x: x > 1.0, lambda x: (x > 1.0).cast("float32") * 2.0],
)
def test_a_piecewise_constant_function_has_gradient_zero(f):
    assert vg.grad(f)([3.0, 1.0, 2.0]).tolist() == [0.0, 0.0, 0.0]


def test_an_argument_that_nothing_took_is_an_error_beside_one_without_a_gradient():
    with pytest.raises(vg.GradientError, match="does not depend on argument 1"):
        vg.grads(lambda a, b: a > 1.0)([[3.0, 1.0], [2.0]])


def test_rounding_on_the_way_lets_nothing_through():
    assert vg.grad(lambda x: x.cast("int32").cast("float32") * x)([2.5]).tolist() == [2.0]


def test_the_gradient_for_an_integer_argument_without_one_is_zero_in_float32():
    gradient = vg.grad(lambda x: vg.one_hot(x, 3))(vg.tensor([0, 1], dtype="int32"))
    assert gradient.dtype == "float32"
    assert gradient.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_what_weights_the_outputs_is_floating(dtype):
    with pytest.raises(TypeError, match=f"grad: dy must be floating, got {dtype}; cast it"):
        vg.grad(vg.square)(vg.tensor([1.0, 2.0]), vg.ones([2], dtype))


# what variable_grads takes for scalars


def test_a_scalar_returned_twice_counts_twice():
    w = vg.variable([1.0, 2.0], name="w")

    def f():
        total = w.sum()
        return {"loss": total, "again": [total]}

    value, grads = vg.variable_grads(f)
    assert (value.item(), grads["w"].tolist()) == (6.0, [2.0, 2.0])


@pytest.mark.parametrize("other", [1.0, None, "text", np.float32(1.0)])
def test_what_is_no_tensor_among_the_scalars_is_an_error_not_ignored(other):
    w = vg.variable([1.0, 2.0], name="w")
    with pytest.raises(TypeError, match=f"variable_grads: f must return .*got {type(other).__name__}"):
        vg.variable_grads(lambda: [w.sum(), other])


def test_scalars_of_several_dtypes_meet_in_the_wider_and_gradients_keep_their_variables_dtype():
    w = vg.variable([1.0, 2.0], name="w")
    value, grads = vg.variable_grads(lambda: [w.sum(), vg.scalar(3, dtype="int32"), vg.scalar(True)])
    assert (value.item(), value.dtype, grads["w"].dtype) == (7.0, "float32", "float32")
    value, grads = vg.variable_grads(lambda: [w.sum(), vg.scalar(0.5, dtype="float64")])
    assert (value.item(), value.dtype, grads["w"].dtype) == (3.5, "float64", "float32")
    with pytest.raises(TypeError, match="variable_grads: dtypes float32 and string"):
        vg.variable_grads(lambda: [w.sum(), vg.scalar("text")])


@pytest.mark.parametrize("listed", [False, True])
def test_a_variable_returned_as_it_is_is_a_value_of_its_own(listed):
    w = vg.variable(3.0, name="w")
    value, grads = vg.variable_grads(lambda: w, [w] if listed else None)
    w.assign(5.0)
    assert (value.item(), grads["w"].item()) == (3.0, 1.0)


def test_variables_of_integers_are_not_trained():
    w, steps = vg.variable([1.0, 2.0], name="w"), vg.variable(2, dtype="int32", name="steps")
    loss = lambda: w.sum() * steps.cast("float32")  # noqa: E731
    assert vg.variable_grads(loss).grads.keys() == {"w"}
    assert vg.variable_grads(loss, [w, steps]).grads.keys() == {"w"}
    vg.train.sgd(0.5).minimize(loss)
    assert (w.tolist(), steps.item()) == ([0.0, 1.0], 2)
    with pytest.raises(vg.GradientError, match="'steps' int32"):
        vg.variable_grads(loss, [steps])


@pytest.mark.parametrize("make", [vg.grad, vg.grads, vg.value_and_grad, vg.value_and_grads])
def test_what_is_no_function_cannot_be_differentiated(make):
    with pytest.raises(TypeError, match=f"{make.__name__}: f must be a function, got int"):
        make(3)


def test_the_gradient_for_integers_times_a_number_is_float32():
    for f in (lambda x: x * 2, lambda x: 2 * x, lambda x: vg.stack(vg.unstack(x)[:1])):
        assert vg.grad(f)(vg.tensor([3, 1], dtype="int32")).dtype == "float32"


@pytest.mark.parametrize("dtype", ["float64", "float16", "float32"])
def test_dy_takes_the_dtype_of_the_value(dtype):
    x = vg.tensor([1.0, 2.0])
    assert vg.grad(lambda x: x * x)(x, vg.tensor([1.0, 2.0], dtype=dtype)).dtype == "float32"


# what functions given to custom_grad may do wrong


def test_custom_grad_needs_a_function():
    with pytest.raises(TypeError, match="custom_grad: f must be a function, got int"):
        vg.custom_grad(3)


def test_custom_grad_needs_a_value_and_a_function():
    with pytest.raises(TypeError, match=r"\(value, grad_func\), got Tensor"):
        vg.custom_grad(lambda x: x * 2)(1.0)


@pytest.mark.parametrize("wrong", [None, 1.0, "dy", [None, None], [1.0, 2.0]])
def test_the_gradients_of_a_custom_gradient_must_be_tensors(wrong):
    f = vg.custom_grad(lambda a, b: (a * b, lambda dy: wrong))
    with pytest.raises(TypeError, match=r"custom_grad: grad_func must return a tensor.*got"):
        vg.grads(f)([1.0, 2.0])


def test_an_error_inside_grad_func_stays_as_it_is():
    def grad_func(dy, saved):
        raise TypeError("the user's own")

    with pytest.raises(TypeError, match="the user's own"):
        vg.grad(vg.custom_grad(lambda x: (x * 2, grad_func)))(1.0)


def test_each_use_of_a_variable_is_differentiated_at_the_value_it_had_then():
    w = vg.variable(2.0)

    def total():
        at_two = w * w
        w.assign(5.0)
        at_five = w * w
        w.assign(7.0)
        return at_two + at_five

    _, grads = vg.variable_grads(total)
    assert grads[w.name].item() == 2 * 2 + 2 * 5


def test_the_gradient_for_an_argument_takes_a_variable_at_the_value_it_had():
    w = vg.variable(3.0)

    def f(x):
        y = w * x * x
        w.assign(100.0)
        return y

    assert vg.grad(f)(vg.scalar(2.0)).item() == 2 * 3 * 2
