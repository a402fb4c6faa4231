"""Each kernel with a lowering against its NumPy kernel: special values, broadcasting, strides and odd lengths."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native.elementwise import LOWERINGS

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-30, -1e30, 88.0, -88.0, np.inf, -np.inf, np.nan, 1e-40, 7.0, 0.1], "d"
)
INTEGERS = np.array([0, 1, -1, 5, -7, 100, 2**31 - 1, -(2**31), 12, 3], np.int32)

# How many inputs a kernel takes, if not one; and the attributes with which it is tried.
BINARY = (
    *(
        "Add",
        "AddN",
        "Atan2",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "DivNoNan",
        "EluGrad",
        "Equal",
        "FloorDiv",
        "Greater",
    ),
    *(
        "GreaterEqual",
        "Less",
        "LessEqual",
        "LogicalAnd",
        "LogicalOr",
        "LogicalXor",
        "Maximum",
        "Minimum",
        "Mod",
        "Multiply",
    ),
    *("MultiplyNoNan", "NotEqual", "Pow", "Prelu", "RealDiv", "ReluGrad", "SigmoidCrossEntropyWithLogits"),
    *("SigmoidGrad", "SquaredDifference", "Sub", "TanhGrad"),
)
ATTRIBUTES = {
    "Cast": [{"dtype": "bool"}, {"dtype": "float64"}, {"dtype": "float32"}],
    "ClipByValue": [{"clip_value_min": -1.5, "clip_value_max": 2.5}],
    "Elu": [{}, {"alpha": 0.3}],
    "EluGrad": [{}, {"alpha": 0.3, "scale": 1.5}],
    "LeakyRelu": [{"alpha": 0.2}, {"alpha": 2.0}, {"alpha": -0.5}],
    "MultiplyNoNan": [{}, {"factor": 0.5}],
    "Scale": [{"factor": 0.25}],
    "Selu": [{"alpha": 1.67, "scale": 1.05}],
    "Step": [{"alpha": 0.0}, {"alpha": 0.5}, {"alpha": -1.0}],
}
OF_ONE_SHAPE = {"AddN", "ReluGrad", "SigmoidCrossEntropyWithLogits", "SigmoidGrad", "TanhGrad"}
OWN = {
    "Copy",
    "Formula",
    "KeepWhere",
    "MaximumNumber",
    "Select",
}  # not kernels, or of a mask, which have tests of their own
DTYPES = {"f": "float32", "d": "float64", "i": "int32", "?": "bool"}


def values(kind):
    if kind == "i":
        return INTEGERS
    return np.array([True, False, True]) if kind == "?" else SPECIAL.astype(DTYPES[kind])


def cases():
    for name, lowering in LOWERINGS.items():
        for kind in lowering.kinds if name not in OWN else "":
            for attrs in ATTRIBUTES.get(name, [{}]):
                yield name, kind, attrs


def assert_alike(ours, right, name):
    assert ours.dtype == right.dtype
    if right.dtype.kind != "f":
        np.testing.assert_array_equal(ours, right)
        return
    few_units = 16 * np.finfo(right.dtype).eps if right.dtype == np.float32 else 1e-13
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(right))
    infinite = np.isinf(right)
    np.testing.assert_array_equal(ours[infinite], right[infinite])
    np.testing.assert_allclose(ours, right, rtol=few_units, atol=np.finfo(right.dtype).tiny)


@pytest.mark.parametrize(("name", "kind", "attrs"), list(cases()), ids=lambda x: str(x) if x else "")
def test_at_special_values(name, kind, attrs, compile_native):
    x = values(kind)
    if name in BINARY:
        pair = (x[:, None], x[None, :])
        if name in OF_ONE_SHAPE:
            pair = np.broadcast_arrays(*pair)
        inputs = tuple(vg.tensor(values, dtype=DTYPES[kind]) for values in pair)
    else:
        inputs = (vg.tensor(x, dtype=DTYPES[kind]),)
    with np.errstate(all="ignore"):
        compiled = compile_native(lambda *xs: vg.run_kernel(name, xs, attrs), *inputs)
        (found,) = compiled(*inputs)
    assert not any(type(step).__name__ == "HostCall" for step in compiled.program._steps)
    assert_alike(found, compiled.first[0], name)


@pytest.mark.parametrize("kind", "fdi?")
def test_choices_by_a_mask(kind, compile_native):
    x = vg.tensor(values(kind), dtype=DTYPES[kind])
    mask = vg.tensor(np.arange(x.size) % 3 == 0)

    def f(x, mask):
        kept = [vg.run_kernel("KeepWhere", (x, mask))] if kind != "?" else []
        return [vg.run_kernel("Select", (mask, x, vg.run_kernel("Reverse", (x,), {"dims": (0,)}))), *kept]

    compiled = compile_native(f, x, mask)
    for ours, right in zip(compiled(x, mask), compiled.first, strict=True):
        np.testing.assert_array_equal(ours, right)


REDUCTIONS = {
    "Sum": "fdi",
    "Mean": "fd",
    "Prod": "fdi",
    "Max": "fdi?",
    "Min": "fdi?",
    "All": "?",
    "Any": "?",
    "LogSumExp": "fd",
}


@pytest.mark.parametrize("axis", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in REDUCTIONS.items() for kind in kinds])
def test_reductions(name, kind, axis, compile_native):
    random = np.random.default_rng(3)
    spread = 1 if name == "Prod" else 3
    x = vg.tensor((spread * random.normal(size=(5, 19, 11))).astype(DTYPES[kind]), dtype=DTYPES[kind])
    for keep in (False, True):
        attrs = {"axis": axis, "keep_dims": keep}
        compiled = compile_native(lambda x, attrs=attrs: vg.run_kernel(name, (x,), attrs), x)
        (found,) = compiled(x)
        right = compiled.first[0]
        assert found.shape == right.shape
        scale = np.abs(right).max() if kind in "fd" else 0
        np.testing.assert_allclose(found, right, rtol=2e-6 if kind == "f" else 1e-12, atol=scale * 1e-6 * (kind == "f"))


@pytest.mark.parametrize("name", ["Max", "Min", "Sum"])
@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1)])
def test_reductions_keep_nan_and_infinity(name, axis, compile_native):
    x = np.random.default_rng(0).normal(size=(9, 21)).astype("f")
    x[2, 3], x[4, 5], x[6, 7] = np.nan, np.inf, -np.inf
    compiled = compile_native(lambda x: vg.run_kernel(name, (x,), {"axis": axis, "keep_dims": False}), vg.tensor(x))
    np.testing.assert_allclose(compiled(vg.tensor(x))[0], compiled.first[0], rtol=1e-6, atol=1e-6)


def test_long_sums_keep_their_digits(compile_native):
    x = np.random.default_rng(0).uniform(size=(300_000, 3)).astype("f")
    compiled = compile_native(lambda x: [x.sum(), x.sum(0), x.transpose().sum(1)], vg.tensor(x))
    total, columns, rows = compiled(vg.tensor(x))
    right = x.astype("d").sum(0)
    np.testing.assert_allclose(total, right.sum(), rtol=1e-6)
    np.testing.assert_allclose(columns, right, rtol=1e-6)
    np.testing.assert_allclose(rows, right, rtol=1e-6)


def test_nothing_at_all(compile_native):
    x = vg.tensor(np.zeros((0, 4), np.float32))
    compiled = compile_native(lambda x: [vg.exp(x), x.sum(0), x.transpose(), (x + 1.0).max(1)], x)
    for ours, right in zip(compiled(x), compiled.first, strict=True):
        np.testing.assert_array_equal(ours, right)
        assert ours.shape == right.shape
