"""Mixtures of normal laws, with their density, which is the score of the Bayes detector."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from rankad._typing import FloatArray


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Mixture of normal laws whose coordinates are independent within each component.

    Parameters
    ----------
    weights : ndarray of shape (m,)
        Probability of each component.
    means, variances : ndarray of shape (m, d)
        Mean and variance of each coordinate in each component.

    Examples
    --------
    >>> law = NormalMixture(np.array([1.0]), np.array([[0.0, 0.0]]), np.array([[1.0, 4.0]]))
    >>> law.sample(3, random_state=0).shape
    (3, 2)
    >>> bool(np.isclose(law.density(np.zeros((1, 2)))[0], 1 / (4 * np.pi)))
    True
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.means.shape[1])

    @property
    def mean(self) -> FloatArray:
        """Mean of the mixture."""
        return np.asarray(self.weights @ self.means)

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the mixture, within the components plus between their means."""
        deviations = self.means - self.mean
        within = np.diag(self.weights @ self.variances)
        return np.asarray(within + (self.weights * deviations.T) @ deviations)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""
        rng = check_random_state(random_state)
        component = rng.choice(len(self.weights), size=n, p=self.weights)
        noise = rng.standard_normal((n, self.n_features))
        return np.asarray(self.means[component] + np.sqrt(self.variances[component]) * noise)

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point; finite even if the density underflows."""
        deviations = points[:, None, :] - self.means
        exponents = -0.5 * (deviations**2 / self.variances).sum(axis=2)
        norms = -0.5 * np.log(2 * np.pi * self.variances).sum(axis=1)
        return np.asarray(logsumexp(exponents + norms, axis=1, b=self.weights))

    def density(self, points: FloatArray) -> FloatArray:
        """Density at each point."""
        return np.exp(self.log_density(points))
