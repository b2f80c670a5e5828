"""The group of commands, and their common options."""

from typing import Annotated

import typer

from rankad import __version__
from rankad.cli.reproduce import reproduce

app = typer.Typer(
    name="rankad",
    help="Anomaly detection with a false-alarm rate you can state in advance.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.command()(reproduce)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rankad {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Anomaly detection with a false-alarm rate you can state in advance."""
