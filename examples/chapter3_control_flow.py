"""Chapter 3: functions with corners, `tidy`, and Python's own `if` and `for` inside what is differentiated."""

from typing import Any

import varigrad as vg


def corners() -> tuple[float, list[float]]:
    """relu(z) + relu(-z) is |z|, made of two corners."""
    z = vg.variable([1, -1, 2], name="z")

    def both() -> Any:
        return vg.variable_grads(lambda: vg.relu(z).sum() + vg.relu(-z).sum(), [z])

    value, grads = vg.tidy(both)
    return value.item(), grads["z"].tolist()


def branches(x: vg.Tensor) -> vg.Tensor:
    """Squares what is positive in sum, and negates what is not."""
    if x.sum() > 0:
        return x.square().sum()
    return -x.sum()


def power(x: vg.Tensor, times: int) -> vg.Tensor:
    """x multiplied by itself in a loop."""
    y = x
    for _ in range(times - 1):
        y = y * x
    return y.sum()


def main() -> dict[str, Any]:
    value, gradient = corners()
    positive = vg.grad(branches)(vg.tensor([1, 2])).tolist()
    negative = vg.grad(branches)(vg.tensor([-1, -2])).tolist()
    cube = vg.grad(lambda x: power(x, 3))(vg.tensor([1, 2])).tolist()
    print(f"relu(z) + relu(-z): value {value}, gradient {gradient}")
    print(f"if: gradient {positive} on one branch, {negative} on the other")
    print(f"for: the gradient of x*x*x at [1, 2] is {cube}")
    return {"value": value, "gradient": gradient, "positive": positive, "negative": negative, "cube": cube}


if __name__ == "__main__":
    main()
