"""Density ratios of new rows to old rows, estimated by classifiers between them.

The odds of a classifier that tells new rows from old ones are the density ratio, up to the numbers
of rows. Each classifier learns from four fifths of the rows and is judged on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray, IntArray

#: Estimated ratios are kept within this factor of 1. Beyond it, a classifier only guesses.
_MAX_RATIO = 100.0

#: Number of folds.
_N_FOLDS = 5

#: Up to so many columns the quadratic classifier also sees their products.
_MAX_PRODUCT_COLUMNS = 20

#: z-scores are cut here before they are squared.
_CUT = 5.0


@dataclass(frozen=True, eq=False)
class DensityRatio:
    """How many times as likely a row is among the new rows as among the old ones.

    Call it with rows.

    Attributes
    ----------
    model : str
        Name of the classifier.
    losses : dict
        Mean held-out log loss of each classifier that was tried. If nothing distinguishes the rows,
        the best is the entropy of their shares: log 2 for equal numbers.
    old_ratios : ndarray
        Ratios of the old rows, each by the classifier that has not learned from it.
    """

    model: str
    losses: dict[str, float]
    old_ratios: FloatArray = field(repr=False)
    _classifiers: Sequence[Any] = field(repr=False)
    _log_shares: float = field(repr=False)

    def __call__(self, rows: ArrayLike) -> FloatArray:
        """Ratio of each row, by the mean log odds of the classifiers of all folds."""
        rows = np.asarray(rows, dtype=np.float64)
        log_odds = np.mean([each.decision_function(rows) for each in self._classifiers], axis=0)
        return _ratio(log_odds, self._log_shares)


def density_ratio(X: ArrayLike, X_new: ArrayLike, *, model: str = "auto") -> DensityRatio:
    """Estimate the density ratio of new rows to old rows, by classifiers between them.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Old rows.
    X_new : array-like of shape (n_new, d)
        New rows.
    model : {"auto", "linear", "quadratic", "boosting"}, default="auto"
        Classifier: logistic regression in the columns (a shift of the mean), the same with squares
        and products (also a change of spread), or gradient-boosted trees (any change). "auto" takes
        the first of them whose held-out log loss is within one standard error of the best.

    Returns
    -------
    ratio : callable
        A function from rows to density ratios: how many times as likely a row is among the new
        rows. The ratios lie between 1/100 and 100. Its ``model`` and ``losses`` say which
        classifier was taken, and how well each did.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ratio = density_ratio(rng.normal(size=(2000, 1)), rng.normal(1.0, size=(2000, 1)))
    >>> ratio.model, (ratio([[0.0], [1.0]]) / np.exp([-0.5, 0.5])).round(1)  # the true one
    ('linear', array([1., 1.]))
    """
    if model not in ("auto", *_CLASSIFIERS):
        raise ValueError(f"model must be one of auto, {', '.join(_CLASSIFIERS)}; got {model!r}.")
    old, new = np.asarray(X, dtype=np.float64), np.asarray(X_new, dtype=np.float64)
    if min(len(old), len(new)) < 2:
        raise ValueError(
            f"X and X_new need at least 2 rows each; got {len(old)} and {len(new)}. Give more rows."
        )
    rows, is_new = np.concatenate([old, new]), np.repeat([0, 1], [len(old), len(new)])
    names = list(_CLASSIFIERS) if model == "auto" else [model]
    tried = {name: _cross_fitted(_CLASSIFIERS[name], rows, is_new) for name in names}
    losses = {name: _log_losses(log_odds, is_new) for name, (_, log_odds) in tried.items()}
    name = _simplest_of_the_best(losses)
    classifiers, log_odds = tried[name]
    log_shares = float(np.log(len(old) / len(new)))
    return DensityRatio(
        name,
        {each: float(values.mean()) for each, values in losses.items()},
        old_ratios=_ratio(log_odds[: len(old)], log_shares),
        _classifiers=classifiers,
        _log_shares=log_shares,
    )


def _cross_fitted(
    make: Callable[[], Any], rows: FloatArray, is_new: IntArray
) -> tuple[list[Any], FloatArray]:
    """One classifier for each fold, and the log odds of each row by the one without its fold."""
    from sklearn.model_selection import StratifiedKFold

    n_folds = min(_N_FOLDS, *np.bincount(is_new))
    classifiers, log_odds = [], np.empty(len(rows))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for training, held_out in folds.split(rows, is_new):
        classifiers.append(make().fit(rows[training], is_new[training]))
        log_odds[held_out] = classifiers[-1].decision_function(rows[held_out])
    return classifiers, log_odds


def _log_losses(log_odds: FloatArray, is_new: IntArray) -> FloatArray:
    return np.asarray(np.logaddexp(0.0, np.where(is_new == 1, -log_odds, log_odds)))


def _simplest_of_the_best(losses: dict[str, FloatArray]) -> str:
    """First name whose mean loss is within one standard error of the lowest mean loss."""
    best = min(losses.values(), key=np.mean)

    def is_as_good(values: FloatArray) -> bool:
        excess = values - best
        return bool(excess.mean() <= excess.std() / np.sqrt(len(excess)))

    return next(name for name, values in losses.items() if is_as_good(values))


def _ratio(log_odds: FloatArray, log_shares: float) -> FloatArray:
    bound = np.log(_MAX_RATIO)
    return np.asarray(np.exp(np.clip(log_odds + log_shares, -bound, bound)))


def _linear() -> Any:
    # Imported here, because most users of a detector do not need it.
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _quadratic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return make_pipeline(
        StandardScaler(),
        FunctionTransformer(with_products),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=30, early_stopping=False, random_state=0
    )


def with_products(z: FloatArray) -> FloatArray:
    """Columns with their squares and, of few columns, their products."""
    cut = np.clip(z, -_CUT, _CUT)
    if z.shape[1] > _MAX_PRODUCT_COLUMNS:
        return np.hstack([z, cut**2])
    first, second = np.triu_indices(z.shape[1])
    return np.hstack([z, cut[:, first] * cut[:, second]])


#: Classifiers by name, from simple to rich.
_CLASSIFIERS: Final[dict[str, Callable[[], Any]]] = {
    "linear": _linear,
    "quadratic": _quadratic,
    "boosting": _boosting,
}
