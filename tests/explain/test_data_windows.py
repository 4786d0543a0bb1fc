"""Data windows in the text and in the picture: shown as what they are."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import muntin as mt
from muntin import explain
from tests.support.user_aggregates import Tens


def plan():
    def query(name, window):
        return mt.Query(
            name=name,
            window=window,
            aggregates={"n": mt.count(), "hot": mt.max("temp")},
            time="ts",
            keys=["device"],
            relation="readings",
        )

    return mt.plan(
        [
            query("visits", mt.session("5 minutes")),
            query("short", mt.session("1 minute")),
            query("on <&>", mt.punctuation("state = 'on'")),
            query("hour", mt.tumbling("1 hour")),
        ],
        strategy="shared",
    )


def test_the_text_says_what_the_windows_are():
    text = explain.text(plan(), 100)
    assert "plan: 2 of 4 queries share; 3 scans instead of 4\n  3 trees" in text
    assert text.count("readings by device over ts") == 3
    assert "events within 1 minute become one record" in text
    assert "in a stream: slices of 7 seconds 500 milliseconds wait for the watermark" in text
    row = next(line for line in text.splitlines() if "from state = 'on' to the next" in line)
    assert row.startswith("└─")
    assert row.split()[-4:] == ["count(*),", "max(temp)", "on", "<&>"]
    assert all(len(line) <= 64 for line in explain.text(plan(), 64).splitlines())


def test_the_text_says_that_a_session_query_alone_is_left_to_spark():
    alone = explain.text(mt.plan([plan().query("visits")]), 100)
    assert "Spark's own session_window, in a batch: no other query shares these events" in alone
    assert "in a stream: slices of 37 seconds 500 milliseconds wait" in alone
    assert "Spark's own" not in explain.text(plan(), 100)


def test_a_plan_of_such_windows_alone_is_compared_too():
    alone = mt.plan(
        [query for query in plan().queries if isinstance(query.window, mt.DataWindow)],
        rate=50,
        keys=10,
    )
    assert "each query alone" in alone.explain()


def test_the_picture_has_a_box_for_each_window():
    root = ET.fromstring(plan().to_svg())
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(
        title.startswith("sessions, 5 minutes apart (found in the data)") for title in titles
    )
    assert any("answers on <&>" in title for title in titles)
    boxes = [
        rect.attrib["height"]
        for rect in root.iter("{http://www.w3.org/2000/svg}rect")
        if rect.attrib.get("rx") == "5" and "stroke" in rect.attrib
    ]
    # Four windows, and what each of the three trees reads, whichever kind of tree it is.
    assert len(boxes) == 7
    assert len(set(boxes)) == 1


def test_the_text_and_the_figures_name_code_of_the_users():
    (query,) = [query for query in plan().queries if query.name == "short"]
    own = mt.plan([replace(query, window=mt.custom(Tens))])
    assert "calls code of yours: Tens" in explain.text(own, 100)
    assert [tree["engine"] for tree in explain.figures(own)["trees"]] == ["user"]
    assert "calls code" not in explain.text(plan(), 100)
