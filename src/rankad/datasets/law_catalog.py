"""The laws that rankad's accuracy is measured on, by name, and anomalies for each of them."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.linalg import toeplitz
from scipy.stats import beta, gamma, gennorm, logistic, lognorm, norm, weibull_min
from sklearn.utils import check_random_state

from rankad._typing import FloatArray
from rankad.datasets.law import Graph, Law, Linear, Product, Ring, StudentT
from rankad.datasets.mixture import NormalMixture

_NOMINAL_SIZE = 2000  # nominal points that the place and the scales of a law are estimated from
_BOX_TAIL = 0.001  # share of nominal points beyond each side of the box, before it is widened
_BOX_MARGIN = 0.1  # the box is widened by this share of its range on each side
_BLUR = 1.5  # noise added to a blurred point, in column scales
_CLUSTER_WIDTH = 0.1  # standard deviation inside a cluster, in column scales
_THIN_SHARE = 0.005  # share of nominal points at a lower density than the cluster
_NORMAL_IQR = 1.349  # interquartile range of N(0, 1)


def _normal(n_features: int) -> NormalMixture:
    """The standard normal law."""
    return NormalMixture(np.ones(1), np.zeros((1, n_features)), np.ones((1, n_features)))


def _two_gaussians(n_features: int) -> NormalMixture:
    """A wide and a narrow normal cloud, four apart in the first column."""
    step = 2.0 * np.eye(1, n_features)
    deviations = np.array([[1.0], [0.4]]) * np.ones(n_features)
    return NormalMixture(np.array([0.5, 0.5]), np.concatenate([-step, step]), deviations**2)


def _clusters_in_two_columns() -> NormalMixture:
    """Five clusters of unequal size and width; the second and the fourth are long."""
    deviations = np.array([[1.2, 1.2], [0.4, 1.1], [0.5, 0.5], [0.9, 0.3], [0.3, 0.3]])
    return NormalMixture(
        weights=np.array([0.45, 0.25, 0.15, 0.1, 0.05]),
        means=np.array([[0.0, 0.0], [4.5, 1.0], [-4.0, 3.0], [1.0, -5.0], [-3.5, -3.5]]),
        variances=deviations**2,
    )


def _clusters_in_ten_columns() -> NormalMixture:
    """Four clusters of unequal size and width, all but the first shifted in different columns."""
    means = np.zeros((4, 10))
    means[1, :3], means[2, 3:6], means[3, 6:] = 3.0, -3.0, 2.0
    deviations = np.array([[1.0], [0.5], [0.8], [0.3]]) * np.linspace(0.7, 1.3, 10)
    return NormalMixture(np.array([0.5, 0.3, 0.15, 0.05]), means, deviations**2)


def _banana(base: FloatArray) -> FloatArray:
    """A parabola of the first column, and a column that is only noise."""
    return np.hstack([0.7 * (base**2 - 1.0), np.zeros_like(base)])


def _sheet(base: FloatArray) -> FloatArray:
    """Eight smooth functions of two columns."""
    u, v = base.T
    return np.column_stack(
        [
            np.sin(2 * u),
            np.cos(2 * v),
            u * v,
            (u**2 - 1) / 2,
            (v**2 - 1) / 2,
            np.sin(u + v),
            np.cos(u - v),
            np.tanh(u) * np.sin(v),
        ]
    )


def _cross() -> NormalMixture:
    """Two long clouds that cross each other."""
    variances = np.array([[4.0, 0.09], [0.09, 4.0]])
    return NormalMixture(np.array([0.6, 0.4]), np.zeros((2, 2)), variances)


def _clusters_in_five_columns() -> NormalMixture:
    """Six clusters of decreasing size, from 40% to 4% of the points, and of different widths."""
    means = np.zeros((6, 5))
    means[np.arange(1, 6), np.arange(5)] = [3.0, -3.0, 4.0, -2.5, 3.5]
    deviations = np.array([[1.0], [0.6], [0.4], [0.9], [0.3], [0.5]]) * np.ones(5)
    return NormalMixture(np.array([0.4, 0.24, 0.15, 0.1, 0.07, 0.04]), means, deviations**2)


def _helix(base: FloatArray) -> FloatArray:
    """A circle around the first column."""
    return np.hstack([2.0 * np.cos(2.0 * base), 2.0 * np.sin(2.0 * base)])


def _curve(base: FloatArray) -> FloatArray:
    """Seven smooth functions of one column."""
    return np.hstack([np.sin((k + 1) * base / 2.0) for k in range(7)])


def _correlated(law: Law, correlation: float) -> Linear:
    """The law after a map that gives columns ``i`` and ``j`` correlation ``c^|i - j|``."""
    correlations = toeplitz(correlation ** np.arange(law.n_features))
    return Linear(law, np.linalg.cholesky(correlations))


def _families(n_features: int) -> dict[str, Law]:
    """A normal law, a law of two clusters, and a law with heavy tails."""
    return {
        "gauss": _normal(n_features),
        "two gaussians": _two_gaussians(n_features),
        "student": StudentT(n_features, degrees=4),
    }


#: The laws that the defaults were chosen on: three families, each in 1, 2, 3, 5, 8 and 16 columns.
SMOOTH_LAWS: Final[dict[str, Law]] = {
    f"{family} {d}": law for d in (1, 2, 3, 5, 8, 16) for family, law in _families(d).items()
}

#: Laws set aside for a last test. No choice in the package was made on them.
FURTHER_LAWS: Final[dict[str, Law]] = {
    # Laplace's law as gennorm, because the log density of scipy's laplace is -inf far out, where
    # the density underflows.
    "laplace 1": Product((gennorm(1.0),)),
    "gamma 2": Product((gamma(2.0),) * 2),
    "ring 2": Ring(radius=3.0, width=0.4),
    "clusters 2": _clusters_in_two_columns(),
    "banana 3": Graph(_normal(1), _banana, noise=(0.4, 2.0)),
    "beta 3": Product((beta(2.0, 3.0),) * 3),
    "lognormal 4": Product((lognorm(0.6),) * 4),
    "student 5, 2 degrees": StudentT(5, degrees=2),
    "exponential 6": Product((gamma(1.5),) * 6),
    "correlated 8": _correlated(_normal(8), 0.8),
    "clusters 10": _clusters_in_ten_columns(),
    "sheet 10": Graph(_normal(2), _sheet, noise=(0.1,) * 8),
    "correlated 16": _correlated(StudentT(16, degrees=6), 0.9),
}


#: Laws for a second last test. They were written after the defaults were fixed and after
#: `FURTHER_LAWS` had been used.
LAST_LAWS: Final[dict[str, Law]] = {
    "logistic 1": Product((logistic(),)),
    "clusters 1": NormalMixture(
        np.array([0.6, 0.3, 0.1]),
        np.array([[0.0], [4.0], [-3.0]]),
        np.array([[1.0], [0.5], [0.3]]) ** 2,
    ),
    "cross 2": _cross(),
    "weibull 3": Product((weibull_min(1.5),) * 3),
    "helix 3": Graph(_normal(1), _helix, noise=(0.3, 0.3)),
    "student 4, 3 degrees": _correlated(StudentT(4, degrees=3), 0.6),
    "clusters 5": _clusters_in_five_columns(),
    "mixed 6": Product(
        (norm(), gamma(3.0), beta(2.0, 2.0), logistic(), lognorm(0.4), gennorm(1.5))
    ),
    "curve 8": Graph(_normal(1), _curve, noise=(0.2,) * 7),
    "correlated 12": _correlated(Product((logistic(),) * 12), 0.7),
}


def laws(group: str = "smooth") -> dict[str, Law]:
    """Laws with a known density that rankad's accuracy is measured on, by name.

    Parameters
    ----------
    group : {"smooth", "further", "last"}, default="smooth"
        The defaults were chosen on the laws of "smooth". "further" and "last" were used afterwards,
        each once.

    Returns
    -------
    laws : dict of str to Law

    Examples
    --------
    >>> law = laws()["two gaussians 2"]
    >>> law.sample(3, random_state=0).shape
    (3, 2)
    """
    groups = {"smooth": SMOOTH_LAWS, "further": FURTHER_LAWS, "last": LAST_LAWS}
    if group not in groups:
        raise ValueError(f"group={group!r} must be one of {', '.join(map(repr, groups))}.")
    return dict(groups[group])


def law_anomalies(
    law: Law, kind: str, n: int, random_state: Any = None, *, scale: float | None = None
) -> FloatArray:
    """Anomalies for a law, of one of three kinds.

    Parameters
    ----------
    law : Law
        The nominal law.
    kind : {"uniform", "blurred", "cluster"}
        "uniform": uniform in a box. The box goes from the .1% to the 99.9% quantile of each column
        of a nominal sample, and is widened by a tenth of its range on each side.
        "blurred": nominal points plus normal noise of 1.5 column scales.
        "cluster": one tight normal cluster where the nominal density is low. Its standard deviation
        is a tenth of the column scales. Its center is one of 2,000 blurred points: the point whose
        log density is closest to the .5% quantile of the log densities of a nominal sample.
    n : int
        Number of anomalies.
    random_state : int, RandomState or None, default=None
        Seed, for the same rows every time.
    scale : float, default=None
        One scale for all columns, so ``scale=1`` is the unit of the rows. By default each column
        has its own scale: the interquartile range of a nominal sample divided by 1.349. That is the
        standard deviation of a normal column, and heavy tails do not change it. "uniform" does not
        use scales.

    Returns
    -------
    ndarray of shape (n, law.n_features)

    Examples
    --------
    >>> law = FURTHER_LAWS["ring 2"]
    >>> anomalies = law_anomalies(law, "cluster", 500, random_state=0)
    >>> anomalies.std(axis=0).round(1)
    array([0.3, 0.3])
    >>> nominal = law.sample(500, random_state=1)
    >>> bool(np.median(law.log_density(anomalies)) < np.median(law.log_density(nominal)))
    True
    """
    if kind not in _KINDS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, _KINDS))}.")
    if n < 0:
        raise ValueError(f"n={n} must be at least 0.")
    if scale is not None and not scale > 0:
        raise ValueError(f"scale={scale} must be above 0, or None for one scale per column.")
    rng = check_random_state(random_state)
    nominal = law.sample(_NOMINAL_SIZE, rng)
    scales = _column_scales(nominal) if scale is None else np.full(law.n_features, scale)
    return _KINDS[kind](law, nominal, scales, n, rng)


def _uniform(
    law: Law, nominal: FloatArray, scales: FloatArray, n: int, rng: np.random.RandomState
) -> FloatArray:
    low, high = np.quantile(nominal, [_BOX_TAIL, 1 - _BOX_TAIL], axis=0)
    margin = _BOX_MARGIN * (high - low)
    return rng.uniform(low - margin, high + margin, size=(n, law.n_features))


def _blurred(
    law: Law, nominal: FloatArray, scales: FloatArray, n: int, rng: np.random.RandomState
) -> FloatArray:
    return law.sample(n, rng) + _BLUR * scales * rng.standard_normal((n, law.n_features))


def _cluster(
    law: Law, nominal: FloatArray, scales: FloatArray, n: int, rng: np.random.RandomState
) -> FloatArray:
    candidates = _blurred(law, nominal, scales, _NOMINAL_SIZE, rng)
    thin = np.quantile(law.log_density(nominal), _THIN_SHARE)
    center = candidates[np.argmin(np.abs(law.log_density(candidates) - thin))]
    noise = _CLUSTER_WIDTH * scales * rng.standard_normal((n, law.n_features))
    return np.asarray(center + noise)


def _column_scales(rows: FloatArray) -> FloatArray:
    """Standard deviation of each column, estimated from its interquartile range.

    >>> rows = np.random.RandomState(0).normal(scale=[1.0, 5.0], size=(10_000, 2))
    >>> _column_scales(rows).round()
    array([1., 5.])
    """
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    return np.asarray((high - low) / _NORMAL_IQR)


_Maker = Callable[[Law, FloatArray, FloatArray, int, np.random.RandomState], FloatArray]

_KINDS: Final[dict[str, _Maker]] = {
    "uniform": _uniform,
    "blurred": _blurred,
    "cluster": _cluster,
}
