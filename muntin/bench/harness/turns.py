"""Contenders that are timed in turns, so that all meet the same machine and the same JVM."""

from collections.abc import Callable, Mapping

from muntin.bench.harness.measure import Cost, cheapest, settle
from muntin.console.progress import Steps

# What takes longer than this runs once: what it shows is far above the noise.
LONG_S = 30.0


def in_turns(
    runs: Mapping[str, Callable[[], Cost]],
    bar: Steps,
    *,
    warming: int,
    repeats: int,
    before: Mapping[str, Cost] | None = None,
) -> dict[str, Cost]:
    """The least that each run costs, by name: some turns to warm up, then those that count.

    What takes long has one turn, the first, and that counts; it has none where `before`, the cost
    of an earlier run, says so. A run begins when nothing else does. `bar` has a step for each turn
    of each run.
    """
    costs = {name: [cost] for name, cost in (before or {}).items() if cost.wall_s >= LONG_S}
    long = set(costs)
    for turn in range(-warming, repeats):
        said = "warming up" if turn < 0 else f"run {turn + 1} of {repeats}"
        for name, run in runs.items():
            with bar.step(f"{name}, {said}"):
                if name in long:
                    continue
                settle()
                cost = run()
                if cost.wall_s >= LONG_S:
                    long.add(name)
                if turn >= 0 or name in long:
                    costs.setdefault(name, []).append(cost)
    return {name: cheapest(found) for name, found in costs.items()}
