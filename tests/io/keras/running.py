"""Running models of Keras and of VariGrad on the same numbers."""

import numpy as np

# What averages of squares and the like may be: positive numbers.
_POSITIVE = ("gamma", "variance")


def randomize(model, seed=0):
    """Gives every weight of a model of Keras a value of its own."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        shape = tuple(weight.shape)
        if weight.path.endswith(_POSITIVE):
            values = random.uniform(0.5, 1.5, shape)
        else:
            values = random.normal(size=shape) / max(1.0, np.sqrt(np.prod(shape[:-1])))
        weight.assign(values.astype(weight.dtype))
    return model


def random_inputs(model, seed=1, length=5):
    """A batch for a model of either; unknown axes are `length` long. Masks leave something out of sequences."""
    random = np.random.default_rng(seed)
    batch = []
    for x in model.inputs:
        shape = [x.shape[0] or 2, *(n or length for n in x.shape[1:])]
        if "int" in x.dtype:
            batch.append(random.integers(0, 20, shape).astype(np.int32))
        else:
            batch.append(random.normal(size=shape).astype(np.float32))
        if len(shape) == 2 + ("int" not in x.dtype):
            batch[-1][0, -2:] = 0
    return batch if len(batch) > 1 else batch[0]


def listed(results):
    """Results as a list of arrays."""
    return [np.asarray(x) for x in (results if isinstance(results, (list, tuple)) else [results])]


def predicted_by_keras(model, x):
    return listed(model.predict(x, verbose=0))


def difference(results, expected):
    """The largest difference, as a part of the largest number there is."""
    results = listed(results)
    assert [x.shape for x in results] == [x.shape for x in expected]
    return max(float(np.abs(x - y).max() / (np.abs(y).max() + 1e-9)) for x, y in zip(results, expected))
