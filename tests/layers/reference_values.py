"""Inputs and weights that TensorFlow.js and the tests make alike."""

import math

import numpy as np


def ramp(shape, step=0.1, start=-0.4):
    """`tf.tensor(Array.from({length: n}, (_, i) => step * (i % 9) + start), shape)`"""
    return (step * (np.arange(math.prod(shape)) % 9) + start).reshape(shape).astype(np.float32)


def with_ramps(layer, input_shape):
    """The layer built for inputs of this shape, each of its weights a `ramp`."""
    layer(np.zeros([n or 1 for n in input_shape]))
    layer.set_weights([ramp(w.shape) for w in layer.weights])
    return layer
