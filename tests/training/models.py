"""Models that several files of tests train."""

import varigrad as vg


def line(value=0.0, units=1):
    """A dense layer on one number, without bias, whose weight starts at `value`."""
    initializer = vg.initializers.constant(value=value)
    return vg.sequential(
        layers=[vg.layers.dense(units=units, use_bias=False, kernel_initializer=initializer, input_shape=[1])]
    )
