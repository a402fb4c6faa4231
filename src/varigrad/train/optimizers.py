"""The optimizers of TensorFlow.js: the rule of each, and the numbers that its rule needs at a step.

The update kernels are in `varigrad/backends/numpy/optimizers.py`. `g` is the gradient, `w` the variable.
"""

from __future__ import annotations

from typing import Any

from varigrad.keywords import takes_options
from varigrad.train.optimizer import LearningRate, Optimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "AdamaxOptimizer",
    "MomentumOptimizer",
    "RMSPropOptimizer",
    "SGDOptimizer",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "momentum",
    "rmsprop",
    "sgd",
]

_EPSILON = 1e-7  # TensorFlow.js's `backend.epsilon()`


class SGDOptimizer(Optimizer):
    """Gradient descent: w -= learning_rate * g.

    Mirrors `tf.train.sgd`. `Optimizer` describes the options by keyword that every optimizer has.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="sgd_example")
    >>> vg.train.sgd(0.1).minimize(lambda: w.square().sum(), return_cost=True).item()
    5.0
    >>> w.tolist()
    [0.800000011920929, 1.600000023841858]
    """

    class_name = "SGD"
    kernel = "ApplyGradientDescent"

    def step_values(self, rate: float) -> tuple[float, ...]:
        return (rate,)


class MomentumOptimizer(Optimizer):
    """Gradient descent with momentum (Sutskever et al., ICML 2013):

    m = momentum * m + g; w -= learning_rate * m, or with `use_nesterov` w -= learning_rate * (g + momentum * m).

    Mirrors `tf.train.momentum`.

    >>> import varigrad as vg
    >>> w = vg.variable(0.0, name="momentum_example")
    >>> optimizer = vg.train.momentum(0.5, 0.5)
    >>> for _ in range(2):
    ...     optimizer.apply_gradients({"momentum_example": vg.scalar(1.0)})
    >>> w.item()
    -1.25
    """

    class_name = "Momentum"
    slot_names = ("momentum",)
    hyperparameters = ("learning_rate", "momentum", "use_nesterov")

    @takes_options
    def __init__(
        self, learning_rate: LearningRate, momentum: float, use_nesterov: bool = False, **options: Any
    ) -> None:
        super().__init__(learning_rate, **options)
        self.momentum = momentum
        self.use_nesterov = use_nesterov

    def set_momentum(self, momentum: float) -> None:
        """Assigns `momentum`, from the next step on. Mirrors `setMomentum`, which has no effect in TensorFlow.js."""
        self.momentum = momentum

    @property
    def update_kernel(self) -> str:
        return "ApplyNesterovMomentum" if self.use_nesterov else "ApplyMomentum"

    def step_values(self, rate: float) -> tuple[float, ...]:
        return (rate, self.momentum)


class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi et al., JMLR 12, 2011), with TensorFlow.js's epsilon of 1e-7 under the root:

    a += g²; w -= learning_rate * g / sqrt(a + epsilon), where a starts at `initial_accumulator_value`.

    Mirrors `tf.train.adagrad`.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="adagrad_example")
    >>> vg.train.adagrad(0.1).minimize(lambda: w.square().sum())
    >>> [round(x, 4) for x in w.tolist()]
    [0.9012, 1.9003]
    """

    class_name = "Adagrad"
    kernel = "ApplyAdagrad"
    slot_names = ("accumulator",)
    hyperparameters = ("learning_rate", "initial_accumulator_value")

    @takes_options
    def __init__(self, learning_rate: LearningRate, initial_accumulator_value: float = 0.1, **options: Any) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value = initial_accumulator_value

    def slot_fill(self, slot: str) -> float:
        return self.initial_accumulator_value

    def step_values(self, rate: float) -> tuple[float, ...]:
        return (rate, _EPSILON)


class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler, arXiv:1212.5701), as TensorFlow.js's own tests pin it:

    d = g * sqrt(u + epsilon) / sqrt(a + epsilon); a = rho * a + (1 - rho) * g²; u = rho * u + (1 - rho) * d²;
    w -= learning_rate * d.

    The paper divides by the root of the new a instead of the old one, which makes the first steps far smaller.
    `epsilon` None is 1e-7. Mirrors `tf.train.adadelta`.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="adadelta_example")
    >>> vg.train.adadelta(0.25).minimize(lambda: w.square().sum())
    >>> w.tolist()
    [0.5, 1.0]
    """

    class_name = "Adadelta"
    kernel = "ApplyAdadelta"
    slot_names = ("accum_grad", "accum_var")
    hyperparameters = ("learning_rate", "rho", "epsilon")

    @takes_options
    def __init__(
        self, learning_rate: LearningRate = 0.001, rho: float = 0.95, epsilon: float | None = None, **options: Any
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.epsilon = _EPSILON if epsilon is None else epsilon

    def step_values(self, rate: float) -> tuple[float, ...]:
        return (rate, self.rho, 1 - self.rho, self.epsilon)


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, arXiv:1412.6980); at update number t, counted from 1:

    m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g²;
    w -= learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).

    `epsilon` None is 1e-7. TensorFlow.js keeps the powers of beta in float32, which makes its steps 6e-6 smaller.
    With `weight_decay`, which every optimizer has, it is AdamW. Mirrors `tf.train.adam`.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="adam_example")
    >>> vg.train.adam(0.5).minimize(lambda: w.square().sum())
    >>> [round(x, 4) for x in w.tolist()]
    [0.5, 1.5]
    """

    class_name = "Adam"
    kernel = "ApplyAdam"
    slot_names = ("m", "v")
    hyperparameters = ("learning_rate", "beta1", "beta2", "epsilon")

    @takes_options
    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta1 = _fraction("adam", "beta1", beta1)
        self.beta2 = _fraction("adam", "beta2", beta2)
        self.epsilon = _EPSILON if epsilon is None else epsilon

    def step_values(self, rate: float) -> tuple[float, ...]:
        # Both bias corrections are moved into the rate and epsilon, which leaves the same formula.
        beta1, beta2, update = self.beta1, self.beta2, self._iterations + 1
        root = (1 - beta2**update) ** 0.5
        return (rate * root / (1 - beta1**update), beta1, 1 - beta1, beta2, 1 - beta2, self.epsilon * root)


class AdamaxOptimizer(Optimizer):
    """Adamax (Kingma and Ba, arXiv:1412.6980, section 7); at update number t, counted from 1:

    m = beta1 * m + (1 - beta1) * g; v = max(beta2 * v, |g|);
    w -= learning_rate / (1 + decay * (t - 1)) / (1 - beta1^t) * m / (v + epsilon).

    `epsilon` None is 1e-7. Mirrors `tf.train.adamax`; its state can be saved, too.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="adamax_example")
    >>> vg.train.adamax(0.5).minimize(lambda: w.square().sum())
    >>> [round(x, 4) for x in w.tolist()]
    [0.5, 1.5]
    """

    class_name = "Adamax"
    kernel = "ApplyAdaMax"
    slot_names = ("m", "v")
    hyperparameters = ("learning_rate", "beta1", "beta2", "epsilon", "decay")

    @takes_options
    def __init__(
        self,
        learning_rate: LearningRate = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float | None = None,
        decay: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta1 = _fraction("adamax", "beta1", beta1)
        self.beta2 = beta2
        self.epsilon = _EPSILON if epsilon is None else epsilon
        self.decay = decay

    def step_values(self, rate: float) -> tuple[float, ...]:
        beta1, before = self.beta1, self.iterations
        scale = rate / (1 + self.decay * before) / (1 - beta1 ** (before + 1))
        return (scale, beta1, 1 - beta1, self.beta2, self.epsilon)


class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman and Hinton, lecture 6.5, 2012) with momentum, on demand centered.

    Centered it is Graves's (arXiv:1308.0850, eq. 38-41):

    s = decay * s + (1 - decay) * g²; centered: c = decay * c + (1 - decay) * g, else c = 0;
    m = momentum * m + learning_rate * g / sqrt(s - c² + epsilon); w -= m.

    `epsilon` None is 1e-7. TensorFlow.js subtracts epsilon where it should add it when centered, which ends in NaN once
    the gradient hardly changes; here it is added, as published, and s - c² is never taken for less than 0. Mirrors
    `tf.train.rmsprop`.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="rmsprop_example")
    >>> vg.train.rmsprop(0.1, decay=0.75).minimize(lambda: w.square().sum())
    >>> [round(x, 4) for x in w.tolist()]
    [0.8, 1.8]
    """

    class_name = "RMSProp"
    hyperparameters = ("learning_rate", "decay", "momentum", "epsilon", "centered")

    @takes_options
    def __init__(
        self,
        learning_rate: LearningRate,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float | None = None,
        centered: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.decay = decay
        self.momentum = momentum
        self.epsilon = _EPSILON if epsilon is None else epsilon
        self._centered = centered
        self.slot_names = ("rms", "momentum", "mg") if centered else ("rms", "momentum")

    @property
    def centered(self) -> bool:
        """Whether gradients are normalised by their variance; fixed, for it decides which slots there are."""
        return self._centered

    @property
    def update_kernel(self) -> str:
        return "ApplyCenteredRMSProp" if self._centered else "ApplyRMSProp"

    def step_values(self, rate: float) -> tuple[float, ...]:
        return (rate, self.decay, 1 - self.decay, self.momentum, self.epsilon)


sgd = SGDOptimizer
momentum = MomentumOptimizer
adagrad = AdagradOptimizer
adadelta = AdadeltaOptimizer
adam = AdamOptimizer
adamax = AdamaxOptimizer
rmsprop = RMSPropOptimizer


def _fraction(optimizer: str, argument: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"{optimizer}: {argument} must be at least 0 and less than 1, got {value!r}")
    return value
