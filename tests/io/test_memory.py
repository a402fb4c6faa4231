"""How much memory saving and loading take: report R61. `benchmarks/files.py --large` does the same with gigabytes."""

import tracemalloc
from functools import partial

import numpy as np
import pytest

import varigrad as vg

SHARD = 64 * 1024
SLACK = 400 * 1024  # Python objects, the JSON text, buffers of files


def make():
    layers = [vg.layers.dense(units=512, use_bias=False, input_shape=[512], name=f"d{i}") for i in range(8)]
    return vg.sequential(layers=layers)


def peak_of(run):
    """What `run` returns, and the most memory that it had at a time."""
    tracemalloc.start()
    try:
        result = run()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_saving_makes_no_second_copy_and_loading_has_the_weights_once(tmp_path):
    model = make()
    size = sum(weight.storage.nbytes for weight in model.weights)
    assert size == 8 * 512 * 512 * 4
    save = partial(model.save, tmp_path, weight_shard_size_bytes=SHARD)
    load = partial(vg.load_layers_model, tmp_path)
    save(), load()  # what is imported on first use is no matter here
    assert peak_of(save)[1] < SHARD + SLACK
    loaded, peak = peak_of(load)
    assert size < peak < size + SHARD + SLACK
    for ours, theirs in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize(("suffix", "copied"), [("npz", 512 * 512 * 4), ("safetensors", 0)])
def test_files_of_weights_alone_are_written_one_weight_at_a_time(tmp_path, suffix, copied):
    model = make()
    save = partial(model.save_weights, tmp_path / f"w.{suffix}")
    save()
    assert peak_of(save)[1] < copied + SLACK


def test_saving_quantized_holds_one_weight_at_a_time(tmp_path):
    model = make()
    model.save(tmp_path, quantize="uint8")
    _, peak = peak_of(lambda: model.save(tmp_path, quantize="uint8"))
    # The codes of one weight, and a block of it in double precision, a few times over.
    assert peak < 512 * 512 + 8 * 2**18 * 4 + SLACK
    _, peak = peak_of(lambda: vg.load_layers_model(tmp_path))
    assert peak < 8 * 512 * 512 * 4 + 512 * 512 + 8 * 2**18 * 4 + SLACK
