"""False alarms beside the counts that an exact detector has: the beta-binomial law."""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import betabinom, randint

from rankad.calibration.reference import order_of
from rankad.reproduce.records import ALPHAS, FALSE_ALARMS, Record

#: Chance that an exact detector is found wanting, over all sets, levels and runs.
FAILURE_PROBABILITY = 0.05


@dataclass(frozen=True)
class Verdict:
    """False alarms of a run at one level, and the counts that an exact detector keeps within."""

    alpha: float
    n_alarms: int
    n_nominal: int
    least: int
    most: int

    @property
    def rate(self) -> float:
        """Share of the nominal test rows that alarm."""
        return self.n_alarms / self.n_nominal

    @property
    def is_within(self) -> bool:
        """Whether the count is one that an exact detector has."""
        return self.least <= self.n_alarms <= self.most


def alarm_limits(alpha: float, n_reference: int, n_nominal: int, tail: float) -> tuple[int, int]:
    """Counts of false alarms that an exact detector is below or above with this probability each.

    With n reference scores and ``j = floor(alpha (n + 1))`` the number of alarms among N nominal
    rows is beta-binomial (N, j, n + 1 - j).

    >>> alarm_limits(0.1, n_reference=99, n_nominal=1_000, tail=0.01)
    (40, 184)
    """
    j = order_of(alpha, n_reference)
    # Where the reference cannot resolve the level, nothing may alarm.
    law = betabinom(n_nominal, j, n_reference + 1 - j) if j > 0 else randint(0, 1)
    least, most = law.ppf([tail, 1.0 - tail])
    return int(least), int(most)


def verdicts(runs: Sequence[Record], n_tests: int) -> list[Verdict]:
    """Compare the false alarms of held-out references with their limits.

    The limits are two-sided, and Bonferroni's for so many tests.
    """
    tail = FAILURE_PROBABILITY / n_tests / 2
    found = []
    for run in runs:
        n_reference, n_nominal = (int(run.measures[n]) for n in ("n_reference", "n_nominal"))
        for alpha, measure in zip(ALPHAS, FALSE_ALARMS, strict=True):
            n_alarms = round(run.measures[measure] * n_nominal)
            limits = alarm_limits(alpha, n_reference, n_nominal, tail)
            found.append(Verdict(alpha, n_alarms, n_nominal, *limits))
    return found
