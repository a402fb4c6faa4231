"""Tensors by themselves, and buffers."""

import pytest

import varigrad as vg


def test_a_buffer_of_strings_gives_back_what_was_set():
    buffer = vg.buffer([2], "string")
    buffer.set("first", 0)
    assert buffer.get(0) == "first"
    assert buffer.get(1) == ""
    assert buffer.to_tensor().tolist() == ["first", ""]


@pytest.mark.parametrize(("dtype", "value"), [("float32", 1.5), ("int32", 3), ("bool", True)])
def test_a_buffer_gives_python_values(dtype, value):
    buffer = vg.buffer([2, 2], dtype)
    buffer.set(value, 1, 0)
    assert buffer.get(1, 0) == value
    assert type(buffer.get(1, 0)) is type(value)
