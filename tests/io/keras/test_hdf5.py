"""The reader of HDF5 files, against h5py."""

import h5py
import numpy as np
import pytest

from varigrad.io.keras.hdf5 import File
from varigrad.io.weights import ModelFileError

from .files import LAYOUTS, VALUES, hdf5

LIBRARY_VERSIONS = ["earliest", "latest"]


@pytest.mark.parametrize("libver", LIBRARY_VERSIONS)
@pytest.mark.parametrize("name", VALUES)
def test_values_are_read_as_h5py_wrote_them(name, libver):
    values = VALUES[name]
    dataset = File(hdf5(lambda file: file.create_dataset("a/b", data=values), libver=libver)).root.dataset("a/b")
    assert dataset.shape == values.shape
    read = dataset.read()
    assert read.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(read, values)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.dtype(">i2")])
def test_values_in_chunks_and_compressed_are_read(layout, dtype):
    values = np.random.default_rng(0).integers(0, 200, [7, 10]).astype(dtype)
    data = hdf5(lambda file: file.create_dataset("x", data=values, **LAYOUTS[layout]))
    np.testing.assert_array_equal(File(data).root.dataset("x").read(), values)


# HDF5 1.10 to 1.14 write version 4 with libver="latest", others version 3; values in one piece are the same in both.
@pytest.mark.parametrize(("options", "kind"), [({}, b"\x01"), ({"chunks": (7, 10)}, b"\x02\x03")])
def test_values_in_one_piece_are_read_of_the_newer_layout_and_chunks_are_refused(options, kind):
    values = np.arange(70, dtype=np.float32).reshape(7, 10)
    data = hdf5(lambda file: file.create_dataset("x", data=values, **options))
    assert data.count(b"\x03" + kind) == 1
    dataset = File(data.replace(b"\x03" + kind, b"\x04" + kind)).root.dataset("x")
    if not options:
        np.testing.assert_array_equal(dataset.read(), values)
    else:
        with pytest.raises(ModelFileError, match="layout of chunks of version 4, which is not supported; write it"):
            dataset.read()


def test_a_tree_of_chunks_with_several_levels_is_read():
    values = np.arange(5000, dtype=np.int32)
    data = hdf5(lambda file: file.create_dataset("x", data=values, chunks=(3,)))
    np.testing.assert_array_equal(File(data).root.dataset("x").read(), values)


def test_a_group_with_many_members_is_read():
    def fill(file):
        for number in range(700):
            file.create_group(f"g/layer_{number}")

    root = File(hdf5(fill)).root
    assert sorted(root.group("g")) == sorted(f"layer_{number}" for number in range(700))
    assert "layer_5" in root.group("g")
    assert "layer_700" not in root.group("g")


def test_attributes_are_texts_lists_of_texts_and_numbers():
    def fill(file):
        file.attrs["text"] = "größer"
        file.attrs["bytes"] = b"abc"
        file.attrs["long"] = "x" * 100_000
        file.attrs["fixed"] = np.array([b"ab", b"abc"])
        file.attrs["variable"] = ["a", "", "ccc"]
        file.attrs["number"] = 3
        file.attrs["numbers"] = np.array([1.5, 2.5])

    attributes = File(hdf5(fill)).root.attributes
    assert attributes["text"] == "größer"
    assert attributes["bytes"] == "abc"
    assert attributes["long"] == "x" * 100_000
    assert attributes["fixed"] == ["ab", "abc"]
    assert attributes["variable"] == ["a", "", "ccc"]
    assert attributes["number"] == 3
    assert attributes["numbers"].tolist() == [1.5, 2.5]


def test_datasets_and_groups_are_told_apart():
    def fill(file):
        file.create_dataset("x", data=[1.0])
        file.create_group("g")

    root = File(hdf5(fill)).root
    assert root.is_dataset("x")
    assert not root.is_dataset("g")
    with pytest.raises(ModelFileError, match="has no 'g/x'"):
        root.dataset("g/x")
    with pytest.raises(ModelFileError, match="in place of a group"):
        "y" in root.group("x")  # noqa: B015


# What is refused: other files, and memory that the file has no bytes for.


def refused(fill, match, path="x", **options):
    data = hdf5(fill, **options)
    with pytest.raises(ModelFileError, match=match):
        File(data).root.dataset(path).read()


@pytest.mark.parametrize("libver", LIBRARY_VERSIONS)
def test_links_are_refused(libver):
    refused(lambda file: file.__setitem__("x", h5py.SoftLink("/x")), "link", libver=libver)
    refused(lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/")), "link", libver=libver)


def test_values_in_other_files_and_virtual_datasets_are_refused(tmp_path):
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(40))
    refused(lambda file: file.create_dataset("x", [10], "f4", external=[(str(raw), 0, 40)]), "another file")

    def virtual(file):
        layout = h5py.VirtualLayout((4,), "f4")
        layout[:] = h5py.VirtualSource(str(raw), "y", shape=(4,))
        file.create_virtual_dataset("x", layout)

    refused(virtual, "not supported|virtual", libver="latest")


def test_values_that_were_never_written_are_refused():
    refused(lambda file: file.create_dataset("x", [1 << 40], "f4"), "no values")
    refused(lambda file: file.create_dataset("x", [1 << 20], "f4", chunks=(1 << 10,)), "lacks a part|too short|refused")


def test_a_shape_that_takes_more_memory_than_there_is_file_is_refused():
    def fill(file):
        x = file.create_dataset("x", [1 << 31], "f4", chunks=(1 << 20,), compression="gzip", shuffle=True)
        x[: 1 << 20] = np.zeros(1 << 20, np.float32)

    refused(fill, "refused|too short|lacks a part")


# Found by the fuzzer: no values, but an axis beyond what NumPy can count.
@pytest.mark.parametrize("options", [{}, {"chunks": (1, 3)}])
def test_an_axis_of_impossible_length_is_refused_where_there_are_no_values_too(options):
    def fill(file):
        file.create_dataset("x", [0, 3], "f4", maxshape=[None, None] if options else None, **options)

    data = hdf5(fill)
    zero, three, huge = (n.to_bytes(8, "little") for n in (0, 3, 1 << 62))
    changed = data.replace(zero + three, zero + huge)
    assert changed != data
    with pytest.raises(ModelFileError, match="impossible shape"):
        File(changed).root.dataset("x").read()


def test_a_compressed_bomb_is_refused():
    def fill(file):
        file.create_dataset("x", data=np.zeros(20 << 20, np.float32), chunks=(1 << 20,), compression="gzip")

    refused(fill, "claims 83,886,080 bytes")


def test_compound_values_and_references_are_refused():
    refused(lambda file: file.create_dataset("x", data=np.zeros(2, [("a", "f4"), ("b", "i4")])), "weights never have")
    refused(lambda file: file.create_dataset("x", data=["text"]), "text in place of numbers")


def test_groups_in_the_newer_form_name_the_way_out():
    def fill(file):
        for number in range(50):
            file.create_dataset(f"x{number}", data=[1.0])

    refused(fill, "libver='earliest'", "x1", libver="latest")


@pytest.mark.parametrize("data", [b"", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04" + bytes(100), bytes(1000)])
def test_what_is_no_hdf5_file_is_an_error(data):
    with pytest.raises(ModelFileError, match="not an HDF5 file"):
        File(data)


def test_every_cut_of_a_file_is_an_error_or_leaves_the_values_whole():
    values = np.arange(50, dtype=np.float32)
    data = hdf5(lambda file: file.create_dataset("a/b/x", data=values, compression="gzip"))
    cut_errors = 0
    for length in range(len(data)):
        try:
            read = File(data[:length]).root.dataset("a/b/x").read()
        except ModelFileError:
            cut_errors += 1
        else:
            np.testing.assert_array_equal(read, values)
    assert cut_errors > len(data) * 0.5
