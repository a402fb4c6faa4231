"""`varigrad` and `python -m varigrad`: the command line, if what it needs is installed."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line."""
    try:
        from varigrad.cli import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich", "threadpoolctl"):
            raise
        print(f"varigrad: the command line needs {package}: pip install 'varigrad[cli]'", file=sys.stderr)
        sys.exit(2)
    app(prog_name="varigrad")


if __name__ == "__main__":
    main()
