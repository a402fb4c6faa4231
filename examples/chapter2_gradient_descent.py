"""Chapter 2: gradients that depend on other variables, steps of gradient descent, and memory that stays level."""

from typing import NamedTuple

import varigrad as vg


class Outcome(NamedTuple):
    value: float
    grads: dict[str, list[float]]
    values: list[float]
    tensors_before: int
    tensors_after: int


def main() -> Outcome:
    a = vg.variable([1, 2], name="a")
    b = vg.variable([3, 4], name="b")

    def f() -> vg.Tensor:
        return a.square().sum() + b.mul(a).sum()

    value, grads = vg.variable_grads(f)
    print(f"value {value.item()}, grads { ({name: g.tolist() for name, g in grads.items()}) }")

    optimizer = vg.train.sgd(0.1)
    values: list[float] = []
    for step in range(5):
        cost, step_grads = vg.variable_grads(f)
        optimizer.apply_gradients(step_grads)
        values.append(cost.item())
        print(f"step {step + 1}: {cost.item():.6f}")

    def descend() -> None:
        _, grads = vg.variable_grads(f)
        optimizer.apply_gradients(grads)

    vg.tidy(descend)
    before = vg.memory().num_tensors
    for _ in range(1000):
        vg.tidy(descend)
    after = vg.memory().num_tensors
    print(f"tensors before and after 1,000 tidy steps: {before}, {after}")
    return Outcome(value.item(), {n: g.tolist() for n, g in grads.items()}, values, before, after)


if __name__ == "__main__":
    main()
