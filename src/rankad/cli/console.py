"""What all commands say alike: results to standard output, everything else to standard error."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

#: For results, and for everything else.
out, err = Console(), Console(stderr=True)

#: Exit status after an interruption, by the custom of shells.
INTERRUPTED = 130


def fail(message: str) -> typer.Exit:
    """Say what is wrong; raise what this returns to end the command."""
    err.print(f"[bold red]Error:[/] {_plain(message)}", soft_wrap=True, highlight=False)
    return typer.Exit(code=1)


@contextmanager
def interruptible(told: str) -> Iterator[None]:
    """Whoever interrupts or ends what goes on within is told what has become of it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        err.print(f"[bold yellow]Interrupted.[/] {_plain(told)}", soft_wrap=True, highlight=False)
        raise typer.Exit(code=INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _plain(text: str) -> str:
    """The text as it is: brackets in it are not markup."""
    return text.replace("[", r"\[")
