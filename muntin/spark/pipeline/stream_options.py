"""Options of a stream that few users need."""

from dataclasses import dataclass
from typing import Any

from muntin.errors import ModelError, RunError
from muntin.model.time import parse_duration
from muntin.model.windows import Duration
from muntin.model.workload import PlanOptions
from muntin.optimizer.strategies import STEADY

STOP, DROP_QUERY = "stop", "drop query"


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """How a stream is planned, what it keeps, and what it does when a query fails.

    `strategy`, `technique`, `slicing`, `latency` and `approximate` are as in `plan`. `name` is what
    Spark's web page calls the query; by default, the name of the checkpoint's folder. Slices are
    kept for `retain` after their windows are complete, for queries that are added later. State is
    divided into `buckets` of keys at the first start on a checkpoint; by default there is one for
    each partition of state, and at most 32. If a query fails, the stream does, too, unless
    `on_error` is "drop query": then the other queries continue. With `replan`, say 0.2, the stream
    moves by itself to the cheapest plan for its measured rate and keys, whenever the plan that runs
    costs more by that share.
    """

    strategy: str = STEADY
    technique: str | None = None
    slicing: str | None = None
    latency: bool = False
    approximate: bool = False
    name: str | None = None
    retain: Duration = 0
    buckets: int | None = None
    on_error: str = STOP
    replan: float | None = None

    def __post_init__(self) -> None:
        if self.replan is not None and not self.replan >= 0:
            raise RunError(
                f"replan is a share of the cost that is not negative, such as 0.2, and this is "
                f"{self.replan!r}"
            )
        if self.on_error not in (STOP, DROP_QUERY):
            raise RunError(f'on_error is "{STOP}" or "{DROP_QUERY}", not {self.on_error!r}')

    @property
    def plan_options(self) -> PlanOptions:
        """The options of the plan."""
        return PlanOptions(
            technique=self.technique,
            slicing=self.slicing,
            latency=self.latency,
            approximate=self.approximate,
        )

    @property
    def drops_queries(self) -> bool:
        """Whether a query that fails is dropped, and the others continue."""
        return self.on_error == DROP_QUERY


def trigger_of(trigger: str | None) -> dict[str, Any]:
    """Returns the arguments of `writeStream.trigger` for a time between batches, for "available
    now", or for none."""
    if trigger is None:
        return {}
    if trigger.strip().lower() == "available now":
        return {"availableNow": True}
    try:
        parse_duration(trigger)
    except ModelError as error:
        raise RunError(
            f'the trigger is a time between batches, or "available now" for all that is there and '
            f"then an end: {error}"
        ) from None
    return {"processingTime": trigger}
