"""What each kernel of a function takes."""

import gc

import varigrad as vg


def test_profile_reports_kernels_and_memory():
    info = vg.profile(lambda: vg.tensor([1.0, 2.0]) * vg.tensor([3.0, 4.0]))
    assert info.kernel_names == ["Multiply"]
    (kernel,) = info.kernels
    assert kernel.input_shapes == ((2,), (2,))
    assert kernel.output_shapes == ((2,),)
    assert kernel.bytes_added == 8
    assert kernel.tensors_added == 1
    assert kernel.kernel_time_ms > 0
    assert info.result.tolist() == [3.0, 8.0]
    assert (info.new_tensors, info.new_bytes, info.peak_bytes) == (1, 8, 24)
    assert "Multiply" in str(info)


def test_profile_counts_what_is_alive_after_each_kernel():
    kept = vg.zeros([10])
    gone = [vg.zeros([5])]
    gc.collect()
    before = vg.memory()
    v = vg.variable(kept)

    def f():
        x = kept.reshape([2, 5])
        gone.clear()
        y = vg.mat_mul(x, vg.ones([2, 3]), transpose_a=True)
        y.dispose()
        v.assign_add(1.0)
        return x.sum()

    info = vg.profile(f)
    alive = [(k.name, k.total_tensors_snapshot - before.num_tensors, k.tensors_added) for k in info.kernels]
    # v and x; y's factor and y, and one gone; v, x, 1.0 and what v becomes, which shared the memory of `kept` before.
    assert alive == [("Reshape", 2, 1), ("Fill", 2, 1), ("BatchMatMul", 3, 1), ("Add", 3, 1), ("Sum", 2, 1)]
    assert [k.bytes_added for k in info.kernels] == [0, 24, 60, 40, 4]
    memory = [k.total_bytes_snapshot - before.num_bytes for k in info.kernels]
    assert memory == [0, 24 - 20, 24 + 60 - 20, 4 + 40 - 20, 40 + 4 - 20]
    assert "transpose_a=True" in info.kernels[2].extra_info


def test_profile_sees_gradients_too():
    info = vg.profile(lambda: vg.grad(lambda x: x * x)(vg.scalar(2.0)))
    assert "MultiplyNoNan" in info.kernel_names


def test_a_profile_leaves_nothing_to_the_garbage_collector():
    w = vg.variable([1.0, 2.0], name="w")
    vg.profile(lambda: (w * 2.0).sum())
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10):
            vg.profile(lambda: (w * 2.0).sum())
        assert len(gc.get_objects()) - before < 20
    finally:
        gc.enable()
