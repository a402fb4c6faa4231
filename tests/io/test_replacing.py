"""Saving over an old model: whatever stops it, a whole model stays."""

import json
import os

import pytest

import varigrad as vg

CALLS = ("replace", "link", "fsync", "unlink")


def model(value, units=4):
    layer = vg.layers.dense(units=units, input_shape=[3], kernel_initializer=vg.initializers.constant(value=value))
    return vg.sequential(layers=[layer])


def loaded_value(folder):
    return vg.load_layers_model(folder).get_weights()[0].numpy().reshape(-1)[0]


class Stopped(Exception):
    """Stands for whatever stops the process."""


def count_and_stop(monkeypatch, stop_at):
    """Counts the calls that change the disk, and stops at one of them, before or after it has run."""
    calls = {"made": 0}
    for name in CALLS:
        original = getattr(os, name)

        def call(*args, original=original, **options):
            calls["made"] += 1
            if calls["made"] > stop_at:
                raise Stopped
            return original(*args, **options)

        monkeypatch.setattr(os, name, call)
    return calls


@pytest.mark.parametrize("shard_size", [4 * 1024 * 1024, 16])
def test_stopped_at_any_step_the_old_or_the_new_model_is_there_whole(tmp_path, monkeypatch, shard_size):
    old, new = model(1.0), model(2.0)
    seen = set()
    for step in range(200):
        folder = tmp_path / str(step)
        old.save(folder, weight_shard_size_bytes=shard_size)
        with monkeypatch.context() as patch:
            calls = count_and_stop(patch, step)
            try:
                new.save(folder, weight_shard_size_bytes=shard_size)
                finished = True
            except Stopped:
                finished = False
        seen.add(float(loaded_value(folder)))
        if finished:
            assert calls["made"] <= step
            break
    else:
        raise AssertionError("saving never finished")
    assert step > 5
    assert seen == {1.0, 2.0}
    assert loaded_value(folder) == 2.0


def test_an_error_leaves_the_old_model_and_no_other_file(tmp_path, monkeypatch):
    model(1.0).save(tmp_path)
    before = sorted(os.listdir(tmp_path))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model(2.0).save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
    assert loaded_value(tmp_path) == 1.0


def test_weights_that_cannot_be_quantized_leave_the_old_model_and_no_other_file(tmp_path):
    model(1.0).save(tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ValueError, match="holds numbers beyond 65504"):
        model(70000.0).save(tmp_path, quantize="float16")
    assert sorted(os.listdir(tmp_path)) == before
    assert loaded_value(tmp_path) == 1.0


def test_a_state_of_an_optimizer_in_files_of_its_own_is_replaced_too(tmp_path):
    trained = model(1.0)
    trained.compile(optimizer="adamax", loss="mse")
    trained.train_on_batch([[1.0, 2.0, 3.0]], [[0.0] * 4])
    trained.save(tmp_path, include_optimizer=True, weight_shard_size_bytes=40)
    assert [name for name in os.listdir(tmp_path) if name.startswith("group2")]
    assert vg.load_layers_model(tmp_path).optimizer.iterations == 1
    model(2.0).save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["group1-shard1of1.bin", "model.json"]


def test_a_first_save_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model(2.0).save(tmp_path)
    assert os.listdir(tmp_path) == []


def test_saving_again_leaves_the_usual_names_and_other_peoples_files(tmp_path):
    (tmp_path / "history.csv").write_text("loss\n")
    model(1.0).save(tmp_path, weight_shard_size_bytes=16)
    model(2.0).save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["group1-shard1of1.bin", "history.csv", "model.json"]
    model(3.0).save(tmp_path, weight_shard_size_bytes=32)
    assert sorted(os.listdir(tmp_path)) == [
        "group1-shard1of2.bin",
        "group1-shard2of2.bin",
        "history.csv",
        "model.json",
    ]
    assert loaded_value(tmp_path) == 3.0


def test_a_file_system_without_links_is_no_hindrance(tmp_path, monkeypatch):
    def no_links(*args, **options):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    model(1.0).save(tmp_path)
    model(2.0).save(tmp_path)
    assert loaded_value(tmp_path) == 2.0


def test_a_damaged_old_model_can_be_replaced(tmp_path):
    for text in ("{", "[]", json.dumps({"weightsManifest": [{"paths": ["../x", 3, "group1-shard1of1.bin"]}]})):
        (tmp_path / "model.json").write_text(text)
        model(2.0).save(tmp_path)
        assert loaded_value(tmp_path) == 2.0
