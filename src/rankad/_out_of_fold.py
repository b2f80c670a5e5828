"""Out-of-fold scores: each row is scored by a model that has not learned from it."""

from __future__ import annotations

import warnings
from copy import copy, deepcopy
from typing import Any, Final

import numpy as np
from sklearn.utils import check_random_state

from rankad._progress import quiet, track
from rankad._scaling import fitted_scaler, scaled
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.calibration import HoldoutOptions, Sample, StratumLabels
from rankad.calibration.copies import row_hashes
from rankad.calibration.holdout import CrossFittedRows
from rankad.statistics import BaggedNeighborDistance

#: Equal rows stay in one fold if they are two, or at most this share of all rows. More are nominal,
#: as of counts or codes, and a model without them would not know these.
_MAX_SHARE_OF_COPIES: Final = 0.01

#: Number of runs of consecutive rows that stay in one fold each, for rows in the order of time.
_N_RUNS: Final = 50


def units_of_rows(rows: FloatArray, groups: object, *, are_in_time: bool) -> StratumLabels:
    """Which rows stay in one fold: groups, runs of rows in the order of time, or else copies."""
    if groups is not None:
        labels = StratumLabels.from_values(groups, "groups")
        labels.require_rows(len(rows), "groups")
        codes = labels.codes
    elif are_in_time:
        codes = np.arange(len(rows)) * _N_RUNS // len(rows)
    else:
        codes = _codes_of_copies(rows)
    keys, codes = np.unique(codes, return_inverse=True)
    if len(keys) < 2:
        what = "groups" if groups is not None else "different rows"
        raise ValueError(f"suspicious_rows needs at least 2 {what}; got 1.")
    return StratumLabels(tuple(range(len(keys))), codes)


def _codes_of_copies(rows: FloatArray) -> IntArray:
    """A number for each row, the same for copies if there are not very many of them."""
    _, codes, counts = np.unique(row_hashes(rows), return_inverse=True, return_counts=True)
    is_common = counts[codes] > max(2.0, _MAX_SHARE_OF_COPIES * len(rows))
    return np.where(is_common, len(counts) + np.arange(len(rows)), codes)


def judge_of(detector: Any) -> Any:
    """A copy of a detector that can be fitted to some of the rows and scores the others.

    No row is held out for its reference, and its rows are not tested: its p-values promise nothing.
    """
    judge = copy(detector)
    judge.random_state = deepcopy(detector.random_state)
    judge.calibration, judge.calibration_split = "train", "random"
    return judge


def out_of_fold_scores(
    judge: Any, rows: FloatArray, units: StratumLabels, left_out: float
) -> FloatArray:
    """Score of each row by a judge that was fitted without it. All rows of a unit are in one fold.

    A share ``left_out`` of the rows, those that lie farthest from random rows, does not train. So
    bad rows do not vouch for one another, not even in a clump: few random rows seldom hit it.
    """
    rng = check_random_state(judge.random_state)
    trains = _trains(rows, left_out, getattr(judge, "n_jobs", None), rng)
    sample, options = Sample.plain(rows, units), HoldoutOptions(0.0, "random")
    folds = CrossFittedRows.drawn(sample, options, rng).folds
    scores = np.empty(len(rows))
    for others, held_out in track(folds, len(folds), "out-of-fold scores"):
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of one fold: the user's own fit warns of all rows
            _fit(judge, rows, others, trains)
            scores[held_out] = judge.score_samples(rows[held_out])
    return scores


def _trains(
    rows: FloatArray, left_out: float, n_jobs: int | None, rng: np.random.RandomState
) -> BoolArray:
    """Which rows may train: not those that lie farthest from random rows."""
    if left_out == 0.0:
        return np.ones(len(rows), dtype=bool)
    statistic = BaggedNeighborDistance(n_jobs=n_jobs, random_state=rng.randint(2**31 - 1))
    nearness = statistic(scaled(fitted_scaler("standard", rows), rows))
    return nearness >= np.quantile(nearness, left_out)


def _fit(judge: Any, rows: FloatArray, others: IntArray, trains: BoolArray) -> None:
    """Fit the judge to the rows of the other folds that train; to all of them if need be."""
    if len(others) < 2:
        raise ValueError(
            f"A fold leaves {len(others)} row to learn from. Give more rows, or smaller groups."
        )
    near = rows[others[trains[others]]]
    are_alike = len(near) < 2 or (near == near[0]).all()
    judge.fit(rows[others] if are_alike else near, keep_rows=False)
