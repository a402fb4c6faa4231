"""Threads that call compiled functions at once, with disposals, other shapes and scopes between."""

import threading

import numpy as np
import pytest

import varigrad as vg

THREADS, ROUNDS = 4, 40


def run_together(work):
    """Runs `work(number)` in several threads that start together; raises the first error of one of them."""
    errors = []
    start = threading.Barrier(THREADS)

    def run(number):
        start.wait()
        try:
            work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_one_step_by_many_threads_with_scopes_other_shapes_and_disposals():
    w = vg.variable(vg.zeros([3]))
    optimizer = vg.train.sgd(1.0)

    @vg.jit
    def step(x):
        value, grads = vg.variable_grads(lambda: (w * x.sum(0)).sum())
        optimizer.apply_gradients(grads)
        return value, vg.tidy(lambda: vg.square(x) * 2)

    def work(number):
        for turn in range(ROUNDS):
            with vg.tidy():
                x = vg.fill([1 + (number + turn) % 3, 3], 0.5)
                value, squares = step(x)
                np.testing.assert_array_equal(squares.numpy(), np.full(x.shape, 0.5, "float32"))
                value.dispose()
                x.dispose()

    run_together(work)
    rows = sum(1 + (number + turn) % 3 for number in range(THREADS) for turn in range(ROUNDS))
    np.testing.assert_allclose(w.numpy(), np.full(3, -0.5 * rows, "float32"))
    assert step.compilations == 3


def test_steps_of_their_own_beside_a_function_of_all():
    scale = vg.jit(lambda x, factor: vg.tanh(x * factor))
    found = {}

    def work(number):
        v = vg.variable(vg.fill([64], float(number)))
        optimizer = vg.train.momentum(0.1, 0.5)

        @vg.jit
        def step(x):
            value, grads = vg.variable_grads(lambda: ((v - scale(x, 0.5)) ** 2).sum(), [v])
            optimizer.apply_gradients(grads)
            return value

        losses = [step(vg.fill([64], turn / ROUNDS)).item() for turn in range(ROUNDS)]
        found[number] = losses, v.numpy()
        v.dispose()

    run_together(work)
    together = dict(found)
    for number in range(THREADS):
        work(number)
        np.testing.assert_allclose(together[number][0], found[number][0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(together[number][1], found[number][1], rtol=1e-5, atol=1e-6)


def test_a_tensor_that_another_thread_disposes_of_is_an_error_or_still_there():
    held = {"table": vg.ones([500])}
    total = vg.jit(lambda x: (x + held["table"]).sum())
    seen = set()

    def work(number):
        for turn in range(ROUNDS):
            if number == 0:
                old, held["table"] = held["table"], vg.fill([500], 1.0)
                if turn % 2:
                    old.dispose()
            else:
                try:
                    seen.add(total(vg.ones([500])).item())
                except vg.DisposedError:
                    continue

    run_together(work)
    assert seen == {1000.0}


@pytest.mark.filterwarnings("ignore:jit. .* was compiled 10 times:varigrad.JitWarning")
def test_a_number_that_changes_while_others_call():
    settings = {"scale": 1}
    scaled = vg.jit(lambda x: x * settings["scale"])
    allowed = set(range(1, 6))

    def work(number):
        for turn in range(ROUNDS):
            if number == 0:
                settings["scale"] = 1 + turn % 5
            assert scaled(vg.ones([8])).numpy().tolist()[0] in allowed

    run_together(work)
    settings["scale"] = 7
    assert scaled(vg.ones([8])).tolist() == [7.0] * 8
