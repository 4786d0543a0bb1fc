"""Which trees are made in one pass, and that no other choice of passes is cheaper."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.model.passes import Engine
from muntin.model.plan_json import plan_from_json, plan_to_json
from muntin.model.prices import SHIPPED, Prices
from muntin.model.time import MINUTE
from muntin.model.windows import Window
from muntin.model.workload import Workload
from muntin.optimizer.choose_passes import cheapest_passes
from muntin.optimizer.optimize import optimize
from muntin.optimizer.price_plan import PassCandidate
from muntin.optimizer.strategies import STRATEGIES
from tests.support import window_sets as my
from tests.support.examples import examples

ONE_GROUP_BY = Prices(event=1e6, handed=1e12)
KEYS = [[], ["device"], ["site"], ["device", "site"]]
FILTERS = [None, "x > 0", "y = 1 AND x > 0"]


def query(name, size=1, *, keys=(), where=None, time="ts"):
    window = Window(size=size * MINUTE, slide=MINUTE)
    return replace(my.query(name, window, keys=list(keys), where=where), time=time)


def passes(*queries, prices=ONE_GROUP_BY, strategy="shared", **more):
    work = Workload(queries=queries, keys=100.0, prices=prices, **more)
    plan = optimize(work, strategy)
    return [sorted(n for t in plan.trees_of(each) for n in t.queries) for each in plan.passes]


def test_queries_that_differ_in_filter_and_keys_share_a_pass():
    asked = [query("a"), query("b", 2, keys=["device"]), query("c", 3, where="x > 0")]
    assert passes(*asked) == [["a", "b", "c"]]
    assert passes(*asked, strategy="unshared") == []


def test_the_pass_has_the_keys_and_the_edges_of_all_its_trees():
    asked = (query("a", keys=["site"]), query("b", 2, keys=["device"]))
    for engine, prices in (
        (Engine.SPARK, ONE_GROUP_BY),
        (Engine.COMPILED, Prices(event=1e9, handed=1e6)),
    ):
        (shared,) = optimize(Workload(queries=asked, prices=prices), "shared").passes
        assert (shared.engine, shared.keys) == (engine, ("device", "site"))
        assert shared.slicing.width == MINUTE


def test_what_a_filter_may_guard_shares_with_the_same_filter_only():
    asked = [
        query("a", keys=["10 / n"], where="n <> 0"),
        query("b", 2, keys=["10 / n"], where="n <> 0"),
        query("c", 3, keys=["10 / n", "site"], where="n <> 0"),
        query("d", 4, keys=["site"]),
        query("e", 5),
    ]
    assert sorted(passes(*asked)) == [["a", "b", "c"], ["d", "e"]]


def test_filters_are_asked_first_if_they_are_few_or_leave_out_enough():
    def leaves_out(count, share=1.0):
        asked = tuple(query(f"q{n}", 2 + n, where=f"x > {n}") for n in range(count))
        shares = {each.where: share for each in asked}
        work = Workload(queries=asked, prices=ONE_GROUP_BY, shares=shares)
        plan = optimize(work, "shared")
        (shared,) = plan.passes
        assert plan_from_json(plan_to_json(plan)).passes == (shared,)
        filters = [each.where for each in asked]
        everything = " OR ".join(f"({where})" for where in filters)
        assert shared.filter_of(filters) == (everything if shared.drops_rows else None)
        assert shared.filter_of(filters[:1]) == filters[0]
        return shared.drops_rows

    assert leaves_out(4)
    assert not leaves_out(20)
    assert leaves_out(20, share=0.01)


def test_a_relation_that_is_computed_is_read_once_or_stored():
    asked = (query("a", keys=["device"]), query("b", 2, keys=["site"]))
    relation = asked[0].source
    work = Workload(queries=asked, keys=1e4, keys_known=True, computed=frozenset([relation]))
    # Slices by both keys would be about as many as events, and the slicer is too dear.
    cheap, dear = Prices(handed=1e9, stored=0), Prices(handed=1e9, stored=1e9)
    apart = optimize(replace(work, prices=cheap), "shared")
    assert (apart.readings, apart.stored_relations) == ({relation: 2}, (relation,))
    together = optimize(replace(work, prices=dear), "shared")
    assert (together.readings, together.stored_relations) == ({relation: 1}, ())
    assert optimize(replace(work, prices=cheap), "unshared").stored_relations == ()
    assert (
        optimize(replace(work, prices=dear, computed=frozenset()), "shared").stored_relations == ()
    )
    assert plan_from_json(plan_to_json(apart)).stored_relations == apart.stored_relations


def test_what_is_random_shares_nothing():
    asked = [query("a"), query("b", 2, where="rand() < 0.5"), query("c", 3, where="x > 0")]
    assert passes(*asked) == [["a", "c"]]


def test_other_times_and_relations_are_other_families():
    asked = [query("a"), query("b", 2, keys=["site"]), query("c", 3, time="other")]
    assert passes(*asked) == [["a", "b"]]


def test_few_events_in_a_slice_are_cut_by_the_slicer_and_many_are_not():
    asked = (query("a", keys=["device"]), query("b", 2, keys=["device"]))
    sparse = optimize(Workload(queries=asked, rate=1.0, keys=10_000.0), "auto")
    assert [each.engine for each in sparse.passes] == [Engine.COMPILED]
    assert optimize(Workload(queries=asked, rate=1e6, keys=100.0), "auto").passes == ()


def test_live_keys_and_shares_of_filters_decide():
    asked = (query("a", keys=["device"]), query("b", 2, keys=["site"]))
    few = {frozenset(["device"]): 100.0, frozenset(["site"]): 10.0}
    dense = Workload(queries=asked, rate=1e5, keys=100.0, live_keys=few)
    # Each device has one site, or one of each.
    together = frozenset(["device", "site"])
    assert len(optimize(replace(dense, live_keys={**few, together: 100.0}), "auto").passes) == 1
    assert len(optimize(replace(dense, live_keys={**few, together: 1e7}), "auto").passes) == 0


@settings(max_examples=examples(38), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(KEYS), st.sampled_from(FILTERS), st.integers(1, 5)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.1, 50.0, 1e5]),
    st.sampled_from([SHIPPED, ONE_GROUP_BY, Prices(event=1e9, handed=1e6)]),
)
def test_greedy_is_between_the_best_of_all_choices_and_a_pass_for_each_tree(asked, rate, prices):
    queries = tuple(
        query(f"q{index}", size, keys=keys, where=where)
        for index, (keys, where, size) in enumerate(asked)
    )
    work = Workload(queries=queries, rate=rate, keys=50.0, prices=prices)
    trees = STRATEGIES["shared"](work).trees
    found = cheapest_passes(trees, work)
    assert sorted(t.queries for each in found for t in each.trees) == sorted(
        t.queries for t in trees
    )

    def cost(parts):
        return sum(PassCandidate(trees=tuple(part), workload=work).cheapest.total for part in parts)

    total = sum(each.cheapest.total for each in found)
    assert min(map(cost, partitions(list(trees)))) * (1 - 1e-9) <= total
    assert total <= cost([tree] for tree in trees) * (1 + 1e-9)


def partitions(items):
    """Every way to put items into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for parts in partitions(rest):
        yield [[first], *parts]
        for index, part in enumerate(parts):
            yield [*parts[:index], [first, *part], *parts[index + 1 :]]
