"""Writes the files in `reference` with real Keras, and what it predicts: `python -m tests.io.keras.make_reference`.

They are read in tests that need no Keras, and changed at random by `tests.io.fuzz`.
"""

import os
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent / "reference"
FILES = {
    "arithmetic_of_tensors": ".h5",
    "bidirectional_gru": ".h5",
    "lenet": ".keras",
    "masked_steps_in_a_graph": ".h5",
    "masked_words_in_a_graph": ".keras",
    "nested_and_shared": ".keras",
    "partly_frozen": ".h5",
    "resnext": ".keras",
    "several_inputs_and_outputs": ".keras",
    "text_classifier": ".h5",
    "transformer": ".keras",
}


def main():
    """Makes every file anew."""
    os.environ.setdefault("KERAS_BACKEND", "numpy")
    from tests.io.keras.models import MODELS
    from tests.io.keras.running import listed, predicted_by_keras, random_inputs, randomize

    HERE.mkdir(exist_ok=True)
    for name, suffix in FILES.items():
        model = randomize(MODELS[name]())
        if name == "partly_frozen":
            model.compile("adam", "mse")
            model.optimizer.build(model.trainable_variables)
        x = random_inputs(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save(HERE / f"{name}{suffix}")
        arrays = {f"x{i}": each for i, each in enumerate(listed(x))}
        arrays |= {f"y{i}": each for i, each in enumerate(predicted_by_keras(model, x))}
        np.savez_compressed(HERE / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
