"""Chapter 4: a layer and a loss made by hand, trained by every optimizer."""

import varigrad as vg

OPTIMIZERS = {
    "sgd": lambda: vg.train.sgd(0.1),
    "momentum": lambda: vg.train.momentum(0.1, 0.9),
    "nesterov": lambda: vg.train.momentum(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: vg.train.adagrad(0.1),
    "adadelta": lambda: vg.train.adadelta(0.1),
    "adam": lambda: vg.train.adam(0.1),
    "adamax": lambda: vg.train.adamax(0.1),
    "rmsprop": lambda: vg.train.rmsprop(0.01),
    "centered rmsprop": lambda: vg.train.rmsprop(0.01, centered=True),
}


class HandmadeLayer:
    """relu(x @ weights + bias), with weights `[2, 2]` and bias `[2]`."""

    def __init__(self) -> None:
        self.weights = vg.variable([[0.1, 0.2], [0.3, 0.4]])
        self.bias = vg.variable([0.1, 0.1])

    def __call__(self, x: vg.Tensor) -> vg.Tensor:
        return x.mat_mul(self.weights).add(self.bias).relu()


def mean_squared_error(prediction: vg.Tensor, target: vg.Tensor) -> vg.Tensor:
    return prediction.sub(target).square().mean()


def main() -> dict[str, list[float]]:
    x = vg.tensor2d([[1, 2]])
    target = vg.tensor2d([[0.5, 1]])
    losses: dict[str, list[float]] = {}
    for name, make_optimizer in OPTIMIZERS.items():
        layer, optimizer = HandmadeLayer(), make_optimizer()
        losses[name] = []
        for _ in range(50):
            loss, grads = vg.variable_grads(
                lambda layer=layer: mean_squared_error(layer(x), target), [layer.weights, layer.bias]
            )
            optimizer.apply_gradients(grads)
            losses[name].append(loss.item())
        print(f"{name:17} {losses[name][0]:.6f} → {losses[name][-1]:.6f}")
    return losses


if __name__ == "__main__":
    main()
