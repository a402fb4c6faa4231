"""TensorFlow with the whole step in one `tf.function`, and the optimizers that are single kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from contenders.tensorflow_models import LOSSES
from tasks import BETA1, BETA2, EPSILON, MOMENTUM, Task


def make(task: Task) -> Callable[[], float]:
    loss_of = LOSSES[task.model](task)
    weights = [tf.Variable(a) for a in task.first_weights()]
    data = [tf.constant(a) for a in task.arrays()]
    slots = [[tf.Variable(tf.zeros_like(w)) for w in weights] for _ in range(2)]
    powers = [tf.Variable(1.0), tf.Variable(1.0)]

    def apply(gradients: Any) -> None:
        kernels = tf.raw_ops
        if task.optimizer == "adam":
            powers[0].assign(powers[0] * BETA1)
            powers[1].assign(powers[1] * BETA2)
            epsilon = EPSILON * tf.sqrt(1 - powers[1])  # the kernel adds it before the correction of the root
            for w, g, m, v in zip(weights, gradients, *slots):
                kernels.ResourceApplyAdam(
                    var=w.handle,
                    m=m.handle,
                    v=v.handle,
                    beta1_power=powers[0],
                    beta2_power=powers[1],
                    lr=task.rate,
                    beta1=BETA1,
                    beta2=BETA2,
                    epsilon=epsilon,
                    grad=g,
                )
        elif task.optimizer == "momentum":
            for w, g, m in zip(weights, gradients, slots[0]):
                kernels.ResourceApplyMomentum(var=w.handle, accum=m.handle, lr=task.rate, grad=g, momentum=MOMENTUM)
        else:
            for w, g in zip(weights, gradients):
                kernels.ResourceApplyGradientDescent(var=w.handle, alpha=task.rate, delta=g)

    @tf.function
    def update(*data: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(weights, *data)
        apply(tape.gradient(loss, weights))
        return loss

    return lambda: float(update(*data))
