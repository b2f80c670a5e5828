"""Errors of the level sets of a score against those of the true density.

The level set that holds a share q of the nominal law is where the score is at least its ``1 - q``
quantile. The error is the symmetric difference to the level set of the density, measured by nominal
points (mass) and by volume.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_t

from rankad.datasets.law import Law

Score = Callable[[np.ndarray], np.ndarray]

#: Shares of the nominal law in the level sets.
SHARES = (0.5, 0.9, 0.97)

#: The broad law that measures volumes: its width relative to the data, and its degrees of freedom.
_WIDENING, _DEGREES = 1.5, 3

#: Fewest points in the true set, counted by their weights, for a known volume.
_MIN_EFFECTIVE_SIZE = 100.0


@dataclass(frozen=True)
class BroadSample:
    """Points of a broad law, weighted by the volume that each represents."""

    points: np.ndarray
    volumes: np.ndarray

    @classmethod
    def around(cls, nominal: np.ndarray, n: int, rng: np.random.RandomState) -> "BroadSample":
        """Points of a wide Student's t with the mean and covariance of the nominal points."""
        shape = _WIDENING**2 * np.atleast_2d(np.cov(nominal, rowvar=False))
        law = multivariate_t(nominal.mean(axis=0), shape, df=_DEGREES)
        points = law.rvs(n, random_state=rng).reshape(n, nominal.shape[1])
        return cls(points, np.exp(-law.logpdf(points)).reshape(n) / n)

    def volume(self, is_in: np.ndarray) -> float:
        """Volume of the set that contains the marked points."""
        return float(self.volumes[is_in].sum())

    def effective_size(self, is_in: np.ndarray) -> float:
        """Number of equally weighted points that would measure the volume equally well."""
        volumes = self.volumes[is_in]
        return float(volumes.sum() ** 2 / (volumes**2).sum()) if is_in.any() else 0.0


def level_set_errors(
    score: Score, law: Law, reference: np.ndarray, fresh: np.ndarray, broad: BroadSample
) -> dict[str, float]:
    """Mass and volume of the symmetric difference, for each share.

    ``mass_90`` is the share of the fresh nominal points in the difference. ``volume_90`` is its
    volume divided by that of the true set, and NaN where the true set has too few points of the
    broad sample. The quantiles are those of the reference, which are nominal points too.
    """
    at = {
        name: (score(points), law.log_density(points))
        for name, points in (("reference", reference), ("fresh", fresh), ("broad", broad.points))
    }
    errors = {}
    for share in SHARES:
        cuts = [np.quantile(values, 1.0 - share) for values in at["reference"]]
        found, true = (values >= cut for values, cut in zip(at["fresh"], cuts, strict=True))
        errors[f"mass_{100 * share:.0f}"] = float((found != true).mean())
        found, true = (values >= cut for values, cut in zip(at["broad"], cuts, strict=True))
        is_known = broad.effective_size(true) >= _MIN_EFFECTIVE_SIZE
        error = broad.volume(found != true) / broad.volume(true) if is_known else np.nan
        errors[f"volume_{100 * share:.0f}"] = error
    return errors
