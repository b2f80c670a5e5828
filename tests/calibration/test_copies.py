"""Copies of rows: the inequality against its oracle, its level, its power, and known rows."""

from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom, poisson

from rankad.calibration.copies import (
    COPIES_LEVEL,
    KnownRows,
    copied_times,
    group_hashes,
    row_hashes,
)

#: Laws of discrete draws, and of draws that are partly discrete.
LAWS = {
    "poisson 1": lambda rng, n: rng.poisson(1, n),
    "poisson 100": lambda rng, n: rng.poisson(100, n),
    "geometric": lambda rng, n: rng.geometric(0.01, n),
    "zipf": lambda rng, n: rng.zipf(1.5, n),
    "heavy zipf": lambda rng, n: rng.zipf(1.05, n),
    "as many values as draws": lambda rng, n: rng.integers(0, n, n),  # equality in the inequality
    "half as many": lambda rng, n: rng.integers(0, n // 2, n),
    "a tenth as many": lambda rng, n: rng.integers(0, n // 10, n),
    "five atoms": lambda rng, n: rng.integers(0, 5, n),
    "one atom": lambda rng, n: np.zeros(n),
    "30% one atom": lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, rng.random(n)),
    "half discrete": lambda rng, n: np.where(
        rng.random(n) < 0.5, rng.integers(0, n, n), rng.random(n)
    ),
}
LAW = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def multiplicities(values):
    return np.unique(values, return_counts=True)[1]


def limits_by_search(count, miss):
    """Means of Poisson counts that are this small, or this large, with the probability ``miss``."""
    grid = np.linspace(0.0, 3.0 * count + 60.0, 200_001)
    high = grid[poisson.cdf(count, grid) >= miss][-1]
    low = grid[poisson.sf(count - 1, grid) <= miss][-1] if count else 0.0
    return low, high


def copied_times_slowly(counts):
    """The first k at which the limits contradict the inequality of the moments, in plain loops."""
    n = sum(counts)
    for k in range(2, max(counts) + 1):
        miss = COPIES_LEVEL / (3 * k * (k - 1))
        f = [sum(count == j for count in counts) for j in (k - 1, k, k + 1)]
        (_, high_before), (low, _), (_, high_after) = (limits_by_search(each, miss) for each in f)
        c = [comb(n, j) for j in (k - 1, k, k + 1)]  # m_k = E f_k / comb(n, k)
        if low**2 * c[0] * c[2] > high_before * high_after * c[1] ** 2:
            return k
    return 1


@pytest.mark.parametrize(
    "counts",
    [
        [2] * 24,
        [2] * 25,
        [1] * 40 + [2] * 34,
        [1] * 40 + [2] * 40,
        [1] * 300 + [2] * 60 + [3] * 9,
        [3] * 60 + [6] * 10,
        [1] * 5 + [4] * 80,
        [1] * 10,
        [9],
    ],
)
def test_it_is_the_inequality_of_the_moments(counts):
    assert copied_times(np.array(counts)) == copied_times_slowly(counts)


@pytest.mark.parametrize("p", [[0.2] * 5, [0.5, 0.3, 0.1, 0.06, 0.04], [0.9, 0.1]])
def test_independent_draws_obey_the_inequality_for_every_k(p):
    n = 12
    f = [sum(binom.pmf(k, n, each) for each in p) for k in range(n + 1)]
    m = [f[k] / comb(n, k) for k in range(n + 1)]
    for k in range(1, n):
        assert m[k] ** 2 <= m[k - 1] * m[k + 1] * (1 + 1e-9)
    # The factor of the code is that of n draws.
    for k in range(2, n):
        factor = k / (k + 1) * (n - k) / (n - k + 1)
        assert factor == pytest.approx(comb(n, k - 1) * comb(n, k + 1) / comb(n, k) ** 2)


@LAW
def test_independent_draws_are_no_copies(law, rng):
    # A perfect test calls more than 5 of 300 with probability 3e-4 at most (level .001).
    called = [copied_times(multiplicities(law(rng, n))) > 1 for n in (30, 300, 2_000) * 100]
    assert sum(called) <= binom(300, COPIES_LEVEL).ppf(1 - 1e-6)


@pytest.mark.parametrize(
    "law",
    ["heavy zipf", "as many values as draws", "half as many", "30% one atom", "half discrete"],
)
@pytest.mark.parametrize("times", [2, 5])
def test_a_copied_table_is_noticed_if_many_rows_were_single(law, times, rng):
    counts = multiplicities(LAWS[law](rng, 2_000))
    assert copied_times(times * counts) == times


def test_some_copies_are_noticed(rng):
    counts = np.ones(1_000, dtype=int)
    counts[:200] = 2
    assert copied_times(counts) == 2
    assert copied_times(np.full(25, 2)) == 2  # the smallest table that is noticed
    assert copied_times(np.array([40])) == 1


rows = st.lists(
    st.tuples(*[st.sampled_from([-0.0, 0.0, 1.0, 2.0, 1e-300, -1e300])] * 3), min_size=1
).map(np.array)


@given(rows)
def test_equal_rows_have_equal_hashes_and_others_have_not(rows):
    hashes = row_hashes(rows)
    for i in range(len(rows)):
        assert_array_equal(hashes == hashes[i], (rows == rows[i]).all(axis=1))


def test_hashes_know_the_order_of_columns_and_their_number(rng):
    rows = rng.normal(size=(100, 3))
    assert not np.isin(row_hashes(rows), row_hashes(rows[:, ::-1])).any()
    assert not np.isin(row_hashes(rows), row_hashes(rows[:, :2])).any()
    assert_array_equal(row_hashes(np.asfortranarray(rows)), row_hashes(rows))
    assert_array_equal(row_hashes(rows[::2]), row_hashes(rows)[::2])


def test_hashes_are_spread_evenly_also_those_of_codes():
    codes = np.stack(np.meshgrid(*[np.arange(20.0)] * 4), axis=-1).reshape(-1, 4)
    hashes = row_hashes(codes)
    assert len(np.unique(hashes)) == 160_000
    for shift in (60, 30, 0):  # high, middle and low bits
        counts = np.bincount((hashes >> np.uint64(shift)).astype(np.int64) & 15, minlength=16)
        assert abs(counts - 10_000).max() < 500  # 5 standard deviations of even bins


def test_groups_of_equal_rows_have_equal_hashes(rng):
    hashes = row_hashes(np.repeat([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]], 2, axis=0))
    codes = np.array([0, 1, 0, 2, 3, 3])  # {0, 1}, {0}, {1}, {2, 2}
    assert len(np.unique(group_hashes(hashes, codes))) == 4
    both = group_hashes(hashes[[0, 2, 4, 4, 2, 0]], np.array([0, 0, 0, 1, 1, 1]))
    assert both[0] == both[1]
    zeros = group_hashes(row_hashes(np.zeros((3, 2))), np.array([0, 1, 1]))
    assert zeros[0] != zeros[1]


def known(values):
    return KnownRows.from_hashes(row_hashes(np.asarray(values, dtype=float)))


def test_rows_of_a_table_are_known_and_new_rows_are_not(rng):
    old, new = rng.normal(size=(2, 3_000, 2))
    memory = known(old)
    assert memory.match(row_hashes(old)) == 1.0
    assert memory.match(row_hashes(new)) == 0.0
    assert memory.match(row_hashes(np.r_[old[:600], new[:2_400]])) == pytest.approx(0.2)
    assert memory.match(row_hashes(np.r_[old[:1], new])) == 0.0  # chance can explain one
    assert known(old[:30]).match(row_hashes(old[:30])) == 1.0


@LAW
def test_discrete_rows_do_not_match_by_chance(law, rng):
    # Each match has probability 1e-4 at most, so two in 60 have probability 2e-5.
    pairs = [(200, 200), (1_000, 20_000), (2_000, 50)] * 20
    matches = [
        known(law(rng, n)[:, None]).match(row_hashes(law(rng, m)[:, None].astype(float)))
        for n, m in pairs
    ]
    assert sum(match > 0.0 for match in matches) <= 1


def test_discrete_rows_do_not_match_by_chance_where_the_memory_grew(rng):
    batches = rng.integers(0, 100_000, size=(8, 20_000, 1)).astype(float)
    memory = known(batches[0])
    for batch in batches[1:]:
        assert memory.match(row_hashes(batch)) == 0.0
        memory = memory.extended(row_hashes(batch))
    assert memory.match(row_hashes(rng.normal(size=(100, 1)))) == 0.0


@pytest.mark.parametrize("n", [9_000, 40_000])
def test_a_large_table_is_kept_as_a_sample_of_its_rows(n, rng):
    old, new = rng.normal(size=(2, n, 1))
    memory = known(old)
    assert len(memory.hashes) == min(n, 10_000)
    assert memory.match(row_hashes(old)) == 1.0
    assert memory.match(row_hashes(new)) == 0.0
    half = np.r_[old[: n // 2], new[: n // 2]]
    assert memory.match(row_hashes(half)) == pytest.approx(0.5, abs=0.05)


def test_a_memory_that_grows_is_that_of_all_rows(rng):
    parts = [rng.integers(0, 30_000, size=(n, 1)).astype(float) for n in (3_000, 9_000, 30_000, 10)]
    grown, sizes = known(parts[0]), []
    for part in parts[1:]:
        grown = grown.extended(row_hashes(part))
        sizes.append(len(grown.hashes))
    whole = known(np.concatenate(parts))
    assert sizes == [10_000 if size > 9_999 else size for size in sizes]
    assert grown.limit == whole.limit
    assert_array_equal(grown.hashes, whole.hashes)
    assert_array_equal(grown.counts, whole.counts)
    for before, after in pairwise(grown.hashes):
        assert before < after


def test_a_memory_that_grows_by_repeated_rows_keeps_the_lowest_hashes(rng):
    single = row_hashes(rng.normal(size=(12_000, 1)))
    repeated = row_hashes(rng.normal(size=(8_000, 1)))[rng.integers(0, 8_000, size=60_000)]
    memory = KnownRows.from_hashes(single).extended(repeated)
    distinct, counts = np.unique(np.concatenate([single, repeated]), return_counts=True)
    assert memory.limit == distinct[9_999]
    assert_array_equal(memory.hashes, distinct[:10_000])
    assert_array_equal(memory.counts, counts[:10_000])
