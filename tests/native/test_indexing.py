"""Taking and putting by index as machine code: values and gradients as in eager mode, and the same errors."""

import numpy as np
import pytest

import varigrad as vg


def random(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype("f")


def some(limit, shape, lowest=0):
    return np.random.default_rng(limit).integers(lowest, limit, shape).astype("i")


def is_native(program):
    return not any(type(step).__name__ == "HostCall" for step in program._steps)


def with_gradient(f):
    """A function of a tensor and indices: its value and how its squares depend on the tensor."""
    return lambda x, indices: [f(x, indices), vg.grad(lambda x: (f(x, indices) * 2.0).square().sum())(x)]


@pytest.mark.parametrize("shape", [(7, 5, 9), (1, 6, 8), (33, 2, 1), (3, 4, 40)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("of", [(), (4,), (2, 3)], ids=str)
def test_gather_along_any_axis(shape, axis, of, assert_native_as_eager):
    f = with_gradient(lambda x, indices: vg.gather(x, indices, axis))
    assert is_native(assert_native_as_eager(f, random(*shape), some(shape[axis], of)))


@pytest.mark.parametrize(("axis", "batch_dims", "of"), [(1, 1, (7, 4)), (2, 1, (7, 3, 2)), (2, 2, (7, 5, 3))])
def test_gather_in_batches(axis, batch_dims, of, assert_native_as_eager):
    x = random(7, 5, 9)
    f = with_gradient(lambda x, indices: vg.gather(x, indices, axis, batch_dims))
    assert is_native(assert_native_as_eager(f, x, some(x.shape[axis], of)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_gather_of_any_dtype_and_from_a_view(dtype, assert_native_as_eager):
    x = vg.tensor(some(3, (6, 11)), dtype=dtype)
    f = lambda x, indices: [vg.gather(x.transpose(), indices), vg.gather(x, indices, 1)]  # noqa: E731
    assert is_native(assert_native_as_eager(f, x, some(11, (13,))))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_index_tuples(depth, assert_native_as_eager):
    x = random(4, 5, 6)
    indices = np.stack([some(n, (3, 2)) for n in x.shape[:depth]], -1)
    f = with_gradient(vg.gather_nd)
    assert is_native(assert_native_as_eager(f, x, indices))
    updates = random(3, 2, *x.shape[depth:])
    f = with_gradient(lambda x, indices: vg.scatter_nd(indices, x, [4, 5, 6]))
    assert is_native(assert_native_as_eager(f, updates, indices))
    assert is_native(assert_native_as_eager(vg.tensor_scatter_update, x, indices, updates))


def test_the_last_of_several_updates_stays(compile_native):
    x, indices, updates = vg.zeros([5000, 3]), vg.tensor(some(5000, (20000, 1))), vg.tensor(random(20000, 3))
    (found,) = compile_native(vg.tensor_scatter_update, x, indices, updates)(x, indices, updates)
    right = np.zeros((5000, 3), "f")
    for at, row in zip(indices.numpy()[:, 0], updates.numpy(), strict=True):
        right[at] = row
    np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(("length", "width", "count"), [(5000, 3, 20000), (300, 64, 1000), (2, 1, 50), (70000, 1, 9)])
def test_sums_at_places_divided_among_threads(length, width, count, compile_native):
    rows, indices = vg.tensor(random(count, width)), vg.tensor(some(length, (count,)))
    f = lambda rows, indices: vg.unsorted_segment_sum(rows, indices, length)  # noqa: E731
    (found,) = compile_native(f, rows, indices)(rows, indices)
    right = np.zeros((length, width))
    np.add.at(right, indices.numpy(), rows.numpy().astype("d"))
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-4)


def test_segments_that_there_are_not_count_for_nothing(assert_native_as_eager):
    f = with_gradient(lambda x, ids: vg.unsorted_segment_sum(x, ids, 5))
    assert is_native(assert_native_as_eager(f, random(7, 3, 2), np.int32([0, 1, 9, -1, 2, 0, 5])))


def test_rows_put_by_checked_and_by_unchecked_indices_in_one_program(assert_native_as_eager):
    def f(x, indices):
        largest = vg.grad(lambda x: vg.topk(x, 2).values.square().sum())(x)  # its indices need no check
        return largest, vg.grad(lambda x: vg.gather(x, indices).square().sum())(x)

    assert is_native(assert_native_as_eager(f, random(3), some(3, (2,))))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_one_hot(dtype, assert_native_as_eager):
    f = lambda i: vg.one_hot(i, 6, dtype=dtype)  # noqa: E731
    assert is_native(assert_native_as_eager(f, some(9, (3, 7), -2)))


def test_diagonals(assert_native_as_eager):
    f = lambda x, y: [vg.diag(x), vg.run_kernel("DiagPart", (y,))]  # noqa: E731
    assert is_native(assert_native_as_eager(f, random(2, 3), random(2, 3, 2, 3)))


def test_indices_from_the_back(assert_native_as_eager):
    f = with_gradient(lambda x, indices: x[indices])
    assert is_native(assert_native_as_eager(f, random(7, 4), some(7, (11,), -7)))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_an_embedding(dtype, assert_native_as_eager):
    def f(table, ids):
        def loss(table):
            indices = vg.run_kernel("WholeIndices", (ids,), {"owner": "e", "count": 50, "argument": "input_dim"})
            return vg.gather(table, indices).square().sum()

        return vg.value_and_grad(loss)(table)

    program = assert_native_as_eager(f, random(50, 12), vg.tensor(some(50, (8, 5)), dtype=dtype))
    assert is_native(program)
    assert len(program._lowered.checks) == 1


WRONG = {
    "gather": (lambda x, i: vg.gather(x, i), [0, 2, 7]),
    "gather along the second axis": (lambda x, i: vg.gather(x, i, 1), [1, 5]),
    "negative": (lambda x, i: vg.gather(x, i), [3, -1]),
    "from the back": (lambda x, i: x[i], [-7, -8]),
    "tuples": (lambda x, i: vg.gather_nd(x, vg.stack([i, i], 1)), [4, 5]),
    "computed": (lambda x, i: vg.gather(x, i * 2), [1, 4]),
    "scattered": (lambda x, i: vg.scatter_nd(i, x, [6, 5]), [1, 2, 3, 4, 5, 6, 0]),
    "the last of many": (lambda x, i: vg.gather(x, i), [*[1] * 1000, 9]),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_error_of_eager_mode_for_indices_outside(name, compile_native):
    f, wrong = WRONG[name]
    x, right = vg.tensor(random(7, 5)), vg.zeros([len(wrong)], "int32")
    compiled = compile_native(f, x, right)
    assert is_native(compiled.program)
    with pytest.raises(vg.OutOfRangeError) as expected:
        f(x, vg.tensor(wrong, dtype="int32"))
    for _ in range(2):
        with pytest.raises(vg.OutOfRangeError) as found:
            compiled(x, vg.tensor(wrong, dtype="int32"))
        assert str(found.value) == str(expected.value)
    for ours, eager in zip(compiled(x, right), [f(x, right)], strict=True):
        np.testing.assert_array_equal(ours, eager)


def test_numbers_that_are_no_indices(compile_native):
    f = lambda x: vg.run_kernel("WholeIndices", (x,), {"owner": "e", "count": 9, "argument": "input_dim"})  # noqa: E731
    compiled = compile_native(f, vg.zeros([11]))
    for wrong in (0.5, np.nan, np.inf, -1.0, 9.0):
        x = vg.tensor([0.0] * 10 + [wrong])
        with pytest.raises((ValueError, vg.OutOfRangeError)) as expected:
            f(x)
        with pytest.raises(type(expected.value)) as found:
            compiled(x)
        assert str(found.value).startswith(str(expected.value).removesuffix(")"))


def test_nothing_is_updated_after_wrong_indices():
    table = vg.variable(random(7, 5))
    optimizer = vg.train.sgd(0.1)

    @vg.jit
    def step(indices):
        loss, grads = vg.variable_grads(lambda: vg.gather(table, indices).square().sum(), [table])
        optimizer.apply_gradients(grads)
        return loss

    step(vg.tensor([1, 2], dtype="int32"))
    step(vg.tensor([3, 0], dtype="int32"))
    before = table.numpy().copy()
    with pytest.raises(vg.OutOfRangeError, match=r"index 7, at \[1\] of the indices, is outside axis 0"):
        step(vg.tensor([0, 7], dtype="int32"))
    np.testing.assert_array_equal(table.numpy(), before)
    step(vg.tensor([0, 6], dtype="int32"))
    assert not np.array_equal(table.numpy(), before)


ROWS = {
    "an argument": lambda table, indices: vg.gather(table, indices),
    "computed": lambda table, indices: vg.gather(table, indices * 2),
    "by NumPy": lambda table, indices: table * vg.real(vg.gather(vg.zeros([7], "complex64"), indices)).sum(),
}


@pytest.mark.parametrize("name", ROWS)
def test_nothing_is_counted_after_wrong_indices(name):
    table = vg.variable(random(7, 5))
    optimizer = vg.train.adam(0.1)
    average = vg.train.exponential_moving_average([table], 0.9)
    sums = vg.train.accumulate(vg.train.sgd(0.1), every=9).sums

    def step(indices):
        loss, grads = vg.variable_grads(lambda: ROWS[name](table, indices).square().sum(), [table])
        optimizer.apply_gradients(grads)
        average.update()
        sums.add(grads, batch_size=1)
        return loss

    compiled = vg.jit(step)
    for count, indices in enumerate(([1, 2], [3, 0], [2, 2], [1, 1]), 1):
        compiled(vg.tensor(indices, dtype="int32"))
        assert (optimizer.iterations, average.updates, sums.batches) == (count, count, count)
        for run in (compiled, step):
            with pytest.raises(vg.OutOfRangeError):
                run(vg.tensor([0, 7], dtype="int32"))
            assert (optimizer.iterations, average.updates, sums.batches) == (count, count, count)


CAST = [1.5, -2.7, 0.0, -0.9, np.nan, np.inf, -np.inf, 3e9, -3e9, 1e300, 2147483520.0, -2147483648.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_as_integers(dtype, compile_native):
    with np.errstate(all="ignore"):
        x = vg.tensor(np.array([*CAST, 2147483647.5, -2147483648.5, -2147483649.0], dtype), dtype=dtype)
    compiled = compile_native(lambda x: x.cast("int32"), x)
    assert is_native(compiled.program)
    np.testing.assert_array_equal(compiled(x)[0], compiled.first[0])
