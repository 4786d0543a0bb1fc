"""The naive answer for user-defined windows: every window as the list of the records it holds."""

from dataclasses import dataclass
from typing import Any

from muntin.model.data_windows import (
    CountWindow,
    Custom,
    Delta,
    Landmark,
    Punctuation,
    Session,
    Threshold,
)
from muntin.model.windows import Window


@dataclass(frozen=True)
class Event:
    """One record; `a` and `b` are conditions, `km` a measure."""

    time: int
    x: float | None
    i: int
    a: bool | None
    b: bool | None
    km: float | None


# A window: its start, its end (none where the data ended first), and its records.
Found = tuple[int, int | None, list[Event]]


def windows(window: Any, events: list[Event]) -> list[Found]:
    """All windows of one key's events, which are in order."""
    match window:
        case Window():
            return _periodic(window, events)
        case Threshold():
            inside = [w for w in _periodic(window.inside, events) if w[2][-1].a]
            return inside + [w for w in _periodic(window.outside, events) if not w[2][-1].a]
        case Session():
            return _sessions(window, events)
        case CountWindow():
            values = [float(number) for number in range(len(events))]
            return _measured(window.size, window.slide, values, events, least=0)
        case Delta():
            return _measured(window.size, window.slide, _growing(events), events)
        case Punctuation():
            return _between(events, [e.a for e in events], [e.a for e in events])
        case Landmark(end=int(length)):
            return [
                (e.time, e.time + length, [o for o in events[n:] if o.time < e.time + length])
                for n, e in enumerate(events)
                if e.a
            ]
        case Landmark():
            return _between(events, [e.a for e in events], [e.b for e in events])
        case Custom() if window.is_deterministic:
            return _counted(window, events)
        case Custom():
            return _evicting(window, events)
    raise TypeError(window)


def _periodic(window: Window, events: list[Event]) -> list[Found]:
    begins = {
        begin
        for event in events
        for begin in range(
            window.first_after(event.time - window.size), event.time + 1, window.slide
        )
    }
    return [
        (a, a + window.size, [e for e in events if a <= e.time < a + window.size])
        for a in sorted(begins)
    ]


def _sessions(window: Session, events: list[Event]) -> list[Found]:
    groups: list[list[Event]] = []
    for event in events:
        if groups and event.time - groups[-1][-1].time <= window.gap:
            groups[-1].append(event)
        else:
            groups.append([event])
    return [(group[0].time, group[-1].time + window.gap, group) for group in groups]


def _growing(events: list[Event]) -> list[float | None]:
    highest: float | None = None
    found = []
    for event in events:
        if event.km is not None and (highest is None or event.km > highest):
            highest = event.km
        found.append(highest)
    return found


def _measured(
    size: float, slide: float, values: Any, events: list[Event], least: int | None = None
) -> list[Found]:
    known = [value for value in values if value is not None]
    if not known:
        return []
    first, last = int((known[0] - size) // slide) - 1, int(known[-1] // slide) + 1
    found: list[Found] = []
    for number in range(first if least is None else least, last + 1):
        a = number * slide
        rows = [n for n, v in enumerate(values) if v is not None and a <= v < a + size]
        if rows:
            after = rows[-1] + 1
            end = events[after].time if after < len(events) else None
            found.append((events[rows[0]].time, end, events[rows[0] : after]))
    return found


def _between(events: list[Event], begins: list[Any], ends: list[Any]) -> list[Found]:
    found: list[Found] = []
    for n, begin in enumerate(begins):
        if begin:
            stop = next((m for m in range(n + 1, len(events)) if ends[m]), None)
            end = None if stop is None else events[stop].time
            found.append((events[n].time, end, events[n:stop]))
    return found


def _counted(window: Custom, events: list[Event]) -> list[Found]:
    made = window.make()
    waiting: list[int] = []
    found: list[Found] = []
    for n, event in enumerate(events):
        begins, ends = made.f_disc(event)
        for begin in waiting[:ends]:
            found.append((events[begin].time, event.time, events[begin:n]))
        waiting = waiting[ends:] + [n] * begins
    return found + [(events[begin].time, None, events[begin:]) for begin in waiting]


def _evicting(window: Custom, events: list[Event]) -> list[Found]:
    made = window.make()
    held: list[Event] = []
    found: list[Found] = []
    for event in events:
        if made.trigger(event) and held:
            found.append((held[0].time, event.time, list(held)))
        held = [*held[made.evict(event, len(held)) :], event]
    return found + ([(held[0].time, None, held)] if held else [])


def tied(events: list[Event]) -> list[Event]:
    """Records of one time in the order of all that windows and aggregates look at."""
    columns = ("x", "i", "a", "b", "km")

    def place(one: Event) -> tuple[Any, ...]:
        values = [getattr(one, name) for name in columns]
        return one.time, *((value is not None, value or 0) for value in values)

    return sorted(events, key=place)


def is_timed(window: Any) -> bool:
    """Whether windows end at an instant, not before a record."""
    return isinstance(window, Window | Threshold) or (
        isinstance(window, Landmark) and isinstance(window.end, int)
    )


def is_closed(window: Any, end: int | None, until: int) -> bool:
    """Whether a window is over when all records before an instant have been seen."""
    if is_timed(window):
        return end <= until
    # Sessions may get a record at their very end; others are ended by a record.
    return end is not None and end < until
