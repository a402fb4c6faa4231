"""float64, float16 and bfloat16 through every differentiable kernel, and int64 through those that take integers.

The calls are those by which the gradients are checked, in the tables `CASES` under `tests/gradients`.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg
from varigrad.dtypes import numpy_dtype

HALVES = ["float16", "bfloat16"]
EPSILON = {"float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def all_cases():
    """(family and case) -> (function, arguments), of every family."""
    found = {}
    for path in sorted((Path(__file__).parent / "gradients").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"dtypes_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, (f, *args) in getattr(module, "CASES", {}).items():
            found[f"{path.stem.removeprefix('test_')}, {name}"] = (f, *args)
    return found


CASES = all_cases()


def run(f, args, dtype):
    """The value of f and its gradients, weighted by ones, of arguments in a dtype."""
    value, grads = vg.value_and_grads(lambda *xs: f(*xs) if xs else f())([vg.tensor(a, dtype=dtype) for a in args])
    return value, grads


# What numbers of these cases' own, beside the arguments, make of the result.
WIDER = {"segment, setdiff1d": "float32", "convolution, Dilation2DTangent: dilations": "float32"}


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_near_those_of_float64_and_keep_the_dtype(case, dtype):
    f, *args = CASES[case]
    args = [np.array(vg.tensor(np.array(a, np.float64), dtype=dtype), np.float64) for a in args]
    usual = [t.dtype for t in flat(run(f, args, "float32"))]
    exact = flat(run(f, args, "float64"))
    found = flat(run(f, args, dtype))
    # A case that casts, or has float64 numbers of its own, shows it with float32 arguments.
    expected = [dtype if kind == "float32" else kind for kind in usual]
    if dtype in HALVES and case in WIDER:
        expected[0] = WIDER[case]
    assert [t.dtype for t in found] == expected
    largest = max([1.0, *[np.abs(a).max(initial=0) for a in args]])
    for t, wanted in zip(found, exact, strict=True):
        wanted = np.asarray(wanted)
        tolerance = 4 * EPSILON[dtype] * max(largest, np.abs(wanted).max(initial=0))
        np.testing.assert_allclose(np.array(t, np.float64), wanted, rtol=0, atol=tolerance)


def flat(value_and_gradients):
    value, gradients = value_and_gradients
    return [value, *gradients]


A = [[3.0, -1.5, 0.5], [2.0, 0.0, -4.0]]
B = [[2.0, 2.5, 0.5], [-2.0, 1.0, 3.0]]

# Ops that give bools or integers whatever they are given.
WITHOUT_GRADIENT = {
    "equal": lambda a, b: vg.equal(a, b),
    "not_equal": lambda a, b: vg.not_equal(a, b),
    "less": lambda a, b: vg.less(a, b),
    "less_equal": lambda a, b: vg.less_equal(a, b),
    "greater": lambda a, b: vg.greater(a, b),
    "greater_equal": lambda a, b: vg.greater_equal(a, b),
    "is_nan": lambda a, b: vg.is_nan(a / b.sub(b)),
    "is_inf": lambda a, b: vg.is_inf(a / b.sub(b)),
    "is_finite": lambda a, b: vg.is_finite(a / b.sub(b)),
    "arg_max": lambda a, b: vg.arg_max(a, 1),
    "arg_min": lambda a, b: vg.arg_min(a, 0),
    "topk": lambda a, b: vg.topk(a, 2).indices,
    "in_top_k": lambda a, b: vg.in_top_k(a, vg.tensor([0, 2], dtype="int32"), 1),
    "unique": lambda a, b: vg.unique(vg.concat([a.flatten(), b.flatten()])).indices,
    "search_sorted": lambda a, b: vg.search_sorted([-4.0, 0.0, 2.0], a.flatten()),
    "cast to int32": lambda a, b: a.cast("int32"),
    "cast to int64": lambda a, b: a.cast("int64"),
    "cast to bool": lambda a, b: a.cast("bool"),
    "non_max_suppression": lambda a, b: vg.image.non_max_suppression(
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]], a[0], 3
    ),
}


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_bools_and_integers_are_those_of_float32(name, dtype):
    f = WITHOUT_GRADIENT[name]
    found = f(vg.tensor(A, dtype=dtype), vg.tensor(B, dtype=dtype))
    expected = f(vg.tensor(A), vg.tensor(B))
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
def test_what_is_made_from_nothing_has_the_dtype_asked_for(dtype):
    made = {
        "zeros": vg.zeros([3], dtype),
        "ones": vg.ones([3], dtype),
        "fill": vg.fill([3], 0.3, dtype),
        "eye": vg.eye(3, dtype=dtype),
        "range": vg.range(0, 3, 0.5, dtype),
        "one_hot": vg.one_hot(vg.tensor([0, 2], dtype="int32"), 3, dtype=dtype),
        "random_uniform": vg.random_uniform([50], dtype=dtype),
        "random_uniform, seeded": vg.random_uniform([50], dtype=dtype, seed=1),
        "random_normal": vg.random_normal([50], dtype=dtype),
        "truncated_normal": vg.truncated_normal([50], dtype=dtype),
        "random_gamma": vg.random_gamma([50], 2.0, dtype=dtype),
        "buffer": vg.buffer([3], dtype).to_tensor(),
        "variable": vg.variable([1.0, 2.0], dtype=dtype),
    }
    assert {name: t.dtype for name, t in made.items()} == dict.fromkeys(made, dtype)
    assert made["fill"].tolist() == [float(numpy_dtype(dtype).type(0.3))] * 3
    assert made["range"].tolist() == [0, 0.5, 1, 1.5, 2, 2.5]


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("dtype", HALVES)
def test_uniform_numbers_stay_below_the_end_of_their_range(dtype, seed):
    drawn = np.array(vg.random_uniform([20_000], 1.0, 2.0, dtype, seed), np.float64)
    assert drawn.min() >= 1
    assert drawn.max() < 2
    assert drawn.mean() == pytest.approx(1.5, abs=0.02)


@pytest.mark.parametrize("dtype", HALVES)
def test_dropout_drops_the_share_asked_for(dtype):
    kept = vg.dropout(vg.ones([20_000], dtype), 0.1, seed=3)
    assert kept.dtype == dtype
    assert set(kept.tolist()) == {0.0, float(numpy_dtype(dtype).type(1 / 0.9))}
    assert np.mean(np.array(kept, np.float32) == 0) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_and_products_are_rounded_once_at_their_end(dtype):
    # In bfloat16 itself 256 + 1 is 256, and in float16 2048 + 1 is 2048.
    assert vg.sum(vg.ones([4096], dtype)).item() == 4096
    assert vg.mean(vg.ones([100_000], dtype)).item() == 1
    assert vg.mat_mul(vg.ones([1, 4096], dtype), vg.ones([4096, 1], dtype)).item() == 4096
    w = vg.ones([1, 1, 4096, 1], dtype)
    assert vg.conv2d(vg.ones([1, 1, 1, 4096], dtype), w, 1, "valid").item() == 4096


WHOLE = [[7, -3, 5], [2, 6, -4]]
OTHERS = [[2, 2, 3], [-5, 1, 3]]

# What int64 goes through as int32 does, and the same in NumPy.
OF_INTEGERS = {
    "add": (lambda a, b: a + b, np.add),
    "add a number": (lambda a, b: a + 3, lambda a, b: a + 3),
    "sub": (lambda a, b: a - b, np.subtract),
    "mul": (lambda a, b: a * b, np.multiply),
    "floor_div": (lambda a, b: a // b, np.floor_divide),
    "mod": (lambda a, b: a % b, np.remainder),
    "pow": (lambda a, b: a**2, lambda a, b: a**2),
    "neg": (lambda a, b: -a, lambda a, b: -a),
    "abs": (lambda a, b: abs(a), lambda a, b: np.abs(a)),
    "sign": (lambda a, b: vg.sign(a), lambda a, b: np.sign(a)),
    "maximum": (vg.maximum, np.maximum),
    "minimum": (vg.minimum, np.minimum),
    "squared_difference": (vg.squared_difference, lambda a, b: (a - b) ** 2),
    "clip_by_value": (lambda a, b: vg.clip_by_value(a, -1, 5), lambda a, b: np.clip(a, -1, 5)),
    "bitwise_and": (vg.bitwise_and, np.bitwise_and),
    "where": (lambda a, b: vg.where(a > b, a, b), lambda a, b: np.where(a > b, a, b)),
    "sum": (lambda a, b: a.sum(1), lambda a, b: a.sum(1)),
    "prod": (lambda a, b: a.prod(0), lambda a, b: a.prod(0)),
    "max": (lambda a, b: a.max(), lambda a, b: a.max()),
    "min": (lambda a, b: a.min(1), lambda a, b: a.min(1)),
    "cumsum": (lambda a, b: vg.cumsum(a, 1), lambda a, b: a.cumsum(1)),
    "reshape": (lambda a, b: a.reshape([3, 2]), lambda a, b: a.reshape(3, 2)),
    "transpose": (lambda a, b: a.transpose(), lambda a, b: a.T),
    "concat": (lambda a, b: vg.concat([a, b], 1), lambda a, b: np.concatenate([a, b], 1)),
    "stack": (lambda a, b: vg.stack([a, b]), lambda a, b: np.stack([a, b])),
    "pad": (lambda a, b: vg.pad(a, [[1, 0], [0, 2]]), lambda a, b: np.pad(a, [[1, 0], [0, 2]])),
    "tile": (lambda a, b: vg.tile(a, [2, 1]), lambda a, b: np.tile(a, [2, 1])),
    "reverse": (lambda a, b: vg.reverse(a, 1), lambda a, b: a[:, ::-1]),
    "slice": (lambda a, b: a[:, 1:], lambda a, b: a[:, 1:]),
    "strided slice": (lambda a, b: a[::-1, ::2], lambda a, b: a[::-1, ::2]),
    "gather": (lambda a, b: vg.gather(a, vg.tensor([2, 0], dtype="int64"), 1), lambda a, b: a[:, [2, 0]]),
    "indexing": (lambda a, b: a[vg.tensor([1, 0, -1], dtype="int64")], lambda a, b: a[[1, 0, -1]]),
    "topk": (lambda a, b: vg.topk(a, 2).values, lambda a, b: -np.sort(-a, 1)[:, :2]),
    "unique": (lambda a, b: vg.unique(b.flatten()).values, lambda a, b: np.array([2, 3, -5, 1])),
    "mat_mul": (lambda a, b: vg.mat_mul(a, b, False, True), lambda a, b: a @ b.T),
}
MULTIPLIES = ("mul", "pow", "prod", "squared_difference", "mat_mul")


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_int64_goes_through_what_takes_integers(name):
    f, in_numpy = OF_INTEGERS[name]
    a, b = np.array(WHOLE, np.int64), np.array(OTHERS, np.int64)
    if name not in MULTIPLIES:
        a *= 2**33  # beyond int32
    found = f(vg.tensor(a, dtype="int64"), vg.tensor(b, dtype="int64"))
    assert found.dtype == "int64"
    np.testing.assert_array_equal(found.numpy(), in_numpy(a, b))


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        ("int32", "int64", "int64"),
        ("int32", "float16", "float16"),
        ("int64", "float16", "float16"),
        ("int64", "bfloat16", "bfloat16"),
        ("bool", "bfloat16", "bfloat16"),
        ("int64", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float32", "float32"),
        ("bfloat16", "float64", "float64"),
        ("bfloat16", "complex64", "complex64"),
    ],
)
def test_dtypes_meet_in_one_that_holds_both(a, b, dtype):
    x, y = vg.ones([2], a), vg.ones([2], b)
    assert [vg.upcast_type(a, b), vg.upcast_type(b, a), (x + y).dtype, (y + x).dtype] == [dtype] * 4


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
def test_python_numbers_take_the_dtype_of_the_tensor_beside_them(dtype):
    x = vg.tensor([1.0, 2.0], dtype=dtype)
    for y in (
        x + 1,
        2.5 * x,
        x**2,
        1 / x,
        x - 0.5,
        vg.maximum(x, 1),
        vg.where([True, False], x, 0),
        vg.stack([x[0], 3]),
    ):
        assert y.dtype == dtype


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
@pytest.mark.parametrize(
    "make",
    [
        lambda: vg.train.sgd(0.1),
        lambda: vg.train.momentum(0.02, 0.9),
        lambda: vg.train.momentum(0.02, 0.9, use_nesterov=True),
        lambda: vg.train.adagrad(0.5),
        lambda: vg.train.adadelta(0.1),
        lambda: vg.train.adam(0.1),
        lambda: vg.train.adamax(0.2),
        lambda: vg.train.rmsprop(0.05),
        lambda: vg.train.rmsprop(0.05, centered=True),
    ],
)
def test_variables_train(make, dtype):
    goal = vg.tensor([0.5, -1.5, 2.0], dtype=dtype)
    w, b = vg.variable([0.0, 0.0, 0.0], dtype=dtype), vg.variable(0.0, dtype=dtype)
    optimizer = make()
    for _ in range(60):
        optimizer.minimize(lambda: vg.sum(vg.square(w + b - goal)), var_list=[w, b])
    assert (w.dtype, b.dtype) == (dtype, dtype)
    assert vg.sum(vg.square(w + b - goal)).item() < 0.3  # 6.5 at first
    slots = [slot.tensor.dtype for slot in optimizer.get_weights() if slot.name != "iter"]
    assert set(slots) <= {"float32" if dtype in HALVES else dtype}


@pytest.mark.parametrize("dtype", HALVES)
def test_a_tiny_gradient_is_not_lost_in_the_slots(dtype):
    # Its square is 0 in float16, and Adam would divide by it.
    w = vg.variable([1.0], dtype=dtype)
    optimizer = vg.train.adam(0.25)
    optimizer.apply_gradients({w.name: vg.tensor([1e-4], dtype=dtype)})
    assert w.item() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("dtype", HALVES)
def test_accumulated_gradients_and_averages_are_kept_in_float32(dtype):
    w = vg.variable([0.0], dtype=dtype)
    steps = vg.train.accumulate(vg.train.sgd(1.0), 600)
    for _ in range(600):
        steps.apply_gradients({w.name: vg.tensor([1.0], dtype=dtype)})
    assert w.tolist() == [-1.0]
    average = vg.train.exponential_moving_average([w], decay=0.999)
    w.assign(vg.tensor([1.0], dtype=dtype))
    for _ in range(2000):
        average.update()
    assert average.average(w).dtype == dtype
    assert average.average(w).item() == pytest.approx(1 - 2 * 0.999**2000, abs=0.01)


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
def test_clipping_keeps_each_gradient_in_its_own_dtype(dtype):
    gradients = {"a": vg.tensor([3.0], dtype=dtype), "b": vg.tensor([4.0])}
    clipped = vg.train.clip_by_global_norm(gradients, 1.0)
    assert [t.dtype for t in clipped.values()] == [dtype, "float32"]
    np.testing.assert_allclose([float(t.item()) for t in clipped.values()], [0.6, 0.8], rtol=EPSILON[dtype] + 1e-6)


def network(dtype):
    # The first layer says the dtype of inputs and weights, and the others follow.
    model = vg.sequential()
    model.add(vg.layers.conv2d(filters=3, kernel_size=3, activation="relu", input_shape=[8, 8, 2], dtype=dtype))
    model.add(vg.layers.batch_normalization(dtype=dtype))
    model.add(vg.layers.max_pooling2d(pool_size=2, dtype=dtype))
    model.add(vg.layers.flatten(dtype=dtype))
    model.add(vg.layers.dropout(rate=0.25, dtype=dtype))
    model.add(vg.layers.dense(units=4, activation="softmax", dtype=dtype))
    return model


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
def test_layers_work_forward_and_backward(dtype):
    model = network(dtype)
    x = vg.random_normal([5, 8, 8, 2], dtype=dtype, seed=1)
    assert {w.dtype for w in model.get_weights()} == {dtype}
    for training in (False, True):
        y = model(x, training=training)
        assert y.dtype == dtype
        np.testing.assert_allclose(np.array(y.sum(1), np.float64), 1, atol=4 * EPSILON[dtype])
    _, gradients = vg.variable_grads(lambda: vg.mean(vg.square(model(x, training=True))))
    assert len(gradients) == 6
    assert {g.dtype for g in gradients.values()} == {dtype}
    assert all(np.isfinite(np.array(g, np.float64)).all() for g in gradients.values())


@pytest.mark.parametrize("dtype", ["float64", *HALVES])
def test_a_saved_model_holds_float32_and_loads_as_its_layers_say(dtype, tmp_path):
    model = network(dtype)
    x = vg.random_normal([2, 8, 8, 2], dtype=dtype, seed=2)
    model.save(tmp_path)
    manifest = json.loads((tmp_path / "model.json").read_text())["weightsManifest"]
    assert {weight["dtype"] for group in manifest for weight in group["weights"]} == {"float32"}
    loaded = vg.load_layers_model(tmp_path)
    assert {w.dtype for w in loaded.get_weights()} == {dtype}
    np.testing.assert_allclose(
        np.array(loaded(x), np.float64), np.array(model(x), np.float64), atol=4 * max(EPSILON[dtype], 2**-23)
    )
