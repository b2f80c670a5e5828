import json
import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankad import Episodes
from rankad.monitoring import Episode


def brute_force(rows, gap, cooldown, *, has_times):
    """All episodes, and the number of suppressed alarms: entity by entity, with all rows at hand.

    A row is (is_alarm, score, entity, time). The clock is the time, or the row's number among the
    rows of its entity.
    """
    episodes, n_suppressed = [], 0
    for entity in {row[2] for row in rows}:
        numbered = [(n, row) for n, row in enumerate(rows) if row[2] == entity]
        runs, end = [], None
        for clock, (n, (is_alarm, score, _, time)) in enumerate(numbered):
            if not is_alarm:
                continue
            now, at = (time, time) if has_times else (clock, n)
            if end is not None and now - end <= gap:
                runs[-1].append((score, at))
            elif end is not None and now - end <= cooldown:
                n_suppressed += 1
                continue
            else:
                runs.append([(score, at)])
            end = now
        for run in runs:
            lowest = min(score for score, _ in run)
            worst = next(at for score, at in run if score == lowest)
            episodes.append(Episode(entity, run[0][1], run[-1][1], worst, lowest, len(run)))
    return episodes, n_suppressed


def parts(draw_cuts, n):
    edges = sorted({0, n, *(cut % (n + 1) for cut in draw_cuts)})
    return [slice(a, b) for a, b in pairwise(edges)]


def again(episodes):
    return Episodes.from_state(json.loads(json.dumps(episodes.state(), allow_nan=False)))


def in_order(episodes):
    return sorted(episodes, key=lambda episode: (str(episode.entity), episode.start))


ROWS = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from([0.01, 0.02, 0.03]),
        st.sampled_from(["a", "b", 3]),
        st.integers(0, 4),
    ),
    max_size=60,
)


@given(ROWS, st.lists(st.integers(0, 60)), st.integers(1, 4), st.integers(0, 9), st.booleans())
def test_a_stream_in_parts_has_the_episodes_of_all_rows(rows, cuts, gap, cooldown, has_times):
    times = np.cumsum([row[3] for row in rows])
    rows = [(*row[:3], float(time)) for row, time in zip(rows, times, strict=True)]
    expected, n_suppressed = brute_force(rows, gap, cooldown, has_times=has_times)
    episodes, found = Episodes(gap=gap, cooldown=cooldown), []
    for part in parts(cuts, len(rows)):
        alarms, scores, entities, times = zip(*rows[part], strict=True)
        entities = np.array(entities, dtype=object)
        times = times if has_times else None
        found += episodes.update_many(alarms, scores, entities=entities, times=times)
        assert len(found) + len(episodes.open_episodes) == episodes.n_episodes
        episodes = again(episodes)
    found += episodes.close()
    assert in_order(found) == in_order(expected)
    assert (episodes.n_suppressed, episodes.n_seen) == (n_suppressed, len(rows))
    assert episodes.open_episodes == []
    assert len(found) <= sum(row[0] for row in rows)  # what is proved: never more than alarms


def test_an_episode_ends_as_soon_as_no_alarm_can_join():
    episodes = Episodes(gap=2)
    assert episodes.update_many([True, False]) == []
    assert episodes.open_episodes == [Episode(None, 0, 0, 0, None, 1)]
    assert episodes.update_many([False]) == [Episode(None, 0, 0, 0, None, 1)]


def test_time_ends_the_episode_of_an_entity_that_sends_nothing_more():
    episodes = Episodes(gap=10)
    assert episodes.update_many([True], entities=["a"], times=[0]) == []
    assert episodes.update_many([False], entities=["b"], times=[10]) == []
    (ended,) = episodes.update_many([False], entities=["b"], times=[10.5])
    assert ended.entity == "a"


def test_after_a_close_the_cool_down_goes_on():
    episodes = Episodes(cooldown=3)
    episodes.update_many([True])
    assert len(episodes.close()) == 1
    assert episodes.update_many([True, True, True, True]) == []
    assert (episodes.n_suppressed, episodes.open_episodes[0].start) == (3, 4)


def test_after_a_close_without_cool_down_the_next_alarm_opens():
    episodes = Episodes(gap=5)
    episodes.update_many([True], times=[3])
    episodes.close()
    episodes.update_many([True], times=[3])
    assert episodes.n_episodes == 2


def test_memory_grows_with_the_entities_in_an_episode_only():
    episodes = Episodes(gap=2, cooldown=5)
    for n in range(0, 2_000, 100):
        entities = np.arange(n, n + 100)
        episodes.update_many(entities % 2 == 0, entities=entities, times=entities)
    assert len(episodes.state()["watched"]) <= 6
    quiet = Episodes()
    quiet.update_many(np.zeros(5_000, dtype=bool), entities=np.arange(5_000))
    assert quiet.state()["watched"] == []


def test_dates_are_seconds():
    stamps = np.array(["2024-01-01T00:00:00", "2024-01-01T00:04:00"], dtype="datetime64[s]")
    zone = timezone(timedelta(hours=2))
    aware = [datetime(2024, 1, 1, 2, minute, tzinfo=zone) for minute in (0, 4)]
    start = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    for times in (
        stamps,
        stamps.astype("datetime64[ns]"),
        pd.Series(stamps),
        pd.Series(stamps).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pl.Series(stamps.astype("datetime64[ms]")),
        pl.Series(aware),
        aware,
    ):
        episodes = Episodes(gap=300)
        episodes.update_many([True, True], times=times)
        assert episodes.open_episodes == [Episode(None, start, start + 240, start, None, 2)]


@pytest.mark.parametrize(
    ("episode", "text"),
    [
        (Episode(None, 7, 7, 7, None, 1), "<Episode: 1 alarm at 7>"),
        (
            Episode(3, 1_700_000_000.0, 1_700_000_060.5, 1_700_000_009.0, 0.01, 2),
            "<Episode of 3: 2 alarms from 1700000000 to 1700000060.5, worst at 1700000009 (0.01)>",
        ),
    ],
)
def test_an_episode_is_readable(episode, text):
    assert repr(episode) == text


def test_a_score_may_be_infinite():
    episodes = Episodes()
    episodes.update_many([True], [-np.inf])
    assert again(episodes).open_episodes == [Episode(None, 0, 0, 0, -np.inf, 1)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"is_alarm": [0.01, 0.5]}, "is_alarm must be booleans of shape (n,); got float64"),
        ({"is_alarm": [[True, False]]}, "is_alarm must be booleans"),
        ({"scores": [0.1]}, "scores must have one value for each of the 2 rows; got 1"),
        ({"scores": [0.1, np.nan]}, "scores must be numbers of shape (n,). Value 1 is nan"),
        ({"entities": ["a"]}, "entities must have one value for each of the 2 rows; got 1"),
        ({"entities": [0.5, 1.0]}, "entities must be text or whole numbers"),
        ({"entities": np.array(["a", None])}, "got None. Name each entity by a text"),
        ({"times": [2, 1]}, "times must ascend; the time of row 1 is 1, after 2"),
        ({"times": [0, 0]}, "times must ascend; the time of row 0 is 0, after 1"),
        ({"times": [1, np.nan]}, "times must be numbers of shape (n,). Value 1 is nan"),
        ({"times": np.array(["2024", "NaT"], "M8[D]")}, "times must be numbers of shape (n,)"),
        ({"times": ["now", "then"]}, "times must be numbers of shape (n,)"),
        ({"times": None}, "The rows before had times. Give times in every call or in none"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_taken(given, message):
    episodes = Episodes()
    episodes.update_many([True], times=[1])
    before = episodes.state()
    arguments = {"is_alarm": [True, False], "times": [1, 2]} | given
    with pytest.raises(ValueError, match=re.escape(message)):
        episodes.update_many(**arguments)
    assert episodes.state() == before


@pytest.mark.parametrize("options", [{"gap": 0}, {"gap": np.inf}, {"gap": "5"}, {"cooldown": -1}])
def test_a_bad_parameter_is_refused(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name} must be a finite number"):
        Episodes(**options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "AlarmBudget"}, "not a state of kind 'Episodes'"),
        ({"gap": 0}, "gap must be a finite number above 0"),
        ({"n_seen": 1.5}, "'n_seen' in a state of Episodes must be an integer"),
        ({"has_times": "yes"}, "has_times must be true, false or null"),
        ({"latest": "x"}, "latest must be numbers"),
        ({"n_episodes": 0}, "A state with 0 episodes cannot watch 1 entities"),
        ({"watched": [{}]}, "An episode of the state misses"),
        ({"watched": [7]}, "watched must be a list of episodes"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, message):
    episodes = Episodes(gap=3)
    episodes.update_many([True, True], times=[0, 1])
    with pytest.raises(ValueError, match=re.escape(message)):
        Episodes.from_state(episodes.state() | change)


@pytest.mark.parametrize(
    "change",
    [{"start": 9}, {"n_alarms": 0}, {"since": 50}, {"is_open": 1}, {"worst": None}, {"entity": []}],
)
def test_an_impossible_episode_of_a_state_is_refused(change):
    episodes = Episodes(gap=3)
    episodes.update_many([True, True])
    state = episodes.state()
    state["watched"][0] |= change
    with pytest.raises(ValueError, match="The state holds an impossible episode"):
        Episodes.from_state(state)
