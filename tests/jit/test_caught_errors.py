"""A function that catches the error of a read inside it: what it does then would be compiled, for all calls alike."""

import contextlib
import logging

import numpy as np
import pytest

import varigrad as vg

X = vg.tensor([1.0, 2.0, 3.0])

READS = {
    "if": lambda x: bool(x.sum() > 0),
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "data_sync": lambda x: x.data_sync(),
    "np.asarray": lambda x: np.asarray(x),
    "float(np)": lambda x: np.mean(x),
    "format": lambda x: f"{x.sum().item():.3f}",
    "a shape of values": lambda x: vg.image.non_max_suppression(vg.ones([3, 4]), x, 2),
}


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("check", [False, True])
def test_an_error_that_the_function_catches_is_raised_at_its_end(kind, check):
    def f(x):
        try:
            READS[kind](x)
            return x * 2
        except Exception:
            return x * 0

    compiled = vg.jit(f, check=check)
    for _ in range(2):
        with pytest.raises(vg.JitError, match=r"test_caught_errors\.py:\d+"):
            compiled(X)
    assert compiled.compilations == 0


def suppressed(x):
    y = x * 1
    with contextlib.suppress(Exception):
        y = x * float(x.sum())
    return y


def bare(x):
    try:
        return x * float(x.sum())
    except:  # noqa: E722
        return x


def logged(x):
    try:
        logging.getLogger("caught").debug(float(x.sum()))
    except vg.VariGradError:
        logging.getLogger("caught").debug("no sum")
    return x


def formatted_by_logging(x):
    logger = logging.Logger("caught")
    logger.addHandler(logging.StreamHandler())
    logger.warning("%f", x.sum())  # which catches errors
    return x


def within_numpy(x):
    with contextlib.suppress(Exception):
        return vg.tensor(np.linalg.norm(x, axis=0))
    return x


def with_default(x, value=-1.0):
    return x * next((float(v) for v in [x.sum()] if hasattr(v, "shape")), value)


inner = vg.jit(suppressed)


def nested(x):
    return inner(x) + 1


def around_a_nested_one(x):
    with contextlib.suppress(vg.VariGradError):
        return vg.jit(with_default)(x)
    return x


def in_a_tape(x):
    return vg.grad(lambda x: suppressed(x).sum())(x)


CATCHING = [
    *(
        suppressed,
        bare,
        logged,
        formatted_by_logging,
        within_numpy,
        nested,
        around_a_nested_one,
        in_a_tape,
    )
]


@pytest.mark.parametrize("f", CATCHING)
def test_however_it_is_caught_the_error_names_the_line(f):
    with pytest.raises(
        vg.JitError,
        match=r"(float\(x\)|__array_function__\(\)|item\(\)) at .*test_caught_errors\.py:\d+ reads the value",
    ):
        vg.jit(f)(X)


class Careful(vg.layers.Layer):
    """Scales its inputs where it can look at them."""

    def call(self, x):
        try:
            return x * 2 if x.sum().item() > 0 else x
        except Exception:
            return x * 0


def careful_model():
    return vg.sequential([Careful(input_shape=[3]), vg.layers.dense(units=1, kernel_initializer="ones", name="end")])


def test_a_layer_of_a_model_that_catches_it():
    model = careful_model()
    with pytest.raises(vg.JitError, match="reads the value"):
        vg.jit(lambda x: model(x))(X.expand_dims(0))
    assert model(X.expand_dims(0)).item() == 12


def test_fit_leaves_such_a_layer_as_it_is_written_with_one_warning():
    x, y = vg.ones([600, 3]), vg.zeros([600, 1])
    weights = []
    for jit in (False, None):
        model = careful_model()
        model.compile(optimizer=vg.train.sgd(0.01), loss="mean_squared_error", jit=jit)
        with pytest.warns(vg.JitWarning, match="reads the value") if jit is None else contextlib.nullcontext() as told:
            model.fit(x, y, epochs=2, batch_size=2, shuffle=False, verbose=0)
        assert jit is False or len(told) == 1
        weights.append([w.numpy() for w in model.get_weights()])
    for eager, compiled in zip(*weights, strict=True):
        np.testing.assert_array_equal(eager, compiled)


def test_nothing_is_trained_after_the_error():
    w = vg.variable([1.0, 1.0, 1.0])
    optimizer = vg.train.momentum(0.1, 0.9)

    def step(x):
        with contextlib.suppress(Exception):
            float(x.sum())
        w.assign(w * 2)
        optimizer.minimize(lambda: (w * x).sum())
        return w.sum()

    compiled = vg.jit(step)
    for _ in range(2):
        with pytest.raises(vg.JitError, match="reads the value"):
            compiled(X)
    assert w.tolist() == [1, 1, 1]
    assert optimizer.iterations == 0


def test_errors_of_other_kinds_may_be_caught():
    def f(x):
        try:
            return x + vg.ones([2])
        except ValueError:
            return x * 5

    compiled = vg.jit(f)
    assert [compiled(X).tolist() for _ in range(2)] == [[5, 10, 15]] * 2
    assert compiled.compilations == 1
