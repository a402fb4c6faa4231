"""After an error inside a compiled function all is as eager mode leaves it: what came before the error is done."""

import numpy as np
import pytest

import varigrad as vg

GOOD, BAD = [0, 3], [0, 9]


def by_numpy(w, indices):
    """The rows by a kernel that machine code has no lowering of."""
    return w * vg.real(vg.gather(vg.zeros([5, 1], "complex64"), indices)).sum() + w.mean()


ROWS = {
    "an argument": lambda w, indices: vg.gather(w, indices),
    "computed": lambda w, indices: vg.gather(w, indices * 2 - indices),
    "by NumPy": by_numpy,
}


class Steps:
    """Two steps of training in one function; the second one draws random numbers before and after it gathers rows."""

    def __init__(self, rows):
        self.rows = rows
        self.w = vg.variable(vg.ones([5, 2]))
        self.u = vg.variable([2.0, 3.0])
        self.first = vg.train.adam(0.1)
        self.second = vg.train.adamax(0.01)
        self.average = vg.train.exponential_moving_average([self.u], 0.9)
        self.dropout = vg.layers.dropout(rate=0.5, seed=3)

    def loss(self, indices):
        shaken = self.dropout(vg.dropout(self.w, 0.5), training=True)
        return vg.dropout(self.rows(shaken, indices), 0.5).square().sum() + self.u.sum()

    def __call__(self, x, indices):
        first, grads = vg.variable_grads(lambda: (self.u - x).square().sum(), [self.u])
        self.first.apply_gradients(grads)
        self.average.update()
        second, grads = vg.variable_grads(lambda: self.loss(indices))
        self.second.apply_gradients(grads)
        return first, second, vg.random_uniform([2])

    def state(self):
        counts = [self.first.iterations, self.second.iterations, self.average.updates, self.dropout._draws]
        slots = [weight.tensor for weight in (*self.first.get_weights(), *self.second.get_weights())]
        tensors = [self.w, self.u, self.average.average(self.u), vg.random_uniform([2]), *slots]
        return counts, [tensor.numpy() for tensor in tensors]


def left_by(rows, compile_function):
    """What is left after each of some calls, every other of which meets an error."""
    vg.set_random_seed(5)
    steps = Steps(rows)
    called = compile_function(steps)
    found = []
    for number, indices in enumerate([GOOD, GOOD, BAD, GOOD, BAD, BAD, GOOD]):
        given = vg.tensor([1.0, number]), vg.tensor(indices, dtype="int32")
        if indices is GOOD:
            called(*given)
        else:
            with pytest.raises(vg.OutOfRangeError, match=r"index 9, at \[1\] of the indices, is outside axis 0"):
                called(*given)
        found.append(steps.state())
    return found


@pytest.mark.parametrize("name", ROWS)
def test_the_first_of_two_steps_is_done_where_the_second_fails(name):
    expected = left_by(ROWS[name], lambda steps: steps)
    for (counts, tensors), (right_counts, right) in zip(left_by(ROWS[name], vg.jit), expected, strict=True):
        assert counts == right_counts
        for ours, theirs in zip(tensors, right, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
