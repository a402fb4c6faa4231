"""Gradients of compiled functions are those of the functions as they are written."""

import numpy as np
import pytest

import varigrad as vg

X = vg.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]])
Y = vg.tensor([[1.0, 2.0], [-1.0, 0.5], [0.3, 0.7]])
CALLS = 4  # the first runs as written, the second is compiled


@vg.custom_grad
def cautious_square(x, save):
    save([x])
    return x.square(), lambda dy, saved: dy * saved[0].abs()


def together(f):
    """How often a compiled function was compiled together with its gradients; None where they do not fit."""
    return [None if compute is None else compute.compilations for compute in f._together._found.values()]


def same(found, right):
    np.testing.assert_allclose(np.asarray(found), np.asarray(right), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: x.square().sum(), [X]),
        (lambda x, y: vg.tanh(x.mat_mul(y)).mean(), [X, Y]),
        (lambda x, y: vg.losses.softmax_cross_entropy(vg.one_hot([0, 1], 2), x.mat_mul(y)), [X, Y]),
        (lambda x: cautious_square(x).sum(), [X]),
        (lambda x: x * 2, [vg.scalar(3.0)]),
        (lambda x: vg.gather(x, [1, 1, 0]).square().sum(), [X]),
        (lambda x: vg.log(x.abs() - 0.5).sum(), [X]),
        (lambda x: x.sum() * float("inf"), [X]),
    ],
)
def test_gradients_of_scalars_are_compiled(f, args):
    compiled = vg.jit(f)
    value, right = vg.value_and_grads(f)(args)
    for _ in range(CALLS):
        found, gradients = vg.value_and_grads(compiled)(args)
        same(found, value)
        for ours, theirs in zip(gradients, right, strict=True):
            assert ours.dtype == theirs.dtype
            same(ours, theirs)
    assert together(compiled) == [1]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: x.square(), [X]),
        (lambda x: vg.cast(x, "int32").cast("float32").sum() + x.sum(), [X]),
        (lambda x: vg.where(x > 0.0, x, x * 2).sum(), [X]),
        (lambda x: x.sum(), [vg.tensor([1, 2], dtype="int32")]),
        (lambda x: x, [vg.scalar(3.0)]),
        (lambda x: x.cast("float64").sum(), [X]),
    ],
)
def test_gradients_of_everything_else_are_right(f, args):
    compiled = vg.jit(f)
    _, right = vg.value_and_grads(f)(args)
    for _ in range(CALLS):
        for ours, theirs in zip(vg.value_and_grads(compiled)(args)[1], right, strict=True):
            assert ours.dtype == theirs.dtype
            same(ours, theirs)
    assert 1 not in together(compiled)


def test_the_weight_of_a_result_counts():
    f = vg.jit(lambda x: x.square().sum())
    for weight in (1.0, -2.0, 0.0, 3.0):
        same(vg.grad(f)(X, vg.scalar(weight)), 2 * weight * X.numpy())
        same(
            vg.grad(lambda x, w=weight: vg.exp(f(x) * 0.1) * w)(X), weight * 0.2 * X.numpy() * np.exp(0.1 * f(X).item())
        )
    assert together(f) == [1]


def test_nothing_flows_back_where_the_weight_is_zero():
    f = vg.jit(lambda x: vg.log(x).sum())
    for _ in range(CALLS):
        assert vg.grad(lambda x: f(x) * 0.0)(vg.tensor([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_arguments_in_containers_and_numbers():
    def f(batch, rate, *, name):
        return (batch["x"] * batch["pair"][0]).sum() * rate if name == "a" else None

    compiled = vg.jit(f)
    for rate in (0.5, 2.0, 3.0, 0.0):
        gradient = vg.grad(lambda x, r=rate: compiled({"x": x, "pair": (X, 3)}, r, name="a"))(X)
        same(gradient, rate * X.numpy())
    assert together(compiled) == [1]


def test_gradients_of_gradients():
    f = vg.jit(lambda x: (x**3).sum())
    for _ in range(CALLS):
        same(vg.grad(f)(X), 3 * X.numpy() ** 2)
        same(vg.grad(lambda x: vg.grad(f)(x).sum())(X), 6 * X.numpy())
        same(vg.grad(lambda v: (vg.grad(f)(X) * v).sum())(X), 3 * X.numpy() ** 2)
    assert together(f) == [1]


def test_variables_that_the_function_reads():
    v, w = vg.variable([1.0, 2.0, 3.0], name="v_read"), vg.variable(2.0, name="w_read")
    unused, count = vg.variable(1.0, name="unused"), vg.variable([1, 2, 3], dtype="int32")

    def f(x):
        return (x * v * w).sum() + count.cast("float32").sum()

    compiled = vg.jit(f)

    def check(var_list=None):
        value, right = vg.variable_grads(lambda: f(X), var_list)
        found, gradients = vg.variable_grads(lambda: compiled(X), var_list)
        same(found, value)
        assert gradients.keys() == right.keys()
        for name, gradient in gradients.items():
            same(gradient, right[name])

    for _ in range(CALLS):
        check()
    for _ in range(2):
        check([w, unused])
        check([v])
    w.assign(5.0)
    v.assign([0.0, 1.0, -1.0])
    check()
    w.trainable = False
    check()
    check([v])
    w.trainable = True
    check()
    assert together(compiled) == [5]  # for all, [w, unused] and [v]; and for all and [v] with w frozen


def test_what_the_function_reads_is_looked_at_each_time():
    scale = 2.0
    f = vg.jit(lambda x: (x * scale).sum())
    for _ in range(CALLS):
        same(vg.grad(f)(X), np.full(X.shape, 2.0))
    scale = 3.0
    same(vg.grad(f)(X), np.full(X.shape, 3.0))


def test_a_tensor_in_a_closure_that_the_tape_watches():
    box = {}
    f = vg.jit(lambda x: (x * box["h"]).sum())

    def outer(x):
        box["h"] = x * 3
        return f(x)

    for _ in range(CALLS):
        same(vg.grad(outer)(X), 6 * X.numpy())


def test_inside_tidy_and_of_a_layer():
    layer = vg.layers.dense(units=2, activation="tanh", input_shape=[3])
    layer(X)
    f = vg.jit(lambda x: layer(x).square().mean())
    right = vg.variable_grads(lambda: layer(X).square().mean())
    for _ in range(CALLS):
        value, gradients = vg.variable_grads(lambda: vg.tidy(lambda: f(X)))
        same(value, right.value)
        for name, gradient in gradients.items():
            same(gradient, right.grads[name])
    assert together(f) == [1]


def test_random_numbers_and_updates_happen_once_a_call():
    seen = vg.variable(0.0, trainable=False)

    def noisy(x):
        return (x * vg.random_uniform([2, 3])).sum()

    def counting(x):
        seen.assign(seen + 1.0)
        return x.square().sum()

    noisy, counting = vg.jit(noisy), vg.jit(counting)
    drawn = [vg.grad(noisy)(X).tolist() for _ in range(CALLS)]
    assert len(set(map(str, drawn))) == CALLS
    for _ in range(CALLS):
        same(vg.grad(counting)(X), 2 * X.numpy())
    assert seen.item() == CALLS


def test_training_through_a_compiled_loss_is_training():
    def train(compile_loss):
        w = vg.variable(np.linspace(-1, 1, 6).reshape(3, 2))
        loss = compile_loss(lambda x: (x.mat_mul(w) - 1.0).square().mean())
        optimizer = vg.train.adam(0.1)
        for _ in range(10):
            value, gradients = vg.variable_grads(lambda: loss(X))
            optimizer.apply_gradients(gradients)
        return value, w

    for ours, right in zip(train(vg.jit), train(lambda f: f), strict=True):
        np.testing.assert_allclose(ours.numpy(), right.numpy(), rtol=1e-4, atol=1e-6)


def test_what_was_compiled_together_is_explained():
    f = vg.jit(lambda x: x.sum())
    for _ in range(2):
        vg.grad(f)(X)
    assert "compiled together with its gradients" in f.explain()


def test_a_result_that_does_not_depend_on_the_argument_is_an_error():
    f = vg.jit(lambda x: vg.scalar(1.0) * 2)
    for _ in range(CALLS):
        with pytest.raises(vg.GradientError, match="does not depend on argument 0"):
            vg.grad(f)(X)
