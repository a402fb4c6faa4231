"""The command line: `varigrad train`, `predict`, `convert`, `inspect` and `verify`."""

from __future__ import annotations

from varigrad.cli.app import app

__all__ = ["app"]
