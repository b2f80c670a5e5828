"""Limits for the number of false alarms of an exact detector, by the beta-binomial law."""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import betabinom, randint

from rankad.calibration.reference import order_of
from rankad.reproduce.records import ALPHAS, FALSE_ALARMS, Record

#: Probability that an exact detector leaves its limits, over all sets, alphas and runs.
FAILURE_PROBABILITY = 0.05


@dataclass(frozen=True)
class Verdict:
    """False alarms of a run at one alpha, and the limits of an exact detector."""

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
        """Whether the number of alarms is within the limits."""
        return self.least <= self.n_alarms <= self.most


def alarm_limits(alpha: float, n_reference: int, n_nominal: int, tail: float) -> tuple[int, int]:
    """Limits: an exact detector has fewer, or more, alarms with probability ``tail`` at most.

    With n reference scores and ``j = floor(alpha (n + 1))``, the number of alarms among N nominal
    rows is beta-binomial (N, j, n + 1 - j).

    >>> alarm_limits(0.1, n_reference=99, n_nominal=1_000, tail=0.01)
    (40, 184)
    """
    j = order_of(alpha, n_reference)
    # Where alpha is too small for the reference, no row can alarm.
    law = betabinom(n_nominal, float(j), float(n_reference + 1 - j)) if j > 0 else randint(0, 1)
    least, most = law.ppf([tail, 1.0 - tail])
    return int(least), int(most)


def verdicts(runs: Sequence[Record], n_tests: int) -> list[Verdict]:
    """Compare the false alarms of runs with their limits, for each of ``ALPHAS``.

    The limits are two-sided, with a Bonferroni correction for ``n_tests`` tests. The references
    must be held-out scores.
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
