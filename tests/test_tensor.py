"""Tensors by themselves, and buffers."""

import asyncio

import numpy as np
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


def test_a_tensor_as_a_buffer_is_a_copy():
    x = vg.tensor([[1, 2], [3, 4]])
    buffer = x.buffer_sync()
    assert buffer.get(1, 0) == 3
    buffer.set(9, 1, 0)
    assert x.tolist() == [[1, 2], [3, 4]]
    assert buffer.to_tensor().tolist() == [[1, 2], [9, 4]]


def test_bytes_are_the_memory():
    assert np.frombuffer(vg.tensor([[1.5], [2.5]]).bytes_sync(), np.float32).tolist() == [1.5, 2.5]
    assert vg.tensor(["a", "ж"]).bytes_sync() == [b"a", "ж".encode()]


def test_what_await_gives_is_there_too():
    async def read():
        x = vg.tensor([1, 2])
        return (await x.buffer()).get(1), await x.bytes()

    assert asyncio.run(read()) == (2, np.array([1, 2], np.float32).tobytes())
