"""A plan as a picture: what is drawn, where, and to which scale."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import explain
from muntin.explain import drawing, words
from muntin.explain.drawing import CostScale, TimeScale
from muntin.model.trees import Node
from muntin.model.windows import Edges, Window
from tests.support.hand_made_plans import LOW, every_plan, hundred, pair, plan_of, small, tree_of

SVG = "{http://www.w3.org/2000/svg}"


@every_plan
def test_picture_is_one_svg_element(build):
    root = ElementTree.fromstring(explain.svg(build()))
    assert root.tag == f"{SVG}svg"
    assert "sans-serif" in root.attrib["font-family"]
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
    for query in plan.plain_queries:
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
    assert drawing.stretch_length(tree) % 18_000_000 == 0
    assert [edge // 1_000_000 for edge in drawing.edges_within(tree.slicing, 18_000_000)] == [
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
    found = drawing.edges_within(tree.slicing, drawing.stretch_length(tree))
    assert len(found) <= drawing.MOST_EDGES + len(edges)
    ElementTree.fromstring(explain.svg(plan))
    assert explain.text(plan)


@given(st.text(min_size=1, max_size=80))
@settings(deadline=None)
def test_any_text_is_shown_on_one_line(name):
    told = words.clean(name)
    assert "\n" not in told
    ElementTree.fromstring(f"<a>{told.replace('&', '').replace('<', '')}</a>".encode())
