"""The accuracy benchmark: what it measures, the records it keeps, and the tables made of them."""

import re
import sys
from itertools import count

import accuracy
import accuracy_checks
import accuracy_page
import experiments
import law_experiments
import level_sets
import methods
import numpy as np
import one_class
import pages
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.datasets import Dataset, NormalMixture
from rankad.reproduce.experiment import Task
from rankad.reproduce.protocol import Split
from rankad.reproduce.records import ALPHAS, FALSE_ALARMS, Key, Record, RecordFile, read_records
from rankad.reproduce.runner import measured, run
from rankad.statistics import MeanNeighborDistance

RANKAD, KNN = methods.RANKAD, methods.KNN
NORMAL_1 = NormalMixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1)))


def key_of(method, name="large", seed=0, experiment="sets"):
    return Key(experiment, name, "standard", method, seed)


def made_up(key, **changes):
    """A record in which RankAD is a little better than k-NN, and much better than the others."""
    place = [*methods.METHODS, *law_experiments.ORACLES].index(key.method)  # tells methods apart
    level = {RANKAD: 0.95, methods.OUTWARD: 0.96, KNN: 0.94, "true density": 0.952}
    level[methods.FOR_DIRT] = 0.949
    height = level.get(key.method, 0.9 + 0.001 * place) + 0.001 * key.seed
    n_train = 100 if key.set == "small" else 1_000
    if ", n = " in key.set:
        n_train = int(key.set.split(", n = ")[1])
    if key.set.endswith(" rows"):
        n_train = int(key.set.split(", ")[1].split()[0])
    measures = {
        **dict.fromkeys(("auc", "average_precision", "power", "spearman"), height),
        **{f"{what}_{kind}": height for what in ("auc", "power") for kind in law_experiments.KINDS},
        **{f"{what}_{share}": 0.1 for what in ("mass", "volume") for share in (50, 90, 97)},
        **dict(zip(FALSE_ALARMS, ALPHAS, strict=True)),
        "fit_seconds": 1.0,
        "score_microseconds": {RANKAD: 1.0, KNN: 8.0}.get(key.method, 2.0 + place),
        "n_centers": 800.0,
        "scatter": 0.02,
    }
    name = key.set.split(",")[0]
    last = name.rsplit(" ", 1)[-1]
    n_features = int(last) if last.isdigit() else 3
    return Record(*key, n_train, n_features, measures | changes)


@pytest.fixture
def all_records(monkeypatch):
    monkeypatch.setattr(experiments, "set_names", lambda: ["large", "small", *experiments.LEFT_OUT])
    return [made_up(task.key) for task in accuracy.tasks([*experiments.EXPERIMENTS])]


@pytest.fixture
def of(all_records):
    """Made-up results of all experiments."""
    return accuracy_page.Experiments(all_records)


def test_the_page_has_a_place_for_every_table_and_no_other():
    marks = re.findall(r"<!-- ([a-z0-9-]+) -->", (accuracy_page.DOCS / "accuracy.md").read_text())
    assert sorted(marks) == sorted(accuracy_page.TABLES)


@pytest.mark.parametrize("name", accuracy_page.TABLES)
def test_every_table_is_made_of_the_records(of, name):
    lines = accuracy_page.TABLES[name](of).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert len(tables) >= 5
    assert "nan" not in "".join(lines)
    assert len({line.count("|") for line in tables}) == 1


def test_methods_are_listed_from_the_best_with_their_difference_to_the_baseline(of):
    lines = accuracy_page.TABLES["sets-summary"](of).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:6]] == [
        *(f"| {methods.OUTWARD}", f"| {RANKAD}", f"| {methods.FOR_DIRT}", f"| {KNN}")
    ]
    assert lines[3].split(" | ")[1:3] == ["0.9520", "+0.0100 ± 0.0000 / 0.0000"]
    assert lines[5].split(" | ")[2] == ""


def test_what_is_not_measured_yet_is_named(all_records):
    some = [record for record in all_records if record.key != key_of("LOF", "small", 3)]
    missing = (
        r"1 of \d+ runs of sets are missing, the first is LOF on small \(standard columns\), run 3"
    )
    with pytest.raises(SystemExit, match=missing):
        accuracy_page.Experiments(some)["sets"]
    first_seeds = accuracy_page.Experiments(some, n_seeds=3)["sets"]
    assert first_seeds.values("LOF", "auc").shape == (2, 3)


def test_all_checks_are_met_by_results_that_are_good(of):
    found = accuracy_checks.checks(of)
    assert len(found) == 17
    assert all(check.is_met for check in found)
    assert accuracy_checks.as_table(of).count("| yes |") == 17


@pytest.mark.parametrize(
    ("experiment", "method", "measures", "unmet"),
    [
        ("sets", RANKAD, {"auc": 0.91}, ["sets: AUC", "sets more than 0.02 below"]),
        ("sets", methods.OUTWARD, {"auc": 0.942}, ["the same with `outward=4`"]),
        ("sets", RANKAD, {"score_microseconds": 2.0}, ["sets: time of mean k-NN"]),
        ("laws", RANKAD, {"spearman": 0.91}, ["laws of at most 5 columns"]),
        ("laws", methods.OC_SVM, {"spearman": 0.97}, ["laws: Spearman"]),
        ("fig2", "true density", {"auc": 0.96}, ["the same"]),
        ("dirt", RANKAD, {"auc": 0.89}, ["1% dirt: AUC of the default"]),
        ("dirt", methods.FOR_DIRT, {"auc": 0.91}, ["1% dirt: AUC with", "clean"]),
        ("dirt", methods.IFOREST, {"auc": 0.98}, ["5% dirt"]),
        ("stability", RANKAD, {"scatter": 0.03}, ["standard deviation"]),
    ],
)
def test_a_check_that_is_not_met_says_so(all_records, experiment, method, measures, unmet):
    records = [
        made_up(record.key, **measures)
        if (record.experiment, record.method) == (experiment, method)
        else record
        for record in all_records
    ]
    found = accuracy_checks.checks(accuracy_page.Experiments(records))
    names = [check.what for check in found if not check.is_met]
    assert len(names) == len(unmet)
    assert all(name.startswith(start) for name, start in zip(names, unmet, strict=True))


def test_sets_that_are_lost_are_named(all_records):
    lost = [
        made_up(record.key, auc=0.9) if record.key[:4] == key_of(RANKAD, "small")[:4] else record
        for record in all_records
    ]
    table = accuracy_checks.as_table(accuracy_page.Experiments(lost))
    assert "1: small -0.042" in table


def test_pictures_are_drawn(of, tmp_path):
    for name, draw in accuracy_page.FIGURES.items():
        draw(of, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000


def test_a_table_takes_the_place_of_the_one_before():
    page = "before\n<!-- a -->\nold\n<!-- /a -->\nafter"
    expected = "before\n<!-- a -->\n\nnew\n\n<!-- /a -->\nafter"
    assert pages.with_table(page, "a", "new") == expected
    assert pages.with_table(expected, "a", "new") == expected
    with pytest.raises(SystemExit, match="no place for the table 'b'"):
        pages.with_table(page, "b", "new")


def test_a_stopped_run_goes_on(tmp_path):
    path, calls = tmp_path / "folder" / "records.json", count()
    seeds = []

    def until_the_third(key):
        if next(calls) == 2:
            raise KeyboardInterrupt
        seeds.append(key.seed)
        return made_up(key)

    tasks = [Task(key_of(KNN, seed=seed), until_the_third) for seed in range(5)]
    with pytest.raises(KeyboardInterrupt):
        run(tasks, RecordFile.open(path, accuracy.PROTOCOL), 1)
    assert [record.seed for record in read_records(path)] == [0, 1]
    records = run(tasks, RecordFile.open(path, accuracy.PROTOCOL), 1)
    assert seeds == [0, 1, 2, 3, 4]
    assert records == read_records(path) == [made_up(task.key) for task in tasks]


def test_runs_are_those_of_the_methods_and_sets_that_are_asked_for():
    asked = accuracy.tasks(["fig2", "small"], 2, methods=["RankAD."], sets=["perp", "wilt, 30"])
    assert [(task.key.set, task.key.method, task.key.seed) for task in asked] == [
        (name, RANKAD, seed) for seed in (0, 1) for name in (law_experiments.FIG_2, "wilt, 30 rows")
    ]


def test_the_laws_set_aside_run_only_when_they_are_named(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(accuracy, "kept_runs", lambda tasks, *_, **__: asked.extend(tasks))
    monkeypatch.setattr(experiments, "set_names", lambda: ["large"])
    for arguments in ([], ["further", "last"]):
        where = ["--records", str(tmp_path / "records.json")]
        monkeypatch.setattr(sys, "argv", ["accuracy.py", *arguments, *where])
        asked.clear()
        accuracy.main()
        names = {task.key.experiment for task in asked}
        set_aside = {"further", "last"}
        assert names == (set_aside if arguments else {*experiments.EXPERIMENTS} - set_aside)


def test_level_sets_of_the_density_are_right():
    rng = np.random.RandomState(0)
    reference, fresh = NORMAL_1.sample(5_000, rng), NORMAL_1.sample(2_000, rng)
    broad = level_sets.BroadSample.around(reference, 20_000, rng)
    errors = level_sets.level_set_errors(
        lambda x: np.exp(NORMAL_1.log_density(x)), NORMAL_1, reference, fresh, broad
    )
    assert set(errors.values()) == {0.0}
    assert_allclose(broad.volume(np.abs(broad.points[:, 0]) < 1.0), 2.0, rtol=0.05)


def test_level_sets_of_a_wrong_score_are_as_wrong_as_its_intervals():
    rng = np.random.RandomState(0)
    reference, fresh = NORMAL_1.sample(200_000, rng), NORMAL_1.sample(50_000, rng)
    broad = level_sets.BroadSample.around(reference, 200_000, rng)
    # Intervals about .5 instead of 0.
    errors = level_sets.level_set_errors(
        lambda x: -np.abs(x[:, 0] - 0.5), NORMAL_1, reference, fresh, broad
    )
    for share in level_sets.SHARES:
        true = norm.ppf(0.5 + share / 2.0)
        halves = np.linspace(0.0, 6.0, 60_001)  # of the interval about .5 with the same mass
        found = halves[np.searchsorted(norm.cdf(0.5 + halves) - norm.cdf(0.5 - halves), share)]
        ends = np.sort([-true, true, 0.5 - found, 0.5 + found])
        mass = norm.cdf(ends[1]) - norm.cdf(ends[0]) + norm.cdf(ends[3]) - norm.cdf(ends[2])
        volume = (ends[1] - ends[0] + ends[3] - ends[2]) / (2.0 * true)
        assert_allclose(errors[f"mass_{100 * share:.0f}"], mass, rtol=0.1)
        assert_allclose(errors[f"volume_{100 * share:.0f}"], volume, rtol=0.05)


def test_a_volume_of_too_few_points_is_not_reported():
    rng = np.random.RandomState(0)
    sample = NORMAL_1.sample(500, rng)
    broad = level_sets.BroadSample.around(sample, 120, rng)
    errors = level_sets.level_set_errors(lambda x: -x[:, 0], NORMAL_1, sample, sample, broad)
    assert np.isnan(errors["volume_50"])
    assert errors["mass_50"] > 0.0


class HalfNormal:
    """A law with an end: the density is 0 below it."""

    n_features = 1

    def sample(self, n, random_state=None):
        return np.abs(NORMAL_1.sample(n, random_state))

    def log_density(self, points):
        with np.errstate(divide="ignore"):
            return NORMAL_1.log_density(points) + np.log(2.0 * (points[:, 0] >= 0.0))


@pytest.fixture
def few_law_points(monkeypatch):
    for name, n in (("N_LAW_TEST", 300), ("N_REFERENCE", 400), ("N_BROAD", 1_000)):
        monkeypatch.setattr(law_experiments, name, n)
    law_experiments.law_sample.cache_clear()
    yield
    law_experiments.law_sample.cache_clear()


def test_a_law_is_measured_by_all_that_is_known_of_it(monkeypatch, few_law_points):
    monkeypatch.setitem(law_experiments.FURTHER_LAWS, "half normal 1", HalfNormal())
    found = {
        method: law_experiments.on_law(key_of(method, "half normal 1, n = 200", 1, "further"))
        for method in (KNN, law_experiments.BEST_K, law_experiments.TRUE_DENSITY)
    }
    bayes, best, knn = (found[m].measures for m in ("true density", "mean k-NN, best k", KNN))
    assert (found[KNN].n_train, found[KNN].n_features) == (200, 1)
    assert bayes["spearman"] == 1.0
    assert all(bayes[f"{what}_{p}"] == 0.0 for what in ("mass", "volume") for p in (50, 90, 97))
    assert bayes["auc_blurred"] > best["auc_blurred"] >= knn["auc_blurred"]
    assert {"auc_uniform", "auc_cluster", "power_blurred"} < {*knn}
    assert 0.0 < knn["mass_90"] < 0.2


def test_a_set_is_measured_by_accuracy_false_alarms_and_costs(monkeypatch, rng):
    split = Split(
        rng.normal(size=(400, 2)), rng.normal(size=(300, 2)), 5.0 + rng.normal(size=(50, 2))
    )
    monkeypatch.setattr(experiments, "set_split", lambda name, seed: split)
    record = measured(Task(key_of(KNN), experiments.on_set))
    assert record.key == key_of(KNN)
    assert record.measures["auc"] > 0.99
    assert record.measures["n_centers"] == 400
    assert 0.05 < record.measures["false_alarms_0.1"] < 0.2
    assert record.measures["score_microseconds"] > 0.0


@pytest.mark.parametrize(("share", "n_dirty"), [(0.0, 0), (0.05, 5), (0.5, 20)])
def test_dirt_is_at_most_half_of_the_anomalies_and_does_not_test(share, n_dirty):
    y = np.repeat([0, 1], [300, 40])
    data = Dataset("numbers", np.arange(340.0)[:, None], y, "", "", "")
    split = one_class.dirty_split(data, seed=1, share=share, n_max=100)
    assert len(split.train) == 100 + n_dirty
    assert (split.train >= 300).sum() == n_dirty
    assert (len(split.nominal), len(split.anomalies)) == (100, 40 - n_dirty)
    everything = np.concatenate([split.train, split.nominal, split.anomalies])
    assert len(np.unique(everything)) == len(everything)
    clean = one_class.dirty_split(data, seed=1, share=0.0, n_max=100)
    assert {*clean.train[:, 0]} == {*split.train[split.train < 300]}
    assert (clean.nominal == split.nominal).all()


def test_the_teacher_is_asked_for_the_rows_that_rankad_learns_from(rng):
    rows = np.concatenate([rng.normal(size=(300, 2)), 40.0 + rng.normal(size=(4, 2))])
    detector = RankAD(random_state=3).fit(rows)
    part = methods.TrainingPart.of(rows, 3)
    assert detector.n_outlying_ > 0
    statistic = MeanNeighborDistance(detector.n_neighbors_)
    assert_allclose(-statistic(part.points).mean(), detector.mean_neighbor_distance_)
    assert_allclose(np.sort(detector.score_samples(part.held_out)), detector.reference_.scores)


def test_with_one_random_state_the_detectors_hold_out_the_same_rows(rng):
    rows = rng.normal(size=(200, 2))
    part = methods.TrainingPart.of(rows, 5)
    for detector in (RankAD(random_state=5), KLPE(n_neighbors=5, random_state=5)):
        scores = np.sort(detector.fit(rows).score_samples(part.held_out))
        assert_allclose(scores, detector.reference_.scores)


def test_results_of_some_sets(of):
    few = of["laws"].only(lambda record: record.n_features <= 2)
    families = ("gauss", "two gaussians", "student")
    assert few.sets == [f"{family} {d}" for d in (1, 2) for family in families]
