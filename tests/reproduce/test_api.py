"""A reproduction from Python: what is asked for is made, kept, and gone on with."""

import errno

import pytest
from made_records import kill_this_process, make_record
from matplotlib.figure import Figure

from rankad import datasets
from rankad._files import sole_writer
from rankad.reproduce import TARGETS, ReproductionError, api, read_records, reproduce, runner
from rankad.reproduce.experiment import Task, tasks
from rankad.reproduce.experiments import FIG_2, FIG_3
from rankad.reproduce.fitting import Method
from rankad.reproduce.methods import METHODS
from rankad.reproduce.records import FALSE_ALARMS, Key, RecordFile
from rankad.reproduce.runner import measured

QUICK_FIG_2 = FIG_2.on(None, quick=True)


@pytest.fixture
def made(monkeypatch):
    """Keys of the runs that are made: records come at once, and data are not looked for."""
    keys = []

    def at_once(task):
        keys.append(task.key)
        return make_record(task.key, **({} if task.key.method in FIG_3.drawn else {"roc": None}))

    monkeypatch.setattr(runner, "measured", at_once)
    monkeypatch.setattr(api, "_require_data", lambda names, folder: None)
    return keys


def test_a_table_or_figure_is_made_of_all_its_runs(made, tmp_path):
    outcome = reproduce(["fig3"], n_jobs=1, out=tmp_path)
    assert len(made) == len(outcome.records) == 5 * 2 * 2 * len(FIG_3.methods)
    names = ["fig3.md", "fig3.png", "fig3.svg"]
    assert [path.name for path in outcome.files] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names, "records.json"]


def test_what_was_made_is_not_made_again(made, tmp_path):
    reproduce(["fig3"], runs=1, n_jobs=1, out=tmp_path)
    n_made = len(made)
    again = reproduce("fig3", runs=1, n_jobs=1, out=tmp_path)
    assert len(made) == len(again.records) == n_made
    reproduce(["fig3"], runs=2, n_jobs=1, out=tmp_path)
    assert len(made) == 2 * n_made
    fewer = reproduce(["fig3"], runs=1, n_jobs=1, out=tmp_path)
    assert {record.seed for record in fewer.records} == {0}


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(errno.ENOSPC, "No space left")])
def test_an_interrupted_reproduction_goes_on_where_it_stopped(made, tmp_path, monkeypatch, failure):
    at_once = runner.measured

    def until_the_tenth(task):
        if len(made) == 10:
            raise failure
        return at_once(task)

    monkeypatch.setattr(runner, "measured", until_the_tenth)
    with pytest.raises((KeyboardInterrupt, OSError)):
        reproduce(["fig3"], runs=1, n_jobs=1, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["records.json"]
    assert len(read_records(tmp_path / "records.json")) == 10
    monkeypatch.setattr(runner, "measured", at_once)
    reproduce(["fig3"], runs=1, n_jobs=1, out=tmp_path)
    assert len(made) == len({*made}) == 4 * len(FIG_3.methods)


def test_quick_and_full_records_do_not_mix(made, tmp_path):
    reproduce(["fig3"], quick=True, n_jobs=1, out=tmp_path)
    assert {key.seed for key in made} == {0}
    with pytest.raises(ReproductionError, match="'quick', not 'full'"):
        reproduce(["fig3"], n_jobs=1, out=tmp_path)


def test_all_is_everything(made, tmp_path, monkeypatch):
    def no_picture(*results):
        return Figure(figsize=(1, 1))

    monkeypatch.setattr("rankad.reproduce.figures.fig_2", no_picture)
    monkeypatch.setattr("rankad.reproduce.figures.fig_1", no_picture)
    monkeypatch.setattr(api, "load", lambda *_: datasets.mulcross(1_000, random_state=0))
    outcome = reproduce(runs=1, n_jobs=1, out=tmp_path)
    assert [path.stem for path in outcome.files if path.suffix == ".png"] == [
        *("false_alarms", "auc_and_time", "fig1", "fig2", "fig3")
    ]
    assert [path.name for path in outcome.files if path.suffix == ".md"] == [
        *("table1.md", "table2.md", "summary.md", "fig2.md", "fig3.md")
    ]
    assert "`rankad reproduce all --runs 1`" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"targets": ["fig9"]}, "'fig9' is not a table or figure. Choose from table1, .* or all"),
        ({"targets": []}, "targets is empty"),
        ({"runs": 0}, "runs=0 must be at least 1"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, message, tmp_path):
    with pytest.raises(ReproductionError, match=message):
        reproduce(**arguments, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_data_is_told_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKAD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(datasets.MissingDatasetError, match=r"RANKAD_DATA=.* is not a folder"):
        reproduce(["fig3"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_told_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    with pytest.raises(ReproductionError, match=r"pip install 'rankad\[plot\]'"):
        reproduce(["fig3"], out=tmp_path / "out")


def test_a_method_that_fails_is_named(monkeypatch):
    task = next(task for task in tasks([QUICK_FIG_2], 1) if "OC" in task.key.method)

    def fail(rows, standard, seed):
        raise ValueError("no such thing")

    monkeypatch.setitem(METHODS, task.key.method, Method(task.key.method, "", fail))
    with pytest.raises(ReproductionError, match=r"OC-SVM on perpendicular.* failed: no such thing"):
        measured(task)


def test_a_run_is_measured_as_the_record_says():
    key = Key("fig2", "perpendicular_gaussians", "raw", "RankAD", 0)
    task = next(t for t in tasks([FIG_2.on(None, quick=False)], 1) if t.key == key)
    record = measured(task)
    of = record.measures
    assert record.key == key
    assert (record.n_train, record.n_features, record.guarantee) == (600, 2, "exact")
    assert (of["n_nominal"], of["n_anomalies"], of["n_reference"]) == (500, 1_000, 150)
    assert 100 < of["n_centers"] < 400  # two columns: a wide kernel, of which few centers are left
    assert 0.95 < of["auc"] < 0.99
    assert of["partial_auc"] < of["auc"] < of["average_precision"]
    assert record.roc[-1] == 1.0
    assert abs(sum(record.roc) / 201 - of["auc"]) < 0.01
    assert of["full_power_rate"] > 0.1
    assert 0.0 < of["test_seconds"] < of["fit_seconds"]
    again = measured(task).measures
    assert all(again[name] == of[name] for name in ("auc", *FALSE_ALARMS))


def test_processes_measure_the_same(tmp_path):
    outcomes = []
    for n_jobs in (1, 2):
        file = RecordFile(tmp_path / f"{n_jobs}.json", "full")
        some = [task for task in tasks([QUICK_FIG_2], 1) if "published" not in task.key.method]
        outcomes.append(runner.run(some, file, n_jobs))
    one, two = outcomes
    assert [record.key for record in one] == [record.key for record in two]
    for what in ("auc", "n_reference", *FALSE_ALARMS):
        assert [r.measures[what] for r in one] == [r.measures[what] for r in two]


def test_two_reproductions_do_not_work_in_one_folder(made, tmp_path):
    with (
        sole_writer(tmp_path / "records.json"),
        pytest.raises(ReproductionError, match=r"Another reproduction is at work in .*folder"),
    ):
        reproduce(["fig3"], runs=1, n_jobs=1, out=tmp_path)
    reproduce(["fig3"], runs=1, n_jobs=1, out=tmp_path)


def test_figures_without_runs_do_not_mind_other_records(made, tmp_path):
    reproduce(["fig3"], quick=True, n_jobs=1, out=tmp_path)
    assert reproduce(["fig1"], out=tmp_path).records == []


def test_a_process_that_is_killed_is_reported(tmp_path):
    some = [Task(task.key, kill_this_process) for task in tasks([QUICK_FIG_2], 1)]
    file = RecordFile(tmp_path / "records.json", "full")
    with pytest.raises(ReproductionError, match="lack of memory"):
        runner.run(some, file, 2)


def test_the_targets_are_these():
    assert TARGETS == ("table1", "table2", "fig1", "fig2", "fig3")
