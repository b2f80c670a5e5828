"""The procedure of Benjamini and Hochberg, and the reference that it needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom, false_discovery_control

from rankad.calibration import (
    HeldOutScores,
    benjamini_hochberg,
    conditional_p_values,
    nominal_share,
    reference_for_discoveries,
)

p_values = st.lists(
    st.floats(0, 1) | st.integers(0, 20).map(lambda i: i / 20), min_size=1, max_size=60
).map(np.array)
rates = st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5])


@given(p_values, rates)
def test_the_discoveries_are_scipys(p, fdr):
    assert_array_equal(benjamini_hochberg(p, fdr), false_discovery_control(p) <= fdr)


def test_a_case_by_hand():
    # i q / n: .0125, .025, .0375, .05; the third is the last below its line.
    p = [0.03, 0.9, 0.026, 0.013]
    assert_array_equal(benjamini_hochberg(p, 0.05), [True, False, True, True])
    assert not benjamini_hochberg([0.04, 0.9, 0.026, 0.013], 0.05).any()


def test_storeys_form_by_hand():
    p = np.array([0.01, 0.02, 0.03, 0.04, 0.09, 0.6])
    assert nominal_share(p) == pytest.approx(2 / 3)  # (1 + 1) / (6 / 2)
    assert_array_equal(benjamini_hochberg(p, 0.08), [True] * 4 + [False] * 2)
    assert_array_equal(benjamini_hochberg(p, 0.08, adaptive=True), [True] * 5 + [False])


@given(p_values, rates)
def test_storeys_form_is_that_of_its_formula(p, fdr):
    share = (1 + (p > 0.5).sum()) / (len(p) / 2)
    # scipy caps adjusted p-values at 1, which is no discovery for any fdr.
    expected = (false_discovery_control(p) <= fdr / share) & (p * share <= 1.0)
    assert_array_equal(benjamini_hochberg(p, fdr, adaptive=True), expected)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("adaptive", [False, True])
def test_where_nothing_is_anomalous_discoveries_are_as_rare_as_asked(n, adaptive, rng):
    n_batches = 20_000
    share = np.mean(
        [
            benjamini_hochberg(p, 0.1, adaptive=adaptive).any()
            for p in rng.uniform(size=(n_batches, n))
        ]
    )
    assert share <= 0.1 + 4 * np.sqrt(0.09 / n_batches)


def test_ties_stand_or_fall_together():
    p = np.array([0.02] * 5 + [0.9] * 5)
    assert_array_equal(benjamini_hochberg(p, 0.05), p == 0.02)
    assert not benjamini_hochberg(p, 0.03).any()


def test_extremes():
    assert benjamini_hochberg([], 0.1).shape == (0,)
    assert benjamini_hochberg([0.0], 0.1).all()
    assert not benjamini_hochberg([1.0, 1.0], 0.5).any()


@pytest.mark.parametrize(
    ("n_batch", "fdr", "r"),
    [(100, 0.1, 1), (1000, 0.05, 10), (7, 0.3, 7), (8, 0.01, 5), (49, 0.07, 3)],
)
def test_so_many_references_are_needed_and_no_fewer(n_batch, fdr, r):
    needed = reference_for_discoveries(n_batch, fdr, r)
    for n, is_enough in ((needed, True), (needed - 1, False)):
        p = np.array([1 / (n + 1)] * r + [1.0] * (n_batch - r))
        assert benjamini_hochberg(p, fdr)[:r].all() == is_enough


@pytest.mark.parametrize(("n_batch", "r"), [(100, 5), (1_000, 50), (200, 1)])
def test_so_many_references_are_enough_for_a_selection_with_a_confidence(n_batch, r):
    needed = reference_for_discoveries(n_batch, 0.1, r, confidence=0.9)
    for n, is_enough in ((needed, True), (needed // 2, False)):
        p = np.array([1 / (n + 1)] * r + [1.0] * (n_batch - r))
        found = benjamini_hochberg(conditional_p_values(p, n, 0.9), 0.1)
        assert found[:r].all() == is_enough


@pytest.mark.slow
def test_with_a_confidence_the_rate_holds_for_the_very_reference(rng):
    """Each of 60 references has 150 batches with anomalies; it may exceed its rate with .2.

    A reference counts as exceeding if its mean share is 3.7 standard errors above fdr. The test
    fails with probability 1e-4 if .2 of the references exceed. Without the confidence, many do.
    """
    n_above = {None: 0, 0.8: 0}
    for _ in range(60):
        reference = HeldOutScores.from_scores(rng.normal(size=300))
        shares = {None: [], 0.8: []}
        for _ in range(150):
            p = reference.p_values(np.append(rng.normal(size=60), rng.normal(-4.0, size=40)))
            for confidence, found in shares.items():
                given = p if confidence is None else conditional_p_values(p, 300, confidence)
                is_found = benjamini_hochberg(given, 0.15)
                found.append(is_found[:60].sum() / max(is_found.sum(), 1))
        for confidence, found in shares.items():
            error = np.std(found) / np.sqrt(len(found))
            n_above[confidence] += np.mean(found) > 0.15 * 0.6 + 3.7 * error
    assert n_above[0.8] <= binom(60, 0.2).ppf(1 - 1e-4)
    assert n_above[None] > n_above[0.8]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: benjamini_hochberg([0.1], 0.0), "fdr must be a number between 0 and 1"),
        (lambda: benjamini_hochberg([0.1], 1.0), "fdr must be"),
        (lambda: benjamini_hochberg([1.1], 0.1), "p_values must lie between 0 and 1"),
        (lambda: benjamini_hochberg([np.nan], 0.1), "none may be NaN"),
        (lambda: benjamini_hochberg([[0.1]], 0.1), "shape"),
        (lambda: nominal_share([]), "empty batch"),
        (lambda: reference_for_discoveries(10, 0.1, 11), "n_discoveries=11 must lie"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
