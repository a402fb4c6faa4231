"""A model of a graph, two inputs and two outputs, fitted with callbacks, saved, and loaded again.

    python examples/functional_model_and_fit.py [FILE…]

`fit` does what a loop by hand does, to the bit: the last lines show it.
"""

import sys
import tempfile

import numpy as np

import varigrad as vg

SAMPLES = 512


def make_data() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Points `[512, 2]` and a radius each; whether the point lies inside, and how far it is from the origin."""
    random = np.random.default_rng(3)
    point = random.uniform(-1, 1, size=(SAMPLES, 2)).astype(np.float32)
    radius = random.uniform(0.2, 1, size=(SAMPLES, 1)).astype(np.float32)
    distance = np.linalg.norm(point, axis=1, keepdims=True)
    return {"point": point, "radius": radius}, {"inside": (distance < radius).astype(np.float32), "distance": distance}


def make_model() -> vg.LayersModel:
    """Two dense layers with a skip connection see the point; their result and the radius decide."""

    def dense(units: int, seed: int, name: str, activation: str = "relu") -> vg.layers.Dense:
        start = vg.initializers.glorot_uniform(seed=seed)
        return vg.layers.dense(units=units, activation=activation, kernel_initializer=start, name=name)

    point, radius = vg.input(shape=[2], name="point"), vg.input(shape=[1], name="radius")
    first = dense(32, 1, "first")(point)
    hidden = vg.layers.add(name="skip")([first, dense(32, 2, "second")(first)])
    distance = dense(1, 3, "distance", "linear")(hidden)
    both = vg.layers.concatenate(name="both")([distance, radius])
    inside = dense(1, 5, "inside", "sigmoid")(dense(16, 4, "compare")(both))
    return vg.model(inputs=[point, radius], outputs=[inside, distance])


def compile_model(model: vg.LayersModel) -> None:
    model.compile(
        optimizer=vg.train.adam(0.01),
        loss={"inside": "binary_crossentropy", "distance": "mean_squared_error"},
        loss_weights={"inside": 1.0, "distance": 2.0},
        metrics={"inside": ["accuracy"]},
    )


def loop_by_hand(model: vg.LayersModel, x: dict[str, np.ndarray], y: dict[str, np.ndarray], epochs: int) -> None:
    """What `fit` does with `shuffle=False`, for the losses above."""
    optimizer = vg.train.adam(0.01)
    for _ in range(epochs):
        for start in range(0, SAMPLES, 32):
            xs = {name: vg.tensor(values[start : start + 32]) for name, values in x.items()}
            ys = {name: vg.tensor(values[start : start + 32]) for name, values in y.items()}

            def loss(xs: dict[str, vg.Tensor] = xs, ys: dict[str, vg.Tensor] = ys) -> vg.Tensor:
                inside, distance = model(xs, training=True)
                cross_entropy = vg.metrics.binary_crossentropy(ys["inside"], inside).mean()
                return cross_entropy + vg.metrics.mean_squared_error(ys["distance"], distance).mean() * 2.0

            _, grads = vg.variable_grads(loss, model.trainable_weights)
            optimizer.apply_gradients(grads)


def main(*files: str) -> dict[str, float]:
    """Saves the model as each of the files; for TensorFlow.js (a folder) and for Keras, if none is given."""
    vg.set_random_seed(5)  # the order of the samples in each epoch
    x, y = make_data()
    model = make_model()
    model.summary()
    compile_model(model)
    stop = vg.callbacks.early_stopping(monitor="val_loss", patience=5, restore_best_weights=True)
    history = model.fit(x, y, epochs=40, validation_split=0.25, callbacks=[stop], verbose=0).history
    print(f"{len(history['loss'])} epochs: validation loss {min(history['val_loss']):.4f}")

    scores = {name: float(value) for name, value in zip(model.metrics_names, model.evaluate(x, y))}
    print(", ".join(f"{name} {value:.3f}" for name, value in scores.items()))

    with tempfile.TemporaryDirectory() as folder:
        for file in files or ("model.json", "model.keras"):
            path = f"{folder}/{file}"
            model.save(path)
            loaded = vg.load_layers_model(path)
            same = all(np.array_equal(a, b) for a, b in zip(loaded.predict(x), model.predict(x)))
            print(f"loaded, predictions equal: {same}")

    fitted, by_hand = make_model(), make_model()
    compile_model(fitted)
    fitted.fit(x, y, epochs=2, shuffle=False, verbose=0)
    loop_by_hand(by_hand, x, y, epochs=2)
    equal = all(np.array_equal(a, b) for a, b in zip(fitted.get_weights(), by_hand.get_weights()))
    print(f"fit and the loop by hand give equal weights: {equal}")
    return scores | {"fit_equals_loop": float(equal)}


if __name__ == "__main__":
    main(*sys.argv[1:])
