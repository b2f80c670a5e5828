"""Saved states that do not fit are refused, and nothing is made of them."""

import json

import numpy as np
import pytest
from scipy.signal import lfilter

from rankad.calibration import OnlineDiscoveries, OnlinePValues, TimeScores
from rankad.calibration.betting import MixtureBetting, SimpleJumper
from rankad.calibration.block_p_values import BlockPValues
from rankad.monitoring import DriftMonitor
from rankad.monitoring.watching import DependenceWatch


def made_streams():
    """A used object of each kind that has a state."""
    rng = np.random.default_rng(0)
    scores = lfilter([1.0], [1.0, -0.9], rng.normal(size=3000))
    monitor, watch = DriftMonitor(history_size=9, random_state=0), DependenceWatch()
    monitor.update_many(rng.normal(size=50))
    blocks = DriftMonitor(TimeScores.from_runs(scores[:2000], np.array([0])), random_state=0)
    blocks.update_many(scores[2000:])
    discoveries = OnlineDiscoveries()
    discoveries.test_many([1e-6, 0.5, 1e-6])
    online = OnlinePValues([1.0, 2.0, np.inf], seed=0)
    online.next_p_value(1.0)
    watch.take(rng.normal(size=40))
    learning = BlockPValues(scores[:50], np.array([0, 20]), seed=0)
    return {
        "monitor": monitor,
        "blocks": blocks,
        "discoveries": discoveries,
        "online": online,
        "watch": watch,
        "learning": learning,
    }


STREAMS = made_streams()
KINDS = pytest.mark.parametrize("name", STREAMS)


def entries(state, path=()):
    """Paths of all entries of a state, those of states inside it too."""
    for key, value in state.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from entries(value, (*path, key))


def changed(state, path, value):
    copy = json.loads(json.dumps(state))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


@KINDS
def test_a_state_comes_back(name):
    stream = STREAMS[name]
    state = json.loads(json.dumps(stream.state(), allow_nan=False))
    assert type(stream).from_state(state).state() == state


@KINDS
def test_every_entry_is_needed_and_no_other_is_known(name):
    stream = STREAMS[name]
    for path in entries(stream.state()):
        state = json.loads(json.dumps(stream.state()))
        place = state
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        with pytest.raises(ValueError, match=r"a state of kind|must have the entries"):
            type(stream).from_state(state)
    with pytest.raises(ValueError, match=r"unknown: \['more'\]"):
        type(stream).from_state({**stream.state(), "more": 1})


@KINDS
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, True, "x", [float("nan")], {}])
def test_no_entry_takes_what_has_no_meaning(name, value):
    stream = STREAMS[name]
    for path in entries(stream.state()):
        is_digest = path[-1] == "reference" and value == "x"  # any text may be one
        is_total = path[-1] == "total" and value == -1  # a sum of numbers around 0
        if is_digest or is_total:
            continue
        with pytest.raises((ValueError, TypeError)):
            type(stream).from_state(changed(stream.state(), path, value))


@KINDS
def test_states_of_other_kinds_and_versions_are_refused(name):
    stream = STREAMS[name]
    others = [other.state() for other in STREAMS.values() if type(other) is not type(stream)]
    for state in (*others, {**stream.state(), "version": 1}, {}):
        with pytest.raises(ValueError, match="This is not a state of kind"):
            type(stream).from_state(state)
    with pytest.raises(TypeError, match="must be a mapping; got str"):
        type(stream).from_state("state")


def test_bets_of_another_strategy_are_refused():
    state = STREAMS["monitor"].state()
    for betting in (MixtureBetting(), SimpleJumper(jump=0.1), SimpleJumper()):
        with pytest.raises(ValueError, match="The saved monitor bets by jumper; got betting="):
            DriftMonitor.from_state(state, betting=betting)
    assert DriftMonitor.from_state(state, betting=SimpleJumper(reserve=True)).state() == state
    with pytest.raises(ValueError, match="'bets' in a state of DriftMonitor must be 6 numbers"):
        DriftMonitor.from_state({**state, "bets": [1.0, 2.0]})
    with pytest.raises(ValueError, match="must be 2 numbers for this strategy"):
        DriftMonitor.from_state({**state, "betting": "mixture"})
    nameless = DriftMonitor(betting=SimpleJumper(jump=0.1)).state()
    with pytest.raises(ValueError, match="Give it again as betting"):
        DriftMonitor.from_state(nameless)
    with pytest.raises(ValueError, match=r"bets by SimpleJumper\(jump=0.1, reserve=False\)"):
        DriftMonitor.from_state(nameless, betting=SimpleJumper(jump=0.2))


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("monitor", ("alarmed_at",), 51),
        ("monitor", ("history",), [0.0] * 10),
        ("monitor", ("comparison", "p_values", "counts"), [1]),
        ("monitor", ("comparison", "watch", "rest"), [0.0] * 32),
        ("blocks", ("comparison", "watch"), STREAMS["watch"].state()),
        ("blocks", ("comparison", "p_values", "knots"), [2.0, 1.0]),
        ("blocks", ("comparison", "p_values", "partial_size"), 100_000),
        ("learning", ("run_starts",), [0, 20, 20]),
        ("learning", ("run_starts",), [0, 51]),
        ("learning", ("block_length",), 7),
        ("online", ("scores",), [2.0, 1.0, "inf"]),
        ("online", ("counts",), [1, 1, 0]),
        ("online", ("n_dropped",), 60),
        ("online", ("max_keys",), 2),
        ("discoveries", ("clock",), 4),
        ("discoveries", ("discovery_clocks",), [3, 1]),
        ("discoveries", ("discovery_clocks",), [1, 1, 1, 1]),
        ("discoveries", ("fdr",), 1.5),
        ("discoveries", ("method",), "bh"),
    ],
)
def test_entries_that_contradict_each_other_are_refused(name, path, value):
    stream = STREAMS[name]
    with pytest.raises(ValueError, match="must be"):
        type(stream).from_state(changed(stream.state(), path, value))
