"""Whether threads pay: what the choice does on machines whose times are made up."""

import random

import pytest

from varigrad.backends.native.tuning import Choice

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000  # nanoseconds
PROGRAMS = [50 * US, 300 * US, 2 * MS, 14 * MS, 50 * MS]  # what a call takes the first way


class Machine:
    """Runs a program and tells the choice what each call took: `factor` is the second way's time over the first's."""

    def __init__(self, program, factor, noise=0.0, seed=0):
        self.choice = Choice()
        self.program = program
        self.factor = factor
        self.clock = 0
        self.calls = []  # the clock, the way, the time, and the best possible one
        self._noise = noise
        self._random = random.Random(seed)

    def run(self, duration):
        end = self.clock + duration
        while self.clock < end:
            self.call()
        return self

    def call(self):
        way = self.choice.second
        slept = not self.calls or not self.calls[-1][1]
        first, other = self.program, self.program * self.factor
        wanted = (other + slept * min(other, 100 * US)) if way else first
        if self._noise:
            wanted *= 1 + self._random.expovariate(1 / self._noise)
            # The timer of the system, and other programs for a moment.
            wanted += 2 * MS * (self._random.random() < wanted / (100 * MS))
        self.choice.note(way, int(wanted))
        self.clock += wanted
        self.calls.append((self.clock, way, wanted, min(first, other)))

    def share(self, way, since=0):
        """The part of the calls that went a way."""
        ways = [went for clock, went, _, _ in self.calls if clock >= since]
        return sum(went is way for went in ways) / len(ways)

    def lost(self, since=0):
        """How much more time went by than the best way would have taken, over that."""
        took = sum(wanted for clock, _, wanted, _ in self.calls if clock >= since)
        best = sum(possible for clock, _, _, possible in self.calls if clock >= since)
        return took / best - 1

    def settles(self, way):
        """The time until the first of ten calls of which most go this way."""
        start, first = self.clock, len(self.calls)
        while self.clock < start + 100 * SECOND:
            self.call()
            last = self.calls[-10:]
            if len(self.calls) >= first + 10 and sum(went is way for _, went, _, _ in last) >= 7:
                return last[0][0] - start
        raise AssertionError("it never settles")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("factor", "best"), [(0.55, True), (0.8, True), (1.1, False), (1.8, False)])
def test_the_faster_way_is_found_soon_and_kept(program, factor, best):
    machine = Machine(program, factor)
    assert machine.settles(best) <= max(100 * MS, 16 * program)
    start = machine.clock
    machine.run(max(3 * SECOND, 150 * program))
    assert machine.share(best, start) > 0.9
    assert machine.lost(start) < 0.035  # one in fifty, and a last look that is not paid for yet


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_second_way_that_gains_next_to_nothing_is_not_taken(program):
    assert Machine(program, 0.97).run(max(3 * SECOND, 150 * program)).share(False) > 0.9


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("factor", "best"), [(0.6, True), (1.8, False)])
def test_noise_does_not_make_it_waver(program, factor, best):
    machine = Machine(program, factor, noise=0.1)
    machine.run(max(SECOND, 50 * program))
    start = machine.clock
    machine.run(max(4 * SECOND, 200 * program))
    assert machine.share(best, start) > 0.9


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("program", PROGRAMS[:3])
def test_it_changes_soon_when_a_busy_core_becomes_free(program, noise):
    machine = Machine(program, 1.3, noise).run(SECOND)
    machine.factor = 0.6
    assert machine.settles(True) < 300 * MS


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_changes_at_once_when_a_free_core_becomes_busy(program, noise):
    machine = Machine(program, 0.6, noise).run(max(SECOND, 50 * program))
    machine.factor = 1.8  # its calls take three times as long: that is seen without a look at the other way
    assert machine.settles(False) < max(100 * MS, 16 * program)


@pytest.mark.parametrize("program", PROGRAMS[3:])
def test_long_programs_look_as_often_as_looks_are_cheap(program):
    machine = Machine(program, 1.3).run(20 * SECOND)
    machine.factor = 0.6
    assert machine.settles(True) < 100 * program
    assert machine.lost() < 0.05


def test_a_load_that_comes_and_goes_costs_little_more_than_following_it():
    machine = Machine(2 * MS, 0.6)
    for _ in range(20):
        machine.factor = 0.6
        machine.run(SECOND)
        machine.factor = 1.8
        machine.run(SECOND)
    assert machine.lost() < 0.15


def test_a_load_that_changes_faster_than_it_can_be_followed_does_not_make_looks_dear():
    machine = Machine(2 * MS, 0.6)
    for _ in range(200):
        machine.factor = 0.6
        machine.run(25 * MS)
        machine.factor = 1.8
        machine.run(25 * MS)
    took = sum(wanted for _, _, wanted, _ in machine.calls)
    assert took < 1.15 * len(machine.calls) * machine.program  # of the first way all the time


def test_a_late_first_call_of_a_way_does_not_count():
    choice, before, late = Choice(), False, 0
    for _ in range(300):
        way = choice.second
        late += way and not before
        choice.note(way, 900 * US if way and not before else 100 * US if way else 200 * US)
        before = way
    assert late == 1
    assert before


def test_calls_of_several_threads_that_began_before_a_change_do_not_count():
    choice = Choice()
    for _ in range(300):
        choice.note(True, 1)  # the way that it has not chosen
    assert not choice.second
