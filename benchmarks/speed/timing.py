"""Interleaved timing of several functions, so that a noisy moment affects all of them."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_WARM_UP_SECONDS = 0.05


@dataclass(frozen=True)
class Timings:
    """Seconds of each repeat, by name. The repeats of all names are interleaved."""

    seconds: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        """Median seconds."""
        return statistics.median(self.seconds[name])

    def ratio(self, slow: str, fast: str) -> float:
        """Time of ``slow`` divided by that of ``fast``: the median of the ratios of all repeats."""
        pairs = zip(self.seconds[slow], self.seconds[fast], strict=True)
        return statistics.median(a / b for a, b in pairs)


def timed(functions: Mapping[str, Callable[[], object]], repeats: int) -> Timings:
    """Run all functions in turn, ``repeats`` times.

    Right before each timed run the same function runs untimed for a moment. Caches are then filled,
    cores are awake, and the threads of the previous function no longer spin.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            _warm_up(function)
            started = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - started)
    return Timings(seconds)


def _warm_up(function: Callable[[], object]) -> None:
    started = time.perf_counter()
    while True:
        function()
        if time.perf_counter() - started > _WARM_UP_SECONDS:
            return


def repeated(function: Callable[[], object], times: int) -> Callable[[], None]:
    """A function that calls the given one ``times`` times, for calls of microseconds."""

    def run() -> None:
        for _ in range(times):
            function()

    return run
