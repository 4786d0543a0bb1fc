"""How answers are computed, where a user has chosen that."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a user may demand of a plan beside its strategy."""

    # The technique that every periodic window must use; None leaves the choice to the planner.
    technique: str | None = None
    # Whether to choose techniques by the worst time of a single answer, not by total work.
    latency: bool = False
    # Whether answers may differ from Spark's within an error bound; see `optimizer.approximate`.
    approximate: bool = False

    def or_else(self, other: "PlanOptions") -> "PlanOptions":
        """Returns these options, with those of `other` where nothing is demanded."""
        return PlanOptions(
            technique=self.technique or other.technique,
            latency=self.latency or other.latency,
            approximate=self.approximate or other.approximate,
        )


# Nothing is demanded.
NO_OPTIONS = PlanOptions()
