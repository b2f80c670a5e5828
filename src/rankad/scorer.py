"""A fitted ranker without its detector: rows in, scores and p-values out, without checks."""

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from rankad._scaling import transformed
from rankad._typing import FloatArray
from rankad.calibration import FalseAlarmControl, ReferenceScores
from rankad.kernels import KernelExpansion
from rankad.models.learned_ranker import expansion_scores, takes_raw_rows


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """Scores and p-values of rows, at the cost of the kernel sum alone.

    Use it in services and on streams. It gives the numbers of the detector, to the last bit,
    without the checks of the detector's methods. Rows are float64 arrays with the columns of
    ``fit``, in that order.

    A row with NaN gets NaN, and so does a row that the scaler turns into NaN. A NaN is at most no
    alpha, so ``p_value(row) <= alpha`` never alarms on such a row: use `is_alarm`. An infinite row
    gets the score of a very far point, or NaN if the scaler is more than a shift and a scale of
    each column. A scorer does not change. A detector that is fitted or calibrated again has a new
    one.

    Examples
    --------
    >>> from rankad import RankAD
    >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
    >>> scorer = RankAD(random_state=0).fit(nominal).scorer_
    >>> round(scorer.p_value(np.array([9.0, 9.0, 9.0])), 3)
    0.008
    >>> broken = np.array([0.0, np.nan, 0.0])
    >>> bool(scorer.p_value(broken) <= 0.01), scorer.is_alarm(broken, 0.01)
    (False, True)
    """

    expansion: KernelExpansion
    reference: ReferenceScores
    scaler: Any

    def __repr__(self) -> str:
        return f"Scorer({self.expansion}, {self.reference})"

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row, shape ``(n,)``; higher = more nominal."""
        if takes_raw_rows(self.expansion):
            return expansion_scores(self.expansion, self.scaler, rows, n_jobs)
        is_finite = np.isfinite(rows).all(axis=1)
        scores = np.full(len(rows), np.nan)
        if is_finite.any():
            columns = transformed(self.scaler, rows[is_finite])
            scores[is_finite] = self.expansion(columns, n_jobs)
        return scores

    def p_values(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """p-value of each row, shape ``(n,)``; small = anomalous."""
        scores = self(rows, n_jobs)
        is_number = ~np.isnan(scores)
        p_values = np.full(len(scores), np.nan)
        p_values[is_number] = self.reference.p_values(scores[is_number])
        return p_values

    def score(self, row: FloatArray) -> float:
        """Score of one row, shape ``(n_features,)``."""
        if takes_raw_rows(self.expansion):
            return self.expansion.score(row)
        return float(self(np.asarray(row)[None])[0])

    def p_value(self, row: FloatArray) -> float:
        """p-value of one row, shape ``(n_features,)``."""
        if takes_raw_rows(self.expansion):
            n_at_most = self.expansion.rank(row, self.reference.lowered)
            return self.reference.p_value(n_at_most) if n_at_most >= 0 else np.nan
        return float(self.p_values(np.asarray(row)[None])[0])

    def is_alarm(self, row: FloatArray, alpha: float, *, alarm_on_nan: bool = True) -> bool:
        """Whether one row alarms at an alpha, as by ``predict``; also on NaN.

        A row without a score has NaN in it, or an infinite value where the scaler needs finite
        ones. It is no nominal row, so it alarms. These alarms come in addition to the share alpha
        of the nominal rows.

        Parameters
        ----------
        row : ndarray of shape (n_features,)
            One row.
        alpha : float
            False-alarm rate. It is refused if the reference is too small for it.
        alarm_on_nan : bool, default=True
            Whether a row without a score alarms. Set it to False if such rows are handled
            elsewhere.

        Returns
        -------
        is_alarm : bool
        """
        threshold = FalseAlarmControl(self.reference).threshold(alpha)
        score = self.score(row)
        return score < threshold or (alarm_on_nan and isnan(score))
