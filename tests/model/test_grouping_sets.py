"""Grouping sets in the model: the sets that a query has, and the queries that they are."""

import json

import pytest

import muntin as mt
from muntin.errors import ModelError
from muntin.model.plan_json import plan_from_json, plan_to_json, query_from_json, query_to_json


def query(**changes):
    parts = {
        "name": "totals",
        "window": mt.tumbling("1 minute"),
        "aggregates": {"n": mt.count()},
        "keys": mt.rollup("site", "kind"),
        "time": "ts",
        "relation": "events",
        **changes,
    }
    return mt.Query(**parts)


@pytest.mark.parametrize(
    ("keys", "sets"),
    [
        (mt.rollup("a", "b"), [["a", "b"], ["a"], []]),
        (mt.rollup(["a", "b"], "c"), [["a", "b", "c"], ["a", "b"], []]),
        (mt.cube("a", ["b", "c"]), [["a", "b", "c"], ["a"], ["b", "c"], []]),
        (mt.grouping_sets(["a", "b"], "b", [], []), [["a", "b"], ["b"], [], []]),
        (mt.grouping_sets(mt.rollup("a"), "b"), [["a"], [], ["b"]]),
        (["a", mt.rollup("b")], [["a", "b"], ["a"]]),
        ([mt.rollup("a"), mt.cube("b")], [["a", "b"], ["a"], ["b"], []]),
        ([mt.rollup("s.a"), "s.b"], [["a", "b"], ["b"]]),
        (mt.rollup("a", "a"), [["a"], ["a"], []]),
    ],
)
def test_the_sets_of_a_query(keys, sets):
    assert [list(names) for names in query(keys=keys).sets] == sets


def test_each_set_is_a_query_with_all_columns():
    marks = {"of_kind": mt.grouping("kind"), "level": mt.grouping_id()}
    asked = query(marks=marks)
    parts = {part.name: part for part in asked.parts}
    assert list(parts) == ["totals (site, kind)", "totals (site)", "totals ()"]
    assert [part.grouping.keys for part in asked.parts] == [("kind", "site"), ("site",), ()]
    site = parts["totals (site)"]
    assert site.names == asked.names == ("site", "kind", "window", "n", "of_kind", "level")
    assert site.columns == asked.columns
    assert site.null_keys == {"kind": "kind"}
    assert site.mark_values == {"of_kind": "1Y", "level": "1L"}
    assert parts["totals ()"].mark_values == {"of_kind": "1Y", "level": "3L"}
    assert site.whole_query is asked
    assert site.parts == (site,)
    plain = query(keys=["site"])
    assert plain.parts == (plain,)


def test_equal_sets_are_parts_of_their_own():
    asked = query(keys=mt.grouping_sets("a", [], "a", "a"))
    assert [part.name for part in asked.parts] == [
        "totals (a)",
        "totals ()",
        "totals (a) 2",
        "totals (a) 3",
    ]


def test_the_window_has_a_bit_that_is_never_set():
    mark = mt.Mark(keys=("site", "window", "kind"))
    assert mark.value(["site", "kind"], ["kind"]) == "4L"
    assert mark.value(["site", "kind"], []) == "5L"


def test_spark_sql_of_a_query_and_of_its_parts():
    asked = query(marks={"level": mt.grouping_id()}, having="n > 1")
    window = asked._window_call()
    assert str(asked.to_sql()) == (
        f"SELECT * FROM (SELECT site AS _muntin_0, kind AS _muntin_1, {window} AS _muntin_2, "
        f"count(*) AS _muntin_3, grouping_id() AS _muntin_4 FROM events AS `events` "
        f"GROUP BY {window}, site, kind GROUPING SETS (({window}, site, kind), ({window}, site), "
        f"({window}))) AS answers(`site`, `kind`, `window`, `n`, `level`) WHERE n > 1"
    )
    part = asked.parts[1].to_sql()
    assert part.tables == ("events", "events")
    assert str(part) == (
        f"SELECT * FROM (SELECT site AS _muntin_0, (SELECT first(kind) FROM events AS `events` "
        f"WHERE false) AS _muntin_1, {window} AS _muntin_2, count(*) AS _muntin_3, 1L AS _muntin_4 "
        f"FROM events AS `events` GROUP BY site, {window}) "
        f"AS answers(`site`, `kind`, `window`, `n`, `level`) WHERE n > 1"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": ["site"], "sets": [["sight"]]}, "'sight', which is no key; did you mean 'site'"),
        ({"keys": ["site"], "sets": []}, "at least one grouping set"),
        ({"sets": [["site"]]}, "given twice"),
        ({"marks": {"m": mt.grouping("kin")}}, "'kin', which is no key; did you mean 'kind'"),
        ({"keys": ["site"], "marks": {"m": mt.grouping_id()}}, "only grouping sets have marks"),
        ({"marks": {"n": mt.grouping_id()}}, "two columns are called 'n'"),
        ({"window": mt.session("1 minute")}, "'totals': grouping sets are for tumbling"),
    ],
)
def test_what_cannot_be(changes, message):
    with pytest.raises(ModelError, match=message):
        query(**changes)


def test_sets_are_made_of_columns():
    with pytest.raises(ModelError, match="made of columns, and 3 is none"):
        mt.rollup("a", 3)


def test_no_other_query_has_the_name_of_a_part():
    with pytest.raises(ModelError, match=r"two queries are called 'totals \(site\)'"):
        mt.plan([query(), query(name="totals (site)", keys=["site"])])


def test_a_plan_answers_every_set_and_is_kept_as_json():
    asked = query(marks={"level": mt.grouping_id()})
    plan = mt.plan([asked, query(name="sites", keys=["site"])], strategy="shared")
    assert [query.name for query in plan.queries] == ["totals", "sites"]
    assert [sorted(tree.queries) for tree in plan.trees] == [
        ["totals (site, kind)"],
        ["sites", "totals (site)"],
        ["totals ()"],
    ]
    (shared,) = plan.passes
    assert shared.keys == ("kind", "site")
    back = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert back.trees == plan.trees
    assert query_to_json(back.query("totals")) == query_to_json(asked)
    assert "sites, totals (site)" in plan.explain() or "totals (site), sites" in plan.explain()
    assert "2 of 2 queries share; 1 scan instead of 2\n  3 trees" in plan.explain()


def test_json_without_sets_is_read():
    data = query_to_json(query(keys=["site"]))
    del data["sets"], data["marks"]
    assert query_from_json(data).sets is None
