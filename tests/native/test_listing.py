"""What `graph("fusion")` and `memory_plan()` show of machine code."""

import math
import re

import pytest

import varigrad as vg
from varigrad.backends.native.arrangement import ARRANGEMENTS

BYTES = {"float32": 4, "float64": 8, "int32": 4, "bool": 1}


def test_what_is_fused_is_one_pass_whose_middle_stays_in_registers():
    f = vg.jit(lambda x: (vg.exp(x) * 2 + 1).sum(axis=1))
    f(vg.ones([3, 50]))
    name, step, *operations, returned = f.graph("fusion").splitlines()
    assert name == "<lambda>:"
    assert step == "    0  one pass over 150 elements, in rows of 50"
    assert [line.partition("    #")[0].strip() for line in operations] == [
        "%0 = Exp(argument x)",
        "%1 = Multiply(%0, 2.0)",
        "%2 = Add(%1, 1.0)",
        "%3: float32 [3] = sum(%2, of rows) of Sum",
    ]
    assert all("test_listing.py" in line for line in operations)
    assert returned == "  return %3"


def test_variables_are_updated_in_place():
    w = vg.variable(vg.ones([5]), name="weights_of_a_listing")
    optimizer = vg.train.momentum(0.1, 0.9)
    step = vg.jit(lambda x: optimizer.minimize(lambda: (w * x).sum()))
    step(vg.ones([5]))
    text = step.graph("fusion")
    assert "in variable 'weights_of_a_listing' = " in text
    assert "ApplyMomentum" in text


def test_numpy_runs_between_passes():
    f = vg.jit(lambda x: vg.concat([vg.linalg.qr(x)[0] * 2, vg.exp(x)], axis=0))
    f(vg.ones([4, 4]))
    lines = f.graph("fusion").splitlines()
    assert "NumPy" in lines[1]
    assert "Qr(argument x)" in lines[2]
    assert "[0:16]" in f.graph("fusion")  # the first part, where it is put together with the second
    assert lines[-1] == "  return %2"


def test_nothing_is_a_listing_too():
    f = vg.jit(lambda x: x)
    f(vg.ones([4]))
    assert f.graph("fusion").splitlines()[-1] == "  return nothing"
    assert f.memory_plan() == "arena of 0 bytes for 0"


def test_every_pass_for_machine_code_can_be_looked_at():
    f = vg.jit(lambda x, y: vg.mat_mul(x, y) + vg.mat_mul(y, x))
    f(vg.ones([3, 3]), vg.ones([3, 3]))
    texts = [f.graph(name) for name in ARRANGEMENTS]
    assert all(text.startswith("<lambda>:") for text in texts)
    assert texts[-1] == f.graph()
    with pytest.raises(ValueError, match=r"'simplify'.*'sum_in_products'.*or 'fusion', got 'nothing'"):
        f.graph("nothing")


def test_what_lies_in_the_arena_at_the_same_time_lies_apart():
    def f(x):
        made = [vg.mat_mul(x, x + n) for n in range(4)]
        for _ in range(3):
            made = [vg.tanh(vg.mat_mul(a, b)) for a, b in zip(made, made[1:] + made[:1])]
        return made[0] + made[1] + made[2] + made[3]

    f = vg.jit(f)
    f(vg.ones([64, 64]))
    head, *lines = f.memory_plan().splitlines()
    arena, together = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+", head))
    assert arena < together
    placed = []
    for line in lines:
        pattern = r" +(\d+)  (%\d+): (\w+) \[(.*)\], steps (\d+) to (\d+)"
        start, name, dtype, shape, first, last = re.fullmatch(pattern, line).groups()
        assert f"{name}: {dtype} [{shape}] = " in f.graph("fusion")
        size = BYTES[dtype] * math.prod([int(n) for n in shape.split(", ") if n])
        assert int(start) + size <= arena
        placed.append((int(start), int(start) + size, int(first), int(last)))
    assert sum(end - start for start, end, _, _ in placed) == together
    for at, (start, end, first, last) in enumerate(placed):
        for other_start, other_end, other_first, other_last in placed[at + 1 :]:
            assert end <= other_start or other_end <= start or last < other_first or other_last < first
