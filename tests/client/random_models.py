"""Small models of random layers in graphs of random shape: skips, merges, shared layers, and models inside models."""

import numpy as np

import varigrad as vg

L = vg.layers
ACTIVATIONS = ["linear", "relu", "tanh", "sigmoid", "elu", "selu", "softplus", "softsign", "hard_sigmoid", "swish"]
MERGES = [L.add, L.multiply, L.average, L.maximum, L.minimum, L.concatenate]
INPUTS = {"row": [4], "sequence": [5, 3], "image": [6, 6, 2]}
LARGEST = 400  # values of one sample
NO_ROOM = ("too small", "does not fit an input of length", "leaves nothing of inputs")


class Maker:
    """Makes layers for tensors, from random numbers of a seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def one_of(self, items):
        return items[self.random.integers(len(items))]

    def number(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, part):
        return self.random.random() < part

    def activation(self):
        return self.one_of(ACTIVATIONS)

    def window(self, options, axes):
        """What convolutions have in common."""
        options["kernel_size"] = [self.number(1, 3) for _ in range(axes)]
        options["strides"] = self.number(1, 2)
        options["padding"] = self.one_of(["valid", "same"])
        options["use_bias"] = self.chance(0.7)
        options["activation"] = self.activation()
        return options

    def pool(self):
        return {"pool_size": 2, "strides": self.number(1, 2), "padding": self.one_of(["valid", "same"])}

    def recurrent(self, **options):
        make = self.one_of([L.simple_rnn, L.lstm, L.gru])
        options["units"] = self.number(1, 4)
        options["return_sequences"] = self.chance(0.5)
        options["use_bias"] = self.chance(0.7)
        if make is L.gru:
            options["reset_after"] = False  # TensorFlow.js knows no other
        return make(**options)

    def anywhere(self):
        """A layer for a tensor of any rank but that of one number a sample."""
        return self.one_of(
            [
                lambda: L.dense(units=self.number(1, 6), activation=self.activation(), use_bias=self.chance(0.7)),
                lambda: L.activation(activation=self.activation()),
                lambda: L.batch_normalization(scale=self.chance(0.7), center=self.chance(0.7)),
                lambda: L.layer_normalization(epsilon=0.01),
                lambda: L.dropout(rate=0.3),
                lambda: L.gaussian_noise(stddev=0.3),
                lambda: L.prelu(),
                lambda: L.elu(),
                lambda: L.leaky_re_lu(alpha=0.1),
                lambda: L.thresholded_re_lu(theta=0.2),
                lambda: L.re_lu(max_value=0.5),
                lambda: L.softmax(),
            ]
        )()

    def of_rank(self, rank, size):
        """A layer for rows, sequences or images: tensors of rank 2, 3 or 4, whose last axis is of a size."""
        make = {
            2: [lambda: L.repeat_vector(n=self.number(1, 3)), lambda: L.reshape(target_shape=[size, 1])],
            3: [
                lambda: L.conv1d(**self.window({"filters": self.number(1, 4)}, 1)),
                lambda: self.recurrent(go_backwards=self.chance(0.3)),
                lambda: L.bidirectional(
                    layer=self.recurrent(), merge_mode=self.one_of(["concat", "sum", "mul", "ave"])
                ),
                lambda: L.time_distributed(layer=L.dense(units=self.number(1, 4), activation=self.activation())),
                lambda: L.max_pooling1d(**self.pool()),
                lambda: L.average_pooling1d(**self.pool()),
                lambda: L.permute(dims=[2, 1]),
                lambda: L.global_max_pooling1d(),
                lambda: L.global_average_pooling1d(),
                lambda: L.flatten(),
            ],
            4: [
                lambda: L.conv2d(**self.window({"filters": self.number(1, 4)}, 2)),
                lambda: L.separable_conv2d(**self.window({"filters": self.number(1, 4)}, 2)),
                lambda: L.depthwise_conv2d(**self.window({"depth_multiplier": self.number(1, 2)}, 2)),
                lambda: L.conv2d_transpose(**self.window({"filters": self.number(1, 4)}, 2)),
                lambda: L.max_pooling2d(**self.pool()),
                lambda: L.average_pooling2d(**self.pool()),
                lambda: L.up_sampling2d(size=[1, 2], interpolation="nearest"),  # Keras has another bilinear one
                lambda: L.zero_padding2d(padding=[[1, 0], [0, 2]]),
                lambda: L.cropping2d(cropping=[[1, 0], [0, 1]]),
                lambda: L.global_max_pooling2d(),
                lambda: L.global_average_pooling2d(),
                lambda: L.flatten(),
                lambda: L.permute(dims=[3, 1, 2]),
            ],
        }[rank]
        return self.one_of(make)()

    def layer(self, x):
        return self.anywhere() if self.chance(0.4) else self.of_rank(x.rank, x.shape[-1])

    def nested(self, shape):
        """A model of one input, to be a layer of another."""
        if self.chance(0.5):
            model = vg.sequential(layers=[L.dense(units=self.number(1, 4), input_shape=shape)])
            for _ in range(self.number(0, 2)):
                model.add(self.anywhere())
            return model
        entry = vg.input(shape=shape)
        one, other = self.anywhere()(entry), self.anywhere()(entry)
        return vg.model(inputs=entry, outputs=L.concatenate()([one, other]))


def random_model(seed):
    """A model of a random graph; the same for the same seed."""
    maker = Maker(seed)
    inputs = [vg.input(shape=maker.one_of(list(INPUTS.values()))) for _ in range(maker.number(1, 3))]
    tensors = list(inputs)
    layers = []
    for _ in range(maker.number(3, 10)):
        x = maker.one_of(tensors)
        twins = [y for y in tensors if y is not x and y.shape == x.shape]
        again = [layer for layer in layers if layer.input_shape == x.shape]
        if twins and maker.chance(0.4):
            made = maker.one_of(MERGES)()([x, maker.one_of(twins)])
        elif again and maker.chance(0.3):
            made = maker.one_of(again)(x)
        else:
            layer = maker.nested(list(x.shape[1:])) if maker.chance(0.15) else maker.layer(x)
            try:
                made = layer(x)
            except ValueError as error:
                if any(words in str(error) for words in NO_ROOM):
                    continue
                raise
            layers.append(layer)
        if np.prod(made.shape[1:]) <= LARGEST:
            tensors.append(made)
    needed = {source for x in tensors for source in x.node.sources}
    ends = [x for x in tensors if x not in needed and x not in inputs] or [L.flatten()(inputs[0])]
    # An input alone is no use to TensorFlow.js.
    return vg.model(inputs=[x for x in inputs if x in needed] or inputs[:1], outputs=ends)


def with_random_weights(model, seed):
    """The model with weights that make results of about 1; those of variances are positive."""
    random = np.random.default_rng(seed)
    values = []
    for weight in model.weights:
        if weight.original_name.endswith(("variance", "gamma")):
            values.append(random.uniform(0.5, 1.5, weight.shape))
        else:
            values.append(random.normal(size=weight.shape) / np.sqrt(max(1, np.prod(weight.shape[:-1]))))
    model.set_weights(values)
    return model
