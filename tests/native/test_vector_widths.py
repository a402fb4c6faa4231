"""Code for processors with narrower and wider vectors than this one's: LLVM makes of it what runs here."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native import kernels, machine


@pytest.fixture(params=[4, 8, 16])
def _lanes(request, monkeypatch):
    monkeypatch.setattr(machine, "vector_lanes", lambda: request.param)
    monkeypatch.setattr(kernels, "vector_lanes", lambda: request.param)


def arrays(*shapes):
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype("f") for shape in shapes]


def _picked(x):
    return vg.gather(x, vg.tensor([1, 8, 1, 0], dtype="int32")).square().sum()


FUNCTIONS = {
    "row by row": (
        lambda x: [vg.softmax(x), vg.log_softmax(x), x.max(1), (x - x.mean(1, True)).square().sum(1)],
        (9, 37),
    ),
    "column by column": (lambda x: [x.sum(0), vg.tanh(x).mean(0), x.max([0, 1])], (45, 83)),
    "transposed": (lambda x: [x.transpose(), x.transpose([1, 0]).reshape([-1]) * 2.0], (21, 34)),
    "parts": (lambda x: [x[1::2, 3:], vg.pad(x, [[1, 2], [3, 0]]), vg.concat([x, x * 2.0], 1), x > 0.0], (8, 19)),
    "mathematics": (
        lambda x: [vg.sin(x), vg.cos(x * 1e10), vg.tan(x), vg.erf(x), vg.abs(x) ** x, vg.atan2(x, x - 1.0), vg.cosh(x)],
        (9, 37),
    ),
    "by index": (
        lambda x: [x[[0, -1, 5]], vg.gather(x, [36, 0, 7], 1), vg.one_hot(vg.arg_max(x, 1), 37), vg.grad(_picked)(x)],
        (9, 37),
    ),
    "running": (lambda x: [vg.cumsum(x, 0), vg.cumprod(x, 1), *vg.topk(x, 3), vg.arg_min(x, 0)], (9, 37)),
    "products": (lambda x, y: [vg.mat_mul(x, y), vg.mat_mul(y, x), vg.mat_mul(x, x, False, True)], (33, 50), (50, 33)),
    "packed": (lambda x, y: [vg.mat_mul(x, y), vg.mat_mul(y, x, True, True)], (70, 96), (96, 64)),
    "gathered": (lambda x, y: vg.mat_mul(x, y, True), (70, 280), (70, 44)),
    "in unequal parts": (lambda x, y: [vg.mat_mul(x, y), vg.mat_mul(y, x, True, True)], (16, 1031), (1031, 33)),
    "convolution": (lambda x, f: vg.conv2d(x, f, 1, "same"), (2, 11, 12, 3), (3, 3, 3, 20)),
    "finished, half a vector": (lambda x, y: vg.relu(vg.mat_mul(x, y) + x[0, :8]), (33, 50), (50, 8)),
    "finished, many vectors": (lambda x, y: vg.relu(vg.mat_mul(x, y) + y[0]), (33, 50), (50, 71)),
    "pooling": (lambda x: [vg.max_pool(x, 2, 2, "same"), vg.avg_pool(x, 2, 2, "valid")], (2, 7, 9, 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("_lanes")
def test_every_width(name, assert_native_as_eager):
    f, *shapes = FUNCTIONS[name]
    assert_native_as_eager(f, *arrays(*shapes))


GEOMETRIES = [
    {"strides": 1, "pad": "valid"},
    {"strides": 2, "pad": "same"},
    {"strides": (2, 1), "pad": "valid"},
    {"strides": 1, "pad": "same", "dilations": 2},
    {"strides": 3, "pad": ((0, 0), (2, 1), (0, 3), (0, 0))},
]


@pytest.mark.parametrize("channels", [(1, 8), (3, 5), (16, 32), (8, 48)])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_convolutions_and_their_gradients(geometry, channels, assert_native_as_eager):
    options = {**geometry}
    strides, pad = options.pop("strides"), options.pop("pad")

    def f(x, filter):
        return vg.value_and_grads(lambda x, filter: vg.conv2d(x, filter, strides, pad, **options).square().sum())(
            [x, filter]
        )

    assert_native_as_eager(f, *arrays((3, 13, 14, channels[0]), (3, 2, *channels)))


@pytest.mark.parametrize("pad", ["same", "valid"])
@pytest.mark.parametrize(("window", "strides"), [(2, 2), (3, 2), (2, 3), ((2, 3), 1)])
def test_pooling_and_its_gradient(window, strides, pad, assert_native_as_eager):
    for pool in (vg.max_pool, vg.avg_pool):
        f = lambda x, pool=pool: vg.value_and_grad(lambda x: (pool(x, window, strides, pad) * 1.5).square().sum())(x)  # noqa: E731
        assert_native_as_eager(f, *arrays((3, 9, 8, 5)))
