"""Real Keras 3, on its NumPy backend: it compiles nothing, and these models are small."""

import os
from importlib.util import find_spec

os.environ.setdefault("KERAS_BACKEND", "numpy")

# Modules whose doctests pytest would look for, and what they need.
_NEEDS = {"make_keras_2.py": "tensorflow", "models.py": "keras"}
collect_ignore = [name for name, package in _NEEDS.items() if find_spec(package) is None]
