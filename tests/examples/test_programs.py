"""The longer examples run and come to what they promise."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_functional_model_is_fitted_saved_and_loaded(capsys):
    scores = runpy.run_path(str(EXAMPLES / "functional_model_and_fit.py"))["main"]()
    assert scores["inside_acc"] > 0.95
    assert scores["distance_loss"] < 0.01
    assert scores["fit_equals_loop"] == 1
    assert capsys.readouterr().out.count("predictions equal: True") == 2
