"""The memory plan: values that live together lie apart, and the arena is no larger than it must be."""

import random

from varigrad.jit.memory import ALIGNMENT, Interval, plan


def overlap(a, b):
    return a.start <= b.end and b.start <= a.end


def test_values_that_live_at_the_same_time_do_not_share_memory():
    draw = random.Random(1)
    for _ in range(300):
        intervals = []
        for _ in range(draw.randint(1, 30)):
            start = draw.randint(0, 40)
            intervals.append(Interval(start, start + draw.randint(0, 15), draw.randint(1, 1000)))
        placed = plan(intervals)
        for i, a in enumerate(intervals):
            assert placed.offsets[i] % ALIGNMENT == 0
            assert placed.offsets[i] + a.size <= placed.size
            for j, b in enumerate(intervals[:i]):
                if overlap(a, b):
                    apart = (
                        placed.offsets[i] + a.size <= placed.offsets[j]
                        or placed.offsets[j] + b.size <= placed.offsets[i]
                    )
                    assert apart, (a, b)


def test_a_chain_needs_the_memory_of_two_links_however_long_it_is():
    chain = [Interval(i, i + 1, 1000) for i in range(500)]
    assert plan(chain).size == 2 * 1024


def test_values_that_all_live_to_the_end_need_memory_for_all():
    assert plan([Interval(i, 100, 64) for i in range(100)]).size == 6400


def test_a_gap_takes_what_fits_best_and_touching_gaps_join():
    # Two of 64 end before one of 128 begins, which takes the room of both.
    placed = plan([Interval(0, 1, 64), Interval(0, 1, 64), Interval(2, 3, 128)])
    assert placed.size == 128


def test_no_values_need_no_memory():
    assert plan([]).size == 0
