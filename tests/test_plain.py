"""Plain NumPy in place of compiled code: the same results, and one warning."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import rankad
from rankad import RankAD
from rankad._compiled import CAN_COMPILE
from rankad.baselines import KLPE, AveragedKLPE
from rankad.kernels import CenterFeatures, FarField, KernelExpansion, plain
from rankad.kernels.gram import _plain_submatrix, submatrix
from rankad.options import Pairs, RankSVM
from rankad.preferences import level_preferences
from rankad.solvers import pairwise, projection
from rankad.solvers import plain as plain_sweeps
from rankad.statistics import bagged_neighbor_distance, brute_force, neighbors

pytestmark = pytest.mark.skipif(not CAN_COMPILE, reason="compares with compiled code")

EXPANSIONS = {
    "plain": {},
    "far field": {"far_field": FarField(3.7, -2.0)},
    "centered": {"centered": True},
    "outward": {"outward": 0.7, "far_field": FarField(3.7, -2.0)},
    "columns": {"offset": np.array([1.0, 0.0, -1.0]), "scale": np.array([2.0, 1.0, 0.5])},
}


@pytest.mark.parametrize("options", EXPANSIONS.values(), ids=EXPANSIONS)
@pytest.mark.parametrize("sigma", [0.3, 2.0, 60.0])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_plain_kernel_sums_are_those_of_compiled_code(rng, dtype, sigma, options):
    centers, weights = rng.normal(size=(700, 3)), rng.normal(size=700)
    expansion = KernelExpansion(centers, weights, sigma, **options).astype(dtype)
    rows = np.concatenate([rng.normal(size=(300, 3)) * 2, 1e3 * rng.normal(size=(20, 3))])
    rows[:3, 0] = [np.nan, np.inf, -1e300]
    compiled_scores, plain_scores = expansion(rows), np.empty(len(rows), dtype=dtype)
    plain.fill_scores(plain_scores, rows, expansion._model)
    rounding = expansion.rounding().of(compiled_scores[1:].astype(np.float64))
    assert_array_equal(np.isnan(plain_scores), np.isnan(compiled_scores))
    infinite = np.isinf(compiled_scores)
    assert_array_equal(plain_scores[infinite], compiled_scores[infinite])
    differences = (plain_scores.astype(np.float64) - compiled_scores)[~infinite][1:]
    assert (np.abs(differences) <= rounding[~infinite[1:]]).all()
    reference = np.sort(compiled_scores[3:]).astype(np.float64)
    for row, score in zip(rows[:9], plain_scores[:9], strict=True):
        assert_allclose(plain.score_of(row, expansion._model), score, rtol=1e-5, atol=1e-4)
        rank = plain.rank_of(row, expansion._model, reference)
        assert rank == (-1 if np.isnan(score) else np.searchsorted(reference, score, "right"))


def test_plain_features_of_centers_are_those_of_compiled_code(rng, monkeypatch):
    rows = rng.normal(size=(500, 4))
    features = CenterFeatures.from_centers(rows[:30], sigma=1.5)
    expected = features(rows)
    monkeypatch.setattr("rankad.kernels.centers.fill_kernels", plain.fill_kernels)
    assert_allclose(features(rows), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("n_levels", [2, 5, 40])
def test_plain_sweeps_are_those_of_compiled_code(rng, n_levels):
    preferences = level_preferences(rng.integers(0, n_levels, size=80))
    scores = np.round(3 * rng.normal(size=80), 1)  # with ties
    sweep = pairwise.Sweep.from_scores(preferences, scores, 1.0)
    value, gradient, weights = sweep.sums()
    found = plain_sweeps.pair_sums(scores, 1.0, *sweep.blocks)
    assert_allclose(found[0], value)
    assert_allclose(found[1], gradient, atol=1e-9)
    assert_allclose(found[2], weights)
    vectors = rng.normal(size=(80, 3))
    for rows in (np.arange(80), np.flatnonzero(weights > 0)):
        place = np.full(80, -1)
        place[rows] = np.arange(len(rows))
        product = plain_sweeps.pair_hessian_product(
            scores, 1.0, *sweep.blocks, place, vectors[rows]
        )
        assert_allclose(product, sweep.hessian_product(vectors[rows], rows), atol=1e-9)
    order, members = np.argsort(scores), preferences.memberships[0]
    arguments = (order, members.points, members.starts, preferences.upper.starts)
    assert_array_equal(
        plain_sweeps.members_in_order(*arguments), pairwise._members_in_order(*arguments)
    )


def test_plain_projections_are_those_of_compiled_code(rng, monkeypatch):
    preferences = level_preferences(rng.integers(0, 4, size=300))
    sweep = pairwise.Sweep.from_scores(preferences, rng.normal(size=300), 1.0)
    arguments = (sweep.scores, 1.0, sweep.blocks, rng.normal(size=300), rng.normal(size=(300, 5)))
    expected = projection.projected_hessian(*arguments)
    monkeypatch.setattr(projection, "_CHUNK_ROWS", 7)
    monkeypatch.setattr(projection, "_fill_partner_sums", plain_sweeps.fill_partner_sums)
    assert_allclose(projection.projected_hessian(*arguments), expected, atol=1e-9)


def test_plain_searches_are_those_of_compiled_code(rng):
    rows = rng.integers(0, 4, size=(90, 3)).astype(float)  # with equal distances
    queries, wanted = rng.integers(0, 4, size=(20, 3)).astype(float), np.arange(3, 20)
    found = [np.zeros((20, 7), dtype=np.int64), np.zeros((20, 7))]
    expected = [np.zeros((20, 7), dtype=np.int64), np.zeros((20, 7))]
    brute_force._plain_nearest_of_all(rows, queries, wanted, *found)
    brute_force._nearest_of_all(rows, queries, wanted, *expected)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1])
    distances, copies = np.sort(rng.normal(size=(9, 4))), rng.integers(0, 3, size=(9, 4))
    copies[:, 0] += 5
    arguments = (distances, copies, 5)
    assert_array_equal(
        neighbors._plain_repeat_sorted(*arguments), neighbors.repeat_sorted(*arguments)
    )
    matrix, chosen = rng.normal(size=(6, 5)), (np.array([0, 3]), np.array([4, 1, 1]))
    assert_array_equal(_plain_submatrix(matrix, *chosen), submatrix(matrix, *chosen))


@pytest.mark.parametrize("size", [1, 5])
def test_plain_subsamples_are_those_of_compiled_code(rng, size):
    points, drawn = rng.normal(size=(30, 3)), rng.integers(0, 60, size=(4, size))
    pool = np.concatenate([points, rng.normal(size=(30, 3))])
    arguments = points, np.ascontiguousarray(pool[drawn].transpose(0, 2, 1)), drawn, 0
    assert_allclose(
        bagged_neighbor_distance._plain_mean_nearest(*arguments),
        bagged_neighbor_distance._mean_nearest(*arguments),
    )


DETECTORS = {
    "RankAD": RankAD(),
    "few centers": RankAD(n_centers=8),
    "as published": RankAD.as_published(C=[1.0], sigma=[2.0], n_neighbors=5),
    "float32": RankAD(n_centers=8, sigma=3.0, ranker=RankSVM(dtype="float32")),
    "outward": RankAD(ranker=RankSVM(outward=0.5)),
    "hinge": RankAD(ranker=RankSVM(loss="hinge", max_iter=30)),
    "every rank": RankAD(pairs=Pairs(None)),
    "robust": RankAD(robust=True),
    "geodesic": RankAD(statistic="geodesic_knn"),
    "KLPE": KLPE(),
    "AveragedKLPE": AveragedKLPE(),
}

#: Ways in which numba fails, and what the warning says of each.
OBSTACLES = {
    "no numba": ("sys.modules['numba'] = sys.modules['llvmlite'] = None", "ModuleNotFoundError"),
    "broken numba": ("import numba; numba.njit = None", "TypeError"),
    "switched off": ("import os; os.environ['NUMBA_DISABLE_JIT'] = '1'", "NUMBA_DISABLE_JIT"),
    "broken LLVM": ("import llvmlite.binding as b; b.create_mcjit_compiler = None", "TypeError"),
}

SCRIPT = """
import json, pathlib, pickle, sys, warnings
{break_numba}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import rankad
    from rankad import RankAD
    fitted, unfitted, rows, nominal = pickle.loads(pathlib.Path({job!r}).read_bytes())
    result = {{"loaded": {{}}, "fitted": {{}}, "alone": {{}}, "explained": []}}
    for name, detector in fitted.items():
        result["loaded"][name] = detector.p_values(rows).tolist()
        one_by_one = getattr(detector, "scorer_", None)
        if one_by_one is not None:
            result["alone"][name] = [one_by_one.p_value(row) for row in rows[:30]]
    for name, detector in unfitted.items():
        result["fitted"][name] = detector.fit(nominal).p_values(rows).tolist()
    explanation = fitted["RankAD"].explain(rows[-20:])
    result["explained"] = explanation.p_values_after.tolist()
result["warnings"] = [str(w.message) for w in caught]
print(json.dumps(result))
"""


def results_without_compiling(how, fitted, unfitted, rows, nominal, folder):
    """What a process gets in which numba does not compile."""
    job = folder / "job.pickle"
    job.write_bytes(pickle.dumps((fitted, unfitted, rows, nominal)))
    script = SCRIPT.format(break_numba=how, job=str(job))
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(rankad.__file__).parents[1]),
        "NUMBA_CACHE_DIR": str(folder),  # empty, so that LLVM is needed
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def agree(p, expected, n_reference):
    assert_allclose(p, expected, atol=1.001 / (n_reference + 1))


def check(found, fitted, rows):
    """Loaded detectors give the p-values of compiled code, and no copy loses its tie."""
    for name, detector in fitted.items():
        reference = detector.reference_
        p, scores = np.array(found["loaded"][name]), detector.score_samples(rows)
        agree(p, reference.p_values(scores), reference.size)
        assert (p >= type(reference)(reference.scores).p_values(scores)).all()
        if name in found["alone"]:
            assert_array_equal(found["alone"][name], p[:30])
    detector = fitted["RankAD"]
    expected = detector.explain(rows[-20:]).p_values_after
    agree(found["explained"], expected, detector.reference_.size)


@pytest.mark.parametrize(("how", "reason"), OBSTACLES.values(), ids=OBSTACLES)
def test_a_process_without_compiled_code_warns_once_and_scores_alike(rng, tmp_path, how, reason):
    nominal = rng.normal(size=(200, 3))
    fitted = {"RankAD": RankAD(random_state=0).fit(nominal)}
    rows = np.concatenate([nominal, 2 * rng.normal(size=(30, 3)), [[1e3, 0, 0]]])
    found = results_without_compiling(how, fitted, {}, rows, nominal, tmp_path)
    (message,) = found["warnings"]
    assert "numba cannot compile here" in message
    assert reason in message
    check(found, fitted, rows)


@pytest.mark.slow
def test_every_way_to_fit_works_without_compiled_code(rng, tmp_path):
    nominal = rng.normal(size=(250, 3))
    rows = np.concatenate([nominal, 2 * rng.normal(size=(50, 3)), [[1e3, 0, 0], [1e200, 0, 0]]])
    unfitted = {name: clone(each).set_params(random_state=0) for name, each in DETECTORS.items()}
    fitted = {name: clone(each).fit(nominal) for name, each in unfitted.items()}
    found = results_without_compiling(
        OBSTACLES["no numba"][0], fitted, unfitted, rows, nominal, tmp_path
    )
    assert len(found["warnings"]) == 1
    check(found, fitted, rows)
    for name, detector in fitted.items():
        agree(found["fitted"][name], detector.p_values(rows), detector.reference_.size)
