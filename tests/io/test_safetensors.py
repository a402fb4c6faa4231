"""Weights in safetensors files: as the reference implementation reads and writes them, and strangers' files."""

import json

import numpy as np
import pytest
from safetensors import numpy as reference

import varigrad as vg
from varigrad.io.safetensors import read_weights, write_weights
from varigrad.io.weights import ModelFileError

ARRAYS = {
    "a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([True, False, True]),
    "double": np.float64([[0.1]]),
    "half": np.float16([1.5, -2]),
    "i": np.int32([-1, 2]),
    "long": np.array(2**40),
    "empty": np.zeros([0, 3], np.float32),
}


def same(found, expected=ARRAYS):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_what_is_written_the_reference_reads_and_the_other_way_round(tmp_path):
    write_weights(tmp_path / "ours.safetensors", ARRAYS, None)
    same(reference.load_file(tmp_path / "ours.safetensors"))
    same(read_weights(tmp_path / "ours.safetensors"))
    reference.save_file(ARRAYS, tmp_path / "theirs.safetensors", metadata={"made": "there"})
    same(read_weights(tmp_path / "theirs.safetensors"))


def test_the_layout_is_the_published_one(tmp_path):
    write_weights(tmp_path / "x.safetensors", {"b": np.array([True]), "w": np.float32([1, 2])}, None)
    data = (tmp_path / "x.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert header["w"] == {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    assert header["b"] == {"dtype": "BOOL", "shape": [1], "data_offsets": [8, 9]}
    assert (8 + length) % 8 == 0
    assert data[8 + length :] == np.float32([1, 2]).tobytes() + b"\1"


def test_bfloat16_and_complex_numbers_come_back(tmp_path):
    values = vg.tensor([1.5, -3.25, 1e30], dtype="bfloat16")
    arrays = {"h": np.asarray(values), "c": np.complex64([1 - 2j])}
    write_weights(tmp_path / "x.safetensors", arrays, None)
    found = read_weights(tmp_path / "x.safetensors")
    assert found["h"].dtype == np.float32
    assert found["h"].tolist() == values.cast("float32").tolist()
    assert found["c"].tolist() == [1 - 2j]


def test_text_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="'s' is object, which safetensors files cannot hold"):
        write_weights(tmp_path / "x.safetensors", {"s": np.array(["a"], object)}, None)
    assert not (tmp_path / "x.safetensors").exists()


# Strangers' files


def write(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def entry(shape=(2,), dtype="F32", offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        ({"w": entry()}, bytes(7), "should take 8 bytes, but the file holds 7"),
        ({"w": entry()}, bytes(9), "should take 8 bytes, but the file holds 9"),
        ({"w": entry(offsets=(0, 4))}, bytes(4), "takes 8 bytes, but has 4"),
        ({"w": entry(offsets=(8, 0))}, bytes(8), "takes 8 bytes, but has -8"),
        ({"w": entry(offsets=(4, 12))}, bytes(12), "begins at byte 4, but the last ends at 0"),
        ({"w": entry(), "v": entry()}, bytes(8), "begins at byte 0, but the last ends at 8"),
        ({"w": entry(), "v": entry(offsets=(4, 12))}, bytes(12), "begins at byte 4, but the last ends at 8"),
        ({"w": entry(shape=(10**15,), offsets=(0, 4 * 10**15))}, bytes(8), "should take 4,000,000,000,000,000"),
        ({"w": entry(shape=(0, 10**30), offsets=(0, 0))}, b"", "impossible shape"),
        ({"w": entry(shape=[1] * 200, offsets=(0, 4))}, bytes(4), "impossible shape"),
        ({"w": entry(shape=(-1, -2))}, bytes(8), "needs a shape"),
        ({"w": entry(shape=(True, 2))}, bytes(8), "needs a shape"),
        ({"w": entry(shape=(2.0,))}, bytes(8), "needs a shape"),
        ({"w": entry(offsets=(0,))}, bytes(8), "two data_offsets"),
        ({"w": entry(dtype="F8_E4M3")}, bytes(2), "has dtype 'F8_E4M3'"),
        ({"w": entry(dtype=["F32"])}, bytes(8), "has dtype"),
        ({"w": 7}, b"", "has dtype None"),
        (b'{"w": {"dtype":"U8","shape":[0],"data_offsets":[0,0]}, "w": 3}', b"", "a name comes twice"),
        (b"[]", b"", "its header is a list"),
        (b"{]", b"", "its header is no JSON"),
        (b"\xff\xff", b"", "its header is no JSON"),
        (b"[" * 100_000, b"", "its header is no JSON"),
    ],
)
def test_headers_that_contradict_themselves_are_an_error(tmp_path, header, data, message):
    with pytest.raises(ModelFileError, match=message):
        read_weights(write(tmp_path / "x.safetensors", header, data))


@pytest.mark.parametrize(
    "content", [b"", b"1234567", bytes(8), (2**63).to_bytes(8, "little") + b"{}", b"\x03" + bytes(7) + b"{}"]
)
def test_what_is_too_short_for_its_header_is_an_error(tmp_path, content):
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(ModelFileError, match="its header cannot be"):
        read_weights(tmp_path / "x.safetensors")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_weights(tmp_path / "x.safetensors")
