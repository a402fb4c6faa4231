"""How long functions take."""

from time import sleep

import varigrad as vg


def test_time_splits_what_kernels_take_from_the_rest():
    x = vg.ones([200, 200])

    def f():
        x.mat_mul(x).sum()
        sleep(0.02)

    spent = vg.time(f)
    assert 0 < spent.kernel_ms < spent.wall_ms - 19
    assert vg.time(lambda: None).kernel_ms == 0


def test_the_clock_stops_afterwards():
    before = vg.observe.OBSERVERS.get()
    info = vg.time(lambda: vg.time(lambda: vg.ones([2]) + 1))
    assert info.kernel_ms > 0
    assert vg.observe.OBSERVERS.get() is before
    assert vg.engine._timing == 0
