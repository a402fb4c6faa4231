"""Counting tensors and their memory."""

import gc
import threading

import numpy as np

import varigrad as vg


def counts():
    gc.collect()
    m = vg.memory()
    return m.num_tensors, m.num_data_buffers, m.num_bytes


def test_memory_counts_tensors_buffers_and_bytes():
    before = counts()
    x = vg.tensor(np.zeros((10, 10)))
    after = counts()
    assert np.subtract(after, before).tolist() == [1, 1, 400]
    y = x.reshape([100])
    assert np.subtract(counts(), before).tolist() == [2, 1, 400]
    x.dispose()
    assert np.subtract(counts(), before).tolist() == [1, 1, 400]
    del y
    assert counts() == before


def test_memory_counts_across_threads():
    before = counts()
    held = []
    thread = threading.Thread(target=lambda: held.append(vg.tensor([1.0, 2.0])))
    thread.start()
    thread.join()
    assert np.subtract(counts(), before).tolist() == [1, 1, 8]


def test_memory_by_site_names_the_line():
    vg.memory(by_site=True)
    x = [vg.tensor(np.zeros(1000)) for _ in range(3)]  # the line to be found
    sites = vg.memory(by_site=True).sites
    mine = [entry for site, entry in sites.items() if "test_memory_counts.py" in site]
    assert (3, 12_000) in mine
    assert len(x) == 3


def test_a_training_loop_without_tidy_holds_a_constant_number_of_tensors():
    w = vg.variable(np.ones((4, 3), np.float32))
    x = vg.tensor(np.ones((2, 4), np.float32))

    def step():
        _, grads = vg.variable_grads(lambda: (x[:, :, None] * w).square().mean(), [w])
        w.assign(w - grads[w.name] * 0.01)

    step()
    step()
    before = counts()
    for _ in range(100):
        step()
    assert counts() == before


def test_memory_can_be_asked_for_while_another_thread_trains():
    done = threading.Event()
    errors: list[BaseException] = []

    def watch():
        try:
            while not done.is_set():
                vg.memory()
                vg.memory(by_site=True)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    w = vg.variable(np.ones((5, 1), np.float32), name="w")
    x = vg.ones([8, 5])
    optimizer = vg.train.adam(0.01)
    for _ in range(400):
        with vg.tidy():
            optimizer.minimize(lambda: (x.mat_mul(w) - 1.0).square().mean())
    done.set()
    thread.join()
    assert errors == []
