"""When a stream runs its batches, as Spark's writer takes it."""

from typing import Any

from muntin.errors import ModelError, RunError
from muntin.model.time import parse_duration


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
