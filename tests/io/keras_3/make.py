"""Writes the models of this folder: made in Keras 3, and laid out as TensorFlow.js's converter lays Keras files out.

    KERAS_BACKEND=jax python tests/io/keras_3/make.py

That layout is what browsers cannot open: `batch_shape`, calls as `args` and `kwargs`, dtype policies, and the models'
names in front of the weights'. `model.json` is of an `.h5` file; `by_place.json` is of a `.keras` file, whose weights
go by their places in it. `expected.json` has inputs and what Keras predicts for them.
"""

import io
import json
import tempfile
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
from keras import layers, ops

HERE = Path(__file__).parent


def sequential():
    inner = keras.Sequential([layers.Dense(3, activation="tanh")], name="inner")
    return keras.Sequential(
        [layers.Input((4,)), layers.Dense(5, activation="relu"), layers.BatchNormalization(), inner], name="outer"
    )


def two_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    shared = layers.Dense(4, activation="relu", name="shared")
    x, y = shared(a), shared(b)
    merged = layers.Concatenate(name="merged")([x, layers.Add(name="sum")([x, y])])
    return keras.Model({"a": a, "b": b}, [layers.Dense(2, name="first")(merged), layers.Dense(1, name="second")(y)])


def operations():
    x = keras.Input((6,), name="x")
    y = layers.Dense(6, name="d")(x)
    z = ops.relu6(y * 4.0 - 0.5) + x / 2.0
    z = ops.concatenate([ops.maximum(z, 0.0), 1.0 - x, ops.sigmoid(y)], axis=-1)
    z = ops.reshape(z, (-1, 3, 6))
    z = ops.transpose(z, (0, 2, 1))
    return keras.Model(x, [ops.mean(z, axis=1), ops.multiply(y, x), ops.softmax(y)])


def reused():
    x, deep = keras.Input((2, 3), name="x"), keras.Input((6,), name="deep")
    s = layers.Dense(6, activation="tanh", name="s")
    left = s(layers.Reshape((6,), name="flat")(x))
    right = s(layers.Reshape((6,), name="again")(s(deep)))
    return keras.Model([deep, x], layers.Dense(2, name="out")(layers.Concatenate(name="cat")([left, right])))


def nested():
    x = keras.Input((3,), name="x")
    block_input = keras.Input((3,), name="block_input")
    block = keras.Model(block_input, layers.Dense(3, name="hidden")(block_input) + block_input, name="block")
    return keras.Model(x, layers.Dense(1, name="out")(block(block(x))), name="nest")


def convolutional():
    x = keras.Input((8, 8, 2), name="x")
    y = layers.SeparableConv2D(4, 3, padding="same", activation="relu6", name="separable")(x)
    y = layers.DepthwiseConv2D(3, depth_multiplier=2, name="depthwise")(y)
    y = layers.Conv2DTranspose(3, 2, strides=2, name="transposed")(
        layers.LeakyReLU(negative_slope=0.1, name="leaky")(y)
    )
    return keras.Model(x, layers.GlobalAveragePooling2D(name="pool")(layers.Dropout(0.3, name="drop")(y)))


def recurrent():
    x = keras.Input((5,), dtype="int32", name="x")
    y = layers.Embedding(7, 4, name="embedding")(x)
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True, name="lstm"), name="both_ways")(y)
    y = layers.TimeDistributed(layers.Dense(4, name="inside"), name="each")(y)
    return keras.Model(x, [layers.GRU(2, name="gru")(y), layers.SimpleRNN(2, name="simple")(y)])


def attention():
    x, y = keras.Input((4, 6), name="x"), keras.Input((3, 6), name="y")
    z = layers.MultiHeadAttention(2, 3, name="own")(x, x, use_causal_mask=True)
    z = layers.LayerNormalization(name="normal")(layers.Add(name="sum")([x, z]))
    z = layers.MultiHeadAttention(2, 3, name="other")(z, y)
    return keras.Model([x, y], layers.GroupNormalization(groups=3, name="groups")(z))


MODELS = [sequential, two_inputs, operations, reused, nested, convolutional, recurrent, attention]


def topology(model):
    """The model's config, in the wrapper that Keras files have."""
    return {"keras_version": keras.__version__, "backend": "tensorflow", "model_config": json.loads(model.to_json())}


def places(model):
    """The arrays in a `.keras` file, by where they are in it."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.keras")
        content = zipfile.ZipFile(Path(folder) / "m.keras").read("model.weights.h5")

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = np.asarray(item)

    h5py.File(io.BytesIO(content)).visititems(keep)
    return found


def write(name, model):
    rng = np.random.default_rng(len(name))
    for weight in model.weights:
        low = 0.5 if weight.path.endswith("variance") else -0.7
        weight.assign(rng.uniform(low, low + 1.4, weight.shape))
    inputs = [
        rng.integers(0, 7, (2, *x.shape[1:])) if x.dtype == "int32" else rng.normal(size=(2, *x.shape[1:])).round(3)
        for x in model.inputs
    ]
    outputs = model([x.astype(t.dtype) for x, t in zip(inputs, model.inputs)] if len(inputs) > 1 else inputs[0])
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    arrays = [np.asarray(w, "<f4") for w in model.weights]
    specs = [{"name": w.path, "shape": list(w.shape), "dtype": "float32"} for w in model.weights]
    (folder / "group1-shard1of1.bin").write_bytes(b"".join(a.tobytes() for a in arrays))
    document = {
        "format": "layers-model",
        "generatedBy": f"keras v{keras.__version__}",
        "convertedBy": "TensorFlow.js Converter v4.22.0",
        "modelTopology": topology(model),
        "weightsManifest": [{"paths": ["group1-shard1of1.bin"], "weights": specs}],
    }
    (folder / "model.json").write_text(json.dumps(document))
    by_place = places(model)
    for spec, array in zip(specs, arrays):
        spec["name"] = next(name for name, other in by_place.items() if np.array_equal(array, other))
    (folder / "by_place.json").write_text(json.dumps(document))
    results = [np.asarray(y).tolist() for y in (outputs if isinstance(outputs, list) else [outputs])]
    given = [x.tolist() for x in inputs]
    (folder / "expected.json").write_text(json.dumps({"inputs": given, "outputs": results}))


if __name__ == "__main__":
    for make in MODELS:
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        write(make.__name__, make())
