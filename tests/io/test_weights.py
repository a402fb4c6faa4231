"""Weights as bytes: encoding, decoding, quantization, and what damaged specifications end in."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg
from varigrad.io.weights import ModelFileError

SETTINGS = settings(max_examples=50)


def spec(name="w", shape=(2,), dtype="float32", **more):
    return {"name": name, "shape": list(shape), "dtype": dtype, **more}


def quantized(stored, dtype="float32", shape=(2,), **numbers):
    return spec(shape=shape, dtype=dtype, quantization={"dtype": stored, **numbers})


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "string"])
@SETTINGS
@given(shape=st.lists(st.integers(0, 3), max_size=3), seed=st.integers(0, 2**16))
def test_what_is_encoded_decodes_to_the_same(dtype, shape, seed):
    numbers = np.random.default_rng(seed).integers(-5, 5, shape)
    values = np.vectorize(lambda n: "é" * int(n + 5), otypes=[object])(numbers) if dtype == "string" else numbers
    tensor = vg.tensor(values, dtype=dtype)
    data, specs = vg.io.encode_weights({"a": tensor, "b": vg.tensor([1.5])})
    decoded = vg.io.decode_weights(data, specs)
    assert list(decoded) == ["a", "b"]
    assert decoded["a"].dtype == dtype
    assert decoded["a"].shape == tuple(shape)
    np.testing.assert_array_equal(decoded["a"].numpy(), tensor.numpy())
    assert decoded["b"].tolist() == [1.5]


def test_the_layout_is_little_endian_values_end_to_end_and_length_prefixed_strings():
    tensors = {
        "f": vg.tensor([1.0]),
        "i": vg.tensor([2], dtype="int32"),
        "b": vg.tensor([True]),
        "s": vg.tensor(["hé"]),
    }
    data, specs = vg.io.encode_weights(tensors, group="optimizer")
    assert (
        data == bytes.fromhex("0000803f") + bytes.fromhex("02000000") + b"\1" + bytes.fromhex("03000000") + b"h\xc3\xa9"
    )
    assert specs[0] == {"name": "f", "shape": [1], "dtype": "float32", "group": "optimizer"}


@pytest.mark.parametrize(("dtype", "written"), [("float64", "float32"), ("float16", "float32"), ("int64", "int32")])
def test_dtypes_that_the_format_lacks_become_the_nearest_it_has(dtype, written):
    data, specs = vg.io.encode_weights({"w": vg.tensor([1, 2], dtype=dtype)})
    assert specs[0]["dtype"] == written
    assert vg.io.decode_weights(data, specs)["w"].tolist() == [1, 2]


# tf.io.decodeWeights of the same bytes, per tfjs 4.22: value * scale + min, rounded for int32.
@pytest.mark.parametrize(
    ("entry", "data", "expected"),
    [
        (quantized("uint8", scale=0.5, min=-1), bytes([0, 255]), [-1.0, 126.5]),
        (quantized("uint16", scale=0.25, min=2), bytes([1, 0, 0, 1]), [2.25, 66.0]),
        (quantized("uint8", "int32", scale=1.5, min=-2.2), bytes([1, 2]), [-1, 1]),
        (quantized("float16"), np.array([1.5, -65504], "<f2").tobytes(), [1.5, -65504.0]),
        (quantized("uint8", scale=0.1, min=0), bytes([3, 7]), np.float32([3 * 0.1, 7 * 0.1]).tolist()),
    ],
)
def test_quantized_weights_are_expanded(entry, data, expected):
    weight = vg.io.decode_weights(data, [entry])["w"]
    assert weight.dtype == entry["dtype"]
    assert weight.tolist() == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (7, "must be an object"),
        ({"shape": [1], "dtype": "float32"}, "needs a name"),
        (spec(shape=(-1,)), "needs a shape"),
        ({"name": "w", "shape": [True], "dtype": "float32"}, "needs a shape"),
        ({"name": "w", "shape": [1.0], "dtype": "float32"}, "needs a shape"),
        ({"name": "w", "shape": "12", "dtype": "float32"}, "needs a shape"),
        (spec(dtype="float8"), "has dtype 'float8'"),
        (spec(dtype=["float32"]), "has dtype"),
        (quantized("uint4", scale=1, min=0), "is quantized as 'uint4'"),
        (quantized("uint8", scale=1), "no finite scale and min"),
        (quantized("uint8", scale=float("inf"), min=0), "no finite scale and min"),
        (quantized("uint8", scale=10**400, min=0), "no finite scale and min"),
        (quantized("uint8", "bool", scale=1, min=0), "cannot be quantized"),
        (quantized("float16", "int32"), "cannot be quantized"),
        (quantized("uint8", "int32", scale=1e10, min=0), "do not fit int32"),
    ],
)
def test_a_bad_specification_is_an_error_that_says_what_is_wrong(entry, message):
    with pytest.raises(ModelFileError, match=message):
        vg.io.decode_weights(bytes([255, 255]), [entry])


@pytest.mark.parametrize("size", [0, 7, 9, 16])
def test_too_few_or_too_many_bytes_are_an_error(size):
    with pytest.raises(ModelFileError, match="should take 8 bytes"):
        vg.io.decode_weights(bytes(size), [spec()])


def test_a_huge_declared_size_takes_no_memory():
    for shape in ([10**9, 10**9], [2**40], [10**30]):
        with pytest.raises(ModelFileError, match="should take"):
            vg.io.decode_weights(bytes(8), [spec(shape=shape)])
        with pytest.raises(ModelFileError, match="needs"):
            vg.io.decode_weights(bytes(8), [spec(shape=shape, dtype="string")])


def test_an_empty_weight_of_impossible_lengths_is_an_error():
    with pytest.raises(ModelFileError, match="impossible shape"):
        vg.io.decode_weights(b"", [spec(shape=[0, 10**30])])


def test_a_string_longer_than_the_file_or_not_utf8_is_an_error():
    entry = spec(shape=[1], dtype="string")
    with pytest.raises(ModelFileError, match="needs 4,294,967,295 bytes"):
        vg.io.decode_weights(b"\xff\xff\xff\xff", [entry])
    with pytest.raises(ModelFileError, match="not UTF-8"):
        vg.io.decode_weights(b"\1\0\0\0\xff", [entry])
    with pytest.raises(ModelFileError, match="left over"):
        vg.io.decode_weights(b"\1\0\0\0ab", [entry])


def test_a_name_listed_twice_is_an_error():
    with pytest.raises(ModelFileError, match="listed twice"):
        vg.io.decode_weights(bytes(16), [spec(), spec()])


def test_bools_other_than_0_and_1_become_true():
    assert vg.io.decode_weights(bytes([0, 7]), [spec(dtype="bool")])["w"].numpy().view(np.uint8).tolist() == [0, 1]


@SETTINGS
@given(
    data=st.binary(max_size=40),
    entries=st.lists(
        st.fixed_dictionaries(
            {
                "name": st.text(max_size=2) | st.none(),
                "shape": st.lists(st.integers(-1, 2**70) | st.floats() | st.none(), max_size=3) | st.integers(0, 3),
                "dtype": st.sampled_from(["float32", "int32", "bool", "string", "complex64", "x"]) | st.none(),
            },
            optional={
                "quantization": st.fixed_dictionaries(
                    {"dtype": st.sampled_from(["uint8", "uint16", "float16", "x"])},
                    optional={"scale": st.floats() | st.integers(), "min": st.floats() | st.text(max_size=1)},
                )
            },
        ),
        max_size=3,
    ),
)
def test_whatever_a_file_says_ends_in_weights_or_in_one_clear_error(data, entries):
    with suppress(ModelFileError):
        weights = vg.io.decode_weights(data, entries)
        assert sorted(weights) == sorted(entry["name"] for entry in entries)
