"""The rows and the tables of benchmarks/dependence.py."""

import dependence
import numpy as np
import ordered_rows
import pytest

from rankad.reproduce.records import Record
from rankad.reproduce.results import Results

N = 400


def rows_of(name, n=N):
    return ordered_rows.SOURCES[name](n, np.random.default_rng(0))


@pytest.mark.parametrize("name", ordered_rows.SOURCES)
def test_every_kind_has_training_rows_and_new_rows_that_are_no_copies(name):
    rows = rows_of(name)
    assert (len(rows.train), len(rows.new)) == (N, ordered_rows.N_NEW)
    assert not np.isin(rows.new[:, 0], rows.train[:, 0]).any()


@pytest.mark.parametrize(("name", "times"), [("each row twice", 2), ("each row five times", 5)])
def test_every_row_is_copied_as_often_as_its_name_says(name, times):
    assert set(np.unique(rows_of(name).train[:, 0], return_counts=True)[1]) == {times}


def test_rows_of_a_group_share_their_part_of_the_variance():
    rows = rows_of("groups of ten", 20_000)
    by_group = rows.train.reshape(-1, ordered_rows.GROUP_SIZE, rows.train.shape[1])
    assert set(np.bincount(rows.groups)) == {ordered_rows.GROUP_SIZE}
    within = np.var(by_group, axis=1, ddof=1).mean()
    assert within == pytest.approx(1.0 - ordered_rows.COMMON, rel=0.05)
    assert rows.train.var() == pytest.approx(1.0, rel=0.1)


def test_faults_move_one_column_by_three_deviations_and_nothing_else():
    rows = rows_of("daily cycle, hour columns")
    brief, places, lasting = dependence.shifts(rows, np.random.default_rng(0))
    assert places.shape == (20, 20)
    for faulty, expected in ((brief, np.sort(places.ravel())), (lasting, range(15_000, 20_000))):
        moved = faulty - rows.new
        (column,) = np.flatnonzero(moved.any(axis=0))
        assert column < 4, "no fault moves the hour"
        assert np.flatnonzero(moved[:, column]).tolist() == list(expected)
        shift = moved[moved != 0.0]
        np.testing.assert_allclose(shift, 3.0 * rows.train[:, column].std())


def test_few_new_rows_have_few_faults():
    rows = ordered_rows.OrderedRows(
        np.random.default_rng(0).normal(size=(381, 2)), np.zeros((381, 2)), 2
    )
    _, places, lasting = dependence.shifts(rows, np.random.default_rng(0))
    assert places.shape == (3, 20)
    assert places.max() < 381
    assert np.count_nonzero(lasting) == 190


def test_a_line_of_the_table_has_every_measure():
    measures = {"is_warned": 1.0, "worth": 215.0, "monitor": 70.0}
    names = ("rate", "brief", "lasting", "budget rate", "budget lasting")
    measures |= {f"{name} 0.01": value / 100 for value, name in enumerate(names, 1)}
    records = [
        Record("dependence", "AR(.9): 4000", "standard", method, seed, 4_000, 4, measures)
        for method in ("default", "time", "last rows")
        for seed in range(2)
    ]
    made = dependence.rate_table(Results(records, "dependence"), 0.01, is_file=True)
    assert made.splitlines()[2] == (
        "| AR(.9) | 4,000 (215) | 0.0100 ± 0.0000, warned 2 of 2 | 0.02 ± 0.00, 0.03 ± 0.00 "
        "| time: 0.0100 ± 0.0000, warned 2 of 2 | 0.02 ± 0.00, 0.03 ± 0.00 "
        "| 0.0400 ± 0.0000 | 0.05 ± 0.00 | 0.0100 ± 0.0000 | 70 |"
    )


def test_the_cell_of_the_monitor_says_how_many_alarmed():
    nan = float("nan")
    assert dependence.alarm_cell(np.array([nan, nan])) == "no alarm"
    assert dependence.alarm_cell(np.array([900.0, 1100.0, nan])) == "1,000 (2 of 3)"
