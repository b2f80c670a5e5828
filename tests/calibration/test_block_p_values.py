import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.signal import lfilter
from scipy.stats import kstest

from rankad.calibration.block_p_values import MAX_LEARNING, MIN_BLOCKS, BlockPValues
from rankad.calibration.online_p_values import OnlinePValues

ONE_RUN = np.zeros(1, dtype=np.int64)


def autoregressive(phi, n, rng):
    return lfilter([1.0], [1.0, -phi], rng.normal(size=n + 100))[100:]


def expected_p_values(learned, starts, stream, length, seed):
    """The definition: sums of ranks among the learned scores, compared with all sums before."""

    def value(block):
        return float(sum((learned < s).sum() + (learned <= s).sum() for s in block))

    def blocks(run):
        return [run[i : i + length] for i in range(0, len(run) - length + 1, length)]

    before = [value(block) for run in np.split(learned, starts[1:]) for block in blocks(run)]
    online = OnlinePValues(before, seed=seed)
    return [online.next_p_value(value(block)) for block in blocks(stream)]


def test_p_values_of_blocks_match_the_definition(rng):
    learned, starts = rng.normal(size=300), np.array([0, 117])
    stream = np.round(rng.normal(size=103), 1)
    blocks = BlockPValues(learned, starts, 7, seed=5)
    assert blocks.block_length == 7
    p = blocks.p_values(stream)
    assert_array_equal(np.flatnonzero(np.isfinite(p)), np.arange(6, 103, 7))
    assert_array_equal(p[6::7], expected_p_values(learned, starts, stream, 7, seed=5))


@pytest.mark.parametrize("n_reference", [0, 500, 3000])
@pytest.mark.parametrize("length", [None, 30])
def test_blocks_are_the_same_one_by_one_in_batches_and_resumed(n_reference, length, rng):
    scores = autoregressive(0.8, n_reference + 4000, rng)
    reference, stream = scores[:n_reference], scores[n_reference:]
    whole, parts = (BlockPValues(reference, ONE_RUN, length, seed=2) for _ in range(2))
    expected, found = whole.p_values(stream), []
    for start in range(0, 4000, 400):
        found += [parts.p_values(stream[start : start + 300])]
        found += [parts.p_values(np.array([score])) for score in stream[start + 300 : start + 400]]
        parts = BlockPValues.from_state(json.loads(json.dumps(parts.state(), allow_nan=False)))
    assert_array_equal(np.concatenate(found), expected)
    assert parts.state() == whole.state()
    assert np.isfinite(expected).sum() > 20


def test_nothing_is_bet_before_10_blocks_are_known(rng):
    blocks = BlockPValues(np.empty(0), ONE_RUN, 10, seed=0)
    p = blocks.p_values(rng.normal(size=400))
    assert np.flatnonzero(np.isfinite(p))[0] == MIN_BLOCKS * 10 + 9
    after = BlockPValues(rng.normal(size=55), ONE_RUN, 10, seed=0)  # five blocks and a rest
    assert np.flatnonzero(np.isfinite(after.p_values(rng.normal(size=400))))[0] == 59


def test_a_memory_that_is_too_long_to_learn_ends_the_learning(rng):
    blocks = BlockPValues(np.empty(0), ONE_RUN, seed=0)
    blocks.p_values(rng.normal(size=MAX_LEARNING).cumsum())
    assert blocks.block_length == MAX_LEARNING // (MIN_BLOCKS + 1)


def test_p_values_of_independent_blocks_are_uniform(rng):
    blocks = BlockPValues(np.empty(0), ONE_RUN, 5, seed=0)
    p = blocks.p_values(np.round(rng.normal(size=20_000), 1))
    assert kstest(p[np.isfinite(p)], "uniform").pvalue > 0.01
