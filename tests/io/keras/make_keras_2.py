"""Writes `reference/keras_2_*` with Keras 2.15 (`pip install tensorflow-cpu==2.15.1`, in an environment of its own)."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

HERE = Path(__file__).parent / "reference"


def nested():
    x = layers.Input([4])
    y = layers.BatchNormalization(name="ibn")(layers.Dense(3, name="id", activation="relu")(x))
    tower = keras.Model(x, y, name="tower")
    a, b = layers.Input([4], name="a"), layers.Input([4], name="b")
    return keras.Model([a, b], layers.Dense(1)(layers.Concatenate()([tower(a), tower(b)])))


def lenet():
    return keras.Sequential(
        [
            layers.Conv2D(3, 3, activation="relu", input_shape=[8, 8, 1]),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(4, 2),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )


def rnn():
    return keras.Sequential(
        [
            layers.Embedding(20, 4, mask_zero=True, input_length=6),
            layers.Bidirectional(layers.GRU(3, return_sequences=True)),
            layers.LSTM(3, recurrent_activation="hard_sigmoid"),
            layers.Dense(2),
        ]
    )


def frozen():
    stack = [layers.InputLayer([4]), layers.Dense(4), layers.BatchNormalization(), layers.Dense(4)]
    base = keras.Sequential(stack, name="base")
    base.layers[0].trainable = False
    x = layers.Input([4])
    return keras.Model(x, layers.Dense(2)(base(x)))


def ops():
    x = layers.Input([4])
    y = layers.Dense(4)(x)
    return keras.Model(x, tf.nn.relu(y * 2.0 + 1.0) + y)


def td():
    steps = layers.TimeDistributed(layers.Dense(3), input_shape=[5, 4])
    return keras.Sequential([steps, layers.RNN([layers.LSTMCell(2), layers.GRUCell(3)])])


FILES = {frozen: ".h5", rnn: ".h5", nested: ".keras", td: ".keras", ops: ".h5", lenet: ".keras"}


def main():
    """Makes every file anew."""
    for build, suffix in FILES.items():
        model, name = build(), build.__name__
        random = np.random.default_rng(0)
        values = []
        for weight in model.get_weights():
            normal = random.normal(size=weight.shape)
            scale = max(1, np.sqrt(np.prod(weight.shape[:-1])))
            values.append((np.abs(normal) + 0.3 if weight.ndim == 1 else normal / scale).astype(np.float32))
        model.set_weights(values)
        random = np.random.default_rng(1)
        shapes = [[2, *(n or 5 for n in x.shape[1:])] for x in model.inputs]
        x = [random.integers(0, 20, s) if build is rnn else random.normal(size=s) for s in shapes]
        x = [each.astype(np.float32) for each in x]
        if build is frozen:
            model.compile("adam", "mse")
            model.fit(x[0], np.ones([2, 2]), epochs=3, verbose=0)
        y = model.predict(x if len(x) > 1 else x[0], verbose=0)
        model.save(HERE / f"keras_2_{name}{suffix}")
        np.savez_compressed(HERE / f"keras_2_{name}.npz", y0=y, **{f"x{i}": each for i, each in enumerate(x)})


if __name__ == "__main__":
    main()
