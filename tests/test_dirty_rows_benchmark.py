"""The runs and the tables of benchmarks/dirty_rows.py."""

import dirty_rows
import numpy as np
import pytest

from rankad.datasets import Dataset
from rankad.reproduce.records import Key, Record
from rankad.reproduce.results import Results


@pytest.fixture(autouse=True)
def far_anomalies(monkeypatch):
    """A set of 400 nominal rows, and 60 anomalies that are far from them."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(400, 2)), rng.normal(9.0, 1.0, size=(60, 2))])
    data = Dataset("made up", rows, np.arange(460) >= 400, source="", license="", difference="")
    monkeypatch.setattr(dirty_rows, "load_set", lambda name: data)
    for cached in (dirty_rows.split_of, dirty_rows.first_rows):
        cached.cache_clear()
    yield
    for cached in (dirty_rows.split_of, dirty_rows.first_rows):
        cached.cache_clear()


def key_of(method, share="5%", experiment="suspicion"):
    return Key(experiment, f"http, {share}", "standard", method, 0)


def test_the_mask_is_that_of_the_bad_rows():
    split, is_bad = dirty_rows.split_of("http, 5%", 0)
    assert is_bad.sum() == 10
    assert len(split.train) == 210
    np.testing.assert_array_equal(is_bad, split.train.min(axis=1) > 4.5)


@pytest.mark.parametrize("method", [dirty_rows.RANKAD, dirty_rows.FOREST_IN])
def test_far_rows_are_found(method):
    record = dirty_rows.on_suspicion(key_of(method))
    assert record.measures["precision"] >= 0.7
    assert record.measures["found in a tenth"] == 1.0
    assert record.measures["precision"] <= record.measures["found in thrice as many"] <= 1.0


def test_the_recipe_drops_bad_rows_that_were_looked_at_and_no_others():
    split, is_bad = dirty_rows.split_of("http, 5%", 0)
    kept = dirty_rows.kept_rows(key_of(dirty_rows.REFITTED), split.train, is_bad)
    np.testing.assert_array_equal(kept, split.train[~is_bad])
    clean = dirty_rows.kept_rows(key_of(dirty_rows.CLEAN), split.train, is_bad)
    np.testing.assert_array_equal(clean, split.train[~is_bad])
    everything = dirty_rows.kept_rows(key_of(dirty_rows.FITTED), split.train, is_bad)
    np.testing.assert_array_equal(everything, split.train)


@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_the_level_of_all_rows_is_that_of_the_mixture(monkeypatch):
    monkeypatch.setattr(dirty_rows, "ALPHAS", (0.05, 0.1))
    measures = dirty_rows.on_level(key_of(dirty_rows.CLEANED, experiment="level")).measures
    share = 10 / 210
    mixed = (1.0 - share) * measures["clean 0.1"] + share * measures["bad 0.1"]
    assert measures["all 0.1"] == pytest.approx(mixed)
    assert measures["bad 0.1"] > 0.5


def records(experiment, shares, methods, measures):
    return Results(
        [
            Record(experiment, f"{name}, {share}%", "standard", method, 0, 100, 2, measures)
            for share in shares
            for name in dirty_rows.SETS
            for method in methods
        ],
        experiment,
    )


def test_tables_have_every_share_and_method():
    found = {"precision": 0.5, "found in a tenth": 0.75}
    suspicion = records("suspicion", (1, 5), [dirty_rows.RANKAD, *dirty_rows.ORDERS], found)
    lines = dirty_rows.precision_table(suspicion).splitlines()
    assert lines[2] == "| RankAD |" + " 0.50 |" * 6 + " 0.75 |" * 2
    assert len(lines) == 2 + 1 + len(dirty_rows.ORDERS)
    assert len(dirty_rows.sets_table(suspicion).splitlines()) == 12
    rates = {f"{what} {alpha}": 0.1 for what in ("clean", "bad", "all") for alpha in (0.01, 0.05)}
    level = records("level", (0, 1, 2, 5), [dirty_rows.FITTED], rates)
    lines = dirty_rows.level_table(level).splitlines()
    assert len(lines) == 6
    assert lines[2] == (
        "| 0% | fitted to all | 0.1000 (0.1000) | 0.100 | 0.1000 (0.1000) | 0.100 | 0.1000 "
        "| 0.1000 |"
    )
