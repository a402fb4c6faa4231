"""The command line: `varigrad train SOURCE` and `varigrad predict MODEL NEW.csv`."""

from __future__ import annotations

from varigrad.cli.app import app

__all__ = ["app"]
