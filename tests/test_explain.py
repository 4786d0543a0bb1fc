"""A plan in words and as a picture. Plans are built by hand, so that no cost model moves them."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import explain
from muntin.explain import ruler, words
from muntin.explain.scales import CostScale, TimeScale
from muntin.model.aggregates.aggregate import avg, max_, min_
from muntin.model.plan import Edges, Node, Plan, Slicing, Tree
from muntin.model.prices import Prices
from muntin.model.query import PlainQuery, Query, workload
from muntin.model.sql_text import SqlText
from muntin.model.windows.window import Window, hopping, tumbling
from muntin.share.optimizer import optimize

SVG = "{http://www.w3.org/2000/svg}"
MINUTE = tumbling("1 minute")
TEN = tumbling("10 minutes")
DAY = hopping("1 day", every="10 minutes")
LOW, HIGH = min_("temp"), max_("temp")


def tree_of(*nodes, edges=None, **family):
    edges = edges or (Edges(period=60_000_000),)
    family = {"keys": ["device"], "relation": "readings"} | family
    like = Query(name="like", window=MINUTE, aggregates={"x": LOW}, time="ts", **family)
    slicing = Slicing(edges=edges, rate=sum(1e6 / one.period for one in edges))
    return Tree(family=like.family, slicing=slicing, nodes=nodes, cut_cost=1000.0)


def plan_of(*trees, plain=(), unshared_cost=13_000.0, plain_cost=1_300_000.0, strategy="factor"):
    queries = [
        Query(name=name, window=node.window, aggregates={"x": node.aggregates[0]}, time="ts")
        for tree in trees
        for node in tree.nodes
        for name in node.queries
    ]
    plain = [
        PlainQuery(name=name, statement=SqlText(("SELECT 1",)), reason=reason)
        for name, reason in plain
    ]
    return Plan(
        strategy=strategy,
        trees=trees,
        queries=(*queries, *plain),
        rate=1000,
        keys=100,
        unshared_cost=unshared_cost,
        plain_cost=plain_cost,
    )


def small():
    return plan_of(
        tree_of(
            Node(window=MINUTE, aggregates=(LOW, HIGH), queries=("fast", "quick"), cost=12.34),
            Node(window=TEN, aggregates=(LOW, HIGH), parent=MINUTE, cost=150),
            Node(
                window=DAY,
                aggregates=(LOW, HIGH),
                parent=TEN,
                queries=("day",),
                techniques=(("two_stacks",), ("two_stacks",)),
                cost=67.66,
            ),
            Node(window=tumbling("5 minutes"), aggregates=(LOW,), queries=("five",), cost=70),
            where="temp > 0",
        ),
        plain=[("median", "percentile(temp) is not built from slices")],
    )


def pair():
    edges = tuple(
        Edges(period=period * 1_000_000, phase=phase * 1_000_000)
        for period, phase in ((6, 0), (6, 4), (9, 0), (9, 3))
    )
    return plan_of(
        tree_of(
            Node(
                window=hopping("10 seconds", every="6 seconds"), aggregates=(LOW,), queries=("b",)
            ),
            Node(
                window=hopping("12 seconds", every="9 seconds"), aggregates=(LOW,), queries=("a",)
            ),
            edges=edges,
        )
    )


def hundred():
    return plan_of(
        tree_of(
            *(
                Node(
                    window=hopping(f"{minutes} minutes", every="1 minute"),
                    aggregates=(LOW, avg("humidity")),
                    queries=(f"panel_{minutes}", f"copy of panel_{minutes}"),
                    cost=minutes,
                )
                for minutes in range(1, 101)
            )
        )
    )


def stairs(steps=30):
    nodes, above = [], None
    for step in range(steps):
        window = Window(size=60_000_000 << step, slide=60_000_000 << step)
        nodes.append(Node(window=window, aggregates=(LOW,), parent=above, queries=(f"s{step}",)))
        above = window
    return plan_of(tree_of(*nodes))


def families():
    return plan_of(
        tree_of(Node(window=MINUTE, aggregates=(LOW,), queries=("a",))),
        tree_of(Node(window=DAY, aggregates=(HIGH,), queries=("b",)), keys=[], relation=None),
        tree_of(edges=(Edges(period=1),)),
    )


def nasty():
    """Names and reasons that break out of XML, lines and columns."""
    return plan_of(
        tree_of(
            Node(window=MINUTE, aggregates=(min_("a < b AND c = '\"&'"),), queries=('<&">',)),
            Node(
                window=TEN, aggregates=(LOW,), queries=("n" * 300, "two\nlines", "bell\a", "日本")
            ),
            Node(
                window=DAY,
                aggregates=(max_("温度"),),
                queries=("一日の最高気温と最低気温の差" * 4,),
            ),
            where="x < 1 AND y = '</title>'",
            relation="a&b",
        ),
        plain=[("]]>", "<b>&amp;\x1b[31m " + "word " * 200), ("long" * 60, "")],
        strategy="<auto>",
    )


def only_plain():
    return plan_of(plain=[("median", "no slices")], unshared_cost=0, plain_cost=0)


PLANS = [small, pair, hundred, stairs, families, nasty, only_plain]
every_plan = pytest.mark.parametrize("build", PLANS, ids=lambda build: build.__name__)


SMALL = """
factor plan: 5 queries, 1 tree, for 1k events/s and 100 keys
  this plan          1.3k ops/s  reading 1.0k, answering 300
  each query alone  13.0k ops/s  this plan costs 10x less
  plain Spark        1.3M ops/s  this plan costs 1,000x less: Spark copies events into each window
  1 op is the work of merging two partial aggregates, about 3 ns of CPU
  costs are estimates; fixed ones, such as starting a job, are left out

tree: readings where temp > 0 by device over ts
  reading    1.0k ops/s  events are added to slices of 1 minute
  answering   300 ops/s  windows are merged from slices, or from the window that they hang below

window                           ops/s  computes                            answers
├─ 1 minute                       12.3  min(temp), max(temp) by recalc      fast, quick
│  └─ 10 minutes                   150  min(temp), max(temp) by recalc      factor window
│     └─ 1 day every 10 minutes   67.7  min(temp), max(temp) by two_stacks  day
└─ 5 minutes                      70.0  min(temp) by recalc                 five

factor window: no query asks for it, but others are cheaper to build from it

answered by Spark alone
└─ median  percentile(temp) is not built from slices
"""


def test_a_small_plan_in_full():
    assert explain.text(small(), 100) == SMALL.strip("\n")


def test_events_that_are_moved_are_said_to_be():
    plan = small()
    moved = replace(plan, trees=tuple(replace(tree, moves_events=True) for tree in plan.trees))
    said = "events are shuffled by key, then added to slices of 1 minute"
    assert said in explain.text(moved, 100)
    assert said in explain.svg(moved)
    assert "shuffled" not in explain.svg(plan)


STRATEGIES = """
auto plan: 2 queries, 2 trees, for 100 events/s and 200 keys
  this plan         49.7k ops/s  reading 30.0k, answering 19.7k
  each query alone  49.7k ops/s  this plan costs the same
  plain Spark       49.7k ops/s  this plan costs the same: Spark copies events into each window
  1 op is the work of merging two partial aggregates, about 3 ns of CPU
  costs are estimates; fixed ones, such as starting a job, are left out

strategies by cost
  49.7k ops/s             unshared (chosen)
  54.5k ops/s  1.1x more  shared, intermediate
  Sharing everything would not pay: a slice would have only 1.3 events of a key on average. The
  events are read 2 times instead.
"""


def test_auto_says_what_it_tried_and_why_it_does_not_share():
    second, hour = tumbling("1 second"), tumbling("1 hour")
    queries = [
        Query(name=str(w), window=w, aggregates={"m": max_("x")}, keys=["k"], time="ts")
        for w in (second, hour)
    ]
    prices = Prices(event=150, group=250, partial=250, combine=1, answer=250, kept=5, copy=60)
    few = optimize(workload(queries, rate=100.0, keys=200.0, prices=prices), "auto")
    assert explain.text(few, 100).startswith(STRATEGIES.strip("\n"))
    many = optimize(workload(queries, rate=1e6, keys=200.0, prices=prices), "auto")
    assert "Sharing pays: a slice has 5k events of a key on average" in explain.text(many, 100)


@every_plan
def test_every_query_is_named_or_counted(build):
    plan = build()
    told = explain.text(plan, 100)
    for tree in plan.trees:
        for node in tree.nodes:
            line = next(
                line
                for line in told.splitlines()
                if re.search(rf"─ {re.escape(str(node.window))}  ", line + "  ")
            )
            names = [words.clean(name) for name in node.queries]
            shown = [name for name in names if name in line]
            left_out = re.search(r"\+(\d+) more(?: from .*)?$", line)
            clipped = 1 if "…" in line else 0
            counted = int(left_out[1]) if left_out else 0
            assert len(shown) + clipped + counted >= len(names)
            assert names or words.FACTOR in line
    for query in plan.plain:
        name = words.clean(query.name)
        assert (name if len(name) <= 40 else f"{name[:39]}…") in told


@every_plan
@pytest.mark.parametrize("width", [64, 72, 80, 100])
def test_text_fits_a_terminal(build, width):
    for line in explain.text(build(), width).splitlines():
        assert words.width(line) <= width
        assert line == line.rstrip()
        assert line.isprintable()


def test_the_terminal_says_how_wide_it_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert small().explain() == explain.text(small(), 70) != explain.text(small(), 100)
    monkeypatch.setenv("COLUMNS", "300")
    assert small().explain() == explain.text(small(), 100)


def test_reading_and_answering_are_told_apart():
    told = explain.text(small(), 100)
    assert "this plan          1.3k ops/s  reading 1.0k, answering 300" in told
    assert words.parts(small()) == (1000.0, 300.0)
    assert words.OPERATION in told


def test_strategies_of_equal_cost_are_one_line():
    cost = small().cost
    tried = {"shared": cost, "factor": cost, "unshared": 2 * cost, "weave": cost * 1.001}
    plan = replace(small(), considered=tried, taken=("factor",))
    assert list(words.strategies(plan)) == [
        (cost, "", ["factor (chosen)", "shared", "weave"]),
        (2 * cost, "2x more", ["unshared"]),
    ]
    lines = explain.text(plan, 100).splitlines()
    assert "  1.3k ops/s           factor (chosen), shared, weave" in lines
    assert "  2.6k ops/s  2x more  unshared" in lines


def test_a_hundred_windows_take_a_line_each():
    lines = explain.text(hundred(), 100).splitlines()
    assert len(lines) < 115
    # The costs stand below each other, under their unit.
    end = next(line.index("ops/s") + 5 for line in lines if line.startswith("window "))
    assert all(re.match(r".*\d$", line[:end]) for line in lines if "─ " in line)


def test_nodes_deeper_than_the_page_say_what_they_read():
    lines = explain.text(stairs(), 100).splitlines()
    assert sum("from line above" in line for line in lines) == 25


def test_plain_queries_come_with_their_reasons():
    told = explain.text(small())
    assert "answered by Spark alone\n└─ median  percentile(temp) is not built from slices" in told
    assert "percentile(temp) is not built from slices" in explain.svg(small())


def test_a_plan_without_measures_claims_nothing():
    plan = replace(small(), unshared_cost=0.0, plain_cost=0.0)
    for told in (explain.text(plan), explain.svg(plan)):
        assert "less" not in told
        assert "plain Spark" not in told


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        (10, 120, "12x less"),
        (10, 25, "2.5x less"),
        (10, 20, "2x less"),
        (1, 5066, "5,066x less"),
        (20, 10, "2x more"),
        (100, 103, "1.03x less"),
        (10, 10.01, "the same"),
        (0, 10, ""),
        (10, 0, ""),
    ],
)
def test_ratio(ours, theirs, told):
    assert words.ratio(ours, theirs) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0"),
        (0.01, "<0.1"),
        (0.44, "0.4"),
        (7, "7.0"),
        (99.96, "100"),
        (999.4, "999"),
        (999.6, "1.0k"),
        (1234, "1.2k"),
        (12_340, "12.3k"),
        (999_960, "1.0M"),
        (3.4e6, "3.4M"),
        (5e15, "5000T"),
    ],
)
def test_cost(value, told):
    assert words.cost(value) == f"{told} ops/s"


def test_frequency_takes_the_unit_that_reads_well():
    assert words.frequency(4 / 9) == "0.44 a second"
    assert words.frequency(1 / 60) == "1 a minute"
    assert words.frequency(1 / 86_400) == "1 a day"
    assert words.frequency(2500) == "2.5k a second"


def test_slices_of_unequal_width():
    assert "added to slices of unequal length, 0.56 a second" in explain.text(pair(), 100)


# The picture.


@every_plan
def test_picture_is_one_svg_element(build):
    root = ElementTree.fromstring(explain.svg(build()))
    assert root.tag == f"{SVG}svg"
    assert not {element.tag for element in root.iter()} & {f"{SVG}style", f"{SVG}script"}
    assert not [element for element in root.iter() if "id" in element.attrib]


@every_plan
def test_picture_tells_every_window_and_every_query(build):
    plan = build()
    titles = [
        title.text or "" for title in ElementTree.fromstring(explain.svg(plan)).iter(f"{SVG}title")
    ]
    for tree in plan.trees:
        for node in tree.nodes:
            story = next(
                title for title in titles if title.split("\n")[0].startswith(str(node.window))
            )
            assert all(words.clean(name) in story for name in node.queries)
    for query in plan.plain:
        assert any(words.clean(query.name) in title for title in titles)


@every_plan
def test_nothing_is_drawn_outside(build):
    root = ElementTree.fromstring(explain.svg(build()))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        at = {name: value for name, value in element.attrib.items() if name in PLACES}
        for name, value in at.items():
            limit = width if "x" in name else height
            assert 0 <= float(value) <= limit, ElementTree.tostring(element)
        if element.tag == f"{SVG}rect":
            assert float(at["x"]) + float(element.attrib["width"]) <= width
            assert float(at["y"]) + float(element.attrib["height"]) <= height
        if element.tag == f"{SVG}text":
            left, right = extent(element)
            assert left >= 0
            assert right <= width, element.text


PLACES = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy")


def extent(text):
    """The least room that a text takes: half its font size a sign, East Asian signs aside."""
    length = len(text.text or "") * float(text.attrib["font-size"]) * 0.5
    x, anchor = float(text.attrib["x"]), text.attrib.get("text-anchor", "start")
    return {
        "start": (x, x + length),
        "middle": (x - length / 2, x + length / 2),
        "end": (x - length, x),
    }[anchor]


@every_plan
def test_texts_of_one_line_do_not_overlap(build):
    lines = {}
    for text in ElementTree.fromstring(explain.svg(build())).iter(f"{SVG}text"):
        lines.setdefault(text.attrib["y"], []).append(extent(text))
    for spans in lines.values():
        spans.sort()
        for (_, right), (left, _) in pairwise(spans):
            assert right <= left


@every_plan
def test_the_same_plan_gives_the_same_output(build):
    assert explain.text(build()) == explain.text(build())
    assert explain.svg(build()) == explain.svg(build())


@every_plan
def test_all_boxes_have_one_style(build):
    """Each tree has a box of what is read and one for each window, all of one height."""
    plan = build()
    root = ElementTree.fromstring(explain.svg(plan))
    boxes = [
        rect.attrib
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib.get("rx") == "5" and "stroke" in rect.attrib
    ]
    assert len(boxes) == sum(len(tree.nodes) + 1 for tree in plan.trees)
    assert len({box["height"] for box in boxes}) <= 1
    # They end together, so that what stands in their columns compares down the page.
    assert len({round(float(box["x"]) + float(box["width"])) for box in boxes}) <= 1


def test_bars_of_reading_and_of_windows_are_on_one_scale():
    bars = {}
    for group in ElementTree.fromstring(explain.svg(small())).iter(f"{SVG}g"):
        story = group.find(f"{SVG}title").text
        for rect in group.iter(f"{SVG}rect"):
            if rect.attrib.get("fill-opacity") == "0.8":
                bars[story.split("\n")[0].split(":")[0]] = float(rect.attrib["width"])
    # 1000 for reading, 150 for the factor window.
    assert bars["reading"] / bars["10 minutes (factor window)"] == pytest.approx(1000 / 150, 0.01)


def test_ticks_are_round_and_far_enough_apart_to_be_read():
    for low, high in ((1, 2), (6_000_000, 12_000_000), (1_000_000, 10**12), (1, 10**15)):
        ticks = TimeScale(low=low / 1.6, high=high * 1.6, width=170.0).ticks()
        assert all(right - left >= 40 for (left, _), (right, _) in pairwise(ticks))
    assert [name for _, name in TimeScale(low=6e5, high=1e8, width=170.0).ticks()] == [
        *("1 s", "10 s", "1 min")
    ]
    assert [name for _, name in CostScale(most=47_000.0, width=130.0).ticks()] == [
        *("0", "20k", "40k")
    ]
    assert CostScale(most=0.0, width=130.0).ticks() == [(0.0, "0")]


def test_factor_windows_are_dashed():
    picture = explain.svg(small())
    # One box, and one in the legend.
    assert picture.count("stroke-dasharray") == 2
    assert "stroke-dasharray" not in explain.svg(hundred())


def test_edges_are_drawn_to_scale():
    # 0  3 4  6   9 10  12   16   18
    tree = pair().trees[0]
    assert ruler.span(tree) % 18_000_000 == 0
    assert [edge // 1_000_000 for edge in ruler.edges_within(tree.slicing, 18_000_000)] == [
        *(0, 3, 4, 6, 9, 10, 12, 16)
    ]


windows = st.builds(
    lambda slide, extra, offset: Window(size=slide + extra, slide=slide, offset=offset),
    st.integers(1, 10**13),
    st.integers(0, 10**13),
    st.integers(-(10**13), 10**13),
)


@given(st.lists(windows, min_size=1, max_size=40, unique=True))
@settings(deadline=None)
def test_any_slicing_can_be_drawn(asked):
    edges = {
        Edges(period=window.slide, phase=phase)
        for window in asked
        for phase in (window.offset, window.offset + window.size)
    }
    nodes = [
        Node(window=window, aggregates=(LOW,), queries=(f"q{number}",))
        for number, window in enumerate(asked)
    ]
    plan = plan_of(tree_of(*nodes, edges=tuple(sorted(edges))))
    tree = plan.trees[0]
    found = ruler.edges_within(tree.slicing, ruler.span(tree))
    assert len(found) <= ruler.MOST_EDGES + len(edges)
    ElementTree.fromstring(explain.svg(plan))
    assert explain.text(plan)


@given(st.text(min_size=1, max_size=80))
@settings(deadline=None)
def test_any_text_is_shown_on_one_line(name):
    told = words.clean(name)
    assert "\n" not in told
    ElementTree.fromstring(f"<a>{told.replace('&', '').replace('<', '')}</a>".encode())
