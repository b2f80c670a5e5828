import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz
from scipy.special import gamma as gamma_function
from scipy.stats import multivariate_normal, multivariate_t, norm

from rankad import datasets
from rankad.datasets import FURTHER_LAWS, LAST_LAWS, SMOOTH_LAWS, law_anomalies
from rankad.datasets.law import Graph, Linear, Product, Ring, StudentT

CATALOG = {**SMOOTH_LAWS, **FURTHER_LAWS, **LAST_LAWS}
KINDS = ("uniform", "blurred", "cluster")
FLAT = [name for name, law in CATALOG.items() if law.n_features <= 2]

every_law = pytest.mark.parametrize("name", CATALOG)
flat_laws = pytest.mark.parametrize("name", FLAT)
every_kind = pytest.mark.parametrize("kind", KINDS)


def mixture_density(weights, means, deviations):
    components = [
        multivariate_normal(m, np.diag(s**2)) for m, s in zip(means, deviations, strict=True)
    ]
    return lambda x: sum(w * c.pdf(x) for w, c in zip(weights, components, strict=True))


def section_9_densities(d):
    step = 2 * np.eye(d)[0]
    return {
        f"gauss {d}": multivariate_normal(np.zeros(d)).pdf,
        f"two gaussians {d}": mixture_density(
            [0.5, 0.5], [-step, step], [np.ones(d), np.full(d, 0.4)]
        ),
        f"student {d}": multivariate_t(np.zeros(d), df=4).pdf,
    }


def ring_density(x):
    r = np.linalg.norm(x, axis=1)
    return (norm.pdf(r, 3.0, 0.4) + norm.pdf(-r, 3.0, 0.4)) / (2 * np.pi * r)


def banana_density(x):
    first, second, third = x.T
    return norm.pdf(first) * norm.pdf(second, 0.7 * (first**2 - 1), 0.4) * norm.pdf(third / 2) / 2


def sheet_density(x):
    u, v, a, b, c, d, e, f, g, h = x.T
    residuals = [
        a - np.sin(2 * u),
        b - np.cos(2 * v),
        c - u * v,
        d - (u**2 - 1) / 2,
        e - (v**2 - 1) / 2,
        f - np.sin(u + v),
        g - np.cos(u - v),
        h - np.tanh(u) * np.sin(v),
    ]
    return norm.pdf(u) * norm.pdf(v) * norm.pdf(residuals, scale=0.1).prod(axis=0)


def correlations(d, c):
    return toeplitz(c ** np.arange(d))


def logistic_density(x):
    return 1.0 / (2.0 + np.exp(x) + np.exp(-x))


def helix_density(x):
    u, a, b = x.T
    off = np.array([a - 2 * np.cos(2 * u), b - 2 * np.sin(2 * u)])
    return norm.pdf(u) * norm.pdf(off, scale=0.3).prod(axis=0)


def curve_density(x):
    u, columns = x[:, 0], x[:, 1:].T
    off = [column - np.sin(k * u / 2) for k, column in enumerate(columns, start=1)]
    return norm.pdf(u) * norm.pdf(off, scale=0.2).prod(axis=0)


def mixed_density(x):
    a, b, c, d, e, f = x.T
    power = 1.5 / (2 * gamma_function(1 / 1.5)) * np.exp(-(np.abs(f) ** 1.5))
    first = norm.pdf(a) * b**2 * np.exp(-b) / 2 * 6 * c * (1 - c)
    return first * logistic_density(d) * norm.pdf(np.log(e) / 0.4) / (0.4 * e) * power


def correlated_logistic_density(x):
    root = np.linalg.cholesky(correlations(12, 0.7))
    sources = np.linalg.solve(root, x.T).T
    return logistic_density(sources).prod(axis=1) / np.prod(np.diag(root))


TEN_MEANS = np.repeat([[0, 0, 0], [3, 0, 0], [0, -3, 0], [0, 0, 2.0]], [3, 3, 4], axis=1)
TEN_DEVIATIONS = np.outer([1.0, 0.5, 0.8, 0.3], np.linspace(0.7, 1.3, 10))

#: The density of each law, written down a second time.
DENSITIES = {
    name: density for d in (1, 2, 3, 5, 8, 16) for name, density in section_9_densities(d).items()
} | {
    "laplace 1": lambda x: np.exp(-np.abs(x[:, 0])) / 2,
    "gamma 2": lambda x: (x * np.exp(-x)).prod(axis=1),
    "ring 2": ring_density,
    "clusters 2": mixture_density(
        [0.45, 0.25, 0.15, 0.1, 0.05],
        [(0, 0), (4.5, 1), (-4, 3), (1, -5), (-3.5, -3.5)],
        np.array([(1.2, 1.2), (0.4, 1.1), (0.5, 0.5), (0.9, 0.3), (0.3, 0.3)]),
    ),
    "banana 3": banana_density,
    "beta 3": lambda x: (12 * x * (1 - x) ** 2).prod(axis=1),
    "lognormal 4": lambda x: (norm.pdf(np.log(x), scale=0.6) / x).prod(axis=1),
    "student 5, 2 degrees": multivariate_t(np.zeros(5), df=2).pdf,
    "exponential 6": lambda x: (np.sqrt(x) * np.exp(-x) / gamma_function(1.5)).prod(axis=1),
    "correlated 8": multivariate_normal(np.zeros(8), correlations(8, 0.8)).pdf,
    "clusters 10": mixture_density([0.5, 0.3, 0.15, 0.05], TEN_MEANS, TEN_DEVIATIONS),
    "sheet 10": sheet_density,
    "correlated 16": multivariate_t(np.zeros(16), correlations(16, 0.9), df=6).pdf,
    "logistic 1": lambda x: logistic_density(x[:, 0]),
    "clusters 1": mixture_density(
        [0.6, 0.3, 0.1], [(0,), (4,), (-3,)], np.array([(1.0,), (0.5,), (0.3,)])
    ),
    "cross 2": mixture_density([0.6, 0.4], np.zeros((2, 2)), np.array([(2.0, 0.3), (0.3, 2.0)])),
    "weibull 3": lambda x: (1.5 * np.sqrt(x) * np.exp(-(x**1.5))).prod(axis=1),
    "helix 3": helix_density,
    "student 4, 3 degrees": multivariate_t(np.zeros(4), correlations(4, 0.6), df=3).pdf,
    "clusters 5": mixture_density(
        [0.4, 0.24, 0.15, 0.1, 0.07, 0.04],
        np.vstack([np.zeros(5), np.diag([3.0, -3.0, 4.0, -2.5, 3.5])]),
        np.outer([1.0, 0.6, 0.4, 0.9, 0.3, 0.5], np.ones(5)),
    ),
    "mixed 6": mixed_density,
    "curve 8": curve_density,
    "correlated 12": correlated_logistic_density,
}


def quadrature(n_features):
    """Nodes and weights for the whole space: equal steps in ``arcsinh x``, without 0."""
    steps = np.linspace(-10, 10, 800)
    axes = np.meshgrid(*[np.sinh(steps)] * n_features)
    widths = np.meshgrid(*[np.cosh(steps) * (steps[1] - steps[0])] * n_features)
    return np.stack(axes, axis=-1).reshape(-1, n_features), np.prod(widths, axis=0).ravel()


def test_the_catalogs_are_these():
    assert len(SMOOTH_LAWS) == 18
    assert sorted(CATALOG) == sorted(DENSITIES)
    assert len(CATALOG) == len(SMOOTH_LAWS) + len(FURTHER_LAWS) + len(LAST_LAWS)
    assert (len(FURTHER_LAWS), len(LAST_LAWS)) == (13, 10)
    for laws, most in ((SMOOTH_LAWS, 16), (FURTHER_LAWS, 16), (LAST_LAWS, 12)):
        dimensions = [law.n_features for law in laws.values()]
        assert (min(dimensions), max(dimensions)) == (1, most)


@every_law
def test_samples_have_the_columns_the_name_says(name):
    law = CATALOG[name]
    assert f" {law.n_features}" in name.split(",")[0]
    assert law.sample(7, random_state=0).shape == (7, law.n_features)
    assert law.log_density(law.sample(7)).shape == (7,)


@every_law
def test_the_seed_fixes_the_sample(name):
    law = CATALOG[name]
    assert_array_equal(law.sample(9, 3), law.sample(9, np.random.RandomState(3)))
    assert not np.array_equal(law.sample(9, 3), law.sample(9, 4))


@every_law
def test_a_law_survives_pickling(name):
    again = pickle.loads(pickle.dumps(CATALOG[name]))
    assert_array_equal(again.sample(5, 0), CATALOG[name].sample(5, 0))


@every_law
def test_the_density_is_the_one_written_down(name):
    points = CATALOG[name].sample(200, random_state=0)
    assert_allclose(np.exp(CATALOG[name].log_density(points)), DENSITIES[name](points), rtol=1e-8)


@flat_laws
def test_the_density_integrates_to_one(name):
    nodes, weights = quadrature(CATALOG[name].n_features)
    assert_allclose(np.exp(CATALOG[name].log_density(nodes)) @ weights, 1.0, rtol=1e-3)


@flat_laws
def test_the_mean_log_density_of_a_sample_is_the_negative_entropy(name):
    law = CATALOG[name]
    nodes, weights = quadrature(law.n_features)
    log_density = np.maximum(law.log_density(nodes), -700)  # below that, the mass is negligible
    negative_entropy = (np.exp(log_density) * log_density) @ weights
    values = law.log_density(law.sample(20_000, random_state=0))
    assert abs(values.mean() - negative_entropy) < 5 * values.std() / np.sqrt(20_000) + 1e-3


@every_law
def test_samples_follow_the_density(name):
    """Integration by parts gives ``E[x_j d log p / d x_j] = -1`` for each column.

    A density of another width fails this test.
    """
    law, n = CATALOG[name], 10_000
    rows = law.sample(n, random_state=0)
    for j, step in enumerate(1e-5 * np.eye(law.n_features)):
        slopes = (law.log_density(rows * (1 + step)) - law.log_density(rows * (1 - step))) / 2e-5
        assert abs(slopes.mean() + 1) < 5 * slopes.std() / np.sqrt(n) + 1e-3, j


@pytest.mark.parametrize("name", ["banana 3", "sheet 10"])
def test_a_curved_law_has_mass_one(name):
    """``E_p[q / p] = 1`` for a law ``q`` near the same surface that is a little narrower."""
    law, n = CATALOG[name], 10_000
    rows = law.sample(n, random_state=0)
    base, further = np.hsplit(rows, [law.base.n_features])
    residuals = (further - law.surface(base)) / law.noise
    narrower = norm.pdf(base, scale=0.8).prod(axis=1)
    narrower = narrower * (norm.pdf(residuals, scale=0.8) / law.noise).prod(axis=1)
    ratios = narrower / np.exp(law.log_density(rows))
    assert abs(ratios.mean() - 1) < 5 * ratios.std() / np.sqrt(n)


@every_law
def test_log_density_is_finite_where_the_density_underflows(name):
    heavy = {name: 1e150 for name in CATALOG if "student" in name} | {"correlated 16": 1e150}
    value = {"beta 3": 1e-120, "mixed 6": 1e-120, "lognormal 4": 1e20, **heavy}.get(name, 1e4)
    log_density = CATALOG[name].log_density(np.full((1, CATALOG[name].n_features), value))[0]
    assert np.exp(log_density) == 0.0
    assert np.isfinite(log_density)


@pytest.mark.parametrize("name", ["beta 3", "gamma 2", "lognormal 4", "exponential 6"])
def test_log_density_is_minus_infinity_outside_the_support(name):
    law = CATALOG[name]
    outside = law.sample(3, random_state=0)
    outside[:, 1] = -1.0
    assert_array_equal(law.log_density(outside), -np.inf)


def test_log_density_is_finite_at_the_center_of_the_ring():
    assert np.isfinite(Ring(3.0, 0.4).log_density(np.zeros((1, 2))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentT(0, 4), "n_features=0 must be at least 1"),
        (lambda: StudentT(2, 0), "degrees=0 must be above 0"),
        (lambda: Product(()), "marginals is empty"),
        (lambda: Linear(StudentT(2, 4), np.eye(3)), r"shape \(3, 3\); it must be \(2, 2\)"),
        (lambda: Linear(StudentT(2, 4), np.ones((2, 2))), "matrix is singular"),
        (lambda: Ring(-1.0, 1.0), "radius=-1.0 must be at least 0"),
        (lambda: Ring(1.0, 0.0), "width=0.0 must be above 0"),
        (lambda: Graph(StudentT(1, 4), np.square, (0.0,)), "noise=0.0 must be above 0"),
    ],
)
def test_a_law_refuses_parameters_that_make_no_density(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@every_law
@every_kind
def test_anomalies_lie_where_the_density_is_low(name, kind):
    law = CATALOG[name]
    anomalies = law_anomalies(law, kind, 1000, random_state=0)
    assert anomalies.shape == (1000, law.n_features)
    nominal = law.sample(1000, random_state=1)
    assert np.median(law.log_density(anomalies)) < np.median(law.log_density(nominal))


@every_kind
def test_the_seed_fixes_the_anomalies(kind):
    law = FURTHER_LAWS["ring 2"]
    first, again, other = (law_anomalies(law, kind, 9, random_state=seed) for seed in (5, 5, 6))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert law_anomalies(law, kind, 0).shape == (0, 2)


def test_uniform_anomalies_fill_the_widened_box():
    law = FURTHER_LAWS["beta 3"]
    anomalies = law_anomalies(law, "uniform", 5000, random_state=0)
    nominal = law.sample(2000, random_state=0)  # the first draw from the same seed
    low, high = np.quantile(nominal, [0.001, 0.999], axis=0)
    margin = 0.1 * (high - low)
    assert_allclose(anomalies.min(axis=0), low - margin, atol=0.003)
    assert_allclose(anomalies.max(axis=0), high + margin, atol=0.003)
    assert (anomalies > low - margin).all()
    assert (anomalies < high + margin).all()


@pytest.mark.parametrize("d", [1, 5, 16])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_blurred_points_of_a_normal_law_are_those_of_section_9(d, scale):
    """Nominal points plus ``1.5 N(0, I)``: normal, of variance 3.25."""
    anomalies = law_anomalies(SMOOTH_LAWS[f"gauss {d}"], "blurred", 20_000, 0, scale=scale)
    assert_allclose(np.cov(anomalies.T), 3.25 * np.eye(d).squeeze(), atol=0.4)
    assert_allclose(anomalies.var(axis=0).mean(), 3.25, rtol=0.05)


def test_one_scale_blurs_all_columns_alike():
    law = FURTHER_LAWS["banana 3"]  # standard deviations 1, 1.07 and 2
    excess = law_anomalies(law, "blurred", 50_000, 0, scale=3.0).var(axis=0) - 4.5**2
    assert_allclose(excess, [1.0, 0.49 * 2 + 0.16, 4.0], atol=0.7)


def test_a_cluster_is_tight_and_in_a_thin_place():
    law = SMOOTH_LAWS["gauss 3"]
    cluster = law_anomalies(law, "cluster", 5000, random_state=0)
    assert_allclose(cluster.std(axis=0), 0.1, rtol=0.1)
    thin = np.quantile(law.log_density(law.sample(100_000, 1)), 0.005)
    assert_allclose(law.log_density(cluster.mean(axis=0, keepdims=True)), thin, atol=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "far"}, "kind='far' must be one of 'uniform', 'blurred', 'cluster'"),
        ({"n": -1}, "n=-1 must be at least 0"),
        ({"scale": 0.0}, "scale=0.0 must be above 0"),
    ],
)
def test_anomalies_refuse_what_they_cannot_make(arguments, message):
    with pytest.raises(ValueError, match=message):
        law_anomalies(SMOOTH_LAWS["gauss 2"], **{"kind": "uniform", "n": 5, **arguments})


def test_laws_come_in_groups():
    assert datasets.laws() == SMOOTH_LAWS
    assert len(datasets.laws("further")) == 13
    with pytest.raises(ValueError, match="group='large' must be one of 'smooth', 'further'"):
        datasets.laws("large")
