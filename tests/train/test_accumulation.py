"""Gradient accumulation: several small batches make the update of one large one."""

import copy
import pickle

import numpy as np
import pytest

import varigrad as vg

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(330, 6)).astype("float32"), RANDOM.normal(size=(330, 1)).astype("float32")


def linear(suffix):
    w = vg.variable(np.linspace(-1, 1, 6).reshape(6, 1), name=f"w_{suffix}")
    b = vg.variable([0.5], name=f"b_{suffix}")

    def loss(rows):
        error = vg.tensor(X[rows]).mat_mul(w) + b - vg.tensor(Y[rows])
        return (error * error).sum() * (1 / (rows.stop - rows.start))

    return [w, b], loss


@pytest.mark.parametrize("options", [{}, {"clip_norm": 0.05}, {"global_clip_norm": 0.05}, {"clip_value": 0.02}])
def test_four_batches_of_8_equal_one_of_32(options):
    # tensorflow/addons#2260, keras#16633: also with clipping, which applies to the mean, and an incomplete last group.
    large, large_loss = linear("large")
    small, small_loss = linear("small")
    adam = vg.train.adam(0.01, **options)
    accumulated = vg.train.accumulate(vg.train.adam(0.01, **options), every=4)
    for start in range(0, 330, 32):
        stop = min(start + 32, 330)
        adam.minimize(lambda rows=slice(start, stop): large_loss(rows), var_list=large)
        for first in range(start, stop, 8):
            rows = slice(first, min(first + 8, stop))
            with vg.tidy():
                cost = accumulated.minimize(
                    lambda rows=rows: small_loss(rows), True, small, batch_size=rows.stop - rows.start
                )
                assert np.isfinite(cost.item())
    assert accumulated.flush()  # the last group: a batch of 8 and one of 2
    assert not accumulated.flush()
    assert accumulated.iterations == adam.iterations == 11
    for one, other in zip(large, small, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-6)


def test_a_variable_missing_from_a_batch_counts_as_a_gradient_of_zero():
    a, b = vg.variable([0.0], name="a"), vg.variable([0.0], name="b")
    optimizer = vg.train.accumulate(vg.train.sgd(1.0), every=2)
    assert not optimizer.apply_gradients({"a": vg.tensor([2.0]), "b": vg.tensor([4.0])})
    assert optimizer.apply_gradients([("a", vg.tensor([4.0])), ("b", None)])
    assert a.tolist() == [-3.0]
    assert b.tolist() == [-2.0]
    optimizer.apply_gradients({"a": vg.tensor([1.0])})
    optimizer.flush()
    assert a.tolist() == [-4.0]
    assert b.tolist() == [-2.0]  # nothing was left over


def test_a_bad_gradient_adds_nothing():
    a, b = vg.variable([0.0], name="a"), vg.variable([0.0], name="b")
    optimizer = vg.train.accumulate(vg.train.sgd(1.0), every=3)
    with pytest.raises(ValueError, match=r"'b' has shape \[2\]"):
        optimizer.apply_gradients({"a": vg.tensor([1.0]), "b": vg.tensor([1.0, 2.0])})
    with pytest.raises(ValueError, match="batch_size must be positive, got 0"):
        optimizer.apply_gradients({"a": vg.tensor([1.0])}, batch_size=0)
    assert not optimizer.flush()
    assert a.tolist() == b.tolist() == [0.0]


def test_the_learning_rate_is_the_optimizers_and_memory_does_not_grow():
    w = vg.variable(np.zeros(100), name="w")
    optimizer = vg.train.accumulate(vg.train.sgd(1.0), every=2)
    optimizer.learning_rate = 0.5
    assert optimizer.optimizer.learning_rate == optimizer.learning_rate == 0.5
    counts = []
    for _ in range(20):
        with vg.tidy():
            optimizer.apply_gradients({"w": vg.ones([100])})
        counts.append(vg.memory().num_tensors)
    assert max(counts[2:]) == max(counts[:2])
    assert w.tolist()[0] == -5.0


def test_every_must_be_at_least_1():
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        vg.train.accumulate(vg.train.sgd(1.0), every=0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda accumulator: pickle.loads(pickle.dumps(accumulator))])
def test_a_copy_goes_on_from_the_sums_that_there_are(copied):
    v = vg.variable([1.0, 2.0])
    accumulator = vg.train.accumulate(vg.train.sgd(0.5), every=2)
    accumulator.apply_gradients({v.name: vg.tensor([2.0, 0.0])}, batch_size=1)
    other = copied(accumulator)
    other.discard()
    assert accumulator.apply_gradients({v.name: vg.tensor([0.0, 4.0])}, batch_size=1)
    assert v.tolist() == [0.5, 1.0]
    accumulator.apply_gradients({v.name: vg.tensor([1.0, 1.0])}, batch_size=3)
    assert copied(accumulator).apply_gradients({v.name: vg.tensor([5.0, 9.0])}, batch_size=1)
    assert v.tolist() == [-0.5, -0.5]


def test_which_batch_of_a_group_the_next_one_is():
    def seen(every):
        v = vg.variable(1.0)
        accumulator = vg.train.accumulate(vg.train.sgd(0.1), every=every)
        found = []
        for _ in range(every + 1):
            found.append(accumulator.next_batch)
            accumulator.apply_gradients({v.name: vg.scalar(1.0)})
        return found

    assert seen(4) == ["the first", "between", "between", "the last", "the first"]
    assert seen(2) == ["the first", "the last", "the first"]
    assert seen(1) == ["the first and last"] * 2


def test_attributes_that_mean_nothing_are_refused():
    accumulator = vg.train.accumulate(vg.train.adam(0.1), every=2)
    with pytest.raises(AttributeError, match="GradientAccumulator: has no attribute 'lr'; it is 'learning_rate' here"):
        accumulator.lr = 1.0
    with pytest.raises(AttributeError, match=r"no attribute 'beta1'; those of the optimizer are set at \.optimizer"):
        accumulator.beta1 = 0.5
    accumulator.learning_rate = 0.5
    assert accumulator.optimizer.learning_rate == 0.5
