"""How a fit and a calibration of any detector run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, Final, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankad._borrowed import Interval, StrOptions, _fit_context
from rankad._constant_columns import warn_of_constant_columns
from rankad._progress import logger, progress_shown
from rankad._typing import FloatArray, IntArray
from rankad._validation import feature_names, scoring_rows, training_rows
from rankad.calibration import (
    CALIBRATION_SIZE_CONSTRAINT,
    CALIBRATION_SPLIT_CONSTRAINT,
    HOLDOUTS,
    CalibrationRecord,
    CalibrationStep,
    FalseAlarmControl,
    FitSize,
    Holdout,
    HoldoutOptions,
    KnownRows,
    ReferenceScores,
    Sample,
    StrataScores,
    StratumLabels,
    grown,
)
from rankad.calibration.copies import HashArray
from rankad.calibration.splits import are_runs, run_starts
from rankad.calibration.strata import (
    held_out_labels,
    labels_of_rows,
    recalibrated,
    require_random_holdout,
)
from rankad.calibration.strata_control import warn_if_strata_too_coarse
from rankad.calibration.stratum_labels import N_NAMED
from rankad.explanations.nominal_rows import NominalRows
from rankad.models import Model

Fit = TypeVar("Fit", bound=Callable[..., Any])

#: Constraints of the parameters that every detector has.
COMMON_CONSTRAINTS: Final[dict[str, list[Any]]] = {
    "alpha": [Interval(Real, 0, 1, closed="neither")],
    "calibration": [StrOptions(set(HOLDOUTS))],
    "calibration_size": CALIBRATION_SIZE_CONSTRAINT,
    "calibration_split": CALIBRATION_SPLIT_CONSTRAINT,
    "random_state": ["random_state"],
}


def validated_fit(fit: Fit) -> Fit:
    """Check the parameters before a fit, and show its progress if ``verbose`` is set."""

    @wraps(fit)
    def fit_with_progress(self: Any, *args: Any, **kwargs: Any) -> Any:
        with progress_shown(getattr(self, "verbose", False)):
            return fit(self, *args, **kwargs)

    return cast("Fit", _fit_context(prefer_skip_nested_validation=False)(fit_with_progress))


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a fit: a copy of the detector, the rows, and which of them to hold out."""

    fitted: Any
    sample: Sample
    holdout: Holdout
    labels: StratumLabels | None
    keep_rows: bool
    rng: np.random.RandomState

    @property
    def rows(self) -> FloatArray:
        """Checked rows, without copies."""
        return self.sample.rows

    @property
    def kept_rows(self) -> NominalRows | None:
        """Some of the rows that train, for `explain`; None if the user wants to keep none."""
        if not self.keep_rows:
            return None
        return NominalRows.drawn(self.rows[self.holdout.training], self.rng)


class FittingDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """A detector that can be fitted, can score rows, and can be calibrated."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON_CONSTRAINTS

    alpha: float
    calibration: str
    calibration_size: float
    calibration_split: Any
    random_state: Any
    reference_: ReferenceScores
    strata_: StrataScores
    calibration_indices_: IntArray
    calibration_record_: CalibrationRecord
    _fit_size: FitSize
    _trained_rows: KnownRows
    _trained_groups: frozenset[Hashable]
    _reference_rows: KnownRows
    _kept_rows: NominalRows | None
    _model: Model

    def _fit(
        self,
        X: ArrayLike,
        learn: Callable[[FloatArray, np.random.RandomState], Any],
        groups: ArrayLike | None = None,
        strata: object = None,
        keep_rows: bool = True,
    ) -> Self:
        """Validate, hold out, learn and calibrate. ``learn`` takes rows and a random state."""
        start = self._begin_fit(X, groups, strata, keep_rows)
        rows, holdout = start.rows, start.holdout

        def learn_rows(rows: FloatArray, full_model: Any = None) -> Any:
            return learn(rows, start.rng)

        model = learn_rows(rows[holdout.training])
        reference = holdout.reference(model, learn_rows, rows)
        return self._end_fit(start, model, reference)

    def _begin_fit(
        self,
        X: ArrayLike,
        groups: ArrayLike | None = None,
        strata: object = None,
        keep_rows: bool = True,
    ) -> Start:
        """Check and test the rows, and decide which of them to hold out.

        This detector does not change before ``_end_fit``. So a fit that fails changes nothing.
        """
        if not isinstance(keep_rows, (bool, np.bool_)):
            raise TypeError(f"keep_rows must be True or False; got {keep_rows!r}.")
        fitted = copy(self)
        _delete_fitted_attributes(fitted)
        rows = training_rows(fitted, X)
        labels = labels_of_rows(strata, len(rows), np.arange(len(rows)))
        if labels is not None:
            require_random_holdout(self.calibration, self.calibration_split, groups)
        # Training ranks promise nothing, so no test is made for them.
        is_tested = self.calibration != "train"
        sample = Sample.tested(rows, groups, labels) if is_tested else Sample.plain(rows, groups)
        rng = check_random_state(self.random_state)
        options = HoldoutOptions(self.calibration_size, self.calibration_split)
        holdout = HOLDOUTS[self.calibration](sample, options, rng)
        if is_tested:
            is_in_time = sample.groups is None and self.calibration_split != "random"
            # A splitter may scatter the held-out rows, and that is a hold-out at random.
            starts, n_held_out = run_starts(holdout.calibration), len(holdout.calibration)
            if is_in_time and are_runs(starts, n_held_out):
                sample = sample.in_order_of_time()
            sample.warn()
        held_out = held_out_labels(labels, sample.indices[holdout.calibration])
        return Start(fitted, sample, holdout, held_out, bool(keep_rows), rng)

    def _end_fit(
        self, start: Start, model: Model, reference: ReferenceScores, **attributes: Any
    ) -> Self:
        """Take over the fitted attributes of the copy, and delete those of an earlier fit."""
        fitted, sample, holdout = start.fitted, start.sample, start.holdout
        trained, held_out = sample.of(holdout.training), sample.of(holdout.calibration)
        if start.labels is not None:  # strata of the held-out rows
            scores = model(start.rows[holdout.calibration], getattr(self, "n_jobs", None))
            attributes["strata_"] = StrataScores.from_scores(scores, start.labels).with_rounding(
                model.rounding
            )
        attributes |= {
            "_model": model,
            "reference_": reference.with_rounding(model.rounding),
            "calibration_indices_": sample.indices[holdout.calibration],
            "calibration_record_": CalibrationRecord.of_fit(
                " ".join(repr(self).split()),
                self.random_state,
                trained,
                CalibrationStep.now(
                    f"fit, {self._described_split(sample)}", held_out, sample.tests
                ),
                reference,
            ),
            "_trained_rows": sample.known(holdout.training),
            "_trained_groups": sample.groups_of(holdout.training),
            "_reference_rows": sample.known(holdout.calibration),
            "_kept_rows": start.kept_rows,
            "_fit_size": self._size_of_fit(sample, holdout),
        }
        fitted.__dict__.update(attributes, _fitted_names=(*attributes, "strata_"))
        logger.info("calibrated on %d rows", reference.size)
        fitted._warn_if_too_coarse()
        warn_of_constant_columns(
            *(start.rows, holdout.training, holdout.calibration, feature_names(fitted)),
            is_watched=model.watches,
            detector=type(self).__name__,
        )
        _delete_fitted_attributes(self)
        self.__dict__.update(fitted.__dict__)
        return self

    def _size_of_fit(self, sample: Sample, holdout: Holdout) -> FitSize:
        """How many rows or groups were there, and how many of them to hold out."""
        used = np.union1d(holdout.training, holdout.calibration)
        n = len(used) if sample.groups is None else len(sample.groups_of(used))
        is_by_size = self.calibration == "split" and isinstance(self.calibration_split, str)
        return FitSize(n, self.calibration_size if is_by_size else None)

    def _described_split(self, sample: Sample) -> str:
        """How rows were held out, for the record."""
        if self.calibration != "split":
            return f"calibration={self.calibration!r}"
        units = "rows" if sample.groups is None else "whole groups"
        return f"calibration_split={self.calibration_split!r} of {units}"

    def _scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row, without checks."""
        return self._model(rows, getattr(self, "n_jobs", None))

    @property
    def _control(self) -> FalseAlarmControl:
        check_is_fitted(self, "reference_")
        return FalseAlarmControl(self.reference_, self._fit_size)

    def _warn_if_too_coarse(self) -> None:
        """Warn if nothing can alarm at the constructor's alpha, in all or in some strata."""
        self._control.warn_if_too_coarse(self.alpha)
        if hasattr(self, "strata_"):
            warn_if_strata_too_coarse(self.strata_, self.alpha)

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row. Higher means more nominal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "reference_")
        return self._checked_scores(scoring_rows(self, X))

    def _checked_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row. Refuse NaN."""
        scores = self._scores(rows)
        if np.isnan(scores).any():
            raise ValueError(
                f"The score of row {int(np.isnan(scores).argmax())} is NaN. Remove this row, or "
                f"change the detector, {self}, so that every row gets a score."
            )
        return scores

    def calibrate(
        self,
        X: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        strata: object = None,
        pool_below: int | None = None,
        replace: bool = False,
    ) -> Self:
        """Add nominal rows to the reference, without a new fit.

        More reference rows allow a smaller alpha. The rows must be new, and must have the
        distribution of future rows. Rows that trained are refused, and so are rows that are in the
        reference already. If the reference was not held out (``calibration="train"`` or
        ``"cross"``), the new rows replace it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New nominal rows.
        groups : array-like of shape (n_samples,), optional
            Group of each row, if the rows are of new groups. Each group counts once (see `fit`).
        strata : array-like of shape (n_samples,), optional
            Stratum of each row, for example its country, machine or hour of day: text, numbers or
            other hashable values. A frame of several columns crosses them. The rows are added to
            the reference of their stratum, `strata_`, and also to the common one, which answers
            calls without strata.
        pool_below : int, optional
            Strata with fewer reference rows share one reference. Then rows of small and of unseen
            strata can alarm, but alpha holds for all of them together, not for each stratum (see
            `StrataScores`). The default keeps the number of the last calibration, at first 0: none
            share.
        replace : bool, default=False
            Use these rows as the whole reference. Set it if nominal rows have changed, because
            then the old reference rows no longer have the distribution of future rows. It keeps
            the false-alarm rate. At a new level of the rows only a new fit restores the power, and
            it needs about 300 or more new rows. Without strata, the references of all strata are
            deleted. The new reference is one of groups with ``groups``, else of single rows, or of
            rows in the order of time unless ``calibration_split`` is "random".

        Returns
        -------
        self : object
            This detector.
        """
        check_is_fitted(self, "reference_")
        rows = scoring_rows(self, X)
        labels = labels_of_rows(strata, len(rows), np.arange(len(rows)))
        sample = Sample.tested(rows, groups, labels)
        everything = np.arange(len(sample.rows))
        new = sample.of(everything)
        self._require_new(new, "calibrate", also_reference=not replace)
        self._require_new_groups(sample.groups_of(everything))
        scores = self._checked_scores(sample.rows)
        reference = grown(
            self.reference_,
            scores,
            sample.groups,
            replace=replace,
            in_order_of_time=self.calibration_split != "random",
        )
        by_stratum = recalibrated(
            self.__dict__.get("strata_"),
            scores,
            labels_of_rows(labels, len(rows), sample.indices),
            pool_below,
            common=reference,
            replace=replace,
        )
        is_fresh = replace or type(reference) is not type(self.reference_)
        if reference.guarantee == "time":
            sample = sample.in_order_of_time(are_added=not is_fresh)
        sample.warn()
        step = CalibrationStep.now("calibrate", new, sample.tests)
        known = self._reference_rows
        return self._take_over(
            reference_=reference,
            strata_=by_stratum,
            calibration_record_=self.calibration_record_.after(step, reference, is_new=is_fresh),
            _reference_rows=sample.known(everything)
            if is_fresh
            else known.extended(new, sample.draws),
        )

    def _take_over(self, *, strata_: StrataScores | None, **attributes: Any) -> Self:
        """Take over what a calibration has made. A warning that is an error changes nothing."""
        if strata_ is not None:
            attributes["strata_"] = strata_
        calibrated = copy(self)
        calibrated.__dict__.pop("strata_", None)
        calibrated.__dict__.update(attributes)
        calibrated._warn_if_too_coarse()
        self.__dict__.pop("strata_", None)
        self.__dict__.update(attributes)
        return self

    def _require_new(self, hashes: HashArray, method: str, *, also_reference: bool) -> None:
        """Refuse rows that trained and, where they would count twice, rows of the reference."""
        share = self._trained_rows.match(hashes)
        if share > 0.0:
            raise ValueError(
                f"{method} needs new rows, but about {share:.0%} of these rows have trained this "
                "detector. They look more nominal than new rows. Give rows that fit has not seen."
            )
        share = self._reference_rows.match(hashes) if also_reference else 0.0
        remedy = ", or replace the reference: replace=True" if method == "calibrate" else ""
        if share > 0.0:
            raise ValueError(
                f"{method} needs new rows, but about {share:.0%} of these rows are in the "
                f"reference already. Give other rows{remedy}."
            )

    def _require_new_groups(self, groups: frozenset[Hashable]) -> None:
        """Refuse groups that trained: their rows look more nominal than those of new groups."""
        trained = sorted(map(repr, groups & self._trained_groups))
        if trained:
            raise ValueError(
                f"Some groups have trained this detector: {', '.join(trained[:N_NAMED])}. Their "
                "rows look more nominal than rows of a new group. Leave them out. If they are "
                "other groups, give them new labels."
            )


def _delete_fitted_attributes(detector: FittingDetector) -> None:
    """Delete what an earlier fit has stored, and nothing that a subclass has."""
    names = detector.__dict__.pop("_fitted_names", ())
    for name in (*names, "strata_", "n_features_in_", "feature_names_in_"):
        detector.__dict__.pop(name, None)
