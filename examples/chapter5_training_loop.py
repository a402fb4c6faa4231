"""Chapter 5: the whole training loop by hand: a model, batches, clipped gradients, Adam, a metric, kept losses, a plot.

    python examples/chapter5_training_loop.py [PLOT.png]

It is written twice: once with every tensor disposed of by hand, once with `tidy`. In Python neither is needed to keep
memory from leaking; both give it back at once, and both do exactly the same sums.
"""

import sys
from typing import NamedTuple

import numpy as np

import varigrad as vg

EPOCHS, BATCH, SAMPLES = 100, 16, 64


class Outcome(NamedTuple):
    losses: list[float]  # mean over the batches of each epoch
    errors: list[float]  # mean absolute error over all samples after each epoch
    weights: list[np.ndarray]
    left_over: int  # tensors that the loop left behind, beyond the model's and the optimizer's


def make_data() -> tuple[vg.Tensor, vg.Tensor]:
    """Samples `[64, 5]` and targets `[64, 1]`, a noisy function of them."""
    random = np.random.default_rng(7)
    x = random.normal(size=(SAMPLES, 5))
    y = np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.1 * random.normal(size=(SAMPLES, 1))
    return vg.tensor(x), vg.tensor(y)


def make_model() -> vg.Sequential:
    model = vg.sequential()
    initializer = vg.initializers.glorot_uniform(seed=1)
    model.add(vg.layers.dense(units=10, activation="relu", input_shape=[5], kernel_initializer=initializer))
    model.add(vg.layers.dense(units=1, kernel_initializer=vg.initializers.glorot_uniform(seed=2)))
    return model


def mean_squared_error(prediction: vg.Tensor, target: vg.Tensor) -> vg.Tensor:
    return prediction.sub(target).square().mean()


def mean_absolute_error(prediction: vg.Tensor, target: vg.Tensor) -> vg.Tensor:
    return prediction.sub(target).abs().mean()


def train_with_tidy() -> Outcome:
    x, y = make_data()
    model, optimizer = make_model(), vg.train.adam(0.01)

    def train_on_batch(start: int) -> float:
        xs, ys = x.slice([start, 0], [BATCH, -1]), y.slice([start, 0], [BATCH, -1])
        loss, grads = vg.variable_grads(lambda: mean_squared_error(model.predict(xs), ys))
        grads = vg.train.clip_by_norm(vg.train.clip_by_value(grads, -1, 1), 1)
        optimizer.apply_gradients(grads)
        return loss.item()

    losses: list[float] = []
    errors: list[float] = []
    before = 0
    for epoch in range(EPOCHS):
        batches = [vg.tidy(lambda start=start: train_on_batch(start)) for start in range(0, SAMPLES, BATCH)]
        losses.append(sum(batches) / len(batches))
        errors.append(vg.tidy(lambda: mean_absolute_error(model.predict(x), y).item()))
        if epoch == 0:
            before = vg.memory().num_tensors
    left_over = vg.memory().num_tensors - before
    return Outcome(losses, errors, [w.numpy() for w in model.get_weights()], left_over)


def train_disposing_by_hand() -> Outcome:
    x, y = make_data()
    model, optimizer = make_model(), vg.train.adam(0.01)
    losses: list[float] = []
    errors: list[float] = []
    before = 0
    for epoch in range(EPOCHS):
        total = 0.0
        for start in range(0, SAMPLES, BATCH):
            xs, ys = x.slice([start, 0], [BATCH, -1]), y.slice([start, 0], [BATCH, -1])
            loss, grads = vg.variable_grads(lambda xs=xs, ys=ys: mean_squared_error(model.predict(xs), ys))
            limited = vg.train.clip_by_value(grads, -1, 1)
            clipped = vg.train.clip_by_norm(limited, 1)
            optimizer.apply_gradients(clipped)
            total += loss.item()
            vg.dispose([xs, ys, loss, grads, limited, clipped])
        losses.append(total / (SAMPLES // BATCH))
        prediction = model.predict(x)
        error = mean_absolute_error(prediction, y)
        errors.append(error.item())
        vg.dispose([prediction, error])
        if epoch == 0:
            before = vg.memory().num_tensors
    left_over = vg.memory().num_tensors - before
    return Outcome(losses, errors, [w.numpy() for w in model.get_weights()], left_over)


def main(plot: str | None = None) -> tuple[Outcome, Outcome]:
    tidy, by_hand = train_with_tidy(), train_disposing_by_hand()
    for epoch in (0, 9, 49, 99):
        print(f"epoch {epoch + 1:3}: loss {tidy.losses[epoch]:.6f}, mean absolute error {tidy.errors[epoch]:.6f}")
    print(f"tensors left over: {tidy.left_over} with tidy, {by_hand.left_over} by hand")
    print(f"same losses: {tidy.losses == by_hand.losses}")
    if plot is not None:
        vg.vis.plot_history({"loss": tidy.losses, "mean_absolute_error": tidy.errors}, plot)
        print(f"plotted to {plot}")
    return tidy, by_hand


if __name__ == "__main__":
    main(*sys.argv[1:])
