"""The command ``rankad``. Each subcommand is a module that parses, calls and prints."""

import sys


def main() -> None:
    """Run the command, or exit with the name of the missing package."""
    try:
        from rankad.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"The command rankad needs {error.name}. Install it: pip install 'rankad[cli]'")
    app()
