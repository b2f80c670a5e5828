"""Why rows alarm: how much the score gains if one feature alone moves, in closed form.

The kernel of a center is a product over the features. If feature f of a row moves to v, the kernel
becomes ``exp(-rest_j) exp(-(v - c_jf)^2)`` (in units of sigma), where ``rest_j`` is the squared
distance without f. The first factor depends on the row, the second on the candidate v. So the
scores of all candidates are one product of a matrix and a vector. Every ``rest_j`` is the sum over
the other features. It is not the full distance minus one term, because that difference loses all
digits if feature f is far out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from rankad._progress import track
from rankad._scaling import scaled, shift_and_scale
from rankad._typing import FloatArray, IntArray
from rankad.kernels import FarField, KernelExpansion
from rankad.scorer import Scorer
from rankad.statistics.neighbors import nearest_rows

__all__ = ["Explanation", "Reason"]

#: Largest number of entries of one work array. There are a few such arrays at a time.
_CHUNK_ENTRIES = 2**20

#: Rows, and features of each row, that the repr shows.
_SHOWN_ROWS = 10
_SHOWN_FEATURES = 3


class Reason(NamedTuple):
    """One feature of a row: its value, its best nominal value, and what that change gains.

    Attributes
    ----------
    name : str
        Name of the feature.
    value : float
        The row's value.
    best_value : float
        The nominal value at which the row scores best.
    gain : float
        Score gained by that change alone.
    p_value_after : float
        p-value of the row after that change alone.
    """

    name: str
    value: float
    best_value: float
    gain: float
    p_value_after: float

    def __str__(self) -> str:
        """The change of the value.

        >>> print(Reason("amount", 812.0, 43.1, gain=5.2, p_value_after=0.41))
        amount 812 -> 43.1
        """
        return f"{self.name} {self.value:.6g} -> {self.best_value:.6g}"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why rows alarm, feature by feature: the result of `RankAD.explain`.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the columns in ``fit``, or x0, x1 and so on if they had no names.
    values : array of shape (n_samples, n_features)
        The rows.
    scores, p_values : array of shape (n_samples,)
        Scores and p-values of the rows.
    gains : array of shape (n_samples, n_features)
        Score gained if that feature alone moves to its best nominal value. It is 0 if no nominal
        value is better than the row's own value.
    best_values : array of shape (n_samples, n_features)
        The best nominal value, or the row's own value if nothing is gained.
    p_values_after : array of shape (n_samples, n_features)
        p-value of the row after that change alone.
    gradients : array of shape (n_samples, n_features)
        Derivative of the score with respect to that feature. It is the derivative of the kernel sum
        (or of the far field), without the outward step.
    nearest : array of shape (n_samples, n_nearest)
        Indices of the nearest nominal rows (or of the nearest centers of the expansion), nearest
        first.
    nearest_distances : array of shape (n_samples, n_nearest)
        Distances to them, in scaled columns.
    nearest_rows : array of shape (n_samples, n_nearest, n_features)
        Those rows.

    Examples
    --------
    >>> from rankad import RankAD
    >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
    >>> explanation = RankAD(random_state=0).fit(nominal).explain([[0.0, 9.0, 0.0]])
    >>> explanation.top(0, n=1)[0].name
    'x1'
    """

    feature_names: tuple[str, ...]
    values: FloatArray
    scores: FloatArray
    p_values: FloatArray
    gains: FloatArray
    best_values: FloatArray
    p_values_after: FloatArray
    gradients: FloatArray
    nearest: IntArray
    nearest_distances: FloatArray
    nearest_rows: FloatArray

    def top(self, i: int, n: int = 3) -> list[Reason]:
        """The n features of row i that gain most, largest gain first; all if there are fewer.

        Parameters
        ----------
        i : int
            Index of the row.
        n : int, default=3
            Number of features.

        Returns
        -------
        reasons : list of Reason
        """
        order = np.argsort(-self.gains[i], kind="stable")[: _require_count("n", n)]
        columns = (self.values, self.best_values, self.gains, self.p_values_after)
        return [
            Reason(self.feature_names[f], *(float(column[i, f]) for column in columns))
            for f in order
        ]

    def __repr__(self) -> str:
        lines = [self._line(i) for i in range(min(len(self.values), _SHOWN_ROWS))]
        n_more = len(self.values) - len(lines)
        return "\n".join([*lines, f"... and {n_more} more rows"] if n_more else lines)

    def _line(self, i: int) -> str:
        reasons = self.top(i, _SHOWN_FEATURES)
        parts = [
            f"{reason} would give p = {reason.p_value_after:.3g}"
            for reason in reasons
            if reason.p_value_after > self.p_values[i]
        ]
        if not parts:
            parts.append("no feature alone would raise p")
            if reasons[0].gain > 0.0:
                parts[0] += f" (the score rises most by {reasons[0]})"
        return "; ".join([f"row {i}: p = {self.p_values[i]:.3g}", *parts])


def explained(
    scorer: Scorer,
    rows: FloatArray,
    feature_names: tuple[str, ...],
    *,
    among: FloatArray | None = None,
    n_nearest: int = 3,
    n_jobs: int | None = None,
) -> Explanation:
    """Explain the score of each row. `RankAD.explain` has checked the rows.

    The nearest rows are searched ``among`` the given rows, or else among the centers.
    """
    offset, scale = _shift_and_scale(scorer, rows.shape[1])
    kernel_sum = _KernelSum.from_expansion(scorer.expansion, offset, scale)
    n_nearest = _require_count("n_nearest", n_nearest)
    values = rows.copy()  # the caller may change the rows later
    nominal = kernel_sum.center_rows if among is None else among
    scores = scorer(values, n_jobs)
    best_values, gradients = _best_moves(kernel_sum, values)
    moved_scores = _moved_scores(scorer, values, best_values, n_jobs)
    scores_after = np.maximum(moved_scores, scores[:, None])  # the feature may also stay
    gains = scores_after - scores[:, None]
    nearest, distances = nearest_rows(
        scaled(scorer.scaler, nominal),
        scaled(scorer.scaler, values),
        min(n_nearest, len(nominal)),
        n_jobs,
    )
    return Explanation(
        feature_names=feature_names,
        values=values,
        scores=scores,
        p_values=scorer.reference.p_values(scores),
        gains=gains,
        best_values=np.where(gains > 0.0, best_values, values),
        p_values_after=scorer.reference.p_values(scores_after),
        gradients=gradients,
        nearest=nearest,
        nearest_distances=distances,
        nearest_rows=nominal[nearest],
    )


@dataclass(frozen=True, eq=False)
class _KernelSum:
    """The detector's expansion in float64: the arrays of the closed forms.

    ``g = sum_j weights_j (exp(-|u - centers_j|^2) - centered)`` for ``u = (x - offset) / unit``,
    which is in units of sigma. Beyond it is the far field. ``centers`` has shape ``(n_features,
    n_centers)``. ``center_rows`` has shape ``(n_centers, n_features)`` and the units of x.
    """

    center_rows: FloatArray
    centers: FloatArray
    weights: FloatArray
    offset: FloatArray
    unit: FloatArray
    centered: bool
    far_field: FarField | None

    @classmethod
    def from_expansion(
        cls, expansion: KernelExpansion, offset: FloatArray, scale: FloatArray
    ) -> Self:
        """Arrays in the units of the rows, given the shift and the scale of the columns."""
        centers = expansion.centers.astype(np.float64)
        return cls(
            centers * scale + offset,
            np.ascontiguousarray(centers.T) / expansion.sigma,
            expansion.weights.astype(np.float64),
            offset,
            scale * expansion.sigma,
            expansion.centered,
            expansion.far_field,
        )

    def steps(self, rows: FloatArray) -> FloatArray:
        """Differences to the centers, shape ``(n, n_features, n_centers)``."""
        # As in the expansion, rows are clipped where squared distances are still finite.
        limit = np.sqrt(np.finfo(np.float64).max / 16.0 / len(self.centers))
        with np.errstate(over="ignore"):
            coordinates = np.clip((rows - self.offset) / self.unit, -limit, limit)
        return np.asarray(coordinates[:, :, None] - self.centers)

    def candidates(self, feature: int) -> Iterator[_Candidates]:
        """Distinct values of the feature among the centers, in chunks that limit the memory."""
        offset, unit, centers = self.offset[feature], self.unit[feature], self.centers[feature]
        values = np.unique(self.center_rows[:, feature])
        kernel = np.expm1 if self.centered else np.exp
        for chunk in _chunks(len(values), len(centers)):
            # From the values that the user gets, which are rounded in the units of the rows.
            squares = ((values[chunk, None] - offset) / unit - centers) ** 2
            yield _Candidates(values[chunk], squares, kernel(-squares))

    def scores(self, rest: FloatArray, candidates: _Candidates) -> FloatArray:
        """Scores of a row at the candidates, given its squared distances without the feature."""
        weighted = self.weights * np.exp(-rest)
        sums = candidates.kernels @ weighted
        if self.centered:  # exp(-a-b) - 1 = exp(-a) (exp(-b) - 1) + exp(-a) - 1
            sums += self.weights @ np.expm1(-rest)
        if self.far_field is None:
            return np.asarray(sums)
        nearest = np.sqrt((candidates.squares + rest).min(axis=1))
        return self.far_field.applied(sums, nearest)

    def gradients(self, steps: FloatArray) -> FloatArray:
        """Derivatives of the score with respect to each feature, in the units of the rows."""
        exponents = np.square(steps).sum(axis=1)
        weighted = self.weights * np.exp(-exponents)
        gradients = (steps @ weighted[:, :, None])[:, :, 0]
        if self.far_field is not None:
            is_far = np.sqrt(exponents.min(axis=1)) > self.far_field.radius
            gradients[is_far] = steps[is_far, :, exponents[is_far].argmin(axis=1)]
        return np.asarray(-2.0 * gradients / self.unit)


class _Candidates(NamedTuple):
    """Values of a feature, their squared distances to the centers in it, and their kernels."""

    values: FloatArray
    squares: FloatArray
    kernels: FloatArray


def _best_moves(kernel_sum: _KernelSum, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Value at which each row scores best, for each feature moved alone, and the gradients."""
    best_values, gradients = np.empty_like(rows), np.empty_like(rows)
    chunks = _chunks(len(rows), kernel_sum.centers.size)
    for chunk in track(chunks, len(chunks), "explaining rows"):
        steps = kernel_sum.steps(rows[chunk])
        gradients[chunk] = kernel_sum.gradients(steps)
        rests = _sums_of_others(np.square(steps))
        for feature in range(rows.shape[1]):
            best_values[chunk, feature] = _best_values(kernel_sum, rests[:, feature], feature)
    return best_values, gradients


def _best_values(kernel_sum: _KernelSum, rests: FloatArray, feature: int) -> FloatArray:
    """Candidate of the feature at which each row scores best."""
    best_values, best_scores = np.zeros(len(rests)), np.full(len(rests), -np.inf)
    for candidates in kernel_sum.candidates(feature):
        # Row by row, so that the result does not depend on the batch, not even by rounding.
        for i, rest in enumerate(rests):
            scores = kernel_sum.scores(rest, candidates)
            best = scores.argmax()
            if scores[best] > best_scores[i]:
                best_values[i], best_scores[i] = candidates.values[best], scores[best]
    return best_values


def _sums_of_others(terms: FloatArray) -> FloatArray:
    """For each index of axis 1, the sum over all other indices.

    >>> _sums_of_others(np.array([[[1.0], [1e20], [5.0]]]))[0, :, 0]
    array([1.e+20, 6.e+00, 1.e+20])
    """
    sums = np.zeros_like(terms)
    np.cumsum(terms[:, :-1], axis=1, out=sums[:, 1:])
    sums[:, :-1] += np.cumsum(terms[:, :0:-1], axis=1)[:, ::-1]
    return sums


def _moved_scores(
    scorer: Scorer, rows: FloatArray, best_values: FloatArray, n_jobs: int | None
) -> FloatArray:
    """The detector's scores of each row with one feature moved, one column for each feature."""
    scores = np.empty_like(rows)
    features = np.arange(rows.shape[1])
    for chunk in _chunks(len(rows), rows.shape[1] ** 2):
        moved = np.repeat(rows[chunk, None], len(features), axis=1)
        moved[:, features, features] = best_values[chunk]
        moved_scores = scorer(moved.reshape(-1, len(features)), n_jobs)
        scores[chunk] = moved_scores.reshape(-1, len(features))
    return scores


def _chunks(n: int, n_entries_each: int) -> list[slice]:
    """Slices of n items that have ``n_entries_each`` entries each."""
    n_chunk = max(1, _CHUNK_ENTRIES // n_entries_each)
    return [slice(start, start + n_chunk) for start in range(0, n, n_chunk)]


def _shift_and_scale(scorer: Scorer, n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Shift and scale of the columns. Refuse a scaler that does more than that."""
    columns = shift_and_scale(scorer.scaler, n_columns)
    if columns is None:
        raise TypeError(
            f"The scaler {scorer.scaler} does more than shift and scale each column, so scores "
            "cannot be explained column by column. Fit with scaler='standard', 'robust' or None. "
            "Or transform the rows first, then fit and explain the transformed rows."
        )
    return columns


def _require_count(name: str, count: Any) -> int:
    if not isinstance(count, Integral) or count < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {count!r}.")
    return int(count)
