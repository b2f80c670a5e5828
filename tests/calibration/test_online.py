import json
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, norm

from rankad.calibration import OnlineDiscoveries, OnlinePValues

METHODS = pytest.mark.parametrize("method", ["lord", "saffron", "addis"])


def mixed_p_values(rng, n, share=0.2, effect=3.0):
    """p-values of normal tests, and which of them are null."""
    is_null = rng.random(n) >= share
    return norm.cdf(rng.normal(size=n) - effect * ~is_null), is_null


def lord_alpha(t, p, rejected, q):
    """LORD++ as published: t counts from 1, and rejected has the times of earlier discoveries."""

    def g(j):
        return 0.07720838 * log(max(j, 2)) / (j * exp(sqrt(log(j))))

    w0 = q / 10
    alpha = w0 * g(t)
    for number, tau in enumerate(rejected):
        alpha += (q - w0 if number == 0 else q) * g(t - tau)
    return alpha


def saffron_alpha(t, p, rejected, q):
    def g(j):
        return 0.4374901658 * j**-1.6

    def candidates(tau):
        return sum(p[i - 1] <= 0.5 for i in range(tau + 1, t))

    w0 = q / 2
    alpha = w0 * g(t - candidates(0))
    for number, tau in enumerate(rejected):
        alpha += (q - w0 if number == 0 else q) * g(t - tau - candidates(tau))
    return min(0.5, (1 - 0.5) * alpha)


def addis_alpha(t, p, rejected, q):
    def g(j):
        return 0.4374901658 * (j + 1) ** -1.6

    def selected(first, last):
        return sum(p[i - 1] <= 0.5 for i in range(first, last + 1))

    def candidates(tau):
        return sum(p[i - 1] <= 0.25 for i in range(tau + 1, t))

    w0 = q / 2
    alpha = w0 * g(selected(1, t - 1) - candidates(0))
    for number, tau in enumerate(rejected):
        place = selected(1, t - 1) - selected(1, tau) - candidates(tau)
        alpha += (q - w0 if number == 0 else q) * g(place)
    return min(0.25, (0.5 - 0.25) * alpha)


ORACLES = {"lord": lord_alpha, "saffron": saffron_alpha, "addis": addis_alpha}


@METHODS
@pytest.mark.parametrize("fdr", [0.05, 0.3])
def test_alphas_match_the_published_formula(method, fdr, rng):
    p, _ = mixed_p_values(rng, 200)
    p[[40, 90]] = 0.0, 1.0
    discoveries = OnlineDiscoveries(fdr, method)
    rejected = []
    for t, value in enumerate(p, start=1):
        alpha = ORACLES[method](t, p, rejected, fdr)
        assert_allclose(discoveries.next_alpha, alpha, rtol=1e-12)
        assert discoveries.test(value) == (value <= alpha)
        if value <= alpha:
            rejected.append(t)
    assert (discoveries.n_tested, discoveries.n_discoveries) == (200, len(rejected))
    assert len(rejected) > 5


@METHODS
def test_many_is_the_same_as_one_by_one_and_as_resumed(method, rng):
    p, _ = mixed_p_values(rng, 300)
    whole = OnlineDiscoveries(method=method)
    is_discovery = whole.test_many(p)
    assert is_discovery.dtype == bool
    assert is_discovery.sum() == whole.n_discoveries > 5
    first = OnlineDiscoveries(method=method)
    decisions = [first.test(value) for value in p[:150]]
    resumed = OnlineDiscoveries.from_state(json.loads(json.dumps(first.state(), allow_nan=False)))
    assert resumed.next_alpha == first.next_alpha
    assert_array_equal([*decisions, *resumed.test_many(p[150:])], is_discovery)
    assert resumed.state() == whole.state()


@pytest.mark.slow
@METHODS
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_false_discovery_rate_is_kept(method, share, rng):
    n_streams, fdr = 500, 0.2
    false_share, found = np.empty(n_streams), np.empty(n_streams)
    for stream in range(n_streams):
        p, is_null = mixed_p_values(rng, 200, share)
        is_discovery = OnlineDiscoveries(fdr, method).test_many(p)
        false_share[stream] = (is_discovery & is_null).sum() / max(1, is_discovery.sum())
        found[stream] = (is_discovery & ~is_null).sum() / max(1, (~is_null).sum())
    assert false_share.mean() <= fdr + 4 * false_share.std() / np.sqrt(n_streams)
    assert false_share.mean() > 0
    assert share == 0.0 or found.mean() > 0.2


@METHODS
def test_nothing_tested(method):
    discoveries = OnlineDiscoveries(method=method)
    alpha = discoveries.next_alpha
    is_discovery = discoveries.test_many([])
    assert (is_discovery.shape, is_discovery.dtype) == ((0,), bool)
    assert (discoveries.n_tested, discoveries.n_discoveries, discoveries.next_alpha) == (
        0,
        0,
        alpha,
    )


@pytest.mark.parametrize(("method", "part"), [("lord", 187), ("saffron", 9), ("addis", 18)])
def test_the_first_alpha_is_the_documented_part_of_the_rate(method, part):
    assert round(0.1 / OnlineDiscoveries(0.1, method).next_alpha) == part


@METHODS
@pytest.mark.parametrize("bad", [-1e-9, 1.1, np.nan, inf])
def test_what_is_no_p_value_is_refused_and_changes_nothing(method, bad):
    discoveries = OnlineDiscoveries(method=method)
    before = discoveries.state()
    with pytest.raises(ValueError, match=r"Value 1 is .*, not a number from 0.0 to 1.0"):
        discoveries.test_many([0.5, bad])
    with pytest.raises(ValueError, match=r"must have shape \(n,\)"):
        discoveries.test_many([[0.5]])
    assert discoveries.state() == before


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="fdr must be a number between 0 and 1"):
        OnlineDiscoveries(fdr=0.0)
    with pytest.raises(ValueError, match=r"one of \['addis', 'lord', 'saffron'\]; got 'bh'"):
        OnlineDiscoveries(method="bh")
    with pytest.raises(ValueError, match="max_keys must be at least 8192; got 8000"):
        OnlinePValues(seed=0, max_keys=8000)


def counted_p_values(reference, scores, seed):
    """The definition, one count at a time."""
    uniforms = 1.0 - np.random.default_rng(seed).random(len(scores))
    so_far, p_values = list(reference), []
    for score, uniform in zip(scores, uniforms, strict=True):
        so_far.append(score)
        n_below, n_tied = (sum(s < score for s in so_far), sum(s == score for s in so_far))
        p_values.append((n_below + uniform * n_tied) / len(so_far))
    return p_values


@pytest.mark.parametrize("n_reference", [0, 1, 200])
@pytest.mark.parametrize("digits", [0, 1, 15])
def test_online_p_values_match_the_count(n_reference, digits, rng):
    scores = np.round(rng.normal(size=n_reference + 300), digits)
    scores[-3:] = -inf, inf, -inf
    reference, stream = scores[:n_reference], scores[n_reference:].tolist()
    online = OnlinePValues(reference, seed=5)
    p_values = [online.next_p_value(score) for score in stream]
    assert_allclose(p_values, counted_p_values(reference, stream, seed=5), rtol=1e-15)
    assert_array_equal(online.scores, np.sort(scores))


def test_a_long_stream_matches_the_count_on_a_sample(rng):
    scores = np.round(rng.normal(size=50_000), 3)
    online = OnlinePValues(seed=0)
    p_values = np.array([online.next_p_value(score) for score in scores.tolist()])
    uniforms = 1.0 - np.random.default_rng(0).random(len(scores))
    for at in rng.choice(len(scores), 300, replace=False):
        so_far, score = scores[: at + 1], scores[at]
        expected = (so_far < score).sum() + uniforms[at] * (so_far == score).sum()
        assert_allclose(p_values[at], expected / (at + 1), rtol=1e-15)


def rounded(scores, max_keys):
    """Scores as integers, with as many bits as leave at most ``max_keys`` different ones."""
    bits = (scores + 0.0).view(np.int64)
    keys = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    n_dropped = 0
    while len(np.unique(keys >> n_dropped)) > max_keys:
        n_dropped += 1
    return keys >> n_dropped


@pytest.mark.parametrize("n_reference", [0, 9000])
def test_too_many_scores_are_rounded_alike(n_reference, rng):
    # All scores up to the new one decide how many bits are kept, in no order. So ranks stay exact.
    n, max_keys = 22_000, 2**13
    scores = np.concatenate([[-inf, inf, 0.0, -0.0], rng.normal(size=n - 4) * 1000.0])
    online = OnlinePValues(scores[:n_reference], seed=3, max_keys=max_keys)
    p_values = online.p_values(scores[n_reference:])
    uniforms = 1.0 - np.random.default_rng(3).random(n - n_reference)
    at_first_loss = max_keys - 3
    samples = np.concatenate([np.arange(8000, 8400), rng.choice(np.arange(8400, n), 100)])
    for at in samples[samples >= n_reference]:
        keys = rounded(scores[: at + 1], max_keys)
        expected = (keys < keys[-1]).sum() + uniforms[at - n_reference] * (keys == keys[-1]).sum()
        assert_allclose(p_values[at - n_reference], expected / (at + 1), rtol=1e-14)
    assert len(online.state()["scores"]) <= max_keys < n
    assert n_reference < at_first_loss or online.state()["n_dropped"] > 0
    assert_allclose(online.scores, np.sort(scores), rtol=1e-2)


def test_rounded_p_values_are_the_same_one_by_one_in_batches_and_resumed(rng):
    scores = rng.normal(size=12_000)
    whole, parts = (OnlinePValues(seed=1, max_keys=2**13) for _ in range(2))
    expected = whole.p_values(scores)
    found = [parts.p_values(scores[:7000])]
    found += [np.array([parts.next_p_value(score)]) for score in scores[7000:9500].tolist()]
    parts = OnlinePValues.from_state(json.loads(json.dumps(parts.state(), allow_nan=False)))
    found.append(parts.p_values(scores[9500:]))
    assert_array_equal(np.concatenate(found), expected)
    assert parts.state() == whole.state()
    assert kstest(expected, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(expected[1:], expected[:-1])[0, 1]) < 4 / np.sqrt(12_000)


def test_online_p_values_are_uniform_and_independent_despite_ties(rng):
    online = OnlinePValues(rng.integers(0, 3, size=50), seed=0)
    p_values = np.array(
        [online.next_p_value(float(score)) for score in rng.integers(0, 3, size=5000)]
    )
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert p_values.min() > 0
    assert p_values.max() <= 1
    assert abs(np.corrcoef(p_values[1:], p_values[:-1])[0, 1]) < 4 / np.sqrt(5000)
