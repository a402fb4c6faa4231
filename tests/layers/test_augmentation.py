"""Random changes of images; their numbers for fixed factors are compared with Keras in `keras_reference`."""

import re

import numpy as np
import pytest

import varigrad as vg

IMAGES = np.random.default_rng(0).uniform(0, 255, size=[8, 6, 5, 3]).astype(np.float32)
LAYERS = {
    "random_flip": {},
    "random_rotation": {"factor": 0.2},
    "random_translation": {"height_factor": 0.3, "width_factor": [0.1, 0.2]},
    "random_zoom": {"height_factor": 0.3},
    "random_contrast": {"factor": 0.5},
    "random_brightness": {"factor": 0.3},
}


def make(name, **options):
    return getattr(vg.layers, name)(**{**LAYERS[name], **options})


@pytest.mark.parametrize("name", LAYERS)
def test_images_change_in_training_only_and_each_by_itself(name):
    layer = make(name, seed=1)
    for training in (None, False):
        np.testing.assert_array_equal(layer(IMAGES, training=training).numpy(), IMAGES)
    same = np.broadcast_to(IMAGES[:1], IMAGES.shape)
    y = layer(same, training=True).numpy()
    assert y.shape == IMAGES.shape
    assert len({image.tobytes() for image in y}) > 1
    assert layer(IMAGES[0], training=True).shape == IMAGES.shape[1:]
    assert layer.compute_output_shape((None, 6, 5, 3)) == (None, 6, 5, 3)
    assert layer(IMAGES.astype(np.int32), training=True).dtype == "float32"


@pytest.mark.parametrize("name", LAYERS)
def test_with_a_seed_the_draws_are_a_fixed_sequence_compiled_or_not(name):
    first, second, third = (make(name, seed=3) for _ in range(3))
    compiled = vg.jit(lambda x: third(x, training=True))
    draws = [[f(vg.tensor(IMAGES)).numpy() for _ in range(3)] for f in (lambda x: first(x, training=True), compiled)]
    draws.append([second(IMAGES, training=True).numpy() for _ in range(3)])
    for k in range(3):
        np.testing.assert_allclose(draws[1][k], draws[0][k], rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(draws[2][k], draws[0][k])
    assert draws[0][0].tobytes() != draws[0][1].tobytes()


@pytest.mark.parametrize("name", LAYERS)
def test_configs_dtypes_and_channels_first(name):
    layer = make(name, seed=2)
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert again.get_config() == config
    np.testing.assert_array_equal(again(IMAGES, training=True).numpy(), layer(IMAGES, training=True).numpy())
    for dtype in ("float64", "float16"):
        assert make(name)(vg.tensor(IMAGES, dtype=dtype), training=True).dtype == dtype
    last = make(name, seed=5)(IMAGES, training=True).numpy()
    first = make(name, seed=5, data_format="channels_first")(IMAGES.transpose(0, 3, 1, 2), training=True).numpy()
    np.testing.assert_allclose(first.transpose(0, 2, 3, 1), last, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("mode", ["horizontal", "vertical", "horizontal_and_vertical"])
def test_flips_happen_half_of_the_time(mode):
    image = IMAGES[:1]
    wanted = {"as it is": image}
    if "horizontal" in mode:
        wanted |= {f"{name}, mirrored": value[:, :, ::-1] for name, value in wanted.items()}
    if "vertical" in mode:
        wanted |= {f"{name}, upside down": value[:, ::-1] for name, value in wanted.items()}
    y = vg.layers.random_flip(mode=mode, seed=1)(np.repeat(image, 400, 0), training=True).numpy()
    shares = {name: (y == value).all((1, 2, 3)).mean() for name, value in wanted.items()}
    assert sum(shares.values()) == pytest.approx(1)
    for share in shares.values():
        assert share == pytest.approx(1 / len(wanted), abs=0.08)


def test_draws_fill_their_range():
    x = np.full([500, 1, 1, 1], 100.0, np.float32)
    added = make("random_brightness", factor=[-0.1, 0.2], seed=1)(x, training=True).numpy() - 100
    assert -25.5 <= added.min() < -23
    assert 48 < added.max() <= 51
    pair = np.broadcast_to(np.array([90.0, 110.0], np.float32).reshape(1, 1, 2, 1), [500, 1, 2, 1])
    factors = np.ptp(make("random_contrast", factor=[0.2, 0.5], seed=1)(pair, training=True).numpy(), 2) / 20
    assert 0.8 <= factors.min() < 0.82
    assert 1.48 < factors.max() <= 1.5001


def test_gradients_pass_through():
    x = IMAGES[:1, :3, :3, :1] / 255
    for name in ("random_flip", "random_rotation", "random_zoom"):
        _, grads = vg.value_and_grads(lambda x, name=name: make(name, seed=1)(x, training=True).sum())([x])
        assert np.isfinite(grads[0].numpy()).all()
        assert (grads[0].numpy() != 0).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.layers.random_flip(mode="diagonal"), "random_flip: mode must be one of horizontal_and_vertical"),
        (
            lambda: vg.layers.random_rotation(factor=-1),
            "random_rotation: factor must be a number of at least 0, got -1",
        ),
        (lambda: vg.layers.random_rotation(factor=[0.3, 0.1]), "factor must be a number, or [lower, upper], got"),
        (lambda: vg.layers.random_zoom(height_factor=[-2, 0]), "height_factor must be a number of at least -1, got -2"),
        (lambda: vg.layers.random_zoom(height_factor=0.1, fill_mode="mirror"), "fill_mode must be one of reflect"),
        (lambda: vg.layers.random_contrast(factor=[0.1]), "factor must be a number, or [lower, upper], got [0.1]"),
        (lambda: vg.layers.random_brightness(factor=0.1, value_range=3), "value_range must be [least, largest], got 3"),
        (lambda: vg.layers.random_flip(name="f")([[1.0]]), "f: takes images [batch, height, width, channels], or one"),
    ],
)
def test_bad_arguments_are_one_clear_error(call, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()
