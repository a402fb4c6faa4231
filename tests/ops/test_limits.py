"""More axes, values or bytes than there can be: errors in the op's own name."""

import numpy as np
import pytest

import varigrad as vg

ONES = [1] * 33
IMAGE = vg.ones([1, 2, 2, 1])


@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("ones", lambda: vg.ones(ONES)),
        ("fill", lambda: vg.fill(ONES, 2)),
        ("random_normal", lambda: vg.random_normal(ONES)),
        ("reshape", lambda: vg.reshape([1], ONES)),
        ("broadcast_to", lambda: vg.broadcast_to(1, ONES)),
        ("tensor", lambda: vg.tensor(np.ones(ONES))),
        ("abs", lambda: vg.abs(np.ones(ONES))),
        ("expand_dims", lambda: vg.expand_dims(vg.ones(ONES[1:]))),
        ("stack", lambda: vg.stack([vg.ones(ONES[1:])])),
        ("abs", lambda: vg.abs([vg.ones(ONES[1:])])),
    ],
)
def test_a_tensor_has_32_axes_at_most(op, call):
    with pytest.raises(ValueError, match=rf"^{op}: .*(32 axes|32 at most|nested too deep)"):
        call()


@pytest.mark.parametrize("n", [2**62, 2**70, 10**30], ids=["2**62", "2**70", "10**30"])
@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("zeros", lambda n: vg.zeros([n])),
        ("zeros", lambda n: vg.zeros([n, 0])),
        ("eye", lambda n: vg.eye(n)),
        ("linspace", lambda n: vg.linspace(0, 1, n)),
        ("range", lambda n: vg.range(0, n)),
        ("one_hot", lambda n: vg.one_hot([0], n)),
        ("tile", lambda n: vg.tile([1, 2], [n])),
        ("pad", lambda n: vg.pad([1], [[n, 0]])),
        ("pad2d", lambda n: vg.pad2d([[1]], [[n, 0], [0, 0]])),
        ("broadcast_to", lambda n: vg.broadcast_to(1, [n])),
        ("random_uniform", lambda n: vg.random_uniform([n])),
        ("multinomial", lambda n: vg.multinomial([1, 2], n)),
        ("scatter_nd", lambda n: vg.scatter_nd([[0]], [1], [n])),
        ("sparse_to_dense", lambda n: vg.sparse_to_dense([0], [1], [n])),
        ("unsorted_segment_sum", lambda n: vg.unsorted_segment_sum([1], [0], n)),
        ("bincount", lambda n: vg.bincount([1], None, n)),
        ("confusion_matrix", lambda n: vg.math.confusion_matrix([0], [0], n)),
        ("conv2d", lambda n: vg.conv2d(IMAGE, vg.ones([1, 1, 1, 1]), 1, n)),
        ("max_pool", lambda n: vg.max_pool(IMAGE, n, 1, "same")),
        ("resize_bilinear", lambda n: vg.image.resize_bilinear(IMAGE, [n, 1])),
        ("hann_window", lambda n: vg.signal.hann_window(n)),
        ("frame", lambda n: vg.signal.frame([1, 2], n, 1, pad_end=True)),
        ("rfft", lambda n: vg.rfft([1, 2], n)),
    ],
)
def test_a_size_beyond_all_memory_is_an_error_of_the_op(op, call, n):
    with pytest.raises(ValueError, match=f"^{op}: "):
        call(n)


def test_a_size_beyond_this_machines_memory_is_an_error_of_the_op():
    with pytest.raises(vg.OutOfMemoryError, match=r"^unsorted_segment_sum: .*allocate 4\.00 PiB") as caught:
        vg.unsorted_segment_sum([1], [0], 2**50)
    assert isinstance(caught.value, MemoryError)


def test_an_integer_beyond_all_floats_is_named():
    with pytest.raises(ValueError, match=r"^abs: x holds an integer that is too large"):
        vg.abs(10**400)
    with pytest.raises(ValueError, match=r"^add: b holds an integer that is too large"):
        vg.tensor([1.0]) + 10**400
    with pytest.raises(ValueError, match=r"^leaky_relu: alpha 1000*.* is too large"):
        vg.leaky_relu([1.0], 10**400)


@pytest.mark.parametrize("add_item", [lambda items: items.append(items), lambda items: items.append([items])])
def test_a_list_in_itself_is_no_array(add_item):
    items = [1.0]
    add_item(items)
    with pytest.raises(ValueError, match=r"^abs: x (is ragged|cannot become an array)"):
        vg.abs(items)


def test_what_a_kernel_refuses_is_told_in_the_name_of_the_op_that_the_user_called():
    def refuse(x):
        raise ValueError("not today")

    vg.register_backend("refusing")
    try:
        vg.register_kernel("Relu", "refusing", refuse)
        vg.set_backend("refusing")
        with pytest.raises(ValueError, match=r"^relu: not today \(inputs: \[1\] float32\)"):
            vg.relu([1.0])
    finally:
        vg.set_backend("numpy")
        vg.remove_backend("refusing")
