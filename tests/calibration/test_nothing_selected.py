"""What a selection that finds nothing says: the reason that the numbers show."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import betabinom, binom

from rankad._base import BaseDetector
from rankad.baselines import KLPE
from rankad.calibration import (
    FalseAlarmControl,
    HeldOutScores,
    StrataControl,
    StrataScores,
    StratumLabels,
    benjamini_hochberg,
)
from rankad.calibration.nothing_selected import LOOKS_NOMINAL, Excess
from rankad.exceptions import CalibrationWarning

NOMINAL = "No row is selected: the batch looks nominal"


def control_of(scores):
    return FalseAlarmControl(HeldOutScores.from_scores(np.asarray(scores, dtype=np.float64)))


def said(select):
    """What a selection that finds nothing says."""
    with pytest.warns(CalibrationWarning) as caught:
        assert not select().any()
    (warning,) = caught
    assert warning.filename == __file__
    return str(warning.message)


def test_a_reference_that_is_too_small_names_every_way_out():
    control = control_of(np.arange(99))
    scores = np.r_[-1.0, -2.0, np.arange(98.0)]
    text = said(lambda: control.selected(scores, 0.1, adaptive=False))
    assert "2 of 100 rows have the smallest p-value that 99 reference scores can give" in text
    assert "at least 499 reference scores: fit on more rows, or call calibrate()" in text
    assert "batches of at most 20 rows or an fdr of at least 0.5" in text
    # Both of the two lowest of 199 scores are among the batch's 100.
    assert f"with probability {100 / 199 * 99 / 198:.2g}." in text
    assert control_of(np.arange(499)).selected(scores, 0.1, adaptive=False)[:2].all()
    assert control.selected(scores[:20], 0.1, adaptive=False)[:2].all()
    assert control.selected(scores, 0.5, adaptive=False)[:2].all()
    assert "at least" in said(lambda: control.selected(scores[:21], 0.1, adaptive=False))
    assert "at least" in said(lambda: control.selected(scores, 0.49, adaptive=False))


@pytest.mark.parametrize("seed", range(20))
def test_the_ways_out_of_a_small_reference_are_enough_and_no_more(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(20, 200)), int(rng.integers(60, 300))
    k, fdr = int(rng.integers(1, 4)), float(rng.choice([0.05, 0.1, 0.2]))
    scores = np.r_[np.full(k, -1.0), np.full(m - k, 0.5)]

    def select(n_reference=n, n_rows=m, fdr=fdr):
        p = HeldOutScores.from_scores(np.linspace(0.0, 1.0, n_reference)).p_values(scores[:n_rows])
        return benjamini_hochberg(p, fdr).any()

    if select():
        pytest.skip("these rows are selected")
    text = said(lambda: control_of(np.linspace(0.0, 1.0, n)).selected(scores, fdr, adaptive=False))
    needed = int(re.search(r"at least (\d+) reference scores", text)[1])
    assert select(n_reference=needed)
    assert not select(n_reference=needed - 1)
    if found := re.search(r"batches of at most (\d+) rows", text):
        assert select(n_rows=int(found[1]))
        assert not select(n_rows=int(found[1]) + 1)
    if found := re.search(r"an fdr of at least (0\.\d+)", text):
        assert select(fdr=float(found[1]))
        assert not select(fdr=float(found[1]) - 0.01)


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_reference_with_rows_as_low_is_named(adaptive):
    reference = np.r_[np.full(20, -9.0), np.arange(1_980.0)]
    scores = np.r_[np.full(40, -9.0), np.linspace(0.0, 1_980.0, 960)]
    control = control_of(reference + np.linspace(0.0, 0.5, 2_000))
    text = said(lambda: control.selected(scores + 0.5, 0.1, adaptive=adaptive))
    assert "of 1000 rows score below the reference score number" in text
    assert "Perhaps there are anomalies among the held-out rows." in text
    assert "suspicious_rows" in text
    clean = control_of(np.arange(1_980.0))
    assert clean.selected(scores, 0.1, adaptive=adaptive)[:40].all()


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_confidence_that_forbids_it_is_named_with_what_is_selected_without(adaptive):
    control = control_of(np.arange(1_000))
    scores = np.r_[np.full(4, -1.0), np.linspace(300.0, 1_000.0, 196)]
    assert control.selected(scores, 0.1, adaptive).sum() == 4
    text = said(lambda: control.selected(scores, 0.1, adaptive, confidence=0.95))
    assert text.startswith("No row is selected. Without confidence=0.95, 4 of 200 rows would be")
    needed = int(re.search(r"at least (\d+) reference scores", text)[1])
    assert needed > 1_000
    enough = control_of(np.arange(needed) * 1_000.0 / needed)
    assert enough.selected(scores, 0.1, adaptive, confidence=0.95)[:4].all()


def test_a_reference_that_is_too_small_for_any_batch_is_named():
    control = control_of(np.arange(8))
    text = said(lambda: control.selected(np.full(5, 3.0), 0.1, adaptive=False))
    assert "With fewer than 9 reference scores, no row of any batch is selected at fdr=0.1" in text
    assert control_of(np.arange(9)).selected(np.full(5, -1.0), 0.1, adaptive=False).all()
    assert said(lambda: control_of(np.arange(9)).selected(np.full(5, 3.0), 0.1, False)) == (
        LOOKS_NOMINAL
    )
    text = said(lambda: control.selected(np.full(5, 3.0), 0.1, False, confidence=0.95))
    assert re.search(r"fewer than \d\d+ reference scores, no row of any batch", text)


STRATA = StrataScores.from_scores(np.r_[np.arange(500.0), np.arange(5.0)], ["a"] * 500 + ["b"] * 5)
STRATUM_CASES = {
    "small": (np.full(9, 3.0), ["b"] * 9, "fewer than 9 reference rows in a stratum, no row"),
    "unseen": (np.full(9, -1.0), ["c"] * 9, "fewer than 9 reference rows in a stratum, no row"),
    "small and nominal": (
        np.r_[np.full(9, 250.0), 3.0],
        ["a"] * 9 + ["b"],
        r"With fewer than 9 .*The rows of the other strata look nominal\.",
    ),
    "coarse": (
        np.r_[-1.0, np.full(99, 250.0)],
        ["a"] * 100,
        r"1 of 100 rows has the smallest p-value that their strata can give\. It is too coarse",
    ),
    "as low": (
        np.r_[np.full(90, 9.5), np.full(910, 250.0)],
        ["a"] * 1_000,
        r"90 of 1000 rows in a stratum score below the reference score number 16 from below\.",
    ),
    "nominal": (np.linspace(0, 500, 30), ["a"] * 30, NOMINAL),
}


@pytest.mark.parametrize(("scores", "keys", "reason"), STRATUM_CASES.values(), ids=STRATUM_CASES)
def test_a_selection_by_strata_says_why(scores, keys, reason):
    control = StrataControl(STRATA, StratumLabels.from_values(keys))
    text = said(lambda: control.selected(scores, 0.1, adaptive=False))
    assert re.search(reason, text), text


def test_the_law_of_rows_below_a_reference_score_is_beta_binomial(rng):
    n, m = 60, 25
    for _ in range(30):
        n_at_most = rng.integers(0, 12, size=m)
        excess = Excess.of((n_at_most + 1) / (n + 1), n, largest_p=0.2)
        tails = {j: betabinom(m, j, n + 1 - j).sf((n_at_most < j).sum() - 1) for j in (1, 2, 4, 8)}
        best = min(tails, key=tails.get)
        assert excess.order == best
        assert excess.n_below == (n_at_most < best).sum()
        assert_allclose(excess.probability, min(4 * tails[best], 1.0), atol=1e-13)


@pytest.mark.parametrize(("n", "m"), [(30, 20), (300, 50), (1_000, 2_000)])
def test_few_nominal_batches_are_said_to_have_too_many_low_scores(n, m):
    """With probability below 1e-6 it fails: the law of each batch is bounded by .01."""
    rng = np.random.default_rng(0)
    n_said, n_batches = 0, 400
    for _ in range(n_batches):
        p = HeldOutScores.from_scores(rng.normal(size=n)).p_values(rng.normal(size=m))
        n_said += Excess.of(p, n, 0.1).probability <= 0.01
    assert n_said <= binom(n_batches, 0.01).isf(1e-6)


def test_a_stream_of_nominal_batches_says_it_once_and_one_line_silences_it(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(4_000, 2)))
    batches = rng.normal(size=(300, 50, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        n_empty = sum(not detector.select(batch).any() for batch in batches)
    texts = [str(warning.message) for warning in caught]
    assert n_empty > 250
    assert texts.count(LOOKS_NOMINAL) == 1
    assert len(texts) <= 6  # the others have a few rows below all reference scores
    (line,) = re.findall(r"``(warnings\.filterwarnings\(.*?\))``", BaseDetector.select.__doc__)
    batches[0, :3] = 4.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(line)
        for batch in batches[1:20]:
            detector.select(batch)
        assert not caught
        detector.select(np.r_[batches[0], np.full((300, 2), 0.1)], fdr=0.001)
    (other,) = caught
    assert "have the smallest p-value" in str(other.message)


@pytest.mark.parametrize("action", ["always", "default", "once", "module", "ignore", "error"])
def test_the_filters_of_python_decide_how_often_it_is_said(action, monkeypatch):
    monkeypatch.setattr("rankad._warnings._shown", set())
    control = control_of(np.arange(99))
    raised = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings(action, "No row is selected", CalibrationWarning, module=__name__)
        for _ in range(5):
            try:
                control.selected(np.full(9, 50.0), 0.1, adaptive=False)
            except CalibrationWarning:
                raised += 1
    assert raised == (5 if action == "error" else 0)
    assert len(caught) == {"always": 5, "ignore": 0, "error": 0}.get(action, 1)


def test_what_selects_inside_says_nothing(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(1_000, 2)))
    fresh = 0.1 * rng.normal(size=(500, 2))  # so that nothing is selected
    assert detector.audit_selection(fresh, batch_size=50).n_alarms == 0
    assert not benjamini_hochberg(detector.p_values(fresh), 0.1).any()
    assert said(lambda: detector.select(fresh[:50])) == LOOKS_NOMINAL
