import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import betabinom, binom
from sklearn.svm import OneClassSVM

from rankad import RankAD
from rankad.plots import PValueDisplay
from rankad.plots.p_values import _beta_binomial_quantiles


def corners(band):
    """Lowest and highest value of a filled area, by the place on the x-axis."""
    x, y = band.get_paths()[0].vertices.T
    return {float(at): (y[x == at].min(), y[x == at].max()) for at in np.unique(x)}


def test_the_curve_is_the_share_of_p_values_at_most_as_large(plane):
    display = PValueDisplay.from_estimator(plane.detector, plane.fresh)
    p = plane.detector.p_values(plane.fresh)
    x, y = display.line_.get_data()
    assert display.line_.get_drawstyle() == "steps-post"
    assert_allclose(y, [np.mean(p <= at) for at in x])
    assert set(p) | {0.0, 1.0} == set(x)


@pytest.mark.parametrize(
    ("n_rows", "order", "n_reference"),
    [(1, 1, 1), (20, 1, 1), (20, 3, 9), (500, 1, 400), (500, 400, 400), (3_000, 70, 999)],
)
@pytest.mark.parametrize("tail", [0.005, 0.025, 0.25])
def test_quantiles_are_those_of_the_beta_binomial_law(n_rows, order, n_reference, tail):
    law = betabinom(n_rows, order, n_reference + 1 - order)
    quantiles = _beta_binomial_quantiles(n_rows, order, n_reference, tail)
    assert_array_equal(quantiles, law.ppf([tail, 1.0 - tail]))


def test_the_band_takes_account_of_the_reference(rng):
    p = rng.integers(1, 101, size=200) / 100
    display = PValueDisplay.from_predictions(p, n_reference=99, confidence=0.9)
    law = betabinom(200, 30, 70)
    assert_allclose(display.band_alphas, np.arange(1, 101) / 100)
    assert_allclose([display.low[29], display.high[29]], law.ppf([0.05, 0.95]) / 200)
    assert (display.low[-1], display.high[-1]) == (1.0, 1.0)
    assert_allclose(max(corners(display.band_)[0.3]), display.high[29])


def test_without_a_reference_the_band_is_binomial(rng):
    display = PValueDisplay.from_predictions(rng.uniform(size=50))
    assert display.n_reference is None
    low, high = binom.ppf([[0.025], [0.975]], 50, display.band_alphas) / 50
    assert_allclose(display.low, low)
    assert_allclose(display.high, high)


def test_many_reference_scores_are_drawn_at_some_alphas_only(rng):
    p = rng.integers(1, 100_002, size=1_000) / 100_001
    display = PValueDisplay.from_predictions(p, n_reference=100_000)
    assert len(display.band_alphas) < 121
    assert display.band_alphas[-1] == 1.0
    orders = np.rint(display.band_alphas * 100_001).astype(int)
    for at in (0, 40, 90):
        law = betabinom(1_000, orders[at], 100_001 - orders[at])
        assert_allclose([display.low[at], display.high[at]], law.ppf([0.025, 0.975]) / 1_000)


def test_the_band_holds_each_alpha_as_often_as_it_says():
    rng = np.random.default_rng(0)
    display = PValueDisplay.from_predictions([1.0] * 40, n_reference=60, confidence=0.8)
    inside = []
    for _ in range(2_000):
        reference, scores = np.sort(rng.normal(size=60)), rng.normal(size=40)
        p = (1 + np.searchsorted(reference, scores)) / 61
        shares = (p <= display.band_alphas[:, None] + 1e-9).mean(axis=1)
        inside.append((display.low <= shares + 1e-9) & (shares <= display.high + 1e-9))
    rates = np.mean(inside, axis=0)
    assert rates.min() > 0.8 - 3 * np.sqrt(0.8 * 0.2 / 2_000)
    assert rates[10:50].max() < 0.9


def test_only_held_out_references_have_the_exact_law(plane):
    assert PValueDisplay.from_estimator(plane.detector, plane.fresh).n_reference == 125
    trained = RankAD(calibration="train", random_state=0).fit(plane.fresh)
    display = PValueDisplay.from_estimator(trained, plane.fresh + 0.01)
    assert display.n_reference is None


def test_logarithmic_axes_reach_the_smallest_p_value(plane):
    display = PValueDisplay.from_estimator(plane.detector, plane.fresh, scale="log")
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert_allclose(display.ax_.get_xlim(), (1 / 126, 1.0))
    assert display.ax_.get_ylim()[0] < 1 / 200
    with pytest.raises(ValueError, match="scale must be one of linear, log; got 'logit'"):
        display.plot(scale="logit")


def test_two_curves_share_axes_diagonal_and_band(plane):
    first = PValueDisplay.from_estimator(plane.detector, plane.fresh)
    second = PValueDisplay.from_predictions(
        first.p_values, ax=first.ax_, name="again", plot_band=False
    )
    assert second.band_ is None
    labels = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert labels == [
        "95% interval, each alpha",
        "uniform",
        "RankAD (200 rows)",
        "again (200 rows)",
    ]
    assert first.line_.get_color() != second.line_.get_color()


def test_the_line_takes_the_users_options(rng):
    p = rng.uniform(size=9)
    line = PValueDisplay.from_predictions(p, c="red", lw=3.0, label="mine").line_
    assert (line.get_color(), line.get_linewidth(), line.get_label()) == ("red", 3.0, "mine")


@pytest.mark.parametrize("p", [[], [[0.1, 0.2]], 0.5])
def test_p_values_must_be_a_list(p):
    with pytest.raises(ValueError, match=r"p_values must have shape \(n,\) with n at least 1; got"):
        PValueDisplay.from_predictions(p)


@pytest.mark.parametrize("p", [[0.1, np.nan], [-0.1], [1.1]])
def test_p_values_must_be_probabilities(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        PValueDisplay.from_predictions(p)


def test_p_values_must_be_possible_with_the_reference():
    with pytest.raises(ValueError, match=r"no p-value below 1 / 11; got 0\.05"):
        PValueDisplay.from_predictions([0.05], n_reference=10)
    for n_reference in (0, 2.5):
        with pytest.raises(ValueError, match="n_reference must be an integer of at least 1"):
            PValueDisplay.from_predictions([0.5], n_reference=n_reference)
    with pytest.raises(ValueError, match="confidence must be a number between 0 and 1"):
        PValueDisplay.from_predictions([0.5], confidence=95)


def test_a_detector_must_have_p_values(plane):
    with pytest.raises(TypeError, match=r"a detector with p_values; got OneClassSVM\(\)"):
        PValueDisplay.from_estimator(OneClassSVM(), plane.fresh)
