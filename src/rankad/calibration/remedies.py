"""What to do if the reference is too small: ways that are possible with the rows at hand."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from numbers import Integral
from typing import Final

from rankad.calibration.bounds import smallest_number
from rankad.calibration.reference import ReferenceScores

#: A fit with fewer training rows is not proposed: they can hardly be ranked.
_MIN_TRAINING: Final = 5


@dataclass(frozen=True)
class FitSize:
    """How many rows or groups a fit had, and how many of them it was asked to hold out.

    Parameters
    ----------
    n : int
        Number of rows or groups, training and held out.
    calibration_size : float, int or None
        Share or number of them to hold out. None if something else decides.
    """

    n: int
    calibration_size: float | None

    def ways(self, needed: int, unit: str, *, says_rest: bool) -> list[str]:
        """Other fits that give so many reference scores.

        >>> FitSize(50, 0.25).ways(19, "rows", says_rest=True)
        ['fit with calibration_size=19 (31 of 50 rows then train)', 'fit on at least 73 rows']
        >>> FitSize(10, 0.25).ways(19, "rows", says_rest=True)
        ['fit on at least 73 rows']
        """
        size, rest = self.calibration_size, self.n - needed
        if size is None:
            return ["hold out more of them in fit"]
        ways = []
        if rest >= _MIN_TRAINING:
            of_rest = f" ({rest} of {self.n} {unit} then train)" if says_rest else ""
            ways.append(f"fit with calibration_size={needed}{of_rest}")
        if not isinstance(size, Integral):
            enough = smallest_number(lambda n: ceil(size * n) >= needed, 1)
            ways.append(f"fit on at least {enough} {unit}")
        elif not ways:
            ways.append(f"fit on more {unit} with calibration_size={needed}")
        return ways


def ways_to_more(
    reference: ReferenceScores, needed: int, fit: FitSize | None, *, offers_cross: bool = False
) -> str:
    """Ways to so many reference scores, in words.

    ``offers_cross`` says whether a reference that is not held out would also serve.
    """
    unit = "groups" if reference.unit == "groups" else "rows"
    if reference.guarantee == "empirical":
        return f"fit on at least {needed} rows, or call calibrate() with as many new nominal rows"
    if fit is None:
        return f"fit on more {unit}, raise calibration_size, or call calibrate()"
    is_exact = reference.guarantee == "exact"
    ways = fit.ways(needed, unit, says_rest=is_exact)
    ways.append(f"call calibrate() with {needed - reference.size} or more new nominal {unit}")
    if offers_cross and is_exact and fit.n - needed < needed <= fit.n:
        ways.append("fit with calibration='cross', whose rate is near alpha but not guaranteed")
    return f"{', '.join(ways[:-1])}, or {ways[-1]}"
