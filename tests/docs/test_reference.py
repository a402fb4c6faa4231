import html.parser
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]

GOOD = '''

def good(x: int, *, scale: float = 1.0) -> float:
    """A good function, unlike `mu.good`. Mirrors `tf.veryGood`, and more.

    Args:
        x: A number.
        scale: Its factor,
            on two lines.

    Returns:
        The product.

    Raises:
        ValueError: Never.

    >>> 1 + 1  # doctest: +ELLIPSIS
    2
    """
    return x * scale
'''

# A package in which one thing of each kind is missing, and one of each is there.
MADE_UP = {
    "__init__.py": '''
"""A made-up package."""
from made_up import inner as inner
from made_up.hidden import *
from made_up.hidden import not_public
from made_up.hidden import only_here as only_here
from made_up.inner import shared as shared

_private = 1
'''
    + GOOD,
    "hidden.py": '''
"""Where functions come from."""
__all__ = ["lost_link", "no_doc", "no_example", "no_sentence"]


def no_doc(): ...


def no_example():
    """Does something."""


def no_sentence():
    """does something without a capital

    >>> 1
    1
    """


def lost_link():
    """Like `mu.nowhere`.

    >>> 1
    1
    """


def only_here():
    """Imported under its own name.

    >>> 1
    1
    """


def not_public(): ...
''',
    "inner.py": '''
"""The namespace `mu.inner`."""
from dataclasses import dataclass

__all__ = ["LIMIT", "Plain", "Record", "Result", "Thing", "shared", "thing"]
# The most there can be.
LIMIT = 3


def shared() -> "Result":
    """In two namespaces.

    >>> 1
    1
    """


class Result:
    """What `mu.inner.shared` returns."""


class _Base:
    def from_private_base(self): ...


class Thing(_Base):
    """A thing.

    Mirrors `tf.Thing`.

    >>> 1
    1
    """

    def used(self):
        """Used. Mirrors `isUsed`."""

    def silent(self): ...

    @property
    def size(self): ...

    def _hidden(self): ...

    def __len__(self): ...


class Plain(Thing):
    """A thing that overrides.

    >>> 1
    1
    """

    def used(self): ...


@dataclass
class Record:
    field: int


thing = Thing
''',
}


def build(*arguments, path=""):
    return subprocess.run(
        [sys.executable, str(ROOT / "docs" / "build.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(path), "PYTHONIOENCODING": "utf-8"},
    )


@pytest.fixture
def made_up(tmp_path):
    (tmp_path / "made_up").mkdir()
    for name, text in MADE_UP.items():
        (tmp_path / "made_up" / name).write_text(text, encoding="utf-8")
    return tmp_path


class Page(html.parser.HTMLParser):
    """The links, the anchors and the text of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.text, self.open = [], set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs["href"]] if "href" in attrs else []
        self.anchors |= {attrs[key] for key in ("id", "name") if key in attrs}
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def dead_links(out):
    pages = {path.relative_to(out).as_posix(): Page(path) for path in out.rglob("*.html")}
    for name, page in pages.items():
        assert not page.open, f"{name}: {page.open} is not closed"
        for link in page.links:
            target = urlsplit(link)
            if target.scheme:
                continue
            path = (out / name).parent.joinpath(target.path).resolve() if target.path else out / name
            at = path.relative_to(out).as_posix()
            if not path.is_file() or (target.fragment and unquote(target.fragment) not in pages[at].anchors):
                yield f"{name} -> {link}"


def test_the_reference_of_the_package_builds_and_has_no_dead_links(tmp_path):
    result = build(tmp_path)
    assert result.returncode == 0, result.stderr
    assert list(dead_links(tmp_path)) == []
    for page, names in {
        "vg.html": ["vg.add", "vg.Tensor", "vg.Tensor.numpy", "vg.Tensor.mat_mul", "vg.variable_grads"],
        "vg.layers.html": ["vg.layers.dense", "vg.layers.Dense", "vg.layers.Layer.add_weight"],
        "vg.train.html": ["vg.train.adam", "vg.train.AdamOptimizer"],
        "vg.data.html": ["vg.data.read_table"],  # imported only when it is used
    }.items():
        assert set(names) <= Page(tmp_path / page).anchors
    table = "".join(Page(tmp_path / "tensorflowjs.html").text)
    for row in "tf.variableGradsvg.variable_grads", "tf.layers.densevg.layers.dense", "tf.train.adamvg.train.adam":
        assert row in table
    assert "units: int" in "".join(Page(tmp_path / "vg.layers.html").text)


def test_a_gap_fails_the_build_and_is_listed_by_place_and_name(made_up):
    out = made_up / "out"
    result = build(out, "--package", "made_up", "--name", "mu", path=made_up)
    assert result.returncode == 1
    assert not out.exists()
    title, *gaps = result.stderr.splitlines()
    assert title == "8 gaps in the reference:"
    assert {gap.split(": ", 1)[1] for gap in gaps} == {
        "mu.lost_link refers to mu.nowhere, which does not exist",
        "mu.no_doc has no docstring",
        "mu.no_example has no example (>>>)",
        "mu.no_sentence does not begin with a sentence on one line: 'does something without a capital'",
        "mu.inner.Record has no docstring",
        "mu.inner.Thing.from_private_base has no docstring",
        "mu.inner.Thing.silent has no docstring",
        "mu.inner.Thing.size has no docstring",
    }
    assert any(gap.strip().startswith("hidden.py:6: mu.no_doc ") for gap in gaps)


def test_arguments_results_errors_and_examples_are_told_apart(tmp_path):
    (tmp_path / "fine.py").write_text(f'"""A module."""\n{GOOD}', encoding="utf-8")
    out = tmp_path / "out"
    result = build(out, "--package", "fine", "--name", "mu", path=tmp_path)
    assert result.returncode == 0, result.stderr
    assert list(dead_links(out)) == []
    text = "".join(Page(out / "mu.html").text)
    assert "mu.good(x: int, *, scale: float = 1.0) -> float\n" in text
    assert "ArgumentsxA number.\nscaleIts factor,\non two lines.\nReturnsThe product.\nRaisesValueErrorNever.\n" in text
    assert ">>> 1 + 1\n2\n" in text
    assert "tf.veryGoodmu.good" in "".join(Page(out / "tensorflowjs.html").text)
