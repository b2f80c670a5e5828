"""Output of all commands: results to standard output, everything else to standard error."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

#: Consoles for results, and for everything else.
out, err = Console(), Console(stderr=True)

#: Exit status after an interruption, as in shells.
INTERRUPTED = 130


def fail(message: str) -> typer.Exit:
    """Print an error message, and return the exception that ends the command."""
    err.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    return typer.Exit(code=1)


@contextmanager
def interruptible(message: Callable[[], str]) -> Iterator[None]:
    """Print a message and exit if Ctrl-C or SIGTERM interrupts the block."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        err.print(
            f"[bold yellow]Interrupted.[/] {escape(message())}", soft_wrap=True, highlight=False
        )
        raise typer.Exit(code=INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
