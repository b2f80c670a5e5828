"""Reasons on real rows with known guilty columns (the full tables: benchmarks/reasons.py)."""

import numpy as np
import pytest
import reasons
from numpy.testing import assert_array_equal

pytestmark = pytest.mark.data


#: Two sets on which reasons are good, and one whose columns are nearly independent, so that a
#: swapped value often fits as well as the true one.
SETS = ("satellite", "magic", "annthyroid")

#: Precision and recall that are reached in the mean of these sets.
LEVELS = {
    "one shifted": (0.95, 0.95),
    "one swapped": (0.75, 0.75),
    "three shifted": (0.85, 0.7),
    "three swapped": (0.75, 0.25),
}


@pytest.fixture(scope="module")
def all_measures():
    return {name: reasons.measures_of(name, seed=5) for name in SETS}


@pytest.fixture(params=SETS[:2])
def measures(request, all_measures):
    return all_measures[request.param]


@pytest.mark.parametrize("kind", LEVELS)
def test_the_guilty_columns_are_blamed(all_measures, kind):
    found = [of_set[kind, "explain"] for of_set in all_measures.values()]
    assert min(of_set["n"] for of_set in found) >= 50
    for part, level in zip(("precision", "recall"), LEVELS[kind], strict=True):
        assert np.mean([of_set[part] for of_set in found]) >= level
    for other in ("z-scores", "nearest row"):
        theirs = [of_set[kind, other]["precision"] for of_set in all_measures.values()]
        assert np.mean([of_set["precision"] for of_set in found]) > np.mean(theirs)


def test_more_of_the_anomalies_are_explained_than_by_others(measures):
    alone, grouped, z_scores, nearest = (
        measures["anomalies", method]["explained"]
        for method in ("explain", "explain, groups", "z-scores", "nearest row")
    )
    assert grouped > alone > max(z_scores, nearest)


@pytest.mark.parametrize("kind", reasons.KINDS, ids=lambda kind: kind.name)
def test_so_many_columns_change_and_constant_ones_stay(kind, rng):
    train = np.column_stack([rng.normal(size=(500, 4)), np.full(500, 7.0)])
    rows = np.column_stack([rng.normal(size=(200, 4)), np.full(200, 7.0)])
    after, is_guilty = reasons.changed(rows, train, kind, rng)
    assert_array_equal(is_guilty, after != rows)
    assert_array_equal(is_guilty.sum(axis=1), kind.n_columns)
    assert not is_guilty[:, 4].any()
    if kind.is_shift:
        shifts = np.abs(after - rows)[is_guilty] / np.tile(train.std(axis=0), (200, 1))[is_guilty]
        np.testing.assert_allclose(shifts, reasons.SHIFT)
    else:
        assert np.isin(after, np.concatenate([rows.ravel(), train.ravel()])).all()
