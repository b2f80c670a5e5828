"""The tables of docs/accuracy.md, and the records they are made of."""

import accuracy
import accuracy_page
import numpy as np
import pages
import pytest
import records
import study
from numpy.testing import assert_allclose


def make_record(method, name, seed, auc, n_train=1000):
    return accuracy.Record(
        *(method, name, seed, n_train, 3),
        auc=auc,
        average_precision=0.5,
        power=0.5,
        false_alarms=[0.01, 0.05, 0.1],
    )


@pytest.fixture
def results():
    """Two sets and seeds on which the methods are the better the later they are listed."""
    methods = {method: i / 100 for i, method in enumerate(accuracy_page.METHODS)}
    return accuracy_page.Results(
        [
            make_record(method, name, seed, auc + 0.01 * seed, n_train)
            for method, auc in methods.items()
            for name, n_train in (("small", 100), ("large", 1000))
            for seed in (0, 1)
        ],
        [
            accuracy.Cost(method, name, 1.0, microseconds)
            for method in methods
            for name, microseconds in (("small", 1.0), ("large", 4.0))
        ],
        ["small", "large"],
    )


def test_results_are_summed_up_over_sets_and_seeds(results):
    assert_allclose(results.mean_auc(accuracy_page.METHODS[3]), 0.035)
    assert_allclose(results.microseconds(accuracy_page.DEFAULT), 2.0)
    assert results.false_alarms(accuracy_page.DEFAULT) == [0.01, 0.05, 0.1]
    assert_allclose(results.ranks(accuracy_page.METHODS[:3]), [[3, 3], [2, 2], [1, 1]])


def test_every_method_has_a_line_and_the_best_is_the_first(results):
    lines = accuracy_page.summary(results).splitlines()
    assert len(lines) == 2 + len(accuracy_page.METHODS)
    assert lines[2].startswith(f"| {accuracy_page.METHODS[-1]} | ")


def test_what_is_not_measured_yet_is_named(results):
    with pytest.raises(SystemExit, match=r"Not all is measured yet.*RankAD, 25 centers"):
        accuracy_page.Results([make_record("LOF", "small", 0, 0.5)], [], ["small"])


def test_only_sets_on_which_all_variants_were_tried_are_compared():
    trials = [
        study.Trial("anchor", variant, n, name, 0, auc)
        for variant, auc in (("default", 0.6), ("other", 0.7))
        for n in study.N_CENTERS
        for name in ("whole", "part")
        if (variant, name) != ("other", "part")
    ]
    assert accuracy_page.study(trials).splitlines()[2:] == [
        "| default | 0.6000 | 0.6000 | 0.6000 |",
        "| other | 0.7000 (+0.1000) | 0.7000 (+0.1000) | 0.7000 (+0.1000) |",
    ]


def test_a_table_takes_the_place_of_the_one_before():
    page = "before\n<!-- a -->\nold\n<!-- /a -->\nafter"
    expected = "before\n<!-- a -->\n\nnew\n\n<!-- /a -->\nafter"
    assert pages.with_table(page, "a", "new") == expected
    assert pages.with_table(expected, "a", "new") == expected
    with pytest.raises(SystemExit, match="no place for the table 'b'"):
        pages.with_table(page, "b", "new")


def test_a_stopped_run_goes_on_after_a_line_that_was_cut_short(tmp_path, monkeypatch):
    def in_this_process(measure, tasks, n_jobs):
        return ((task, measure(*task)) for task in tasks)

    def accuracy_of_half(method, name, seed):
        return [make_record(method, name, seed, 0.5)]

    monkeypatch.setattr(records, "_in_processes", in_this_process)
    path = tmp_path / "folder" / "records.jsonl"
    records.record(accuracy_of_half, [("LOF", "small", 0)], path, n_jobs=1)
    with path.open("a") as file:
        file.write('{"method": "LO')
    records.record(accuracy_of_half, [("LOF", "small", 1)], path, n_jobs=1)
    found = records.read_records(path, accuracy.Record)
    assert [one.seed for one in found] == [0, 1]
    assert np.mean([one.auc for one in found]) == 0.5
