"""User-defined windows in the text and in the picture: shown as what they are."""

import xml.etree.ElementTree as ET

import muntin as mt


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
    text = plan().explain()
    assert "plan: 4 queries, 3 trees" in text
    assert "windows found in the data: readings by device over ts" in text
    assert "events within 1 minute are one record" in text
    assert "in a stream: cut every 7 seconds 500 milliseconds; keys are forgotten" in text
    row = next(line for line in text.splitlines() if "from state = 'on' to the next" in line)
    assert row.startswith("└─")
    assert row.endswith("count(*), max(temp)  on <&>")
    assert all(len(line) <= 100 for line in text.splitlines())


def test_the_text_says_that_a_session_query_alone_is_left_to_spark():
    alone = mt.plan([plan().query("visits")]).explain()
    assert "nothing to share it with: in a batch Spark's own session_window answers" in alone
    assert "in a stream: cut every" in alone
    assert "Spark's own" not in plan().explain()


def test_a_plan_of_such_windows_alone_is_compared_too():
    alone = mt.plan(
        [query for query in plan().queries if isinstance(query.window, mt.DataWindow)],
        rate=50,
        keys=10,
    )
    assert "a tree per query" in alone.explain()


def test_the_picture_has_a_box_for_each_window():
    root = ET.fromstring(plan().to_svg())
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(
        title.startswith("sessions, 5 minutes apart (found in the data)") for title in titles
    )
    assert any("answers on <&>" in title for title in titles)
