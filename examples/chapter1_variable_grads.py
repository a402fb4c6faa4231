"""Chapter 1: a value and its gradient for every variable, by name."""

import varigrad as vg


def main() -> tuple[float, dict[str, list[float]]]:
    x = vg.variable([1, 2, 3], name="x")
    y = vg.variable([0.5, 0.5, 0.5], name="y")

    def f() -> vg.Tensor:
        return x.square().sum() + y.square().sum()

    value, grads = vg.variable_grads(f)
    print(f"value {value.item()}")
    for name, gradient in grads.items():
        print(f"d value / d {name} = {gradient.tolist()}")
    return value.item(), {name: gradient.tolist() for name, gradient in grads.items()}


if __name__ == "__main__":
    main()
