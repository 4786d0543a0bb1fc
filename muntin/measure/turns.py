"""Times contenders in turns, so that all run under the same conditions."""

from collections.abc import Callable, Mapping

from muntin.console.progress import Steps
from muntin.measure.processes import Cost, cheapest, settle

# A run longer than this is not repeated: its time is far above the noise.
LONG_S = 30.0


def in_turns(
    runs: Mapping[str, Callable[[], Cost]],
    bar: Steps,
    *,
    warming: int,
    repeats: int,
    before: Mapping[str, Cost] | None = None,
) -> dict[str, Cost]:
    """Returns the least cost of each run, by name: some turns warm up, the others count.

    A long run has only its first turn, which counts, or none if `before` has the cost of an earlier
    long run. A run starts when the processes are idle. `bar` has a step for each turn of each run.
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
    return {name: cheapest(turns) for name, turns in costs.items()}
