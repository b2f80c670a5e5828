"""What all commands say alike: results to standard output, everything else to standard error."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

#: For results, and for everything else.
out, err = Console(), Console(stderr=True)

#: Exit status after an interruption, by the custom of shells.
INTERRUPTED = 130


def fail(message: str) -> typer.Exit:
    """Say what is wrong; raise what this returns to end the command."""
    err.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    return typer.Exit(code=1)


@contextmanager
def interruptible(told: Callable[[], str]) -> Iterator[None]:
    """Whoever interrupts or ends what goes on within is told what has become of it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        err.print(f"[bold yellow]Interrupted.[/] {escape(told())}", soft_wrap=True, highlight=False)
        raise typer.Exit(code=INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
