import json

import pytest

import muntin as mt
from muntin.errors import ModelError
from muntin.model.data_windows import Custom, Landmark, Session
from muntin.model.plan_json import plan_from_json, plan_to_json
from muntin.model.time import MINUTE


class Tens:
    """Windows of ten records."""

    def __init__(self):
        self.seen = 0

    def f_disc(self, record):
        self.seen += 1
        begins = self.seen % 10 == 1
        return int(begins), int(begins and self.seen > 1)


class Last:
    def trigger(self, record):
        return True

    def evict(self, record, held):
        return 0


KINDS = {
    "sessions, 5 minutes apart": mt.session("5 minutes"),
    "from state = 'on' to the next": mt.punctuation("state = 'on'"),
    "100 rows every 10": mt.count_window(100, every=10),
    "100 rows": mt.count_window(100),
    "10 of mileage every 2.5": mt.delta("mileage", 10, every=2.5),
    "from login to logout": mt.landmark("login", end="logout"),
    "5 minutes from alarm": mt.landmark("alarm", end="5 minutes"),
    "5 minutes every 2 minutes while price <= 10, else 10 minutes every 5 minutes": mt.threshold(
        "price <= 10",
        inside=mt.hopping("5 minutes", every="2 minutes"),
        outside=mt.hopping("10 minutes", every="5 minutes"),
    ),
}


def query(window, name="q"):
    return mt.Query(name=name, window=window, aggregates={"n": mt.count()}, time="ts", keys=["k"])


@pytest.mark.parametrize("text", KINDS)
def test_a_kind_says_what_it_is(text):
    assert str(KINDS[text]) == text


def test_custom_windows_are_named_by_their_class():
    found = mt.custom(Tens, columns=["temp"])
    assert (str(found), found.is_deterministic) == ("Tens", True)
    assert found.columns == (("temp", "temp"),)
    assert not mt.custom(Last, columns={"t": "temp + 1"}).is_deterministic


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mt.session("0 seconds"), "a session's gap must be above zero, not 0 seconds"),
        (lambda: mt.count_window(0), "size must be above zero, not 0"),
        (lambda: mt.count_window(2.5), "size is a number of rows, not 2.5"),
        (lambda: mt.count_window(5, every=6), "every must be above zero and at most 5, not 6"),
        (lambda: mt.delta("m", float("nan")), "size must be above zero, not nan"),
        (lambda: mt.delta("m", "ten"), "size is a number, not 'ten'"),
        (lambda: mt.delta(" ", 10), "a delta window's column is Spark SQL, not ' '"),
        (lambda: mt.punctuation(True), "a punctuation window's condition is Spark SQL, not True"),
        (
            lambda: mt.landmark("a", end="-5 microseconds"),
            "must last longer than zero, not -5 microseconds",
        ),
        (
            lambda: mt.threshold("a", inside=mt.session("1 day"), outside=mt.tumbling("1 day")),
            "a threshold's inside is made by tumbling or hopping, not Session",
        ),
        (lambda: mt.custom(object), "object needs f_disc.record., or trigger"),
        (lambda: mt.custom(7), "a custom window is made by a class, not 7"),
        (lambda: mt.custom(lambda: 1 / 0), "cannot be made without arguments: division by zero"),
        (lambda: mt.custom(Tens, columns="temp"), "a list of columns, not 'temp'"),
        (lambda: mt.custom(Tens, columns={"time": "ts"}), "other than 'time', not 'time'"),
        (
            lambda: query("1 minute"),
            "query 'q': window is made by tumbling, hopping or cumulate, or by session",
        ),
    ],
)
def test_what_is_wrong_is_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_a_landmark_ends_by_a_duration_or_a_condition():
    assert mt.landmark("a", end="1 minute") == Landmark("a", MINUTE)
    assert mt.landmark("a", end="minute = 1") == Landmark("a", "minute = 1")


def test_a_session_is_sparks_own_in_sql():
    text = str(query(mt.session("1 minute")).to_sql())
    assert "AS answers(`k`, `window`, `n`)" in text
    assert "GROUP BY k, session_window(ts, '60000000 microseconds'))" in text


def test_other_kinds_have_no_sql():
    with pytest.raises(ModelError, match="query 'q': Spark SQL has no window such as 5 rows"):
        query(mt.count_window(5)).to_sql()


def test_kinds_stand_in_the_plan_and_share_trees():
    asked = [query(kind, name=str(number)) for number, kind in enumerate(KINDS.values())]
    asked.append(query(mt.session("1 minute"), name="short"))
    asked.append(query(mt.custom(Last), name="last"))
    asked.append(query(mt.tumbling("1 minute"), name="periodic"))
    plan = mt.plan(asked, strategy="shared")
    assert [len(tree.nodes) for tree in plan.periodic_trees] == [1]
    # Sessions need not see every event; windows with a partial per record stand alone.
    assert [(len(tree.nodes), tree.grain) for tree in plan.data_trees] == [
        (2, MINUTE),
        (7, None),
        (1, None),
    ]
    assert plan.data_trees[0].data_windows == (Session(5 * MINUTE), Session(MINUTE))
    assert plan.cost < plan.unshared_cost


def test_a_plan_of_kinds_goes_to_json_and_back():
    plan = mt.plan([query(kind, name=str(number)) for number, kind in enumerate(KINDS.values())])
    back = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert back.data_trees == plan.data_trees
    assert [one.window for one in back.queries] == [one.window for one in plan.queries]


def test_of_a_class_of_the_users_the_name_alone_is_data():
    plan = mt.plan(query(mt.custom(Tens, columns={"x": "a + b"})))
    data = plan_to_json(plan)
    back = plan_from_json(json.loads(json.dumps(data)))
    window = back.queries[0].window
    assert (str(window), window.columns) == ("Tens", (("x", "a + b"),))
    assert window.name.endswith("test_data_windows.Tens")
    assert plan_to_json(back) == data
    with pytest.raises(ModelError, match="has no name to be known by"):
        plan_to_json(mt.plan(query(Custom(lambda: Tens()))))
