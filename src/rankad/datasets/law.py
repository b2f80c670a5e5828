"""Smooth laws with a known density: samples of them, and the score of the Bayes detector."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state

from rankad._typing import FloatArray


class Law(Protocol):
    """A probability law that can be sampled and has a known density.

    The laws are ``rankad.datasets.NormalMixture`` and those in ``rankad.datasets.law``.
    """

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point; ``-inf`` outside the support."""


class Univariate(Protocol):
    """The law of one column of a product: any frozen continuous law of ``scipy.stats``."""

    def rvs(self, size: int, random_state: Any) -> Any:
        """Draw ``size`` independent values."""

    def logpdf(self, x: Any, /) -> Any:
        """Logarithm of the density at each value."""


@dataclass(frozen=True)
class StudentT:
    """Student's t law in many columns, with the scale matrix ``I``.

    A point is ``z / sqrt(s / degrees)`` with ``z`` normal and ``s`` chi-squared, one ``s`` for all
    columns. Fewer degrees of freedom make heavier tails.

    Parameters
    ----------
    n_features : int
        Number of columns.
    degrees : float
        Degrees of freedom.

    Examples
    --------
    >>> law = StudentT(n_features=2, degrees=4)
    >>> law.sample(3, random_state=0).shape
    (3, 2)
    >>> law.log_density(np.array([[0.0, 0.0], [1e6, 0.0]])).round(2)
    array([ -1.84, -80.57])
    """

    n_features: int
    degrees: float

    def __post_init__(self) -> None:
        if self.n_features < 1:
            raise ValueError(f"n_features={self.n_features} must be at least 1.")
        _check_positive("degrees", self.degrees)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""
        rng = check_random_state(random_state)
        normal = rng.standard_normal((n, self.n_features))
        return np.asarray(normal / np.sqrt(rng.chisquare(self.degrees, (n, 1)) / self.degrees))

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point."""
        d, v = self.n_features, self.degrees
        norm = gammaln((v + d) / 2) - gammaln(v / 2) - d / 2 * np.log(v * np.pi)
        return np.asarray(norm - (v + d) / 2 * np.log1p((points**2).sum(axis=1) / v))


@dataclass(frozen=True)
class Product:
    """Independent columns, each with its own law.

    Parameters
    ----------
    marginals : tuple of frozen laws of ``scipy.stats``
        One law per column.

    Examples
    --------
    >>> from scipy.stats import gamma
    >>> law = Product((gamma(2.0), gamma(3.0)))
    >>> law.sample(3, random_state=0).shape
    (3, 2)
    >>> law.log_density(np.array([[1.0, 1.0], [-1.0, 1.0]])).round(2)
    array([-2.69,  -inf])
    """

    marginals: tuple[Univariate, ...]

    def __post_init__(self) -> None:
        if not self.marginals:
            raise ValueError("marginals is empty. Give one law for each column.")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.marginals)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""
        rng = check_random_state(random_state)
        return np.column_stack([marginal.rvs(n, rng) for marginal in self.marginals])

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point; ``-inf`` outside the support."""
        columns = zip(self.marginals, points.T, strict=True)
        return np.asarray(sum(marginal.logpdf(column) for marginal, column in columns))


@dataclass(frozen=True, eq=False)
class Linear:
    """The law of ``x = matrix @ z``, whose columns depend on each other.

    Parameters
    ----------
    law : Law
        The law of ``z``.
    matrix : ndarray of shape (d, d)
        An invertible matrix.

    Examples
    --------
    >>> law = Linear(StudentT(2, degrees=4), np.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> law.sample(3, random_state=0).shape
    (3, 2)
    >>> law.log_density(np.array([[2.0, 1.0]])).round(2)
    array([-3.2])
    """

    law: Law
    matrix: FloatArray

    def __post_init__(self) -> None:
        d = self.law.n_features
        if self.matrix.shape != (d, d):
            raise ValueError(f"matrix has shape {self.matrix.shape}; it must be ({d}, {d}).")
        if not np.isfinite(self._log_determinant):
            raise ValueError(
                "matrix is singular, so the law has no density. Give an invertible matrix."
            )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.law.n_features

    @cached_property
    def _log_determinant(self) -> float:
        return float(np.linalg.slogdet(self.matrix).logabsdet)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""
        return np.asarray(self.law.sample(n, random_state) @ self.matrix.T)

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point: that of ``z`` minus ``log |det matrix|``."""
        sources = np.linalg.solve(self.matrix, points.T).T
        return np.asarray(self.law.log_density(sources) - self._log_determinant)


@dataclass(frozen=True)
class Ring:
    """A ring in two columns: the distance to 0 is ``|N(radius, width^2)|``, the angle uniform.

    The density is that of the distance ``r``, a folded normal, divided by ``2 pi r``. It has a pole
    at 0. If the width is small against the radius, there is almost no mass near the pole.

    Parameters
    ----------
    radius : float
        Distance of the crest to 0.
    width : float
        Standard deviation of the distance before its absolute value is taken.

    Examples
    --------
    >>> law = Ring(radius=3.0, width=0.4)
    >>> law.sample(3, random_state=0).shape
    (3, 2)
    >>> law.log_density(np.array([[3.0, 0.0], [0.0, 1.0]])).round(2)
    array([ -2.94, -14.34])
    """

    radius: float
    width: float

    def __post_init__(self) -> None:
        if self.radius < 0:
            raise ValueError(f"radius={self.radius} must be at least 0.")
        _check_positive("width", self.width)

    @property
    def n_features(self) -> int:
        """Number of columns: two."""
        return 2

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""
        rng = check_random_state(random_state)
        distance = np.abs(rng.normal(self.radius, self.width, n))
        angle = rng.uniform(0.0, 2 * np.pi, n)
        return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point; finite at the pole, too."""
        distance = np.maximum(np.hypot(points[:, 0], points[:, 1]), np.finfo(np.float64).tiny)
        folded = np.logaddexp(
            _log_normal(distance - self.radius, self.width),
            _log_normal(distance + self.radius, self.width),
        )
        return np.asarray(folded - np.log(2 * np.pi * distance))


@dataclass(frozen=True, eq=False)
class Graph:
    """Points near a curved surface: the graph of a smooth function, plus normal noise.

    The first columns follow a base law. The further columns are functions of the first ones, plus
    independent noise ``N(0, noise^2)``. The density is that of the base times that of the noise.

    Parameters
    ----------
    base : Law
        The law of the first columns.
    surface : callable
        Takes base rows of shape (n, base.n_features); returns the further columns without their
        noise, of shape (n, len(noise)).
    noise : tuple of float
        Standard deviation of the noise in each further column.

    Examples
    --------
    >>> parabola = Graph(StudentT(1, degrees=4), surface=np.square, noise=(0.1,))
    >>> parabola.sample(3, random_state=0).shape
    (3, 2)
    >>> parabola.log_density(np.array([[1.0, 1.0], [1.0, 2.0]])).round(2)
    array([ -0.16, -50.16])
    """

    base: Law
    surface: Callable[[FloatArray], FloatArray]
    noise: tuple[float, ...]

    def __post_init__(self) -> None:
        for deviation in self.noise:
            _check_positive("noise", deviation)

    @property
    def n_features(self) -> int:
        """Number of columns: those of the base and the further ones."""
        return self.base.n_features + len(self.noise)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draw ``n`` independent points."""
        rng = check_random_state(random_state)
        base = self.base.sample(n, rng)
        noise = rng.standard_normal((n, len(self.noise))) * self.noise
        return np.hstack([base, self.surface(base) + noise])

    def log_density(self, points: FloatArray) -> FloatArray:
        """Logarithm of the density at each point; ``-inf`` outside the base's support."""
        base, further = np.hsplit(points, [self.base.n_features])
        off_surface = _log_normal(further - self.surface(base), np.asarray(self.noise))
        return np.asarray(self.base.log_density(base) + off_surface.sum(axis=1))


def _log_normal(deviations: FloatArray, scale: float | FloatArray) -> FloatArray:
    """Logarithm of the density of ``N(0, scale^2)``."""
    return np.asarray(-0.5 * ((deviations / scale) ** 2 + np.log(2 * np.pi)) - np.log(scale))


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name}={value} must be above 0.")
