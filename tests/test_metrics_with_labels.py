import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankad import metrics

labeled = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-2, 2), st.integers(0, 1)),
    min_size=2,
    max_size=30,
).filter(lambda rows: {label for _, label in rows} == {0, 1})
MEASURES = [metrics.auc, metrics.partial_auc, metrics.average_precision, metrics.power]


def columns(rows):
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@given(labeled)
def test_auc_is_the_share_of_pairs_in_order(rows):
    scores, labels = columns(rows)
    pairs = [(a, b) for a in scores[labels == 0] for b in scores[labels == 1]]
    expected = np.mean([float(a > b) + 0.5 * (a == b) for a, b in pairs])
    assert_allclose(metrics.auc(labels, scores), expected)
    assert_allclose(metrics.partial_auc(labels, scores, 1.0), expected)


@given(labeled, st.floats(0.0, 1.0))
def test_power_is_the_best_threshold_within_the_budget(rows, budget):
    scores, labels = columns(rows)
    thresholds = np.append(np.unique(scores), np.inf)
    within = [t for t in thresholds if (scores[labels == 0] < t).mean() <= budget]
    expected = max((scores[labels == 1] < t).mean() for t in within)
    assert_allclose(metrics.power(labels, scores, budget), expected)


@given(labeled, st.floats(0.01, 1.0))
def test_partial_auc_is_the_mean_height_of_the_curve(rows, limit):
    scores, labels = columns(rows)
    thresholds = [-np.inf, *np.unique(scores), np.inf]
    x = np.array([(scores[labels == 0] < t).mean() for t in thresholds])
    y = np.array([(scores[labels == 1] < t).mean() for t in thresholds])
    area = 0.0
    for x0, x1, y0, y1 in zip(x[:-1], x[1:], y[:-1], y[1:], strict=True):
        width = min(x1, limit) - x0
        if width > 0:
            height = y0 + 0.5 * (y1 - y0) * width / (x1 - x0)
            area += width * height
    assert_allclose(metrics.partial_auc(labels, scores, limit), area / limit, atol=1e-12)


def test_average_precision_of_a_known_order():
    # From the lowest score on: anomaly, nominal, anomaly. The precisions are 1 and 2/3.
    assert_allclose(metrics.average_precision([1, 0, 1], [0.0, 1.0, 2.0]), (1 + 2 / 3) / 2)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_perfect_score_is_perfect(measure):
    assert measure([0, 0, 1], [2.0, 1.0, 0.0]) == 1.0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1], [-1, 1, 1]])
def test_labels_must_be_of_both_kinds(measure, labels):
    with pytest.raises(ValueError, match=r"True \(or 1\) for anomalies, with at least one of each"):
        measure(labels, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(("measure", "rate"), [(metrics.partial_auc, 0.0), (metrics.power, 1.5)])
def test_rates_must_be_rates(measure, rate):
    with pytest.raises(ValueError, match="must lie in"):
        measure([0, 1], [1.0, 0.0], rate)


def test_mass_volume_of_a_gaussian_is_that_of_its_discs(rng):
    X = rng.normal(size=(20_000, 2))
    masses = np.array([0.3, 0.6, 0.9])
    volumes = metrics.mass_volume_curve(lambda X: -(X**2).sum(axis=1), X, masses, random_state=0)
    assert_allclose(volumes, -2 * np.pi * np.log(1 - masses), rtol=0.05)


def test_excess_mass_of_a_gaussian_is_known(rng):
    # At level t the best set is {density >= t}: mass 1 - 2 pi t, volume -2 pi log(2 pi t).
    X = rng.normal(size=(20_000, 2))
    levels = np.array([0.01, 0.05, 0.1])
    u = 2 * np.pi * levels
    excess = metrics.excess_mass_curve(lambda X: -(X**2).sum(axis=1), X, levels, random_state=0)
    assert_allclose(excess, 1 - u + u * np.log(u), atol=0.02)
    assert metrics.excess_mass_curve(lambda X: X[:, 0], X, [100.0], random_state=0)[0] < 1e-3


def test_the_true_density_beats_a_wrong_score(rng):
    X = rng.normal(size=(5000, 2)) * [1.0, 3.0]
    right, wrong = (lambda X: -(X**2 / [1, 9]).sum(axis=1)), (lambda X: -(X**2).sum(axis=1))
    masses, levels = [0.5, 0.8, 0.9], [0.002, 0.01, 0.02]
    volumes = [metrics.mass_volume_curve(s, X, masses, random_state=0) for s in (right, wrong)]
    excesses = [metrics.excess_mass_curve(s, X, levels, random_state=0) for s in (right, wrong)]
    assert (volumes[0] < volumes[1]).all()
    assert (excesses[0] > excesses[1]).all()
