"""Progress of long work, as log lines or as a bar. Nothing is shown unless the user asks."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TextIO, TypeVar

Item = TypeVar("Item")

logger = logging.getLogger("rankad")

#: Shorter work shows nothing. Longer work is logged at this interval.
_SECONDS_BETWEEN_REPORTS = 2.0

#: Interval at which a bar on a terminal is drawn again.
_SECONDS_BETWEEN_DRAWINGS = 0.2

_BAR_WIDTH = 20

#: Moves to the start of the terminal's line and erases the line.
_ERASE_LINE = "\r\x1b[K"


class _Terminal:
    """A terminal whose last line can be replaced. ``is_taken`` while a bar uses that line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._line_is_open = False
        self.is_taken = False

    def draw(self, line: str) -> None:
        """Replace the line drawn before by this line, cut to the terminal's width."""
        self._stream.write(_ERASE_LINE + line[: self.width])
        self._stream.flush()
        self._line_is_open = True

    def end_line(self) -> None:
        """Keep the line drawn last, and go on below it."""
        if self._line_is_open:
            self._stream.write("\n")
            self._stream.flush()
        self._line_is_open = False

    @property
    def width(self) -> int:
        """Characters that fit on the line, less one, because a full line would wrap."""
        try:
            # The width is 0 where the terminal does not know it.
            return (os.get_terminal_size(self._stream.fileno()).columns or 80) - 1
        except (OSError, ValueError):
            return 79


#: The terminal on which bars are drawn now, if any.
_terminal: Final[ContextVar[_Terminal | None]] = ContextVar("terminal", default=None)


@contextmanager
def progress_shown(verbose: bool | int) -> Iterator[None]:
    """Context in which progress is logged if ``verbose``, else nothing changes.

    If no handler is set up for the log, it goes to standard error. If that is a terminal, progress
    is shown there as a bar.
    """
    if not verbose:
        yield
        return
    handler = None if logger.hasHandlers() else logging.StreamHandler(sys.stderr)
    terminal = _Terminal(sys.stderr) if handler is not None and sys.stderr.isatty() else None
    level, token = logger.level, _terminal.set(terminal)
    try:
        logger.setLevel(min(logger.getEffectiveLevel(), logging.INFO))
        if handler is not None:
            start = "" if terminal is None else _ERASE_LINE  # a bar may be on that line
            handler.setFormatter(logging.Formatter(start + "[rankad] %(message)s"))
            logger.addHandler(handler)
        yield
    finally:
        _terminal.reset(token)
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)
        if terminal is not None:
            terminal.end_line()


@contextmanager
def quiet() -> Iterator[None]:
    """Context in which no progress is shown, for one step of work whose progress is shown."""
    level, token = logger.level, _terminal.set(None)
    logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(level)
        _terminal.reset(token)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items, and show the progress of work that takes more than two seconds.

    Progress is a bar on a terminal, else a line in the log every two seconds. Tracked work inside
    tracked work draws no bar of its own.
    """
    terminal = _terminal.get()
    if terminal is None:
        return _logged(items, total, label)
    return iter(items) if terminal.is_taken else _drawn(items, total, label, terminal)


def _logged(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    started = reported = time.perf_counter()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.perf_counter()
        if now - reported >= _SECONDS_BETWEEN_REPORTS or (done == total and reported > started):
            logger.info(_report(label, done, total, now - started))
            reported = now


def _drawn(items: Iterable[Item], total: int, label: str, terminal: _Terminal) -> Iterator[Item]:
    started = drawn = time.perf_counter()
    terminal.is_taken = True
    try:
        for done, item in enumerate(items, start=1):
            yield item
            now = time.perf_counter()
            is_first = drawn == started
            pause = _SECONDS_BETWEEN_REPORTS if is_first else _SECONDS_BETWEEN_DRAWINGS
            if now - drawn >= pause or (done == total and not is_first):
                line = _report(f"[rankad] {label}", done, total, now - started, terminal.width)
                terminal.draw(line)
                drawn = now
    finally:
        # After an error, too: then the traceback starts on a new line.
        terminal.is_taken = False
        terminal.end_line()


def _report(
    label: str, done: int, total: int, elapsed: float, max_characters: int | None = None
) -> str:
    """One line on the progress of the work, with a shorter bar if the line is limited.

    >>> _report("work", 3, 12, 65.0)
    'work: 3 of 12 [#####---------------] 25%, 1:05 so far, about 3:15 left'
    >>> _report("work", 3, 12, 65.0, max_characters=60)
    'work: 3 of 12 [##--------] 25%, 1:05 so far, about 3:15 left'
    """
    share = min(done / max(total, 1), 1.0)
    remaining = _duration(elapsed / done * max(total - done, 0))
    start = f"{label}: {done} of {total}"
    end = f"{share:.0%}, {_duration(elapsed)} so far, about {remaining} left"
    width = _BAR_WIDTH
    if max_characters is not None:
        width = min(max(max_characters - len(f"{start} [] {end}"), 4), _BAR_WIDTH)
    return f"{start} [{'#' * int(share * width):-<{width}}] {end}"


def _duration(seconds: float) -> str:
    """The time as minutes and seconds, with hours before them from one hour on.

    >>> _duration(7.3), _duration(60.0), _duration(7505.0)
    ('0:07', '1:00', '2:05:05')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
