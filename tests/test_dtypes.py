"""dtypes: names, promotion, and what Python, NumPy and pandas values become."""

import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import varigrad as vg
from varigrad.dtypes import dtype_name, is_differentiable, is_floating, numpy_dtype, promote

NAMES = ["bool", "int32", "int64", "float16", "float32", "float64", "complex64"]


def test_names_and_numpy_dtypes_are_one_to_one():
    for name in [*NAMES, "string"]:
        assert dtype_name(numpy_dtype(name)) == name
    with pytest.raises(ValueError, match="zeros: unknown dtype 'float'; use one of float32, int32"):
        vg.zeros([1], "float")
    with pytest.raises(ValueError, match="unknown dtype"):
        vg.zeros([1], np.float32)


def test_what_is_floating_and_what_is_differentiable():
    assert [n for n in NAMES if is_floating(n)] == ["float16", "float32", "float64"]
    assert [n for n in NAMES if is_differentiable(numpy_dtype(n))] == ["float16", "float32", "float64", "complex64"]


def test_the_later_of_two_dtypes_wins():
    for i, a in enumerate(NAMES):
        for j, b in enumerate(NAMES):
            assert promote(a, b) == NAMES[max(i, j)]
    assert promote("string", "string") == "string"
    with pytest.raises(TypeError, match="add: dtypes string and int32 cannot be combined"):
        promote("string", "int32", "add")


def test_upcast_type_is_promotion_of_dtypes_that_exist():
    assert vg.upcast_type("bool", "complex64") == "complex64"
    assert [vg.sum_out_type(n) for n in NAMES] == ["int32", *NAMES[1:]]
    with pytest.raises(ValueError, match="upcast_type: unknown dtype 'uint8'"):
        vg.upcast_type("uint8", "uint8")
    with pytest.raises(TypeError, match="string and float32 cannot be combined"):
        vg.upcast_type("string", "float32")


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (1, "float32"),
        (1.5, "float32"),
        (True, "bool"),
        (2j, "complex64"),
        ("text", "string"),
        (b"bytes", "string"),
        ([1, 2], "float32"),
        ([[1, 2.5]], "float32"),
        ([True, False], "bool"),
        ([True, 2], "float32"),
        ([1, 2j], "complex64"),
        (["a"], "string"),
        ((1, 2), "float32"),
        (range(3), "float32"),
        ([], "float32"),
        ([np.float64(1), 2], "float32"),
        (np.zeros(2, np.float64), "float32"),
        (np.zeros(2, np.float16), "float32"),
        (np.zeros(2, np.int64), "int32"),
        (np.zeros(2, np.uint8), "int32"),
        (np.zeros(2, np.int16), "int32"),
        (np.zeros(2, bool), "bool"),
        (np.zeros(2, np.complex128), "complex64"),
        (np.array(["a"]), "string"),
        (np.float64(1), "float32"),
        (np.int64(1), "int32"),
        (pd.Series([1, 2]), "int32"),
        (pd.Series([1.5, 2]), "float32"),
        (pd.Series([True, False]), "bool"),
        (pd.Series(["a", "b"]), "string"),
        (pd.Series(["a", "b"]).astype("category"), "string"),
        (pd.DataFrame({"a": [1, 2], "b": [1.5, 2]}), "float32"),
        (pd.DataFrame({"a": [1, 2], "b": [True, False]}), "float32"),
        (pd.Index([1, 2]), "int32"),
        ([Decimal("1.5"), 2], "float32"),
    ],
    ids=repr,
)
def test_what_values_become_when_no_dtype_is_named(values, dtype):
    assert vg.tensor(values).dtype == dtype


def test_data_frames_keep_their_values():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, -1]})
    assert vg.tensor(frame).tolist() == [[1, 1, 0.5], [2, 0, -1]]
    assert vg.add(pd.Series([1.0, 2.0]), 1).tolist() == [2, 3]
    assert vg.tensor(pd.Series(["a", "b"])).tolist() == ["a", "b"]


@pytest.mark.parametrize("dtype", [*NAMES, "string"])
def test_a_dtype_asked_for_by_name_is_given(dtype):
    values = ["1", "0"] if dtype == "string" else [1, 0]
    x = vg.tensor(values, dtype=dtype)
    assert x.dtype == dtype
    assert x.tolist() == values


def test_values_are_copied():
    array = np.zeros(3, np.float32)
    x = vg.tensor(array)
    array[0] = 1
    assert x.tolist() == [0, 0, 0]
    assert vg.tensor(np.zeros((3, 2), np.float32).T).storage.flags.c_contiguous


def test_whole_numbers_beyond_single_precision_keep_their_value_as_integers():
    assert vg.tensor([2**31 - 1], dtype="int32").item() == 2**31 - 1
    assert vg.tensor([2**53 + 1], dtype="int64").item() == 2**53 + 1


@pytest.mark.parametrize(
    ("values", "dtype", "error", "message"),
    [
        ([2**31], "int32", ValueError, "tensor: values holds 2147483648, which does not fit int32"),
        (np.array([-(2**40)]), None, ValueError, "does not fit int32"),
        ([float("nan")], "int32", ValueError, "holds nan, which does not fit int32"),
        ([float("inf")], "int64", ValueError, "holds inf, which does not fit int64"),
        ([[1, 2], [3]], None, ValueError, "ragged"),
        (["a"], "float32", TypeError, "holds strings, which cannot become float32"),
        ([1.0], "string", TypeError, "cannot become string"),
        ([object()], None, TypeError, "holds object"),
        ([None], None, TypeError, "holds NoneType None"),
        ([{"a": 1}], None, TypeError, "holds dict"),
        (np.array(["a", 1], object), None, TypeError, "strings and numbers together"),
        (np.zeros(2, "datetime64[s]"), None, TypeError, "datetime64"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), None, TypeError, "datetime64"),
    ],
)
def test_values_that_a_tensor_cannot_hold_are_explained(values, dtype, error, message):
    with pytest.raises(error, match=message):
        vg.tensor(values, dtype=dtype)


def test_none_is_not_a_tensor():
    with pytest.raises(TypeError, match="add: b must be a tensor or an array, got None"):
        vg.add([1.0], None)


def in_a_fresh_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_ml_dtypes_is_loaded_when_bfloat16_is_asked_for():
    assert in_a_fresh_process(
        "import sys, varigrad as vg; vg.zeros([1], 'float16') + 1; print('ml_dtypes' in sys.modules); "
        "vg.zeros([1], 'bfloat16'); print('ml_dtypes' in sys.modules)"
    ).split() == ["False", "True"]


def test_the_error_without_ml_dtypes_names_the_extra():
    assert (
        in_a_fresh_process(
            "import sys; sys.modules['ml_dtypes'] = None\n"
            "import varigrad as vg\n"
            "try: vg.zeros([1], 'bfloat16')\n"
            "except ModuleNotFoundError as error: print(error)"
        )
        == "zeros: bfloat16 comes with the package ml_dtypes: pip install 'varigrad[bfloat16]'"
    )


def test_arrays_and_pickles_bring_bfloat16_to_a_process_that_has_not_met_it():
    values = np.array([1.5, -2.0], numpy_dtype("bfloat16"))
    assert vg.tensor(values).dtype == "float32"
    assert vg.tensor(values, dtype="bfloat16").dtype == "bfloat16"
    assert vg.tensor(values, dtype="int32").tolist() == [1, -2]
    assert pickle.loads(pickle.dumps(vg.tensor(values, dtype="bfloat16"))).dtype == "bfloat16"
    code = (
        "import pickle, varigrad as vg; x = pickle.loads({}); "
        "print(x.dtype, vg.sum(vg.concat([x] * 1000)).item(), type(x.tolist()[0]).__name__)"
    )
    for x in (vg.tensor(values, dtype="bfloat16"), vg.tensor([1.5, -2.0], dtype="float16")):
        assert in_a_fresh_process(code.format(pickle.dumps(x))) == f"{x.dtype} -500.0 float"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_complex_numbers_do_not_lose_their_imaginary_part_in_silence(dtype):
    for values in (2j, [1, 2j], np.array([1j, 2.0])):
        with pytest.raises(TypeError, match=f"tensor: values holds complex numbers, which cannot become {dtype}"):
            vg.tensor(values, dtype=dtype)
    z = vg.complex([1.0, 2.0], [3.0, 0.0])
    assert z.cast("float32").tolist() == [1.0, 2.0]  # said by name
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2])])
    for values in (np.array([[1j, 2.0]]), z.reshape([1, 2])):
        with pytest.raises(TypeError, match=r"complex"):
            model.set_weights([values.reshape([2, 1]), [0.0]])


@pytest.mark.parametrize("values", [np.zeros(2, [("a", "f4"), ("b", "i4")]), np.array(["2026-01-01"], "M8[D]")])
@pytest.mark.parametrize("dtype", [None, "float32", "bool", "string"])
def test_records_and_dates_are_no_tensors(values, dtype):
    with pytest.raises(TypeError, match=r"tensor: values has dtype .*(tensor cannot hold|cannot become)"):
        vg.tensor(values, dtype=dtype)
