"""Sets of values in the state of a stream: levels, merged segments, changes; without Spark."""

import math
import random

import pytest

import muntin as mt
from tests.support.simulated_streams import Engine, many_levels
from tests.support.sketches import read_kll

SECOND = 1_000_000
AGGREGATES = {
    "n": mt.count_distinct("x"),
    "median": mt.median("x"),
    "mode": mt.mode("x"),
    "ranks": mt.kll_sketch_agg_bigint("x", 1000),
    "rows": mt.count("x"),
}
WINDOWS = {
    "minute": mt.tumbling("10 seconds"),
    "long": mt.hopping("80 seconds", every="10 seconds"),
    "odd": mt.hopping("45 seconds", every="15 seconds"),
}


def query(name, window):
    return mt.Query(name=name, window=window, aggregates=AGGREGATES, keys=["k"], time="t")


def naive(window, events, key, begin):
    inside = [
        value for k, time, value in events if k == key and begin <= time < begin + window.size
    ]
    values = sorted(value for value in inside if value is not None)
    if not values:
        return 0, None, None, [], len(inside)
    at = (len(values) - 1) / 2
    median = (values[math.floor(at)] + values[math.ceil(at)]) / 2
    mode = max(values, key=lambda v: (values.count(v), -v))
    return len(set(values)), median, mode, [values], len(inside)


def batches_of(seed):
    rng = random.Random(seed)
    batches, now = [], 0
    for _ in range(24):
        now += rng.choice([1, 7, 10, 12]) * SECOND
        batches.append(
            [
                (
                    rng.choice("ab"),
                    max(0, now - rng.randrange(20 * SECOND)),
                    rng.choice([None, 1, 2, 3, 9]),
                )
                for _ in range(rng.randrange(1, 15))
            ]
        )
    return batches


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("is_fine", [False, True], ids=["", "many levels"])
def test_answers_and_state(seed, is_fine, monkeypatch):
    if is_fine:
        many_levels(monkeypatch)
    engine = Engine(
        [query(name, WINDOWS[name]) for name in ("minute", "long")],
        strategy="shared",
        delay=30 * SECOND,
        retain=0,
        buckets=1,
    )
    batches = batches_of(seed)
    for number, batch in enumerate(batches):
        engine.batch(batch)
        if number == 11:
            engine.change([query(name, window) for name, window in WINDOWS.items()])
    engine.batch([("z", 10_000 * SECOND, None)])
    engine.batch([])
    events = [event for batch in batches for event in batch]
    for name, window in WINDOWS.items():
        found = {(key, begin): rest for key, begin, *rest in engine.answers[name] if key != "z"}
        for (key, begin), answer in found.items():
            # A sketch of fewer values than it has room for has all of them.
            levels, _, _ = read_kll(answer[3], "<i8")
            answer[3] = levels
            assert tuple(answer) == naive(window, events, key, begin), (name, key, begin)
        if name != "odd":
            holding = {
                (key, begin)
                for key, time, _ in events
                for begin in range(time - time % window.slide, time - window.size, -window.slide)
            }
            assert found.keys() == holding
    assert engine.answers["odd"]
