"""Weights in `.npz` files: as NumPy reads and writes them, and strangers' files."""

import io
import os
import zipfile

import numpy as np
import pytest

from varigrad.io.npz import read_weights, write_weights
from varigrad.io.weights import ModelFileError

ARRAYS = {
    "a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a/bias": np.float32([-1, 2.5]),
    "file": np.float64(3.0).reshape(()),
    "half": np.float16([1.5]),
    "i": np.int32([[1], [2]]),
    "long": np.int64([2**40]),
    "b": np.array([True, False]),
    "c": np.complex64([1 + 2j]),
    "empty": np.zeros([0, 3], np.float32),
}


def same(found, expected=ARRAYS):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_what_is_written_numpy_reads_and_the_other_way_round(tmp_path):
    write_weights(tmp_path / "ours.npz", ARRAYS, None)
    with np.load(tmp_path / "ours.npz", allow_pickle=False) as file:
        same(dict(file))
    same(read_weights(tmp_path / "ours.npz"))
    named = {name: array for name, array in ARRAYS.items() if name != "file"}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "theirs.npz", **named)
        same(read_weights(tmp_path / "theirs.npz"), named)


def test_columns_first_big_endian_and_text_are_read(tmp_path):
    np.savez(tmp_path / "x.npz", f=np.asfortranarray(ARRAYS["a/kernel"]), e=np.arange(3, dtype=">f4"), s=["é", "ab"])
    found = read_weights(tmp_path / "x.npz")
    assert found["f"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["e"].dtype == np.float32
    assert found["e"].tolist() == [0, 1, 2]
    assert found["s"].tolist() == ["é", "ab"]


def test_text_is_written(tmp_path):
    write_weights(tmp_path / "s.npz", {"s": np.array(["é", "ab"], object)}, None)
    assert read_weights(tmp_path / "s.npz")["s"].tolist() == ["é", "ab"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    write_weights(tmp_path / "x.npz", ARRAYS, None)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_weights(tmp_path / "x.npz", {"a": np.zeros(2)}, None)
    same(read_weights(tmp_path / "x.npz"))
    assert [file.name for file in tmp_path.iterdir()] == ["x.npz"]


# Strangers' files


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def archive(path, entries, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in entries:
            file.writestr(name, data)
    return path


def header(text):
    text = text.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def test_pickled_objects_are_never_read(tmp_path):
    path = archive(tmp_path / "x.npz", [("a.npy", npy(np.array([{}], object), allow_pickle=True))])
    with pytest.raises(ModelFileError, match=r"'a\.npy' holds object, which are no weights"):
        read_weights(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n"), "takes 4,000,000,000,000"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n"), "not as NumPy writes it"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n"), "bytes, but has 0"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999999999999), }\n"), "no npz file"),
        (header("{'descr': '<f4'}\n"), "no npz file"),
        (header("__import__('os').system('true')\n"), "no npz file"),
        (header("(" * 5000 + "\n"), "not as NumPy writes it"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1" * 9000 + "), }\n"), "no npz file"),
        (header(" " * 20_000), "is 20,000 bytes long"),
        (b"\x93NUMPY\x07\x00", "of a later version"),
        (b"", "no npz file"),
        (npy(np.zeros(3, np.float32))[:-1], "takes 12 bytes, but has 11"),
        (npy(np.zeros(3, np.float32)) + b"x", "takes 12 bytes, but has 13"),
        (npy(np.zeros(2, "V3")), "no weights"),
    ],
)
def test_arrays_that_contradict_themselves_are_an_error(tmp_path, data, message):
    with pytest.raises(ModelFileError, match=message):
        read_weights(archive(tmp_path / "x.npz", [("a.npy", data)]))


def test_a_bomb_is_refused_before_it_goes_off(tmp_path):
    zeros = npy(np.zeros(20_000_000, np.float32))
    path = archive(tmp_path / "x.npz", [("a.npy", zeros)], zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    with pytest.raises(ModelFileError, match="would grow to 80,000,128; weights do not shrink like that"):
        read_weights(path)


def test_entries_that_share_their_bytes_are_refused(tmp_path):
    path = archive(tmp_path / "x.npz", [("a.npy", npy(np.zeros(1000, np.float32)))])
    data = path.read_bytes()
    start = data.index(b"PK\x01\x02")
    entry = data[start : data.index(b"PK\x05\x06")]
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    copies = [entry.replace(b"a.npy", b"%c.npy" % (97 + i)) for i in range(5)]
    end[8:12] = (5).to_bytes(2, "little") * 2
    end[12:16] = (len(entry) * 5).to_bytes(4, "little")
    path.write_bytes(data[:start] + b"".join(copies) + bytes(end))
    with pytest.raises(ModelFileError, match="overlap"):
        read_weights(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path):
    data = npy(np.zeros(1))
    with pytest.raises(ModelFileError, match="two entries of one name"):
        read_weights(archive(tmp_path / "x.npz", [("a.npy", data), ("a.npy", data)]))


@pytest.mark.parametrize(("name", "message"), [("readme.txt", "is no array"), ("a/", "is no array")])
def test_what_is_no_array_is_an_error(tmp_path, name, message):
    with pytest.raises(ModelFileError, match=message):
        read_weights(archive(tmp_path / "x.npz", [(name, b"")]))


def test_other_compressions_are_refused(tmp_path):
    path = archive(tmp_path / "x.npz", [("a.npy", npy(np.zeros(10)))], zipfile.ZIP_BZIP2)
    with pytest.raises(ModelFileError, match="compressed in a way that NumPy does not write"):
        read_weights(path)


def test_a_changed_byte_does_not_pass_the_checksum(tmp_path):
    path = archive(tmp_path / "x.npz", [("a.npy", npy(np.float32([1, 2, 3])))])
    data = bytearray(path.read_bytes())
    data[data.index(np.float32(2).tobytes())] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="Bad CRC-32"):
        read_weights(path)


def test_no_file_and_no_archive(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_weights(tmp_path / "x.npz")
    (tmp_path / "x.npz").write_bytes(b"PK nothing")
    with pytest.raises(ModelFileError, match="no npz file"):
        read_weights(tmp_path / "x.npz")
