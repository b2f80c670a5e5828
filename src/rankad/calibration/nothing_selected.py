"""Why a selection finds nothing: what the numbers show, and what to do about it.

At a false-discovery rate q, k of m rows are selected if their p-values are at most q k / m. Two
things can prevent it although these rows are anomalies. The smallest p-value, 1 / (n + 1) with n
reference scores, is too large for k rows. Or reference rows score as low as they do.

The second shows in counts. Let K be the number of rows of the batch below the j-th lowest reference
score. K is at least k exactly if k of the k + j - 1 lowest of all n + m scores are the batch's. If
all rows are nominal draws, every k + j - 1 of the n + m scores are equally likely to be these. So
the law is hypergeometric, for every distribution of the scores. Too large a K says that the batch
is not all nominal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import Final, NamedTuple

import numpy as np
from scipy.stats import hypergeom

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.discoveries import (
    benjamini_hochberg,
    reference_for_discoveries,
    uncapped_nominal_share,
)

#: Largest probability with which a nominal batch is said to have too many low scores.
_CHANCE: Final = 0.01

#: What is said of a batch that looks nominal. It holds no number, so a stream of such batches shows
#: it once.
LOOKS_NOMINAL: Final = (
    "No row is selected: the batch looks nominal. No row scores below all reference scores, and "
    "low scores are as rare as among nominal rows. If you know of anomalies in the batch, the "
    "rows given to fit may hold such anomalies, too: list them by suspicious_rows(X_fit). "
    "Else the detector does not tell these anomalies from nominal rows."
)

_OTHERS_LOOK_NOMINAL: Final = "The rows of the other strata look nominal."


class Words(NamedTuple):
    """The words for one reference, or for the references of strata."""

    of_reference: str
    unit: str
    within: str
    whom: str
    remedy: str


class Excess(NamedTuple):
    """How improbable it is that so many nominal rows score below the j-th lowest reference score.

    The probability is for all orders that were tried together (Bonferroni).
    """

    probability: float
    n_below: int
    order: int

    @classmethod
    def of(cls, p: FloatArray, n_reference: int, largest_p: float) -> Excess:
        """The least probable of the orders 1, 2, 4, ... whose p-values may be selected.

        >>> Excess.of(np.array([0.03, 0.03, 0.02, 0.9]), 99, largest_p=0.1)._replace(probability=0)
        Excess(probability=0, n_below=3, order=4)
        """
        n_orders = max(int(largest_p * (n_reference + 1)), 1).bit_length()
        orders = 2 ** np.arange(n_orders)
        n_at_most = np.rint(p * (n_reference + 1)) - 1  # reference scores at or below each row's
        n_below = np.searchsorted(np.sort(n_at_most), orders, side="left")
        law = hypergeom(n_reference + len(p), len(p), n_below + orders - 1)
        probabilities = np.where(n_below > 0, law.sf(n_below - 1), 1.0)
        best = int(probabilities.argmin())
        probability = min(float(probabilities[best]) * n_orders, 1.0)
        return cls(probability, int(n_below[best]), int(orders[best]))


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """p-values of the rows of a batch that are compared with one reference.

    Parameters
    ----------
    p : array of shape (n_rows,)
        p-values without a confidence.
    p_used : array of shape (n_rows,)
        p-values that the selection has used: those with its confidence, if it has one.
    n_reference : int
        Number of reference scores.
    """

    p: FloatArray
    p_used: FloatArray
    n_reference: int

    @cached_property
    def is_lowest(self) -> BoolArray:
        """Which rows score below all reference scores."""
        return (self.p <= 1.0 / (self.n_reference + 1)) & (self.p < 1.0)

    @property
    def n_lowest(self) -> int:
        """Number of these rows."""
        return int(self.is_lowest.sum())


@dataclass(frozen=True, eq=False)
class NothingSelected:
    """A selection that found nothing.

    Parameters
    ----------
    parts : sequence of ComparedRows
        The rows of the batch: all, or those of each stratum.
    fdr : float
        False-discovery rate asked for.
    adaptive : bool
        Whether the selection took Storey's form.
    confidence : float or None
        Confidence of the selection.
    words : Words
        Words for one reference, or for those of strata.

    Examples
    --------
    >>> rows = ComparedRows(*2 * [np.array([0.1, 0.5, 0.6])], n_reference=9)
    >>> words = Words("9 reference scores", "reference scores", "", "", "call calibrate().")
    >>> print(NothingSelected([rows], 0.1, False, None, words).reason)
    No row is selected. 1 of 3 rows has the smallest p-value that 9 reference scores can give. ...
    """

    parts: Sequence[ComparedRows]
    fdr: float
    adaptive: bool
    confidence: float | None
    words: Words

    @property
    def reason(self) -> str:
        """Why nothing is selected, and what to do."""
        reasons = self._without_confidence() or [*self._too_coarse(), *self._as_low()]
        if small := self._too_small():
            reasons += [small] if reasons or all(self._is_small) else [small, _OTHERS_LOOK_NOMINAL]
        return f"No row is selected. {' '.join(reasons)}" if reasons else LOOKS_NOMINAL

    @cached_property
    def _n_rows(self) -> int:
        return sum(len(part.p) for part in self.parts)

    @cached_property
    def _n_lowest(self) -> int:
        return sum(part.n_lowest for part in self.parts)

    @cached_property
    def _threshold(self) -> float:
        """Largest p-value that could be selected, if all rows had it."""
        if not self.adaptive:
            return self.fdr
        p = np.concatenate([part.p_used for part in self.parts])
        return min(self.fdr / uncapped_nominal_share(p), 0.999)

    def _needed(self, n_selected: int, threshold: float | None = None) -> int:
        """Reference scores with which so many rows can be selected."""
        largest = self._threshold if threshold is None else threshold
        return reference_for_discoveries(self._n_rows, largest, n_selected, self.confidence)

    def _without_confidence(self) -> list[str]:
        """The reason, if it is the confidence alone."""
        p = np.concatenate([part.p for part in self.parts])
        n_selected = int(benjamini_hochberg(p, self.fdr, adaptive=self.adaptive).sum())
        if n_selected == 0:
            return []
        number = f"at least {self._needed(self._n_lowest)}" if self._n_lowest else "more"
        reason = (
            f"Without confidence={self.confidence}, {n_selected} of {self._n_rows} rows would be "
            f"selected at fdr={self.fdr}. With it, the p-values that {self.words.of_reference} can "
            f"give are too coarse to select them. Give {self.words.whom}{number} "
            f"{self.words.unit}: {self.words.remedy}"
        )
        return [reason]

    def _too_coarse(self) -> Iterator[str]:
        """References that are too small for as many rows as score below all of them."""
        if self._n_lowest > 0:
            have = "has" if self._n_lowest == 1 else "have"
            yield (
                f"{self._n_lowest} of {self._n_rows} rows {have} the smallest p-value that "
                f"{self.words.of_reference} can give. It is too coarse to select them at "
                f"fdr={self.fdr}. Give {self.words.whom}at least {self._needed(self._n_lowest)} "
                f"{self.words.unit}: {self.words.remedy}{self._alternatives()}{self._chance()} "
                "If some of the rows given to fit are bad, more rows like them do not help: look "
                "at suspicious_rows(X_fit) first."
            )

    def _too_small(self) -> str:
        """References that are too small for any batch, if there are such."""
        if not any(self._is_small):
            return ""
        return (
            f"With fewer than {self._needed_for_any} {self.words.unit}{self.words.within}, no row "
            f"of any batch is selected at fdr={self.fdr}. Give more: {self.words.remedy}"
        )

    @cached_property
    def _needed_for_any(self) -> int:
        """Reference scores with which anything can be selected, if the whole batch is anomalous."""
        # In Storey's form the share of nominal rows can be as low as 2 / m.
        least_share = min(2.0 / self._n_rows, 1.0) if self.adaptive else 1.0
        return self._needed(self._n_rows, min(self.fdr / least_share, 0.999))

    @cached_property
    def _is_small(self) -> list[bool]:
        """Which references are too small for any batch, where this is not said of lowest rows."""
        # With a confidence, half of the number is too small for sure.
        least = self._needed_for_any / (1.0 if self.confidence is None else 2.0)
        return [part.n_reference < least and part.n_lowest == 0 for part in self.parts]

    def _alternatives(self) -> str:
        """A size of batches and an fdr at which as many of the lowest rows would be selected."""
        if self.adaptive:
            return ""
        p = max(float(part.p_used[part.is_lowest].max(initial=0.0)) for part in self.parts)
        largest_batch = floor(self.fdr * self._n_lowest / p + 1e-9)
        least_fdr = ceil(100.0 * p * self._n_rows / self._n_lowest - 1e-9) / 100.0
        ways = []
        if largest_batch >= self._n_lowest:
            ways.append(f"batches of at most {largest_batch} rows")
        if least_fdr <= 0.5:
            ways.append(f"an fdr of at least {least_fdr:g}")
        return f" Or choose, before you see their rows, {' or '.join(ways)}." if ways else ""

    def _chance(self) -> str:
        """How often nominal rows are as many below all scores of one reference."""
        if len(self.parts) > 1:
            return ""
        k, n = self._n_lowest, self.parts[0].n_reference
        probability = float(hypergeom(n + self._n_rows, self._n_rows, k).sf(k - 1))
        return (
            " A batch of nominal rows only has that many, or more, with probability "
            f"{probability:.2g}."
        )

    def _as_low(self) -> Iterator[str]:
        """Reference rows that score as low as rows that are too many to be nominal."""
        found = [
            (Excess.of(part.p, part.n_reference, self._threshold), part)
            for part in self.parts
            if part.n_reference > 0
        ]
        if not found:
            return
        excess, part = min(found, key=lambda each: each[0].probability)
        is_chance = excess.probability * len(found) > _CHANCE
        if is_chance or excess.n_below < 2 * part.n_lowest:  # the lowest rows alone say less
            return
        expected = len(part.p) * excess.order / (part.n_reference + 1)
        yield (
            f"{excess.n_below} of {len(part.p)} rows{self.words.within} score below the reference "
            f"score number {excess.order} from below. Of nominal rows about {expected:.2g} would. "
            "But reference rows score as low, so the p-values are too large. Perhaps there are "
            "anomalies among the held-out rows. List the rows given to fit by "
            "suspicious_rows(X_fit), leave the anomalies out, and fit again. If these rows are "
            "nominal, the detector does not tell the anomalies of the batch from them."
        )
