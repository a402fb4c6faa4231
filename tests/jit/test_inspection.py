"""What can be seen of a compiled function: its graph, what runs, how long it takes, and why it was compiled."""

import pytest

import varigrad as vg


@vg.jit
def chain(x, y):
    return (x + 0.5).mat_mul((y * 1).transpose()).sum()


def test_the_graph_is_shown_before_and_after_passes():
    x = vg.ones([2, 3])
    chain(x, x)
    before, after = chain.graph("capture"), chain.graph()
    assert "Transpose" in before
    assert "Transpose" not in chain.graph("absorb_transposes").split("MatMul")[1]
    assert "transpose_b=True" in after
    assert after.count("Multiply") == 0 < before.count("Multiply")
    assert "argument x: float32 [2, 3]" in after
    assert "test_inspection.py:" in after
    with pytest.raises(ValueError, match="drop_dead_code"):
        chain.graph("nonsense")


def test_what_runs_is_shown(executor):
    f = vg.jit(lambda x: vg.exp(x) + 1)
    with pytest.raises(vg.JitError, match="call it first"):
        f.graph()
    f(vg.ones([3]))
    if executor == "numpy":
        assert "def step" in f.source()
        with pytest.raises(vg.JitError, match="executor='native'"):
            f.ir()
        with pytest.raises(vg.JitError, match=r"has no fusion .* executor='native'"):
            f.graph("fusion")
    else:
        assert "define" in f.ir()
        assert "ret" in f.asm()
        with pytest.raises(vg.JitError, match="executor='numpy'"):
            f.source()


def test_a_timeline_is_one_call_with_a_line_for_each_kernel():
    w = vg.variable(0.0)
    optimizer = vg.train.sgd(1.0)
    step = vg.jit(lambda x: optimizer.minimize(lambda: (w - x).square()))
    with pytest.raises(vg.JitError, match="call it first, and give timeline the arguments of such a call"):
        step.timeline(vg.scalar(3.0))
    step(vg.scalar(3.0))
    assert w.item() == 6
    _, *kernels, total = step.timeline(vg.scalar(3.0)).splitlines()
    assert w.item() == 0
    assert "ApplyGradientDescent" in kernels[-1]
    times = [float(line.split()[0]) for line in kernels]
    assert min(times) >= 0
    assert total.split()[1:] == ["in", "all"]
    assert float(total.split()[0]) == pytest.approx(sum(times), abs=1e-4 * len(kernels))


class Block(vg.layers.Layer):
    """Two layers of its own around one line of arithmetic."""

    def build(self, input_shape):
        self.first = vg.layers.dense(units=3, name="first")
        self.second = vg.layers.dense(units=3, name="second")

    def call(self, x):
        return self.second(self.first(x).sin())


class LoudBlock(Block):
    def call(self, x):
        return super().call(x).cos()


def test_graph_and_timeline_name_the_layers(executor):
    model = vg.sequential([LoudBlock(name="block", input_shape=[3]), vg.layers.dense(units=2, name="end")], name="net")
    f = vg.jit(lambda x: model(x).exp())
    x = vg.ones([2, 3])
    f(x)
    inside = {}
    for line in f.graph("capture").splitlines():
        if "    # " in line:
            kernel = line.split(" = ")[1].partition("(")[0]
            site = line.partition("    # ")[2]
            assert site.startswith(__file__)
            inside.setdefault(kernel, []).append(site.partition(" ")[2])
    assert inside == {
        "_FusedMatMul": ["(net/block/first)", "(net/block/second)", "(net/end)"],
        "Sin": ["(net/block)"],
        "Cos": ["(net/block)"],
        "Exp": [""],
    }
    assert "(net/block/first)" in f.timeline(x)


def test_an_explanation_is_by_what_comes_nearest_and_the_latest_graph_is_shown():
    table = {"scale": 2.0, "shift": 0.0, "items": (1.0,)}
    f = vg.jit(lambda x: x * table["scale"] + table["shift"] if table["items"] else x)
    x = vg.tensor([1.0, 2.0])
    for changed in ({}, {"shift": 1.0}, {"shift": 0.0, "scale": 3.0}, {"shift": 1.0, "scale": 2.0}, {"scale": 7.0}):
        table.update(changed)
        assert f(x).tolist() == [table["scale"] + table["shift"], 2 * table["scale"] + table["shift"]]
    assert f.explain().splitlines()[2:] == [
        "  2. table['shift'] was 0.0 and is 1.0",
        "  3. table['scale'] was 2.0 and is 3.0",
        "  4. table['scale'] was 2.0 and is 7.0",  # and not that the shift was 0
    ]
    assert "constant 7" in f.graph("capture")
    f(vg.ones([3]))
    table["scale"] = 9.0
    f(x)
    assert "constant 9" in f.graph("capture")


def test_an_explanation_says_that_an_object_is_another_one():
    table = {"step": lambda x: x * 2}
    f = vg.jit(lambda x: table["step"](x))
    assert f(vg.scalar(1.0)).item() == 2
    table["step"] = lambda x: x * 3
    assert f(vg.scalar(1.0)).item() == 3
    assert "table['step'] was a function and is another function" in f.explain()
