"""What the detector guarantees, on the real data sets in the folder RANKAD_DATA."""

import os

import comparators
import experiments
import false_alarms
import methods
import numpy as np
import one_class
import pytest
from numpy.testing import assert_array_equal

from rankad import RankAD
from rankad.options import RankSVM
from rankad.reproduce.experiment import Task, tasks
from rankad.reproduce.records import ALPHAS, Key, rate_name
from rankad.reproduce.results import of_runs
from rankad.reproduce.runner import measured
from rankad.statistics import MeanNeighborDistance

pytestmark = pytest.mark.data

ALL_SETS = one_class.set_names() if "RANKAD_DATA" in os.environ else ["(no data)"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(false_alarms.FALSE_ALARMS_OF_RANKAD.n_runs))
@pytest.mark.parametrize("name", one_class.LARGE_SETS)
def test_false_alarms_stay_below_the_beta_binomial_limit(name, seed):
    key = Key("false alarms", name, "standard", methods.RANKAD, seed)
    of = measured(Task(key, false_alarms.on_set)).measures
    for alpha in ALPHAS:
        n_alarms = round(of[rate_name(alpha)] * of["n_nominal"])
        assert n_alarms <= false_alarms.limit(alpha, of["n_reference"], of["n_nominal"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_SETS)
def test_the_ranker_is_on_no_set_far_below_its_statistic(name):
    ours, teacher = (
        np.mean([measured_auc(method, name, seed) for seed in range(3)])
        for method in (methods.RANKAD, methods.KNN)
    )
    assert ours >= teacher - 0.04  # hepatitis has 25 training rows: -.03


def measured_auc(method, name, seed):
    task = Task(Key("sets", name, "standard", method, seed), experiments.on_set)
    return measured(task).measures["auc"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # small sets: lowered K, coarse calibration
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ALL_SETS)
def test_a_far_point_gets_the_smallest_p_value_at_every_sigma(name, dtype, rng):
    split = one_class.load_split(name, seed=0, n_train=400)
    n_features = split.train.shape[1]
    spread = np.abs(split.train).max() + 1.0
    directions = rng.normal(size=(10, n_features))
    directions /= np.abs(directions).max(axis=1, keepdims=True)
    axes = np.eye(n_features)[:20]
    far = np.concatenate([directions, axes, -axes])
    distance = RankAD(random_state=0).fit(split.train).mean_neighbor_distance_
    for power in (-10, -4, -1, 0, 2, 6, 10):
        detector = RankAD(sigma=2.0**power * distance, ranker=RankSVM(dtype=dtype), random_state=0)
        detector.fit(split.train)
        # Also with float32 where the detector refuses it: the order holds in any arithmetic.
        scorer = detector.expansion_.astype(dtype)
        lowest = scorer(split.train).min()
        for factor in (1e9, 1e30, 1e200):
            p = detector.p_values(factor * spread * far)
            assert_array_equal(p, 1 / (detector.reference_.size + 1))
            assert (scorer(factor * spread * far) < lowest).all()


@pytest.mark.parametrize("name", ["mammography", "breastw"])
def test_many_duplicates_are_handled(name):
    split = one_class.load_split(name, seed=0)
    values = MeanNeighborDistance(10)(split.train)
    assert (values == 0.0).mean() > 0.05
    detector = RankAD(random_state=0).fit(split.train)
    rows = split.nominal[:500]
    batch = detector.score_samples(np.repeat(rows, 2, axis=0))
    assert_array_equal(batch[::2], batch[1::2])
    assert_array_equal(batch[::2][:50], [detector.score_samples(row[None])[0] for row in rows[:50]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "name", "checked"),
    [
        (method, name, figure)
        for method, figures in comparators.CHECKED.items()
        for name, figure in zip(comparators.SETS, figures, strict=True)
        if figure is not None
    ],
)
def test_the_comparators_agree_with_checked_figures(method, name, checked):
    records = [measured(task) for task in tasks([comparators.experiment(method, name)])]
    assert abs(of_runs(records, "auc").mean() - checked) <= 0.02
