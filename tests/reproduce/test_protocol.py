"""The rows that train and test are those of the paper."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankad import datasets
from rankad.reproduce import paper, protocol
from rankad.reproduce.experiment import Experiment, tasks
from rankad.reproduce.experiments import FIG_2, FIG_3, TABLE_2
from rankad.reproduce.protocol import Sizes, split


def test_table_2_trains_on_2000_rows_and_tests_on_80000_and_all_anomalies():
    assert tuple(TABLE_2.sizes) == paper.SETS
    assert {*TABLE_2.sizes.values()} == {Sizes(2_000, 80_000, None)}
    assert TABLE_2.columns == ("raw", "standard")


def test_the_figures_have_the_sizes_of_their_captions():
    assert [*FIG_2.sizes.values()] == [Sizes(600, 500, 1_000)]
    assert FIG_3.sizes["banknote"] == Sizes(500, 262, 610)
    assert FIG_3.sizes["magic"] == Sizes(1_500, 1_000, 3_000)


def test_the_published_means_are_those_of_its_table():
    aucs = [paper.AUC[name, paper.RANKAD] for name in paper.SETS]
    assert np.mean(aucs) == pytest.approx(0.937125)
    assert paper.AUC["annthyroid", paper.IFOREST] == 0.856
    assert paper.TEST_SECONDS["smtp", paper.AK_LPE] == 11.76
    assert len(paper.AUC) == len(paper.TEST_SECONDS) == 48
    columns = [[paper.AUC[name, method] for name in paper.SETS] for method in paper.METHODS]
    assert np.sum(columns, axis=1).round(3).tolist() == [7.497, 6.881, 7.288, 7.284, 7.23, 6.921]
    rows = [[paper.TEST_SECONDS[name, m] for m in paper.METHODS] for name in paper.SETS]
    assert np.sum(rows, axis=1).round(3).tolist() == [
        *(5.121, 26.703, 20.035, 3.949, 30.949, 4.188, 16.695, 22.228)
    ]


def test_rows_train_or_test_and_are_drawn_again_for_each_run():
    data = datasets.mulcross(1_000, random_state=0)
    first, again, second = (split(data, Sizes(200, 300), seed) for seed in (0, 0, 1))
    assert_array_equal(first.train, again.train)
    assert_array_equal(first.test, again.test)
    assert not np.array_equal(first.train, second.train)
    assert first.is_anomaly.sum() == 100
    assert len(first.test) == 400
    rows = np.concatenate([first.train, first.test])
    assert len(np.unique(rows, axis=0)) == len(rows)
    nominal = {tuple(row) for row in data.nominal}
    assert {tuple(row) for row in first.train} < nominal
    is_nominal = np.array([tuple(row) in nominal for row in first.test])
    assert_array_equal(is_nominal, ~first.is_anomaly)


def test_where_rows_are_few_all_that_do_not_train_test():
    drawn = split(datasets.mulcross(1_000, random_state=0), Sizes(800, 80_000, 7), seed=3)
    assert (len(drawn.train), len(drawn.test), drawn.is_anomaly.sum()) == (800, 107, 7)


def test_only_fig_2_has_other_data_in_each_run():
    law = protocol.load(protocol.FIG_2_SET, 0, None)
    assert not np.array_equal(law.X, protocol.load(protocol.FIG_2_SET, 1, None).X)
    assert len(law.nominal) == 1_100
    assert law.nominal_law is not None
    assert_array_equal(protocol.load("mulcross", 0, None).X, protocol.load("mulcross", 1, None).X)


def test_a_quick_run_has_fewer_rows():
    assert Sizes(2_000, 80_000).quick() == Sizes(1_000, 5_000, 5_000)
    assert Sizes(500, 262, 610).quick() == Sizes(500, 262, 610)


def test_runs_are_made_one_after_the_other_each_of_everything_once():
    made = list(tasks([one.on(None, quick=True) for one in (TABLE_2, FIG_3)], n_runs=2))
    keys = [task.key for task in made]
    assert len({*keys}) == len(keys)
    assert [key.seed for key in keys] == sorted(key.seed for key in keys)
    n_methods = len(TABLE_2.methods)
    assert len(keys) == 2 * (8 * 2 * n_methods + 2 * 2 * len(FIG_3.methods))


def test_each_experiment_has_its_own_number_of_runs_unless_one_is_asked_for():
    few, more = (
        Experiment(f"{n}", lambda: ["a", "b"], lambda name: [f"{name}1"], repr, n_runs=n)
        for n in (1, 3)
    )
    order = [(task.key.experiment, task.key.set, task.key.seed) for task in tasks([few, more])]
    first = [(n, name, 0) for n in ("1", "3") for name in "ab"]
    assert order == [*first, *(("3", name, seed) for seed in (1, 2) for name in "ab")]
    assert {task.key.method for task in tasks([few])} == {"a1", "b1"}
    assert len(list(tasks([few, more], n_runs=2))) == 8
    assert list(tasks([])) == []
