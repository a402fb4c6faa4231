"""Real Keras 3, on its NumPy backend: it compiles nothing, and these models are small."""

import os

os.environ.setdefault("KERAS_BACKEND", "numpy")
