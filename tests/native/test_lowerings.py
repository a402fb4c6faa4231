"""Kernels whose lowering is a routine or a formula of its own: as in eager mode, in machine code alone."""

import numpy as np
import pytest

import varigrad as vg


def random(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype("f")


def integers(*shape):
    return np.random.default_rng(0).integers(-4, 5, shape).astype("i")


@pytest.fixture
def assert_native(assert_native_as_eager):
    """Checks values against eager mode, and that no NumPy kernel runs but those that draw random numbers."""

    def check(f, *arguments, tolerance=2e-5, hosts=()):
        program = assert_native_as_eager(f, *arguments, tolerance=tolerance)
        called = [step.node.kernel for step in program._steps if type(step).__name__ == "HostCall"]
        assert called == list(hosts)

    return check


SHAPES = [(7,), (5, 9), (3, 4, 6), (1, 33), (2, 1, 17), (4, 40, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("f", [vg.cumsum, vg.cumprod], ids=["sum", "product"])
def test_running_sums_and_products(f, shape, assert_native):
    for axis in range(len(shape)):
        for exclusive in (False, True):
            for reverse in (False, True):
                run = lambda x, a=axis, e=exclusive, r=reverse: f(x, a, e, r)  # noqa: E731
                assert_native(lambda x, run=run: vg.value_and_grad(lambda x: run(x).square().sum())(x), random(*shape))
                assert_native(run, integers(*shape))


def test_running_sums_take_numbers_in_numpys_order(compile_native):
    x = vg.tensor(random(40, 3000))
    compiled = compile_native(lambda x: [vg.cumsum(x, 1), vg.cumsum(x, 0), vg.cumsum(x, 1, reverse=True)], x)
    rows, columns, backwards = compiled(x)
    np.testing.assert_array_equal(rows, np.add.accumulate(x.numpy(), 1))
    np.testing.assert_array_equal(columns, np.add.accumulate(x.numpy(), 0))
    np.testing.assert_array_equal(backwards, np.add.accumulate(x.numpy()[:, ::-1], 1)[:, ::-1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_the_extremes_are(shape, dtype, assert_native):
    x = vg.tensor(integers(*shape) > 1 if dtype == "bool" else integers(*shape), dtype=dtype)
    f = lambda x: [f(x, axis) for axis in range(len(shape)) for f in (vg.arg_max, vg.arg_min)]  # noqa: E731
    assert_native(f, x)


@pytest.mark.parametrize("axis", [0, 1])
def test_nan_is_no_extreme_and_the_first_of_equals_counts(axis, assert_native):
    x = np.float32([[np.nan, 1, 1, np.inf, 3], [np.nan, 2, 1, -np.inf, 3], [np.nan, np.nan, -np.inf, np.inf, np.nan]])
    assert_native(lambda x: [vg.arg_max(x, axis), vg.arg_min(x, axis)], x)


@pytest.mark.parametrize("k", [1, 2, 5, 9])
@pytest.mark.parametrize("shape", [(9,), (4, 9), (2, 3, 50)], ids=str)
def test_the_largest(k, shape, assert_native):
    def f(x):
        values, indices = vg.topk(x, k)
        return [values, indices, vg.grad(lambda x: (vg.topk(x, k).values * 2.0).square().sum())(x)]

    assert_native(f, random(*shape))
    assert_native(lambda x: list(vg.topk(x, k)), integers(*shape))


def test_the_largest_of_special_numbers(assert_native):
    x = np.float32(
        [[0, -0.0, np.nan, np.inf, -np.inf, np.nan, 1, 1], [-np.inf] * 8, [np.nan] * 8, [5, 5, 5, 6, 6, 6, 1, 2]]
    )
    assert_native(lambda x: [list(vg.topk(x, k)) for k in (1, 3, 8)], x)


def test_whether_targets_are_among_the_largest(assert_native):
    f = lambda x, targets: vg.run_kernel("InTopK", (x, targets), {"k": 3})  # noqa: E731
    assert_native(f, random(20, 7), np.arange(20, dtype="i") % 7)


def test_confusion_of_classes(assert_native):
    f = lambda labels, predictions: vg.run_kernel("ConfusionMatrix", (labels, predictions), {"num_classes": 3})  # noqa: E731
    assert_native(f, integers(40), np.roll(integers(40), 7))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_only_the_last_update_of_a_place_has_a_gradient(depth, assert_native):
    indices = np.random.default_rng(depth).integers(0, 3, (4, 5, depth)).astype("i")

    def f(x, updates):
        loss = lambda x, updates: vg.tensor_scatter_update(x, indices, updates).square().sum()  # noqa: E731
        return vg.grads(loss)([x, updates])

    assert_native(f, random(3, 4, 3), random(4, 5, *(3, 4, 3)[depth:]))


@pytest.mark.parametrize("order", [1, 2, 3, "euclidean", np.inf, 1.5])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_norms(order, axis, assert_native):
    f = lambda x: vg.value_and_grad(lambda x: vg.norm(x, order, axis).square().sum())(x)  # noqa: E731
    assert_native(f, random(6, 11) if axis is not None else random(11))


@pytest.mark.parametrize(("lower", "upper"), [(0, -1), (-1, 0), (1, 2), (-1, -1), (0, 0)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_bands(lower, upper, dtype, assert_native):
    x = vg.tensor(integers(3, 6, 9), dtype=dtype)
    assert_native(lambda x: vg.linalg.band_part(x, lower, upper), x)


@pytest.mark.parametrize("radius", [0, 1, 5])
def test_local_response_normalization(radius, assert_native):
    f = lambda x: vg.value_and_grad(  # noqa: E731
        lambda x: vg.local_response_normalization(x, radius, 1.5, 0.7, 0.6).square().sum()
    )(x)
    assert_native(f, random(2, 5, 4, 13))


SIZES = [(8, 12), (4, 6), (5, 3), (1, 1), (9, 7), (4, 18)]


@pytest.mark.parametrize("centers", [(False, False), (True, False), (False, True)], ids=["edges", "corners", "centers"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("resize", [vg.image.resize_bilinear, vg.image.resize_nearest_neighbor], ids=["linear", "near"])
def test_resizing(resize, size, centers, assert_native):
    f = lambda x: vg.value_and_grad(lambda x: (resize(x, size, *centers) * 2.0).square().sum())(x)  # noqa: E731
    assert_native(f, random(2, 4, 6, 3))


def test_a_pixel_without_a_share_cannot_make_another_nan(assert_native):
    x = random(1, 4, 4, 2)
    x[0, 1, 2, 0] = np.nan
    x[0, 3, 3, 1] = np.inf
    assert_native(lambda x: [vg.image.resize_bilinear(x, size) for size in ((8, 8), (2, 2), (4, 4), (7, 3))], x)


def test_images_the_other_way_round(assert_native):
    assert_native(vg.image.flip_left_right, random(2, 3, 5, 4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_is_drawn_by_the_host_before_all_else(dtype, compile_native):
    def f(x):
        once = vg.dropout(vg.tanh(x), 0.4)
        return vg.dropout(once * 2.0, 0.25, seed=7)

    x = vg.tensor(random(40, 70), dtype=dtype)
    compiled = compile_native(f, x)
    vg.set_random_seed(3)
    expected = [f(x).numpy() for _ in range(2)]
    vg.set_random_seed(3)
    for right in expected:
        np.testing.assert_allclose(compiled(x)[0], right, rtol=2e-6)
    assert not np.array_equal(expected[0] == 0, expected[1] == 0)
    kinds = [type(step).__name__ for step in compiled.program._steps]
    assert kinds == ["HostCall"] * kinds.count("HostCall") + ["Group"]


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 7.5, 1e30, -1e-30, 3.0, np.inf, -np.inf, np.nan, 16777217.0, 5.9999995]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", ["FloorDiv", "Mod"])
def test_division_without_fraction_is_numpys(kernel, dtype, compile_native):
    x = np.concatenate([FLOATS, random(30).astype("d") * 100])
    a, b = (vg.tensor(side, dtype=dtype) for side in (x[:, None], x[None, :]))
    compiled = compile_native(lambda a, b: vg.run_kernel(kernel, (a, b)), a, b)
    np.testing.assert_array_equal(compiled(a, b)[0], compiled.first[0])
    np.testing.assert_array_equal(np.signbit(compiled(a, b)[0]), np.signbit(compiled.first[0]))


WINDOWS = [
    *[(2, 2), (3, 2), (3, 1), (5, 2), (5, 5), ((2, 3), (1, 2)), ((1, 4), 1)],
    *[((5, 5), 3), ((4, 5), (4, 5))],
]


@pytest.mark.parametrize("pad", ["same", "valid", ((0, 0), (1, 0), (2, 1), (0, 0))], ids=str)
@pytest.mark.parametrize(("window", "strides"), WINDOWS, ids=str)
def test_pooling_with_any_window(window, strides, pad, assert_native):
    def derivatives(x, pool):
        f = lambda x: (pool(x, window, strides, pad) * 1.5).square().sum()  # noqa: E731
        return [pool(x, window, strides, pad), vg.grad(f)(x), vg.grad(lambda x: vg.grad(f)(x).square().sum())(x)]

    x = random(2, 9, 11, 3)
    assert_native(lambda x: derivatives(x, vg.avg_pool), x)
    assert_native(lambda x: derivatives(x, vg.max_pool), x)


@pytest.mark.parametrize("pool", [vg.max_pool, vg.avg_pool], ids=["largest", "mean"])
def test_pooling_with_large_windows(pool, assert_native):
    x = random(2, 20, 23, 3)
    x[0, 3, 4, 1] = np.nan
    assert_native(lambda x: [pool(x, 7, 7, "valid"), pool(x, (9, 8), 2, "same"), pool(x, 20, 1, "valid")], x)


@pytest.mark.parametrize("pad", ["same", "valid"])
@pytest.mark.parametrize(("window", "strides"), [(2, 2), ((3, 2, 1), 1), (3, 2)], ids=str)
def test_pooling_in_three_dimensions(window, strides, pad, assert_native):
    for pool in (vg.max_pool3d, vg.avg_pool3d):
        f = lambda x, pool=pool: vg.value_and_grad(lambda x: pool(x, window, strides, pad).square().sum())(x)  # noqa: E731
        if window != 3 or pool is vg.avg_pool3d:
            assert_native(f, random(2, 6, 5, 7, 3))


@pytest.mark.parametrize(("window", "multiplier"), [((5, 5), 1), ((7, 7), 1), ((3, 3), 2), ((2, 3), 3)], ids=str)
@pytest.mark.parametrize("strides", [1, 2])
def test_depthwise_convolutions(window, multiplier, strides, assert_native):
    def f(x, filter):
        loss = lambda x, filter: vg.depthwise_conv2d(x, filter, strides, "same").square().sum()  # noqa: E731
        return vg.value_and_grads(loss)([x, filter])

    assert_native(f, random(2, 9, 10, 4), random(*window, 4, multiplier), tolerance=1e-4)


def test_the_same_on_several_threads(compile_native):
    def f(x, indices):
        rows = vg.gather(x, indices)
        return [
            *(rows, vg.gather(x, indices % 100, 1), vg.scatter_nd(indices.reshape([-1, 1]), rows, [3000, 100])),
            *(vg.cumsum(x, 0), vg.cumprod(x, 1), vg.arg_max(x, 1), *vg.topk(x, 3), vg.pow(vg.abs(x), rows)),
        ]

    indices = vg.tensor(np.random.default_rng(0).integers(0, 3000, 3000), dtype="int32")
    x = vg.tensor(random(3000, 100))
    compiled = compile_native(f, x, indices)
    for _ in range(6):  # by turns on one thread and on several, where there are several
        for ours, right in zip(compiled(x, indices), compiled.first, strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-6, atol=1e-6)
