"""CONTRIBUTING: its examples run, from the top of the page to its end, in one module."""

import doctest
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone

from rankad import Calibrated, RankAD
from rankad.options import RankSVM

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
IS_SESSION = [block.startswith(">>>") for block in BLOCKS]


@pytest.fixture(scope="module")
def page():
    """A module with what the blocks without a prompt define, so that their classes pickle."""
    module = ModuleType("contributing_examples")
    sys.modules[module.__name__] = module
    for block, is_session in zip(BLOCKS, IS_SESSION, strict=True):
        if not is_session:
            exec(compile(block, str(PAGE), "exec"), vars(module))
    yield module
    del sys.modules[module.__name__]


def test_the_page_has_definitions_and_sessions():
    assert IS_SESSION.count(False) == 3
    assert IS_SESSION.count(True) == 3


def test_the_sessions_of_the_page_run(page):
    sessions = "\n".join(
        block for block, is_session in zip(BLOCKS, IS_SESSION, strict=True) if is_session
    )
    test = doctest.DocTestParser().get_doctest(sessions, dict(vars(page)), PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_the_statistic_of_the_page_is_the_median_distance(page, rng):
    rows = rng.normal(size=(80, 2))
    distances = np.sort(np.linalg.norm(rows[:, None] - rows, axis=2), axis=1)[:, 1:8]
    statistic = page.MedianNeighborDistance(n_neighbors=7)
    np.testing.assert_allclose(statistic(rows), -np.median(distances, axis=1))
    detector = RankAD(statistic=statistic, random_state=0).fit(rng.normal(size=(300, 2)))
    assert detector.predict([[9.0, 9.0]], alpha=0.05) == [-1]


@pytest.mark.parametrize(
    "params", [{}, {"n_centers": 30}, {"anchor": 0}, {"C": [0.01, 0.1]}], ids=str
)
def test_the_loss_of_the_page_is_minimized(page, params, rng):
    rows = rng.normal(size=(300, 2))
    detector = RankAD(ranker=RankSVM(loss=page.LogisticLoss), random_state=0, **params).fit(rows)
    scores = detector.score_samples(rng.normal(size=(50, 2)))
    default = RankAD(random_state=0, **params).fit(rows)
    assert not np.array_equal(scores, default.score_samples(rows[:50]))
    # It learns the same order: nominal rows score higher in the middle.
    middle, edge = detector.score_samples([[0.0, 0.0], [2.5, 2.5]])
    assert middle > edge


def test_a_detector_with_an_own_loss_is_cloned_and_pickled(page, rng):
    rows, new = rng.normal(size=(200, 2)), rng.normal(size=(20, 2))
    detector = RankAD(ranker=RankSVM(loss=page.LogisticLoss), random_state=0)
    assert detector.get_params()["ranker__loss"] is page.LogisticLoss
    assert clone(detector).ranker.loss is page.LogisticLoss
    assert RankAD().set_params(ranker__loss=page.LogisticLoss).ranker.loss is page.LogisticLoss
    again = pickle.loads(pickle.dumps(detector.fit(rows)))
    np.testing.assert_array_equal(again.score_samples(new), detector.score_samples(new))
    np.testing.assert_array_equal(clone(again).fit(rows).p_values(new), detector.p_values(new))


@pytest.mark.slow
def test_the_kernel_of_the_page_keeps_the_false_alarm_rate(page):
    """Over 100 detectors. With probability below 1e-3 the mean rate is outside four errors."""
    rng, rates = np.random.default_rng(0), []
    for seed in range(100):
        detector = Calibrated(page.LaplacianRanker(), random_state=seed)
        detector.fit(rng.standard_t(5, size=(396, 3)))  # 99 of them are the reference
        fresh = rng.standard_t(5, size=(500, 3))
        rates.append((detector.predict(fresh, alpha=0.1) == -1).mean())
    assert abs(np.mean(rates) - 0.1) < 4.0 * np.std(rates) / np.sqrt(len(rates))
