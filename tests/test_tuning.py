import gc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

import oracles
from rankad.datasets import perpendicular_gaussians
from rankad.exceptions import ConvergenceWarning
from rankad.kernels import KernelExpansion, distances_between
from rankad.metrics import pairwise_disagreement
from rankad.options import Pairs
from rankad.ranker import RankProblem, fit_ranker
from rankad.solvers import Solution, directions
from rankad.statistics import MeanNeighborDistance
from rankad.tuning import (
    PAPER_CS,
    PAPER_RELATIVE_SIGMAS,
    cross_validate,
    paper_sigmas,
    rule_C,
    rule_sigma,
)
from rankad.tuning.cross_validation import _Grid

CS = [0.01, 1.0]
SIGMAS = [0.5, 2.0, 8.0]
STATISTIC = MeanNeighborDistance(5)
PAIRS = Pairs("tail")
PAPER = RankProblem(anchor=0.0)


def select(points, **params):
    folds = KFold(3, shuffle=True, random_state=0).split(points)
    return cross_validate(
        points,
        STATISTIC,
        **(
            {"Cs": CS, "sigmas": SIGMAS, "splits": folds, "pairs": PAIRS, "problem": PAPER} | params
        ),
    )


@pytest.mark.parametrize("anchor", [0.0, 1.0, 30.0], ids=["paper", "anchored", "strongly"])
@pytest.mark.parametrize("choose_centers", [None, lambda part: part[::4]], ids=["all", "few"])
def test_every_cell_matches_a_plain_evaluation(anchor, choose_centers, nominal):
    results = select(nominal, problem=RankProblem(anchor), choose_centers=choose_centers).results
    for cell, params in enumerate(results["params"]):
        for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(nominal)):
            preferences, held_out = (PAIRS(STATISTIC(nominal[part])) for part in (train, test))
            ranker = fit_ranker(
                nominal[train],
                preferences,
                **params,
                problem=RankProblem(anchor),
                centers=choose_centers and choose_centers(nominal[train]),
            )
            scores = ranker.expansion(nominal[test])
            sums = replace(ranker.expansion, far_field=None)(nominal[test])
            wrong = oracles.disagreement(scores, oracles.pair_weights(held_out))
            counted = min(anchor, 1.0)
            wrong += counted * np.mean((sums < 0) + 0.5 * (sums == 0))
            # Most of the grid is solved roughly, so a few close pairs may swap.
            expected = 1 - wrong / (1 + counted)
            assert_allclose(results[f"split{fold}_test_score"][cell], expected, atol=5e-3)


def exhaustive_agreements(points, statistic, Cs, sigmas, splits, problem):
    """Agreement of each cell if all cells are solved tightly, in double precision, from zero."""
    agreement = dict.fromkeys(((C, sigma) for C in Cs for sigma in sigmas), 0.0)
    for train, test in splits:
        preferences, held_out = (PAIRS(statistic(points[part])) for part in (train, test))
        for C, sigma in agreement:
            gram = problem.gram(distances_between(points[train], points[train]), sigma)
            weights = problem.solved(preferences, gram, C).coefficients
            expansion = KernelExpansion(points[train], weights, sigma, problem.centered)
            sums = expansion(points[test])
            scores = replace(expansion, far_field=problem.far_field(weights))(points[test])
            wrong = pairwise_disagreement(scores, held_out)
            wrong += problem.anchor * np.mean((sums < 0) + 0.5 * (sums == 0))
            agreement[C, sigma] += (1 - wrong / (1 + problem.anchor)) / len(splits)
    return agreement


def assert_the_winner_is_that_of_an_exhaustive_grid(points, Cs, powers, n_folds, anchor, patch):
    statistic = MeanNeighborDistance(10)
    sigmas = -statistic(points).mean() * 2.0 ** np.array(powers)
    splits = list(KFold(n_folds, shuffle=True, random_state=0).split(points))
    problem = RankProblem(anchor)
    chosen = cross_validate(
        points,
        statistic,
        Cs=Cs,
        sigmas=sigmas,
        splits=splits,
        pairs=PAIRS,
        problem=problem,
        n_jobs=2,
    )
    patch.setattr(directions, "_ROUGH_FROM", np.inf)
    agreements = exhaustive_agreements(points, statistic, Cs, sigmas, splits, problem)
    # Kernels that nearly underflow give scores that differ only by rounding. So the order of a few
    # pairs, and the winner, may differ between processors.
    assert agreements[chosen.C, chosen.sigma] >= max(agreements.values()) - 1e-3


DATA_SETS = {
    "crossing": lambda rng: perpendicular_gaussians(160, 0, random_state=1).nominal,
    "heavy tails": lambda rng: rng.standard_t(2, size=(150, 2)),
    "clusters": lambda rng: np.concatenate(
        [rng.normal(size=(100, 5)), 2 + 0.3 * rng.normal(size=(60, 5))]
    ),
    "ties": lambda rng: rng.integers(0, 6, size=(150, 3)).astype(float),
}


@pytest.mark.parametrize("anchor", [0.0, 1.0], ids=["paper", "anchored"])
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("data_set", DATA_SETS)
def test_the_winner_is_that_of_an_exhaustive_grid(data_set, single, anchor, rng, monkeypatch):
    monkeypatch.setattr(directions, "_ROUGH_FROM", 0 if single else np.inf)
    assert_the_winner_is_that_of_an_exhaustive_grid(
        DATA_SETS[data_set](rng), PAPER_CS[::3], range(-4, 7, 2), 3, anchor, monkeypatch
    )


@pytest.mark.slow
@pytest.mark.parametrize("anchor", [0.0, 1.0], ids=["paper", "anchored"])
def test_the_winner_of_a_larger_grid_is_that_of_an_exhaustive_one(anchor, rng, monkeypatch):
    points = np.concatenate([rng.normal(size=(600, 10)), 2 + 0.3 * rng.normal(size=(600, 10))])
    assert_the_winner_is_that_of_an_exhaustive_grid(
        points, PAPER_CS, range(-4, 7), 4, anchor, monkeypatch
    )


def test_the_winner_is_judged_by_a_tight_solution(nominal):
    rough, tight = select(nominal), select(nominal, problem=replace(PAPER, tol=1e-9))
    assert (rough.C, rough.sigma) == (tight.C, tight.sigma)
    assert_array_equal(
        rough.results["mean_test_score"].max(), tight.results["mean_test_score"].max()
    )


def test_what_was_solved_very_roughly_is_solved_again_before_it_wins(nominal, monkeypatch):
    tight = select(nominal)
    monkeypatch.setattr("rankad.tuning.cross_validation.CV_TOL", 0.99)
    rough = select(nominal)
    best = rough.results["mean_test_score"].max()
    assert_allclose(best, tight.results["mean_test_score"].max(), atol=1e-4)
    monkeypatch.setattr("rankad.tuning.cross_validation._Grid.refine_contenders", lambda _: None)
    never_again = select(nominal)
    assert abs(never_again.results["mean_test_score"].max() - best) > 1e-3


def test_the_table_is_like_scikit_learns(nominal):
    chosen = select(nominal)
    results = chosen.results
    assert set(results) >= {
        "params",
        "param_C",
        "param_sigma",
        "mean_test_score",
        "std_test_score",
        "rank_test_score",
        "split0_test_score",
        "split2_test_score",
        "mean_fit_time",
        "std_fit_time",
    }
    assert len(results["params"]) == len(CS) * len(SIGMAS)
    splits = np.stack([results[f"split{fold}_test_score"] for fold in range(3)])
    assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    assert_allclose(results["std_test_score"], splits.std(axis=0))
    winner = results["params"][int(np.argmin(results["rank_test_score"]))]
    assert results["rank_test_score"].min() == 1
    assert winner == {"C": chosen.C, "sigma": chosen.sigma}


def test_ties_go_to_the_smoothest_cell(nominal):
    # The kernels are so narrow that every held-out score is 0. All cells disagree by one half.
    chosen = select(nominal, sigmas=[1e-6, 1e-5, 1e-4])
    assert_array_equal(chosen.results["mean_test_score"], 0.5)
    assert_array_equal(chosen.results["rank_test_score"], 1)
    assert (chosen.C, chosen.sigma) == (min(CS), 1e-4)


def test_a_fold_without_pairs_says_nothing():
    points = np.repeat(np.arange(4.0), 6)[:, None]
    whole = [(np.arange(12), np.arange(12, 24))]
    with pytest.warns(UserWarning, match="none of the 1 folds has preference pairs in both"):
        chosen = select(points, splits=whole)
    assert_array_equal(chosen.results["mean_test_score"], 0.5)
    with pytest.warns(UserWarning, match="Cross-validation cannot choose C and sigma"):
        lone = select(np.arange(9.0)[:, None] ** 2, splits=[(np.arange(8), np.array([8]))])
    assert_array_equal(lone.results["mean_test_score"], 0.5)


def test_unfinished_fits_are_counted_once(nominal):
    with pytest.warns(
        ConvergenceWarning, match=r"stopped early in \d+ of 18 cross-validation"
    ) as w:
        select(nominal, problem=replace(PAPER, max_iter=1))
    assert len(w) == 1


def test_a_narrow_kernel_is_judged_as_it_would_be_deployed(nominal):
    # The kernel is so narrow that no held-out point is within reach: the far field orders them.
    chosen = select(nominal, sigmas=[1e-4], problem=RankProblem(anchor=1.0))
    assert chosen.results["mean_test_score"].min() > 0.6


@pytest.mark.parametrize("choose_centers", [None, lambda part: part[::4]], ids=["all", "few"])
def test_threads_change_nothing(choose_centers, nominal):
    alone, together = (select(nominal, choose_centers=choose_centers, n_jobs=n) for n in (1, 2))
    assert (alone.C, alone.sigma) == (together.C, together.sigma)
    assert_array_equal(alone.results["mean_test_score"], together.results["mean_test_score"])


def test_levels_within_each_part_choose_a_smooth_ranker_without_anchor():
    # Levels shared by both parts would pick sigma = D_K on this set.
    points = perpendicular_gaussians(300, 0, random_state=0).nominal
    distance = -MeanNeighborDistance(10)(points).mean()
    chosen = cross_validate(
        points,
        MeanNeighborDistance(10),
        Cs=[0.01, 1.0, 100.0],
        sigmas=[distance * 2.0**power for power in range(-2, 7)],
        splits=KFold(4, shuffle=True, random_state=0).split(points),
        pairs=PAIRS,
        problem=PAPER,
    )
    assert chosen.sigma >= 4 * distance


def test_the_papers_grid():
    assert len(PAPER_CS) == 13
    assert (PAPER_CS[0], PAPER_CS[1], PAPER_CS[-2], PAPER_CS[-1]) == (0.001, 0.003, 300.0, 1000.0)
    assert len(PAPER_RELATIVE_SIGMAS) == 21
    assert_allclose(paper_sigmas(3.0), 3.0 * 2.0 ** np.arange(-10, 11))
    assert rule_C(2000) == 0.016


def test_the_rule_refuses_a_width_of_zero():
    with pytest.raises(ValueError, match=r"rule gives sigma = 0\..*give sigma as a number"):
        rule_sigma(0.0, n_features=2)


def test_the_papers_grid_refuses_a_width_of_zero():
    with pytest.raises(ValueError, match=r"distance is 0.*give sigma as a number"):
        paper_sigmas(0.0)


def _as_masks(n, part):
    mask = np.zeros(n, dtype=bool)
    mask[part] = True
    return mask


@pytest.mark.parametrize(
    "form",
    [
        lambda n, part: part.tolist(),
        _as_masks,
        lambda n, part: _as_masks(n, part).tolist(),
        lambda n, part: part.astype(np.uint8),
    ],
    ids=["lists", "masks", "lists of truth", "small integers"],
)
def test_splits_can_have_any_form(form, nominal):
    folds = list(KFold(3).split(nominal))
    others = [tuple(form(len(nominal), part) for part in fold) for fold in folds]
    expected, found = (select(nominal, splits=splits) for splits in (folds, others))
    for name in ("mean_test_score", "std_test_score"):
        assert_array_equal(found.results[name], expected.results[name])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_solution_is_kept_longer_than_it_takes_to_judge_it(n_jobs, nominal, monkeypatch):
    n_alive, record = [], _Grid._record

    def counting(grid, cell, fit):
        if cell == (len(CS) - 1, len(SIGMAS) - 1, 2):  # the last of the first round
            n_alive.append(sum(isinstance(thing, Solution) for thing in gc.get_objects()))
        record(grid, cell, fit)

    monkeypatch.setattr(_Grid, "_record", counting)
    gc.collect()
    n_of_others = sum(isinstance(thing, Solution) for thing in gc.get_objects())
    select(nominal, n_jobs=n_jobs)
    assert n_alive[0] == n_of_others
