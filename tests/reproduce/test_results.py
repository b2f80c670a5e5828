"""What is said of the records is true of them."""

import numpy as np
import pytest
from made_records import alarms, make_record
from numpy.testing import assert_allclose

from rankad.reproduce import RecordsError, Results
from rankad.reproduce.false_alarm_limits import verdicts
from rankad.reproduce.results import Difference, false_alarm_rates, mean_roc


def test_quantities_are_those_of_the_runs(table_2_records):
    results = Results(table_2_records, "table2")
    assert results.n_runs == 2
    assert len(results.sets) == 8
    assert_allclose(results.values("RankAD", "auc", "raw"), [[0.8, 0.82]] * 8)
    assert_allclose(results.by_set("RankAD", "auc", "raw"), [0.81] * 8)
    assert_allclose(results.mean("RankAD as published", "auc", "raw"), 0.82)
    assert_allclose(results.median("RankAD as published", "auc"), 0.82)
    assert_allclose(results.geometric_mean("RankAD", "auc"), np.sqrt(0.8 * 0.82))
    assert np.isnan(results.values("iForest", "n_centers")).all()
    assert_allclose(results.mean_false_alarms("RankAD", "raw"), [0.01, 0.05, 0.1])
    assert results.median_seconds("RankAD", "http", "standard") == 0.01
    assert results.drawn == []
    assert results.runs("RankAD", "banknote", "raw") == []


def test_other_experiments_are_left_out(table_2_records, fig_3_records):
    results = Results([*fig_3_records, *table_2_records], "fig3")
    assert results.sets == ["banknote", "magic"]
    assert results.drawn == ["RankAD", "RankAD as published", "aK-LPE", "OC-SVM"]


def test_runs_that_are_missing_are_named(fig_3_records):
    def is_left(record):
        return (record.method, record.set, record.seed) != ("RankAD", "magic", 1)

    results = Results(fig_3_records, "fig3").only(is_left)
    message = "Runs of RankAD are missing in fig3, raw columns: there are 2 on banknote, 1 on magic"
    with pytest.raises(RecordsError, match=message):
        results.values("RankAD", "auc", "raw")
    assert results.values("aK-LPE", "auc", "raw").shape == (2, 2)
    with pytest.raises(RecordsError, match="0 on banknote, 0 on magic"):
        results.mean("LOF", "auc")
    with pytest.raises(RecordsError, match="there are none"):
        Results([], "fig3").mean("LOF", "auc")


def test_a_difference_has_standard_errors_over_sets_and_over_runs(rng):
    values = rng.normal(size=(6, 4))
    difference = Difference.of(values)
    assert_allclose(difference.mean, values.mean())
    assert_allclose(difference.over_sets, values.mean(axis=1).std(ddof=1) / np.sqrt(6))
    assert_allclose(difference.over_runs, values.mean(axis=0).std(ddof=1) / np.sqrt(4))
    assert str(Difference(0.1, 0.06, 0.01)) == "~+0.1000 ± 0.0600 / 0.0100"
    assert str(Difference(0.1, 0.04, np.nan)) == "+0.1000 ± 0.0400"
    assert str(Difference(-0.1, np.nan, 0.04)) == "-0.1000 ± 0.0400"


def test_rates_and_curves_are_means_over_the_runs(key):
    runs = [
        make_record(key, **alarms(0, 10, 20), roc=[0.0, 0.5, 1.0]),
        make_record(key, **alarms(2, 30, 40), roc=[0.2, 0.7, 1.0]),
    ]
    assert_allclose(false_alarm_rates(runs), [0.001, 0.02, 0.03])
    assert_allclose(mean_roc(runs), [0.1, 0.6, 1.0])


def test_an_exact_detector_is_found_wanting_as_seldom_as_agreed(key):
    rng = np.random.default_rng(0)
    n_reference, n_nominal, n_wanting, n_repetitions = 99, 400, 0, 2_000
    for _ in range(n_repetitions):
        reference, fresh = np.sort(rng.uniform(size=n_reference)), rng.uniform(size=n_nominal)
        p = (1 + np.searchsorted(reference, fresh, side="right")) / (n_reference + 1)
        counts = [int((p <= alpha).sum()) for alpha in (0.01, 0.05, 0.1)]
        rates = alarms(*counts, n_nominal=n_nominal)
        run = make_record(key, n_reference=n_reference, n_nominal=n_nominal, **rates)
        n_wanting += not all(verdict.is_within for verdict in verdicts([run], n_tests=3))
    # At most .05 of them: four standard deviations above that are .07.
    assert 0 < n_wanting <= 0.07 * n_repetitions


@pytest.mark.parametrize(("n_alarms", "is_within"), [(0, True), (1, False)])
def test_where_alpha_cannot_be_resolved_nothing_may_alarm(key, n_alarms, is_within):
    run = make_record(key, **alarms(n_alarms, 50, 100), n_reference=50)
    assert verdicts([run], n_tests=3)[0].is_within == is_within


@pytest.mark.parametrize(("n_alarms", "is_within"), [(0, False), (50, True), (200, False)])
def test_counts_far_from_what_was_asked_are_not_within(key, n_alarms, is_within):
    run = make_record(key, **alarms(10, n_alarms, 100), n_reference=999)
    found = verdicts([run], n_tests=3)
    assert [verdict.is_within for verdict in found] == [True, is_within, True]
    assert found[1].rate == n_alarms / 1_000
