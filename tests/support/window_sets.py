"""What hypothesis draws: windows and workloads, the nasty ones included."""

from hypothesis import strategies as st

from muntin.aggregates import aggregate as ag
from muntin.model.query import Query
from muntin.model.windows import CumulateWindow, Edges, Window
from muntin.model.workload import Workload

AGGREGATES = (ag.min_("x"), ag.max_("x"), ag.sum_("x"), ag.count(), ag.avg("y"))


@st.composite
def windows(draw, *, most=24, unit=1):
    slide = draw(st.integers(1, most))
    if draw(st.integers(0, 4)) == 0:
        steps = draw(st.integers(2, 6))
        offset = draw(st.one_of(st.just(0), st.integers(0, slide * steps - 1)))
        return CumulateWindow(size=slide * steps * unit, slide=slide * unit, offset=offset * unit)
    size = draw(st.one_of(st.integers(slide, 4 * most), st.integers(1, 6).map(lambda k: k * slide)))
    offset = draw(st.one_of(st.just(0), st.integers(0, slide - 1)))
    return Window(size=size * unit, slide=slide * unit, offset=offset * unit)


def edges(most=24):
    return st.integers(1, most).flatmap(
        lambda period: st.builds(Edges, period=st.just(period), phase=st.integers(0, period - 1))
    )


def query(name, window, *aggregates, **more):
    aggregates = aggregates or (ag.sum_("x"),)
    return Query(
        name=name,
        window=window,
        aggregates={f"a{index}": one for index, one in enumerate(aggregates)},
        time="ts",
        **more,
    )


def workload(given, *aggregates, rate=1000.0, keys=1.0):
    """A workload that asks the same of each window."""
    return Workload(
        queries=tuple(query(f"q{i}", window, *aggregates) for i, window in enumerate(given)),
        rate=rate,
        keys=keys,
    )


@st.composite
def workloads(draw, *, largest=7, unit=1_000_000):
    """Queries of one or two groupings with mixed aggregates over a few windows."""
    queries = []
    for index in range(draw(st.integers(1, largest))):
        asked = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
        keys = draw(st.sampled_from(([], [], ["device"])))
        queries.append(query(f"q{index}", draw(windows(unit=unit)), *asked, keys=keys))
    return Workload(
        queries=tuple(queries),
        rate=draw(st.sampled_from((0.1, 10.0, 1000.0, 1e6))),
        keys=draw(st.sampled_from((1.0, 100.0, 1e5))),
    )
