"""The README's program runs as it stands there, and what it saves can be loaded."""

import re
from pathlib import Path

import varigrad as vg

README = Path(__file__).parents[2] / "README.md"


def test_the_program_in_the_readme_runs(tmp_path, monkeypatch):
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(program, str(README), "exec"), names)
    assert names["loss"] < 5.0
    loaded = vg.load_layers_model("runs/model")
    x = names["xs"]
    assert loaded.predict(x).tolist() == names["model"].predict(x).tolist()
