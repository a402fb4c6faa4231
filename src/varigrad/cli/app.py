"""The commands, and how their errors look: one line, exit code 2."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import varigrad as vg
from varigrad.cli.convert import convert
from varigrad.cli.errors import CommandError
from varigrad.cli.inspect import inspect
from varigrad.cli.predict import predict
from varigrad.cli.train import train
from varigrad.cli.verify import verify
from varigrad.errors import DataError

__all__ = ["app"]


class OneLineErrors(TyperGroup):
    """Commands whose errors are one line on stderr."""

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Runs a command. `standalone_mode` is what Typer's own test runner passes."""
        try:
            code = super().main(*args, standalone_mode=False, **options)
        except (CommandError, DataError) as error:
            message = str(error)
        except Exception as error:
            # Typer's errors about options and arguments share no public class between its versions.
            format_message = getattr(error, "format_message", None)
            if format_message is None:
                raise
            message = format_message()
        else:
            sys.exit(code if isinstance(code, int) else 0)
        print(f"varigrad: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(2)


app = typer.Typer(
    cls=OneLineErrors,
    help="Train models on your own data, see every gradient, and open them in a browser.",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command()(train)
app.command()(predict)
app.command()(convert)
app.command()(inspect)
app.command()(verify)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"varigrad {vg.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(  # pyright: ignore[reportUnusedFunction]
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
