"""Keeps pytest out of this folder, which has a command of its own: `python -m tests.conformance.run`."""

collect_ignore_glob = ["*"]
