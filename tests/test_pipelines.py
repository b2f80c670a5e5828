"""A detector at the end of a pipeline: the documented line, and what a whole pipeline is told."""

import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankad import AlarmBudget, Calibrated, DriftMonitor, RankAD, TimeColumns
from rankad.baselines import KLPE
from rankad.plots import (
    DriftDisplay,
    ExplanationDisplay,
    FalseAlarmDisplay,
    LevelSetDisplay,
    PValueDisplay,
)

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

#: The lines of the README's paragraph, by the method that they call.
LINES = {
    method: line
    for line, method in re.findall(
        r"`(pipe\[-1\]\.(\w+)\(pipe\[:-1\]\.transform\(X\)\))`", README.replace("\n", " ")
    )
}


def frame(rng, n):
    return pd.DataFrame(rng.normal(size=(n, 3)), columns=["flow", "heat", "noise"])


def stamped(rng, n):
    seconds = 1_700_000_000 + rng.integers(2_000_000, size=n)  # independent rows
    return pd.DataFrame({"time": pd.to_datetime(seconds, unit="s"), "flow": rng.normal(size=n)})


def mixed(rng, n):
    columns = frame(rng, n).mask(rng.random((n, 3)) < 0.05)
    return columns.assign(country=rng.choice(["DE", "FR"], size=n))


def of_columns():
    return ColumnTransformer(
        [
            ("country", OneHotEncoder(sparse_output=False), ["country"]),
            ("rest", make_pipeline(SimpleImputer(), StandardScaler()), ["flow", "heat", "noise"]),
        ]
    )


CASES = {
    "array": (lambda rng, n: rng.normal(size=(n, 3)), lambda: [StandardScaler()]),
    "pandas": (frame, lambda: [StandardScaler()]),
    "pandas and set_output": (
        frame,
        lambda: [SimpleImputer(), StandardScaler().set_output(transform="pandas")],
    ),
    "polars": (lambda rng, n: pl.from_pandas(frame(rng, n)), lambda: [StandardScaler()]),
    "polars and set_output": (
        lambda rng, n: pl.from_pandas(frame(rng, n)),
        lambda: [StandardScaler().set_output(transform="polars")],
    ),
    "time stamps": (stamped, lambda: [TimeColumns("time", parts=["hour"])]),
    "mixed columns": (mixed, lambda: [of_columns()]),
    "mixed columns and set_output": (
        mixed,
        lambda: [of_columns().set_output(transform="pandas")],
    ),
    "no step before": (frame, lambda: ["passthrough"]),
}


@pytest.fixture(params=CASES)
def made(request, rng):
    """A fitted pipeline and new rows."""
    rows, steps = CASES[request.param]
    return make_pipeline(*steps(), RankAD(random_state=0)).fit(rows(rng, 400)), rows(rng, 60)


def test_the_readme_has_the_line():
    assert {"p_values", "select"} <= LINES.keys()


@pytest.mark.filterwarnings("ignore:No row is selected:rankad.exceptions.CalibrationWarning")
def test_the_documented_line_runs_as_it_is_written(made):
    pipe, X = made
    found = {method: eval(line, {"pipe": pipe, "X": X}) for method, line in LINES.items()}
    p = found["p_values"]
    assert p.shape == (60,)
    assert_array_equal(p, pipe[-1].reference_.p_values(pipe.score_samples(X)))
    assert_array_equal(p <= 0.05, pipe.predict(X) == -1)
    assert_array_equal(found["select"], pipe[-1].select(pipe[:-1].transform(X)))
    explained = eval(LINES["p_values"].replace("p_values", "explain"), {"pipe": pipe, "X": X})
    assert_array_equal(explained.p_values, p)


def test_names_of_features_reach_the_explanation(rng):
    scaler = StandardScaler().set_output(transform="pandas")
    pipe = make_pipeline(scaler, RankAD(random_state=0)).fit(frame(rng, 300))
    X = frame(rng, 2)
    assert pipe[-1].explain(pipe[:-1].transform(X)).feature_names == ("flow", "heat", "noise")


def test_the_line_holds_for_every_detector_and_for_pipelines_in_pipelines(rng):
    rows, X = frame(rng, 300), frame(rng, 40)
    for last in (KLPE(random_state=0), Calibrated(KLPE(), random_state=0)):
        pipe = make_pipeline(make_pipeline(StandardScaler()), last).fit(rows)
        p = eval(LINES["p_values"], {"pipe": pipe, "X": X})
        assert_array_equal(p <= 0.05, pipe.predict(X) == -1)


GIVEN_A_PIPELINE = {
    "DriftMonitor": lambda pipe, X: DriftMonitor(pipe),
    "AlarmBudget": lambda pipe, X: AlarmBudget(pipe),
    "PValueDisplay": lambda pipe, X: PValueDisplay.from_estimator(pipe, X),
    "FalseAlarmDisplay": lambda pipe, X: FalseAlarmDisplay.from_estimator(pipe, X),
    "LevelSetDisplay": lambda pipe, X: LevelSetDisplay.from_estimator(pipe, X),
    "DriftDisplay": lambda pipe, X: DriftDisplay.from_monitor(pipe),
}


@pytest.mark.parametrize("name", GIVEN_A_PIPELINE)
def test_what_takes_a_detector_names_the_step_to_give(name, rng):
    rows = rng.normal(size=(200, 2))
    pipe = make_pipeline(StandardScaler(), RankAD(random_state=0)).fit(rows)
    with pytest.raises(TypeError, match=r"Of a pipeline, .*pipe\[-1\].* pipe\[:-1\]\.transform"):
        GIVEN_A_PIPELINE[name](pipe, rows)


def test_pictures_take_what_they_ask_for(rng):
    rows = rng.normal(size=(400, 2))
    pipe = make_pipeline(StandardScaler(), RankAD(random_state=0)).fit(rows)
    X = rng.normal(size=(100, 2))
    for display in (PValueDisplay, FalseAlarmDisplay, ExplanationDisplay):
        display.from_estimator(pipe[-1], pipe[:-1].transform(X))
