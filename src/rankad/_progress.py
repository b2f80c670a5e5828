"""Progress of long work, through logging: nothing is ever shown unless the user asks."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")

logger = logging.getLogger("rankad")

_SECONDS_BETWEEN_REPORTS = 2.0


@contextmanager
def progress_shown(verbose: bool | int) -> Iterator[None]:
    """While it lasts, log progress where asked, to standard error if nobody else listens."""
    if not verbose:
        yield
        return
    handler = None if logger.hasHandlers() else logging.StreamHandler()
    level = logger.level
    try:
        logger.setLevel(min(logger.getEffectiveLevel(), logging.INFO))
        if handler is not None:
            handler.setFormatter(logging.Formatter("[rankad] %(message)s"))
            logger.addHandler(handler)
        yield
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Pass the items through; every two seconds log how many came and how long is left."""
    started = reported = time.perf_counter()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.perf_counter()
        if now - reported >= _SECONDS_BETWEEN_REPORTS or (done == total and reported > started):
            logger.info(
                "%s: %d of %d, %.0f s so far, about %.0f s left",
                label,
                done,
                total,
                now - started,
                (now - started) / done * (total - done),
            )
            reported = now
