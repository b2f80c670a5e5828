"""Reference scores of each stratum, and decisions with them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import false_discovery_control

import oracles
from rankad.calibration import (
    FalseAlarmControl,
    GroupScores,
    HeldOutScores,
    StrataControl,
    StrataScores,
    StratumLabels,
    TimeScores,
    conditional_p_values,
    false_alarm_band,
    safe_order,
)
from rankad.calibration.strata_control import control_of_stratum, warn_if_strata_too_coarse
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError

KEYS = ["DE", "FR", 3, ("IT", 5), "rare"]


def labels(values):
    return StratumLabels.from_values(list(values))


def drawn_labels(rng, n, keys=KEYS):
    weights = 0.5 ** np.arange(len(keys))
    return [keys[i] for i in rng.choice(len(keys), size=n, p=weights / weights.sum())]


@pytest.mark.parametrize("pool_below", [0, 1, 6, 10, 1000])
@pytest.mark.parametrize("digits", [None, 0], ids=["distinct", "ties"])
def test_p_values_are_those_of_the_stratum(pool_below, digits, rng):
    scores, new = rng.normal(size=80), rng.normal(size=60)
    if digits is not None:
        scores, new = scores.round(digits), new.round(digits)
    strata, new_strata = drawn_labels(rng, 80), drawn_labels(rng, 60, [*KEYS, "unseen"])
    fitted = StrataScores.from_scores(scores, labels(strata), pool_below)
    p = StrataControl(fitted, labels(new_strata)).p_values(new)
    expected = oracles.stratum_p_values(new, new_strata, scores, strata, pool_below)
    assert_array_equal(p, expected)


def test_a_thousand_strata_are_those_of_the_oracle(rng):
    strata, new_strata = rng.integers(0, 1000, size=3000), rng.integers(0, 1050, size=300)
    scores, new = rng.normal(size=3000), rng.normal(size=300)
    fitted = StrataScores.from_scores(scores, StratumLabels.from_values(strata))
    p = StrataControl(fitted, StratumLabels.from_values(new_strata)).p_values(new)
    assert_array_equal(p, oracles.stratum_p_values(new, new_strata, scores, strata))


@pytest.mark.parametrize("shares_at_most", [False, True], ids=["fewer", "at most"])
@pytest.mark.parametrize("pool_below", [0, 1, 2, 4])
def test_the_level_is_exact_over_all_choices_of_the_new_row(pool_below, shares_at_most, rng):
    """Exchangeability: of any rows, each is the new one with the same probability.

    In each stratum with an own reference, and in all others together, at most a share alpha of the
    choices has ``p <= alpha``. It would fail if only strata with *fewer* rows were shared.
    """
    alphas, n_exceeding = (0.1, 0.25, 0.34, 0.5), 0
    for _ in range(60):
        strata = rng.choice(9, size=24, p=np.array([8, 4, 4, 2, 2, 1, 1, 1, 1]) / 24)
        is_at_the_limit = np.bincount(strata)[strata] == pool_below
        scores = rng.integers(0, 12, size=24) - 20.0 * is_at_the_limit
        p, kinds = np.empty(24), []
        for new in range(24):
            rest = np.delete(np.arange(24), new)
            fitted = StrataScores.from_scores(scores[rest], strata[rest], pool_below)
            if not shares_at_most:
                fitted = _SharedByFewer(fitted.references, pool_below)
            control = StrataControl(fitted, StratumLabels.from_values(strata[[new]]))
            p[new] = control.p_values(scores[[new]])[0]
            kinds.append("shared" if fitted.shares(strata[new]) else int(strata[new]))
        for kind in set(kinds):
            of_kind = p[[other == kind for other in kinds]]
            n_exceeding += sum((of_kind <= alpha).mean() > alpha + 1e-12 for alpha in alphas)
    assert (n_exceeding > 0) == (pool_below > 1 and not shares_at_most)


class _SharedByFewer(StrataScores):
    """The obvious rule, which is not exact: small strata share the rows of small strata."""

    @property
    def _shared(self):
        parts = [each.scores for each in self.values() if each.size < self.pool_below]
        return HeldOutScores.from_scores(np.concatenate([np.empty(0), *parts]))


def strata_of_sizes(sizes, rng, pool_below=0):
    """Reference of normal scores, with this number of rows for each key."""
    values = [key for key, size in sizes.items() for _ in range(size)]
    return StrataScores.from_scores(rng.normal(size=len(values)), labels(values), pool_below)


@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.3])
def test_alarms_are_small_p_values_of_the_stratum(alpha, confidence, rng):
    strata = strata_of_sizes({"a": 200, "b": 60, "c": 3}, rng)
    new = labels(rng.choice(["a", "b", "c", "d"], size=400))
    scores, control = rng.normal(size=400), StrataControl(strata, new)
    with pytest.warns(CalibrationWarning, match="in strata with too few reference rows"):
        thresholds = control.thresholds(alpha, 0.05, confidence)
    found = control.is_alarm(scores, thresholds)
    p = control.p_values(scores)
    for key, rows in zip(new.keys, new.rows_of_keys(), strict=True):
        n = strata[key].size if key in strata else 0
        order = safe_order(alpha, confidence, n) if confidence else int(alpha * (n + 1) + 1e-9)
        assert_array_equal(found[rows], p[rows] <= (order / (n + 1) if n else 0))


def test_with_confidence_p_values_are_those_of_the_band_of_the_stratum(rng):
    strata = strata_of_sizes({"a": 40, "b": 100}, rng)
    new, scores = labels(["a", "b", "c"] * 30), rng.normal(size=90)
    p = StrataControl(strata, new).p_values(scores, 0.9)
    own = StrataControl(strata, new).p_values(scores)
    for key, rows in zip(("a", "b"), new.rows_of_keys(), strict=False):
        assert_array_equal(p[rows], conditional_p_values(own[rows], strata[key].size, 0.9))
    assert_array_equal(p[2::3], 1.0)
    assert len(false_alarm_band(40, 0.9)) == strata["a"].size


def test_an_alpha_that_no_stratum_resolves_is_refused(rng):
    control = StrataControl(strata_of_sizes({"a": 9, "b": 40}, rng), labels(["a", "c"]))
    message = r"strata with too few .*: \{'a': 9, 'c': 0\}\. Each needs at least 19.*pool_below=19"
    with pytest.raises(UnresolvableAlphaError, match=message):
        control.thresholds(0.05, 0.2)
    assert_array_equal(control.thresholds(None, 0.05), -np.inf)  # the constructor's alpha
    with pytest.warns(CalibrationWarning, match=r"\{'c': 0\}"):
        assert np.isfinite(control.thresholds(0.1, 0.2)).tolist() == [True, False]
    with pytest.raises(UnresolvableAlphaError, match=r"confidence=0.9 .* at least 45"):
        control.thresholds(0.05, 0.2, confidence=0.9)
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        control.thresholds(1.5, 0.2)


def test_many_strata_are_not_all_named(rng):
    strata = strata_of_sizes(dict.fromkeys(range(50), 2), rng)
    with pytest.warns(CalibrationWarning, match=r"4: 2\} and 45 more\. Each needs at least 19"):
        warn_if_strata_too_coarse(strata, 0.05)


def test_a_batch_is_selected_by_the_p_values_of_the_strata(rng):
    strata = strata_of_sizes({"a": 200, "b": 60}, rng)
    new = labels(rng.choice(["a", "b", "c"], size=100))
    scores = rng.normal(size=100) - 4.0 * (rng.random(100) < 0.3)
    control = StrataControl(strata, new)
    p = control.p_values(scores)
    expected = false_discovery_control(p) <= 0.2
    assert expected.any()
    assert_array_equal(control.selected(scores, 0.2, adaptive=False), expected)
    far = np.where(np.arange(100) == 0, -99.0, 5.0)
    with pytest.warns(CalibrationWarning, match=r"1 of 100 rows .* each of these .*999 reference"):
        assert not control.selected(far, 0.1, adaptive=False).any()


def test_audits_hold_at_once(rng):
    strata = strata_of_sizes({"a": 200, "b": 60, "c": 5}, rng)
    control = StrataControl(strata, labels(["a", "b", "a", "d"] * 50))
    is_alarm = rng.random(200) < 0.1
    audits = control.audits(is_alarm, 0.05, confidence=0.94)
    assert list(audits) == ["a", "b", "d"]
    for key, rows in zip(audits, control.labels.rows_of_keys(), strict=True):
        reference = strata.reference_of(key)
        alone = FalseAlarmControl(reference).audit(int(is_alarm[rows].sum()), len(rows), 0.05, 0.98)
        assert audits[key].confidence == pytest.approx(0.98)
        assert (audits[key].n_alarms, audits[key].max_alarms) == (alone.n_alarms, alone.max_alarms)
    shared = StrataControl(strata.pooled(100), control.labels).audits(is_alarm, 0.05, 0.94)
    assert shared["a"] == audits["a"]
    assert shared["b"].max_alarms is None  # a shared reference has no law


def test_what_needs_an_own_reference_refuses_a_shared_one(rng):
    strata = strata_of_sizes({"a": 200, "b": 60, "c": 5}, rng, pool_below=100)
    StrataControl(strata, labels(["a"])).require_exact("select")
    message = (
        r"select needs a reference of each stratum, .* fewer than 100 rows share one: 'b', 'z'"
    )
    with pytest.raises(ValueError, match=message):
        StrataControl(strata, labels(["a", "b", "z"])).require_exact("select")
    with pytest.raises(ValueError, match="share one: 'c'"):
        control_of_stratum(strata, "c", "false_alarm_bounds")
    assert control_of_stratum(strata, "a", "false_alarm_bounds").reference is strata["a"]
    with pytest.raises(ValueError, match=r"no reference rows of the stratum 1. Known .* 'a', 'b'"):
        control_of_stratum(strata, 1, "false_alarm_bounds")


def test_unseen_strata_are_named_beside_the_known_ones(rng, recwarn):
    strata = strata_of_sizes({1: 30, 2: 30}, rng)
    StrataControl(strata, labels([2, 1])).warn_if_unseen()
    StrataControl(strata.pooled(9), labels([2, "x"])).warn_if_unseen()  # they share on purpose
    assert not recwarn
    with pytest.warns(CalibrationWarning, match=r"never alarm: '1'\. Known strata are 1, 2\."):
        StrataControl(strata, labels([2, "1"])).warn_if_unseen()
    with pytest.warns(CalibrationWarning, match="share a reference: '1', '2'"):
        StrataControl(strata.pooled(9), labels(["1", "2"])).warn_if_unseen()


def test_a_reference_grows_stratum_by_stratum(rng):
    first, second = rng.normal(size=40), rng.normal(size=30)
    keys = drawn_labels(rng, 70)
    grown = StrataScores.from_scores(first, labels(keys[:40]), 7)
    before = {key: each.scores.copy() for key, each in grown.items()}
    together = grown.extended(second, labels(keys[40:]))
    whole = StrataScores.from_scores(np.concatenate([first, second]), labels(keys))
    assert together.keys() == whole.keys()
    for key in whole:
        assert_array_equal(together[key].scores, whole[key].scores)
    assert together.pool_below == 7
    for key, scores in before.items():  # what was there is as it was
        assert_array_equal(grown[key].scores, scores)


def test_other_references_serve_as_well(rng):
    scores, keys = rng.normal(size=40), labels(["a", "b"] * 20)
    groups = np.arange(40) // 4
    strata = StrataScores.from_rows(keys, lambda r: GroupScores.from_groups(scores[r], groups[r]))
    assert (strata.guarantee, strata["a"].size) == ("groups", 10)
    timed = StrataScores.from_rows(keys, lambda r: TimeScores.from_runs(scores[r], np.array([0])))
    assert_array_equal(timed["b"].in_order, scores[1::2])
    assert StrataScores({**strata, **timed, "c": timed["a"]}).guarantee == "time"
    assert StrataScores({"a": strata["a"], "b": timed["b"]}).guarantee == "mixed"
    with pytest.raises(ValueError, match="held-out reference scores in every stratum"):
        StrataControl(timed, keys).require_exact("select")
    with pytest.raises(ValueError, match=r"pool_below=3 needs held-out reference scores of single"):
        strata.pooled(3)


@pytest.mark.parametrize("below", [-1, 2.5, True, "3", None])
def test_pool_below_is_a_number_of_rows(below, rng):
    with pytest.raises(ValueError, match="pool_below must be a number of rows, 0 or more; got"):
        strata_of_sizes({"a": 9}, rng).pooled(below)


def test_it_is_an_immutable_small_mapping(rng):
    strata = strata_of_sizes(dict.fromkeys(range(5000), 40), rng)
    assert len(strata) == len(list(strata)) == 5000
    assert 3 in strata
    assert "3" not in strata
    with pytest.raises(TypeError, match="does not support item assignment"):
        strata[3] = strata[4]
    with pytest.raises(AttributeError, match="cannot assign"):
        strata.pool_below = 4
    data = pickle.dumps(strata)
    assert len(data) < 2 * 8 * 200_000
    again = pickle.loads(data)
    assert_array_equal(again[7].scores, strata[7].scores)
    assert repr(again) == "StrataScores(5000 strata of 40 to 40 scores, guarantee: exact)"
    assert repr(StrataScores({})) == "StrataScores(0 strata, guarantee: exact)"


def test_labels_of_other_rows_are_refused(rng):
    control = StrataControl(strata_of_sizes({"a": 9}, rng), labels(["a", "a"]))
    message = "one value for each of the 3 rows of X; got 2 values"
    with pytest.raises(ValueError, match=message):
        control.p_values(np.zeros(3))
    with pytest.raises(ValueError, match=message):
        control.is_alarm(np.zeros(3), np.zeros(1))
    with pytest.raises(ValueError, match=message):
        StrataScores.from_scores(np.zeros(3), labels(["a", "a"]))
    with pytest.raises(ValueError, match=message):
        control.strata.extended(np.zeros(3), labels(["a", "a"]))
