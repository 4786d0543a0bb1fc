"""What was measured of a running stream, for the planner."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muntin.model.query import Grouping
from muntin.model.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Events per second of event time; by grouping, live keys and the share of the events."""

    rate: float
    keys: Mapping[Grouping, float] = field(default_factory=dict)
    shares: Mapping[Grouping, float] = field(default_factory=dict)

    def of(self, workload: Workload) -> Workload:
        """Returns a workload with these figures; others stay where nothing was measured."""
        live = {frozenset(grouping.keys): keys for grouping, keys in self.keys.items()}
        main = max(self.keys, key=lambda grouping: len(workload.groupings.get(grouping, ())))
        return replace(
            workload,
            rate=self.rate,
            keys=self.keys[main],
            rate_known=True,
            keys_known=True,
            live={**workload.live, **live},
            shares={
                **workload.shares,
                **{each.where: share for each, share in self.shares.items() if each.where},
            },
        )
