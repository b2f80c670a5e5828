"""Audits: the range of counts, what they can notice, and audits of selections."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import betabinom, binom

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration import Audit, HeldOutScores, benjamini_hochberg
from rankad.calibration.audits import max_selections
from rankad.calibration.bounds import rate_interval, safe_order
from rankad.calibration.control import FalseAlarmControl
from rankad.calibration.discoveries import has_discovery
from rankad.exceptions import UnresolvableAlphaError


def audit_of(n_alarms, **given):
    return Audit.from_counts(0.05, n_alarms, 2_000, 0.95, order=5, n_reference=100, **given)


def test_too_few_and_too_many_alarms_are_faults():
    law = betabinom(2_000, 5, 96)
    least, most = law.ppf([0.025, 0.975])
    assert (audit_of(50).min_alarms, audit_of(50).max_alarms) == (least, most)
    assert audit_of(int(most) + 1).verdict.startswith("more false alarms than the reference")
    assert audit_of(int(least) - 1).verdict.startswith("fewer false alarms than the reference")
    for n_alarms in (int(least), int(most)):
        assert "another distribution" not in audit_of(n_alarms).verdict


def test_where_scores_tie_few_alarms_are_no_fault():
    audit = audit_of(0, has_ties=True)
    assert audit.min_alarms == 0
    assert "another distribution" not in audit.verdict


def test_the_power_is_the_chance_of_a_fault():
    audit = audit_of(50)
    for rate in (0.0, 0.01, 0.05, 0.1, 0.3, 1.0):
        counts = np.arange(2_001)
        is_fault = (counts < audit.min_alarms) | (counts > audit.max_alarms)
        expected = binom(2_000, rate).pmf(counts)[is_fault].sum()
        assert audit.power_at(rate) == pytest.approx(expected, abs=1e-12)
    assert binom(2_000, audit.detectable_rate).sf(audit.max_alarms) == pytest.approx(0.8)


def test_a_doubled_rate_is_often_missed_with_a_small_reference(rng):
    # The figure of the docstring, and the same by simulation of detectors and their fresh rows.
    audit = audit_of(50)
    assert round(audit.power_at(0.1), 2) == 0.45
    rates = 2.0 * rng.beta(5, 96, size=100_000)
    noticed = rng.binomial(2_000, np.minimum(rates, 1.0)) > audit.max_alarms
    assert noticed.mean() == pytest.approx(0.43, abs=0.01)


def test_without_a_held_out_reference_the_interval_decides():
    audit = Audit.from_counts(0.05, 10, 200, 0.9)
    assert audit.min_alarms is audit.max_alarms is None
    counts = np.arange(201)
    limits = np.array([rate_interval(int(k), 200, 0.9) for k in counts])
    is_fault = (limits[:, 0] > 0.05) | (limits[:, 1] < 0.05)
    for rate in (0.01, 0.05, 0.1):
        assert audit.power_at(rate) == pytest.approx(binom(200, rate).pmf(counts)[is_fault].sum())


def test_what_no_count_can_show_has_no_detectable_rate():
    audit = Audit.from_counts(0.5, 1, 3, 0.95, order=1, n_reference=1)
    assert audit.max_alarms == 3
    assert audit.detectable_rate == np.inf
    assert audit.power_at(1.0) == 0.0


@pytest.fixture(scope="module")
def detector():
    return KLPE(random_state=0).fit(np.random.default_rng(0).normal(size=(1_200, 2)))


def test_a_rule_with_a_confidence_is_audited_by_its_own_threshold(detector, rng):
    fresh = rng.normal(size=(800, 2))
    audit = detector.audit(fresh, 0.05, rule_confidence=0.95)
    order = safe_order(0.05, 0.95, 300)
    assert audit.n_alarms == (detector.predict(fresh, 0.05, confidence=0.95) == -1).sum()
    assert audit.max_alarms == betabinom(800, order, 301 - order).ppf(0.975)
    assert audit.max_alarms < detector.audit(fresh, 0.05).max_alarms
    assert audit.rule_confidence == 0.95
    with pytest.raises(UnresolvableAlphaError):
        detector.audit(fresh, 0.005, rule_confidence=0.95)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("size", [1, 7, 40])
def test_batches_with_a_discovery_are_those_of_the_procedure(adaptive, size, rng):
    p = np.round(rng.uniform(size=(200, size)) ** 2, 2)
    expected = [benjamini_hochberg(batch, 0.1, adaptive=adaptive).any() for batch in p]
    assert_array_equal(has_discovery(p, 0.1, adaptive=adaptive), expected)
    assert len({*expected}) == 2


@pytest.mark.parametrize("rule", [{}, {"adaptive": True}, {"confidence": 0.8}])
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_a_selection_is_audited_by_its_batches(detector, rule, rng):
    fresh = rng.normal(size=(205, 2))
    audit = detector.audit_selection(
        fresh,
        batch_size=10,
        fdr=0.3,
        adaptive=rule.get("adaptive", False),
        rule_confidence=rule.get("confidence"),
    )
    batches = fresh[:200].reshape(20, 10, 2)
    n_selected = sum(detector.select(batch, 0.3, **rule).any() for batch in batches)
    assert (audit.n_alarms, audit.n_rows, audit.alpha) == (n_selected, 20, 0.3)
    assert audit.n_alarms <= audit.max_alarms < 20
    shifted = detector.audit_selection(fresh + 3.0, batch_size=10, fdr=0.3)
    assert "the rows have another distribution" in shifted.verdict


def test_single_rows_have_the_law_of_counts():
    # With batches of one row, a selection is an alarm at fdr: the beta-binomial law.
    simulated = max_selections(lambda p: p[:, 0] <= 0.05, 200, 1, 99, 0.9)
    assert abs(simulated - betabinom(200, 5, 95).ppf(0.95)) <= 2
    assert max_selections(lambda p: p[:, 0] <= 0.05, 20, 1, 99, 0.9999) == 20


@pytest.mark.slow
def test_an_audit_of_a_selection_seldom_blames_a_right_one(rng):
    n_repeats = 400
    n_blamed = 0
    for _ in range(n_repeats):
        control = FalseAlarmControl(HeldOutScores.from_scores(rng.normal(size=60)))
        audit = control.audit_selection(rng.normal(size=300), 10, 0.2, 0.8)
        n_blamed += audit.n_alarms > audit.max_alarms
    assert n_blamed <= binom(n_repeats, 0.1).ppf(1 - 1e-4)  # fails with probability 1e-4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, X: d.audit_selection(X, 0), "batch_size must be a whole number from 1"),
        (lambda d, X: d.audit_selection(X, 11), "number of rows, 10; got 11"),
        (lambda d, X: d.audit_selection(X, 2.5), "batch_size must be a whole number"),
        (lambda d, X: d.audit_selection(X, 2, 1.0), "fdr must be a number between 0 and 1"),
        (lambda d, X: d.audit_selection(X, 2, confidence=0.0), "confidence must be"),
        (lambda d, X: d.audit(X, 0.1, rule_confidence=1.0), "confidence must be"),
        (lambda d, X: d.audit(X, 0.1).power_at(1.5), "rate must be at least 0"),
    ],
)
def test_what_makes_no_sense_is_refused(detector, call, message):
    with pytest.raises(ValueError, match=message):
        call(detector, np.zeros((10, 2)))


def test_an_audit_of_a_selection_needs_held_out_scores(rng):
    detector = RankAD(calibration="train", random_state=0).fit(rng.normal(size=(60, 2)))
    with pytest.raises(ValueError, match="audit_selection needs independent held-out rows"):
        detector.audit_selection(rng.normal(size=(20, 2)), 5)
