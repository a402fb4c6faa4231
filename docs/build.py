"""Builds the API reference from the docstrings: `python docs/build.py [OUT]`, with `pip install 'varigrad[docs]'`.

Fails, with a list, while a public name has no docstring, no example, no first sentence, or refers to a name that does
not exist. `--check` does only that. Open `build/reference/index.html` afterwards.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))  # for `reference`, wherever this is run from

from reference.checks import gaps  # noqa: E402
from reference.names import walk  # noqa: E402
from reference.pages import Reference  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Builds the reference, or says what it lacks; returns the exit status."""
    parser = argparse.ArgumentParser(prog="docs/build.py", description="Builds the API reference from the docstrings.")
    parser.add_argument("out", nargs="?", type=Path, default=DOCS.parent / "build" / "reference", help="a folder")
    parser.add_argument("--package", default="varigrad", help="what to describe")
    parser.add_argument("--name", default="vg", help="what users call it")
    parser.add_argument("--check", action="store_true", help="only look for what is missing")
    options = parser.parse_args(arguments)
    namespaces = walk(import_module(options.package), options.name)
    missing = gaps(namespaces)
    if missing:
        print(f"{len(missing)} gaps in the reference:", *missing, sep="\n  ", file=sys.stderr)
        return 1
    if not options.check:
        introduction = (DOCS / "index.md").read_text(encoding="utf-8")
        style = (DOCS / "reference" / "style.css").read_text(encoding="utf-8")
        for name, content in Reference(namespaces, introduction, style).pages():
            page = options.out / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(content, encoding="utf-8")
        print(f"{sum(len(space.entries) for space in namespaces)} names: {options.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
