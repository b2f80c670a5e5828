"""The control of false alarms of every calibrated detector."""

import pickle

import numpy as np
import pytest
from detectors import CASES
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, betabinom, false_discovery_control
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankad import RankAD
from rankad.calibration import TrueAlarms, benjamini_hochberg, false_alarm_band, safe_order
from rankad.calibration.reference import thinned
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError

pytestmark = pytest.mark.filterwarnings("ignore:ECOD scores a row differently:UserWarning")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def detector(request):
    nominal = np.random.default_rng(0).normal(size=(400, 3))
    return clone(request.param.detector).set_params(random_state=0).fit(nominal)


@pytest.fixture
def exact(detector):
    if detector.reference_.guarantee != "exact":
        pytest.skip("its reference is not held out")
    return detector


@pytest.fixture
def new(rng):
    return np.concatenate([rng.normal(size=(80, 3)), rng.uniform(-8, 8, size=(30, 3))])


def test_with_confidence_alarms_are_those_below_the_safe_score(exact, new):
    n = exact.reference_.size
    order = safe_order(0.1, 0.9, n)
    assert beta(order, n + 1 - order).ppf(0.9) <= 0.1 < beta(order + 1, n - order).ppf(0.9)
    alarms = exact.predict(new, alpha=0.1, confidence=0.9) == -1
    assert_array_equal(alarms, exact.score_samples(new) < exact.reference_.scores[order - 1])
    assert alarms.sum() <= (exact.predict(new, alpha=0.1) == -1).sum()


def test_conditional_p_values_are_larger_and_in_the_same_order(exact, new):
    p, conditional = exact.p_values(new), exact.p_values(new, confidence=0.9)
    n = exact.reference_.size
    expected = np.append(false_alarm_band(n, 0.9), 1.0)[np.rint(p * (n + 1)).astype(int) - 1]
    assert_allclose(conditional, expected)
    assert (conditional >= p).all()


def test_a_batch_is_selected_by_its_p_values(exact, new):
    selected = exact.select(new, fdr=0.2)
    assert_array_equal(selected, false_discovery_control(exact.p_values(new)) <= 0.2)
    p = exact.p_values(new)
    share = (1 + (p > 0.5).sum()) / (len(p) / 2)
    expected = (false_discovery_control(p) <= 0.2 / share) & (p * share <= 1.0)
    assert_array_equal(exact.select(new, fdr=0.2, adaptive=True), expected)


@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
@pytest.mark.parametrize("adaptive", [False, True])
def test_a_batch_is_selected_by_p_values_with_a_confidence(exact, new, adaptive):
    p = exact.p_values(new, confidence=0.6)
    selected = exact.select(new, fdr=0.4, adaptive=adaptive, confidence=0.6)
    assert_array_equal(selected, benjamini_hochberg(p, 0.4, adaptive=adaptive))
    assert (selected <= exact.select(new, fdr=0.4, adaptive=adaptive)).all()


def test_true_alarms_are_certified_by_p_values(exact, new):
    alarms = exact.true_alarms(new, confidence=0.8)
    assert_array_equal(alarms.p_values, exact.p_values(new))
    expected = TrueAlarms.from_p_values(exact.p_values(new), 0.8)
    assert_array_equal(alarms.lower_limits, expected.lower_limits)


def test_bounds_are_those_of_the_law(exact):
    n = exact.reference_.size
    bounds = exact.false_alarm_bounds(0.1, confidence=0.8)
    j = int(0.1 * (n + 1) + 1e-9)
    low, high = beta(j, n + 1 - j).ppf([0.1, 0.9])
    assert_allclose([bounds.low, bounds.high], [0.0 if bounds.has_ties else low, high])
    assert (bounds.alpha, bounds.n_reference, bounds.confidence) == (0.1, n, 0.8)
    assert exact.false_alarm_bounds().alpha == exact.alpha
    assert_allclose(exact.false_alarm_band(0.9), false_alarm_band(n, 0.9))


def test_budgets_are_alphas_and_counts(exact):
    n = exact.reference_.size
    alpha = exact.alpha_for(events_per_day=1_000, alarms_per_day=50)
    assert alpha == 0.05
    alarms = exact.false_alarms_per_day(1_000, alpha)
    j = int(alpha * (n + 1) + 1e-9)
    assert alarms.mean == pytest.approx(betabinom(1_000, j, n + 1 - j).mean())
    with pytest.raises(UnresolvableAlphaError, match="at least 99999 reference scores"):
        exact.alpha_for(events_per_day=100_000, alarms_per_day=1)


def test_an_audit_counts_alarms(detector, new):
    audit = detector.audit(new, 0.1)
    assert audit.n_alarms == (detector.predict(new, 0.1) == -1).sum()
    assert audit.n_rows == len(new)
    assert detector.audit(new).alpha == detector.alpha


CALLS = {
    "predict": lambda d, X: d.predict(X, 0.1, confidence=0.9),
    "p_values": lambda d, X: d.p_values(X, confidence=0.9),
    "false_alarm_band": lambda d, X: d.false_alarm_band(),
    "alpha_for": lambda d, X: d.alpha_for(events_per_day=100, alarms_per_day=10),
    "select": lambda d, X: d.select(X),
    "true_alarms": lambda d, X: d.true_alarms(X),
    "audit_selection": lambda d, X: d.audit_selection(X, 5),
    "false_alarm_bounds": lambda d, X: d.false_alarm_bounds(0.1),
    "false_alarms_per_day": lambda d, X: d.false_alarms_per_day(1_000),
}


@pytest.mark.filterwarnings("ignore:No row is selected:rankad.exceptions.CalibrationWarning")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("calibration", ["train", "cross"])
def test_without_held_out_scores_nothing_is_promised(name, calibration, rng):
    detector = RankAD(calibration=calibration, random_state=0).fit(rng.normal(size=(60, 2)))
    with pytest.raises(
        ValueError, match=rf"{name}.* needs (held-out reference scores|independent held-out rows)"
    ):
        CALLS[name](detector, rng.normal(size=(5, 2)))
    detector.calibrate(rng.normal(size=(200, 2)))
    CALLS[name](detector, rng.normal(size=(5, 2)))


@pytest.mark.parametrize("name", CALLS)
def test_before_fit_nothing_is_said(name, rng):
    with pytest.raises(NotFittedError):
        CALLS[name](RankAD(), rng.normal(size=(5, 2)))


def test_too_few_references_for_a_confidence_name_the_number_needed(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    with pytest.raises(
        UnresolvableAlphaError, match=r"at least 299 reference scores: fit on at least 1193"
    ):
        detector.predict(np.zeros((1, 2)), alpha=0.01, confidence=0.95)


def test_a_batch_that_the_reference_is_too_coarse_for_is_reported(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    batch = np.concatenate([rng.normal(size=(999, 2)), [[50.0, 50.0]]])
    with pytest.warns(CalibrationWarning, match=r"too coarse to select them at fdr=0\.1.*at least"):
        assert not detector.select(batch).any()
    detector.calibrate(rng.normal(size=(12_000, 2)))
    assert detector.select(batch)[-1]


def test_a_batch_that_is_too_large_for_the_confidence_is_told(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(400, 2)))
    batch = np.concatenate([rng.normal(size=(99, 2)), [[50.0, 50.0]]])
    detector.calibrate(rng.normal(size=(1_400, 2)))
    assert detector.select(batch)[-1]
    with pytest.warns(CalibrationWarning, match="too coarse to select them"):
        assert not detector.select(batch, confidence=0.95).any()


def test_an_empty_batch_is_an_error_as_everywhere_in_scikit_learn(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    with pytest.raises(ValueError, match="0 sample"):  # scikit-learn's contract
        detector.select(np.empty((0, 2)))


def test_one_reference_and_equal_scores_have_defined_answers(rng):
    rows = rng.normal(size=(40, 2))
    one = RankAD(alpha=0.6, calibration_size=1, random_state=0).fit(rows)
    assert_allclose(one.p_values([[0.0, 0.0], [99.0, 99.0]])[1], 0.5)
    bounds = one.false_alarm_bounds(0.6)
    assert (bounds.mean, bounds.n_reference) == (0.5, 1)
    one.reference_ = type(one.reference_).from_scores(np.zeros(99))
    assert one.false_alarm_bounds(0.05).limit == pytest.approx(beta(5, 95).ppf(0.95))
    # All reference scores tie: a row with the same score has p = 1, a lower one the smallest p.
    assert_allclose(one.reference_.p_values(np.array([0.0, -1.0])), [1.0, 0.01])
    assert one.false_alarm_bounds(0.05).has_ties
    assert one.false_alarms_per_day(1_000, 0.05).low == 0


def test_one_reference_answers_everything(rng):
    one = RankAD(alpha=0.6, calibration_size=1, random_state=0).fit(rng.normal(size=(40, 2)))
    assert one.select(rng.normal(size=(3, 2)), fdr=0.9).shape == (3,)
    assert_allclose(one.false_alarm_band(0.9), [0.9])
    assert_allclose(one.p_values([[99.0, 99.0]], confidence=0.9), [0.9])
    assert one.predict([[99.0, 99.0]], 0.95, confidence=0.9) == [-1]
    with pytest.raises(UnresolvableAlphaError, match="Give at least"):
        one.predict([[99.0, 99.0]], 0.6, confidence=0.9)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2.0, float("nan"), "0.1", None])
def test_alphas_outside_their_range_are_refused(alpha, rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    rows = rng.normal(size=(5, 2))
    calls = [
        lambda: detector.predict(rows, alpha, confidence=alpha),
        lambda: detector.p_values(rows, confidence=alpha),
        lambda: detector.select(rows, fdr=alpha),
        lambda: detector.false_alarm_bounds(0.1, confidence=alpha),
        lambda: detector.false_alarms_per_day(10, 0.1, confidence=alpha),
        lambda: detector.audit(rows, 0.1, confidence=alpha),
    ]
    for call in calls[2:] if alpha is None else calls:
        with pytest.raises(ValueError, match="must be a number between 0 and 1"):
            call()


def test_alpha_near_one_alarms_on_everything_below_the_highest(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    for alpha in (25 / 26, 1.0 - 1e-12):
        assert detector.false_alarm_bounds(alpha).mean == pytest.approx(25 / 26)
        labels = detector.predict(rng.normal(size=(50, 2)), alpha)
        assert (labels == -1).sum() > 40


def test_thinned_references_answer_everything_and_survive_pickling(monkeypatch, rng):
    monkeypatch.setattr("rankad.calibration.reference.MAX_SCORES", 300)
    monkeypatch.setattr(
        "rankad.calibration.reference.thinned",
        lambda scores, counts: thinned(scores, counts, max_size=300, exact=150),
    )
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    more = rng.normal(size=(3_000, 2))
    exact = pickle.loads(pickle.dumps(detector))
    monkeypatch.undo()
    exact.calibrate(more)
    monkeypatch.setattr("rankad.calibration.reference.MAX_SCORES", 300)
    monkeypatch.setattr(
        "rankad.calibration.reference.thinned",
        lambda scores, counts: thinned(scores, counts, max_size=300, exact=150),
    )
    detector.calibrate(more)
    detector = pickle.loads(pickle.dumps(detector))
    assert len(detector.reference_.scores) <= 300
    rows = 2 * rng.normal(size=(200, 2))
    for alpha in (0.01, 0.04):
        assert detector.false_alarm_bounds(alpha) == exact.false_alarm_bounds(alpha)
        for confidence in (None, 0.9):
            alarms = detector.predict(rows, alpha, confidence=confidence)
            assert_array_equal(alarms, exact.predict(rows, alpha, confidence=confidence))
    is_tail = exact.p_values(rows) < 0.04
    for confidence in (None, 0.9):
        p, exact_p = (d.p_values(rows, confidence=confidence) for d in (detector, exact))
        assert_allclose(p[is_tail], exact_p[is_tail])
        assert (p >= exact_p).all()
    assert (detector.select(rows, fdr=0.2) <= exact.select(rows, fdr=0.2)).all()


def test_a_new_reference_can_take_the_place_of_the_old(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(100, 2)))
    new = rng.normal(0.5, size=(60, 2))
    assert detector.calibrate(new).reference_.size == 85
    assert detector.calibrate(new, replace=True).reference_.size == 60
    assert_array_equal(detector.reference_.scores, np.sort(detector.score_samples(new)))
