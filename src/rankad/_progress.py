"""Progress of long work, through logging: nothing is ever printed unless the user asks."""

import logging
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

logger = logging.getLogger("rankad")

_SECONDS_BETWEEN_REPORTS = 2.0


def listen(verbose: bool | int) -> None:
    """Show the log of rankad on standard error where the user asked, and nobody else listens."""
    if verbose and not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[rankad] %(message)s"))
        logger.addHandler(handler)
    if verbose and logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Pass the items through; every two seconds log how many came and how long is left."""
    started = reported = time.perf_counter()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.perf_counter()
        if now - reported >= _SECONDS_BETWEEN_REPORTS or (done == total and reported > started):
            left = (now - started) / done * (total - done)
            logger.info(
                "%s: %d of %d, %.0f s so far, about %.0f s left",
                label,
                done,
                total,
                now - started,
                left,
            )
            reported = now
