"""Event files are read back with the tensorboard package, which does not write them."""

import io
import struct
import subprocess
import sys

import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator

import varigrad as vg


def read(folder):
    accumulator = event_accumulator.EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "tensors": 0, "histograms": 0, "images": 0}
    )
    accumulator.Reload()
    return accumulator


def scalars(accumulator, tag):
    return [(event.step, pytest.approx(event.value)) for event in accumulator.Scalars(tag)]


def make_model():
    model = vg.sequential(
        layers=[
            vg.layers.dense(units=3, input_shape=[2], name="hidden"),
            vg.layers.dense(units=1, name="out"),
        ]
    )
    model.compile(optimizer=vg.train.sgd(0.01), loss="mean_squared_error", metrics=["mae"])
    return model


X, Y = np.linspace(-1, 1, 10).reshape(5, 2), np.linspace(0, 1, 5)


def test_fit_writes_losses_metrics_rate_and_histograms(tmp_path):
    model = make_model()
    batches = []
    hooks = {"on_batch_end": lambda batch, logs: batches.append(logs["loss"])}
    callback = vg.callbacks.tensor_board(tmp_path / "logs")
    history = model.fit(
        X, Y, epochs=2, batch_size=2, callbacks=[hooks, callback], validation_data=(X, Y), verbose=0
    ).history

    train, held_out = read(tmp_path / "logs" / "train"), read(tmp_path / "logs" / "val")
    assert scalars(train, "batch_loss") == list(enumerate(batches))
    for name in ("loss", "mae"):
        assert scalars(train, f"epoch_{name}") == list(enumerate(history[name]))
        assert scalars(held_out, f"epoch_{name}") == list(enumerate(history[f"val_{name}"]))
    assert scalars(train, "epoch_learning_rate") == [(0, 0.01), (1, 0.01)]
    for weight in model.weights:
        last = train.Histograms(weight.original_name)[-1]
        values = weight.numpy().astype(np.float64)
        assert last.step == 1
        found = last.histogram_value
        assert found.num == values.size == sum(found.bucket)
        np.testing.assert_allclose(
            [found.min, found.max, found.sum, found.sum_squares],
            [values.min(), values.max(), values.sum(), (values**2).sum()],
            atol=1e-12,
        )
        assert found.bucket_limit == sorted(found.bucket_limit)


def test_how_often_is_a_choice(tmp_path):
    for choice, batches in (("epoch", []), (2, [1, 3, 5])):
        folder = tmp_path / str(choice)
        callback = vg.callbacks.tensor_board(folder, update_freq=choice, histogram_freq=0)
        make_model().fit(X, Y, epochs=2, batch_size=2, callbacks=callback, verbose=0)
        tags = read(folder / "train")
        steps = [e.step for e in tags.Scalars("batch_loss")] if batches else []
        assert steps == batches
        assert ("batch_loss" in tags.Tags()["scalars"]) == bool(batches)
        assert not tags.Tags()["histograms"]


def test_a_schedule_is_written_as_the_rate_that_it_gives(tmp_path):
    model = make_model()
    model.optimizer = vg.train.sgd(lambda step: 0.1 / (1 + step))
    model.fit(X, Y, epochs=2, batch_size=5, callbacks=vg.callbacks.tensor_board(tmp_path), verbose=0)
    assert scalars(read(tmp_path / "train"), "epoch_learning_rate") == [(0, 0.05), (1, 0.1 / 3)]


@pytest.mark.parametrize(
    ("data", "mode", "expected"),
    [
        (np.array([[0.0, 0.5], [1.0, 2.0]]), "L", [[0, 128], [255, 255]]),
        (np.arange(12, dtype=np.uint8).reshape(2, 2, 3), "RGB", np.arange(12).reshape(2, 2, 3)),
        (np.arange(16, dtype=np.uint8).reshape(2, 2, 4), "RGBA", np.arange(16).reshape(2, 2, 4)),
    ],
    ids=["grey", "colours", "alpha"],
)
def test_pictures_come_back_as_they_were(tmp_path, data, mode, expected):
    from PIL import Image  # comes with Matplotlib

    with vg.callbacks.summary_file_writer(tmp_path) as writer:
        writer.image("picture", data, step=7)
    (event,) = read(tmp_path).Images("picture")
    assert (event.step, event.height, event.width) == (7, *data.shape[:2])
    picture = Image.open(io.BytesIO(event.encoded_image_string))
    assert picture.mode == mode
    np.testing.assert_array_equal(np.asarray(picture), expected)


def test_pictures_from_fit(tmp_path):
    callback = vg.callbacks.tensor_board(
        tmp_path, images=lambda model, epoch: {"kernel": model.get_weights()[0].sigmoid()}
    )
    make_model().fit(X, Y, epochs=2, callbacks=callback, verbose=0)
    assert [event.step for event in read(tmp_path / "train").Images("kernel")] == [0, 1]


def test_every_record_has_valid_checksums(tmp_path):
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    with vg.callbacks.SummaryFileWriter(tmp_path) as writer:
        for step in range(100):
            writer.scalar("loss", step, step)
            writer.histogram("weights", np.arange(step), step)
    (path,) = tmp_path.iterdir()
    content, records, place = path.read_bytes(), 0, 0
    while place < len(content):
        header = content[place : place + 8]
        (length,) = struct.unpack("<Q", header)
        body = content[place + 12 : place + 12 + length]
        assert struct.unpack("<I", content[place + 8 : place + 12]) == (masked_crc32c(header),)
        assert struct.unpack("<I", content[place + 12 + length : place + 16 + length]) == (masked_crc32c(body),)
        records, place = records + 1, place + 16 + length
    assert records == 201


def test_values_that_are_not_finite(tmp_path):
    with vg.callbacks.SummaryFileWriter(tmp_path) as writer:
        writer.scalar("loss", float("nan"), 0)
        writer.histogram("weights", [np.nan, 1.0, np.inf], 0)
        writer.histogram("nothing", [np.nan], 0)
    found = read(tmp_path)
    assert np.isnan(found.Scalars("loss")[0].value)
    assert found.Histograms("weights")[0].histogram_value.num == 1
    assert found.Histograms("nothing")[0].histogram_value.num == 0


@pytest.mark.parametrize("step", [10**12, -1])
def test_steps_may_be_large_or_negative(tmp_path, step):
    with vg.callbacks.SummaryFileWriter(tmp_path) as writer:
        writer.scalar("loss", 1.0, step)
    assert read(tmp_path).Scalars("loss")[0].step == step


def test_writing_needs_no_tensorboard(tmp_path):
    program = (
        "import sys; sys.modules['tensorboard'] = sys.modules['tensorflow'] = None\n"
        "import varigrad as vg\n"
        f"with vg.callbacks.SummaryFileWriter({str(tmp_path)!r}) as writer: writer.scalar('loss', 2.5, 1)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert scalars(read(tmp_path), "loss") == [(1, 2.5)]


def test_what_is_no_picture_or_no_frequency_is_an_error(tmp_path):
    with vg.callbacks.SummaryFileWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match=r"data must be numbers \[height, width\]"):
            writer.image("picture", np.zeros([2, 2, 5]), 0)
        with pytest.raises(TypeError, match="data holds strings"):
            writer.histogram("words", ["a", "b"], 0)
    with pytest.raises(ValueError, match="update_freq must be 'batch', 'epoch'"):
        vg.callbacks.tensor_board(tmp_path, update_freq="daily")
