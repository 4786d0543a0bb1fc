"""What stands around the aggregation: items and HAVING, written over keys, `window`, aggregates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muntin.model.aggregate import Aggregate
from muntin.model.query import quoted
from muntin.sql.aggregates import is_shared, read_call, star_places
from muntin.sql.clauses import Clauses
from muntin.sql.functions import AGGREGATES, GENERATORS, UNSTABLE, calls
from muntin.sql.keys import Grouping, fold, matches
from muntin.sql.tokens import NotSharedError, Span, Swap, closing, kind_at, render
from muntin.sql.windows import is_window, read_window


@dataclass(kw_only=True)
class Projection:
    """Rewrites expressions one by one, and gathers the aggregates that they ask for."""

    text: str
    clauses: Clauses
    grouping: Grouping
    names: Iterator[str]
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    _by_identity: dict[tuple[object, ...], str] = field(default_factory=dict)

    def rewrite(self, tokens: Span, aliases: Mapping[str, str | None] | None = None) -> str:
        """An expression over key names, `window` and aggregate names.

        `aliases` are the items that may be named, in lower case; one that stands twice is none.
        In HAVING Spark looks for a key first, and then for an item.
        """
        tokens = fold(tokens, self.clauses)
        swaps: dict[int, Swap] = {}
        with_aggregate: list[int] = []
        place = 0
        while place < len(tokens):
            if is_shared(tokens, place):
                call = read_call(self.text, tokens, place)
                name = self._by_identity.get(call.identity) or self._add(call.aggregate)
                self._by_identity[call.identity] = name
                swap: Swap | None = Swap(stop=call.stop, text=quoted(name))
                with_aggregate.append(place)
            else:
                swap = self._swap(tokens, place, aliases or {})
            if swap is None:
                place += 1
            else:
                swaps[place] = swap
                place = swap.stop
        self._check_rest(tokens, swaps, with_aggregate)
        return render(self.text, tokens, swaps)

    def _add(self, aggregate: Aggregate) -> str:
        name = next(self.names)
        self.aggregates[name] = aggregate
        return name

    def ensure_aggregate(self) -> None:
        """Count rows where nothing is aggregated: the groups themselves are the answer."""
        if not self.aggregates:
            self._add(Aggregate(function="count"))

    def _swap(self, tokens: Span, place: int, aliases: Mapping[str, str | None]) -> Swap | None:
        """What the window, a key or an alias at a place is replaced by."""
        here = tokens[place]
        if kind_at(tokens, place - 1) == "DOT":
            return None
        if is_window(tokens[place : place + 2]):
            stop = closing(tokens, place + 1) + 1
            if read_window(self.text, tokens[place:stop])[0] != self.grouping.window:
                raise NotSharedError("two windows in one query")
            return Swap(stop=stop, text=quoted("window"))
        if here.norm == self.grouping.window.name and here.start in self.clauses.columns:
            return Swap(stop=place + 1, text=quoted("window"))
        found = [key for key in self.grouping.keys if matches(key, tokens, place, self.clauses)]
        if found:
            longest = max(found, key=lambda key: len(key.tokens))
            return Swap(stop=place + len(longest.tokens), text=quoted(longest.name))
        if here.norm in aliases and here.start in self.clauses.columns:
            expression = aliases[here.norm]
            if expression is None:
                raise NotSharedError(f"two items of SELECT are called {here.name}")
            return Swap(stop=place + 1, text=f"({expression})")
        return None

    def _check_rest(
        self, tokens: Span, swaps: Mapping[int, Swap], with_aggregate: list[int]
    ) -> None:
        """Refuse what is left and still needs rows: other aggregates, and columns."""
        covered = {place for start, swap in swaps.items() for place in range(start, swap.stop)}
        called: list[tuple[int, int, str]] = []
        for place, name in calls(tokens):
            if place in covered:
                continue
            end = closing(tokens, place + 1)
            written = render(self.text, tokens[place : end + 1])
            called.append((place, end, written))
            if name in AGGREGATES:
                raise NotSharedError(f"{written} is not built from slices")
            if name in UNSTABLE:
                raise NotSharedError(f"{name}() gives other values each time")
            if name in GENERATORS:
                raise NotSharedError(f"{name} makes several rows of one")
            if name == "window_time":
                raise NotSharedError("window_time reads Spark's own window")
            if name in self.clauses.unknown and not any(
                place < inside < end for inside in with_aggregate
            ):
                # A function of the user's may be an aggregate; around an aggregate it cannot be.
                raise NotSharedError(f"{written} may be an aggregate of its own")
        for place, token in enumerate(tokens):
            if place in covered or token.start not in self.clauses.columns:
                continue
            around = [written for start, end, written in called if start < place < end]
            if around:
                raise NotSharedError(f"{around[-1]} is not built from slices")
            raise NotSharedError(f"{token.name} is neither a key nor inside an aggregate")
        if star_places(tokens) - covered:
            raise NotSharedError("* stands for columns that are no keys")
