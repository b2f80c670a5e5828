"""The command ``rankad``: one module for each of its commands; they parse, call, and print."""

import sys


def main() -> None:
    """Run the command, or say what it needs to be installed."""
    try:
        from rankad.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"The command rankad needs {error.name}: pip install 'rankad[cli]'")
    app()
