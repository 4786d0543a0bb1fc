from collections import Counter

from benchmarks.harness.sets import draw_teams, ten_teams
from muntin.measure.events import readings


def test_ten_teams_ask_by_six_sets_of_keys_with_three_filters():
    asked = [
        (
            " ".join(query.key_expressions),
            query.where,
            str(query.window),
            " ".join(query.aggregates),
        )
        for query in ten_teams()
    ]
    assert asked == [
        ("device", None, "1 minute", "avg count"),
        ("site", None, "1 minute", "avg max"),
        ("", None, "1 minute", "count"),
        ("device", "status = 'error'", "5 minutes", "count"),
        ("site", "kind = 1", "15 minutes every 1 minute", "avg"),
        ("kind", None, "1 hour every 1 minute", "max"),
        ("device", "temp > 80", "1 hour every 5 minutes", "count"),
        ("site kind", None, "10 minutes", "avg"),
        ("device kind", None, "1 hour", "min max"),
        ("site", "status = 'error'", "1 day every 10 minutes", "count"),
    ]


def test_a_hundred_draws_are_twelve_sets_of_keys_and_twenty_five_filters():
    drawn = draw_teams(100)
    keys = Counter(tuple(query.key_expressions) for query in drawn)
    wheres = Counter(query.where for query in drawn)
    assert (len(keys), set(keys.values())) == (12, {8, 9})
    assert (len(wheres), set(wheres.values())) == (25, {4})
    conditions = {len(where.replace("20 AND 30", "").split(" AND ")) for where in wheres}
    assert conditions == {1, 2, 3}
    assert {len(query.aggregates) for query in drawn} == {1, 2}
    assert {query.window.is_tumbling for query in drawn} == {True, False}


def test_the_seed_decides():
    def told(drawn):
        return [str(query.to_sql()) for query in drawn]

    assert told(draw_teams(20)) == told(draw_teams(20))
    assert told(draw_teams(20)) != told(draw_teams(20, seed=1))


def test_every_filter_keeps_some_events_and_leaves_some_out(spark):
    wheres = sorted({query.where for query in draw_teams(100)})
    counts = [f"count_if({where}) AS n{index}" for index, where in enumerate(wheres)]
    (row,) = readings(spark, 2000, 100).selectExpr(*counts).collect()
    assert all(0 < count < 2000 for count in row)
