"""Reference scores of each stratum: the level holds in every country, machine or hour of day."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Final, Self

import numpy as np

from rankad._rounding import EXACT, Rounding
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration.growth import grown
from rankad.calibration.reference import HeldOutScores, ReferenceScores
from rankad.calibration.stratum_labels import StratumLabels, named
from rankad.exceptions import CalibrationWarning

#: Reference of a stratum without rows: every p-value is 1.
_NO_ROWS = HeldOutScores(np.empty(0))


@dataclass(frozen=True, eq=False, repr=False)
class StrataScores(Mapping[Hashable, ReferenceScores]):
    """Reference scores of each stratum: Mondrian conformal p-values.

    A row is compared with the n reference rows of its own stratum only:
    ``p = (1 + #{ref <= s}) / (n + 1)``. For a new nominal row of that stratum, exchangeable with
    these reference rows, ``P(p <= alpha) <= alpha`` exactly, in every stratum. So a stratum with n
    rows never alarms below ``alpha = 1 / (n + 1)``, and in a stratum without rows p is 1.

    If ``pool_below`` is m > 0, strata with fewer than m rows share one reference: the rows of all
    strata with at most m rows. Then alpha holds for the new rows of all strata with fewer than m
    rows together, and not for each of these strata. Rows and their strata must be drawn together,
    exchangeably with the reference rows. A kind of stratum that did not exist at calibration has
    the level only if its rows are like those of the small strata.

    Parameters
    ----------
    references : mapping
        Reference scores of each stratum, by its key.
    pool_below : int, default=0
        Strata with fewer rows share one reference. 0: none does.
    rounding : Rounding
        How far two computations of one score may differ.

    Notes
    -----
    The shared reference also has the rows of strata with exactly m rows, although these strata do
    not use it. The reason: count the new row as one more row of its stratum, and call a stratum
    small if it then has at most m rows. This rule treats the new row as it treats every other row.
    So the new row is exchangeable with the other rows of small strata. The stratum of the new row
    is small if it has fewer than m reference rows. Any other stratum is small if it has at most m.

    Examples
    --------
    >>> scores, countries = np.array([0.3, 0.1, 0.2, 5.0]), ["DE", "DE", "DE", "FR"]
    >>> strata = StrataScores.from_scores(scores, countries)
    >>> strata
    StrataScores(2 strata of 1 to 3 scores, guarantee: exact)
    >>> strata["DE"].smallest_alpha, strata["FR"].smallest_alpha
    (0.25, 0.5)
    """

    references: Mapping[Hashable, ReferenceScores]
    pool_below: int = 0
    rounding: Rounding = EXACT

    @classmethod
    def from_scores(cls, scores: FloatArray, strata: object, pool_below: int = 0) -> Self:
        """Reference of the held-out scores of nominal rows, in any order, and their strata."""
        return cls({}).extended(scores, strata).pooled(pool_below)

    @classmethod
    def from_rows(cls, strata: object, reference_of: Callable[[IntArray], ReferenceScores]) -> Self:
        """Reference of each stratum by a function of the positions of its rows, ascending."""
        labels = StratumLabels.from_values(strata)
        rows_of_keys = zip(labels.keys, labels.rows_of_keys(), strict=True)
        return cls({key: reference_of(rows) for key, rows in rows_of_keys})

    def __getitem__(self, key: Hashable) -> ReferenceScores:
        """The stratum's own reference scores."""
        return self.references[key]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.references)

    def __len__(self) -> int:
        """Number of strata."""
        return len(self.references)

    def __repr__(self) -> str:
        sizes = [reference.size for reference in self.values()]
        spread = f" of {min(sizes)} to {max(sizes)} scores" if sizes else ""
        pooled = f", pool_below={self.pool_below}" if self.pool_below else ""
        return f"StrataScores({len(self)} strata{spread}, guarantee: {self.guarantee}{pooled})"

    @property
    def guarantee(self) -> str:
        """What is known about the p-values: as of `ReferenceScores`, or "mixed"."""
        found = {reference.guarantee for reference in self.values()} or {"exact"}
        return found.pop() if len(found) == 1 else "mixed"

    def extended(self, scores: FloatArray, strata: object) -> Self:
        """With the scores of additional held-out nominal rows of old and new strata."""
        labels = StratumLabels.from_values(strata)
        labels.require_rows(len(scores))
        merged = dict(self.references)
        for key, rows in zip(labels.keys, labels.rows_of_keys(), strict=True):
            old = merged.get(key, _NO_ROWS.with_rounding(self.rounding))
            merged[key] = grown(old, scores[rows], None, replace=False)
        return replace(self, references=merged)

    def with_rounding(self, rounding: Rounding) -> Self:
        """The same scores, with the rounding of the model that gave them."""
        references = {key: scores.with_rounding(rounding) for key, scores in self.items()}
        return replace(self, references=references, rounding=rounding)

    def pooled(self, below: int) -> Self:
        """The same references, where strata with fewer than ``below`` rows share one."""
        if isinstance(below, bool) or not isinstance(below, Integral) or below < 0:
            raise ValueError(
                f"pool_below must be a number of rows, 0 or more; got {below!r}. 0 means that no "
                "strata share a reference."
            )
        if below > 0 and self.guarantee != "exact":
            raise ValueError(
                f"pool_below={below} needs held-out reference scores of single rows; got {self}. "
                "Leave it at 0."
            )
        return replace(self, pool_below=int(below))

    def shares(self, key: Hashable) -> bool:
        """Whether the rows of a stratum are compared with the shared reference."""
        return self.references.get(key, _NO_ROWS).size < self.pool_below

    def reference_of(self, key: Hashable) -> ReferenceScores:
        """The reference that rows of a stratum are compared with: its own, or the shared one."""
        return self._shared if self.shares(key) else self.references.get(key, _NO_ROWS)

    @cached_property
    def _shared(self) -> ReferenceScores:
        """Scores of all strata with at most ``pool_below`` rows: see the notes of the class."""
        parts = [each.scores for each in self.values() if each.size <= self.pool_below]
        pooled = HeldOutScores.from_scores(np.concatenate([_NO_ROWS.scores, *parts]))
        return pooled.with_rounding(self.rounding)


def recalibrated(
    before: StrataScores | None,
    scores: FloatArray,
    labels: StratumLabels | None,
    pool_below: int | None,
    *,
    common: ReferenceScores,
    replace: bool,
) -> StrataScores | None:
    """Reference of each stratum after a calibration with new rows; None if there is none.

    ``common`` is the new reference of all rows. Rows without strata change no stratum's reference,
    but they leave none that they should replace.
    """
    if labels is None:
        if pool_below is not None:
            raise ValueError(
                f"pool_below={pool_below} is for strata. Give strata, too: calibrate(X, "
                "strata=..., pool_below=...)."
            )
        return None if replace else before
    require_single_rows(common)
    if pool_below is None:
        pool_below = 0 if before is None else before.pool_below
    empty = StrataScores({}, rounding=common.rounding)
    start = empty if replace or before is None else before
    return start.extended(scores, labels).pooled(pool_below)


def require_random_holdout(calibration: str, calibration_split: object, groups: object) -> None:
    """Refuse strata in a fit that holds out no rows, whole groups or runs of rows."""
    if calibration != "split":
        raise ValueError(
            f"fit(X, strata=...) needs held-out rows, but calibration={calibration!r} has none. "
            "Set calibration='split'. Or fit without strata, and call calibrate(X, strata=...) "
            "with new nominal rows."
        )
    if groups is not None or calibration_split != "random":
        found = "groups" if groups is not None else f"calibration_split={calibration_split!r}"
        kind = "groups" if groups is not None else "time"
        raise ValueError(
            f"fit(X, strata=...) needs independent rows, held out at random; got {found}. "
            f"{_without_strata(kind)}"
        )


def held_out_labels(labels: StratumLabels | None, held_out: IntArray) -> StratumLabels | None:
    """Strata of the held-out rows of a fit. Warn if some strata have none of them."""
    if labels is None:
        return None
    of_held_out = labels.of_rows(held_out)
    missing = set(labels.keys).difference(of_held_out.keys)
    if missing:
        in_order = [key for key in labels.keys if key in missing]
        warn_user(
            f"No row is held out of the strata {named(in_order)}, so p is 1 and nothing alarms in "
            "them. Call calibrate(X, strata=...) with new nominal rows of these strata.",
            CalibrationWarning,
        )
    return of_held_out


def labels_of_rows(strata: object, n_rows: int, chosen: IntArray) -> StratumLabels | None:
    """Strata of some of the rows, given those of all rows; None without strata."""
    if strata is None:
        return None
    labels = StratumLabels.from_values(strata)
    labels.require_rows(n_rows)
    return labels.of_rows(chosen)


#: Rows that are drawn independently, beside a reference whose rows are not.
_SINGLE_ROWS: Final = {
    "groups": "one nominal row of each of many groups",
    "time": "nominal rows that are far apart in time",
}


def require_single_rows(common: ReferenceScores) -> None:
    """Refuse strata beside a common reference whose rows are not drawn one by one.

    The references of the strata would promise more than the common one.
    """
    if common.guarantee != "exact":
        raise ValueError(
            f"strata need a reference of single rows, drawn independently; got {common}. "
            f"{_without_strata(common.guarantee)}"
        )


def _without_strata(guarantee: str) -> str:
    """What to do where a reference can have no strata."""
    return (
        f"Leave out strata. Or fit without strata, take {_SINGLE_ROWS[guarantee]} that fit has not "
        "seen, and call set_params(calibration_split='random').calibrate(X, strata=..., "
        "replace=True)."
    )
