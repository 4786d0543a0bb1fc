"""Collects changes of a pipeline's queries, and applies several of them in one restart."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Takes the queries that run; returns those to run instead: a list, a plan or a workload.
Change = Callable[[Any], Any]


class _Waiting:
    """A request for a change, until it is applied or refused."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.is_made = False
        self.error: BaseException | None = None


class ChangeQueue:
    """Applies changes one restart at a time, each with all requests since the last one.

    If several are refused together, each is tried alone, so that a wrong one does not block others.
    """

    def __init__(
        self,
        now: Callable[[], Any],
        apply: Callable[[Any], None],
        lock: threading.Lock,
    ) -> None:
        """`now` returns the queries that run. `apply` runs others, with the lock held."""
        self._now = now
        self._apply = apply
        # Held while changes are made.
        self.lock = lock
        self._waiting: list[_Waiting] = []
        self._open = threading.local()

    def make(self, change: Change) -> None:
        """Make a change now, or at the end of `combine_changes`; raises why it is refused."""
        gathered: list[Change] | None = getattr(self._open, "changes", None)
        if gathered is not None:
            gathered.append(change)
            return
        mine = _Waiting(change)
        self._waiting.append(mine)
        with self.lock:
            if not mine.is_made:
                self._make_all()
        if mine.error is not None:
            raise mine.error

    @contextmanager
    def combine_changes(self) -> Iterator[None]:
        """Applies this thread's changes in the block as one; an error in it drops them all."""
        changes: list[Change] = []
        self._open.changes = changes
        try:
            yield
        finally:
            self._open.changes = None
        if changes:
            self.make(lambda now: _apply_changes(changes, now))

    def _make_all(self) -> None:
        # Other threads may add changes meanwhile; those are applied the next time.
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]
        try:
            self._make(waiting)
        finally:
            for request in waiting:
                request.is_made = True

    def _make(self, waiting: list[_Waiting]) -> None:
        queries, possible = self._now(), []
        for request in waiting:
            try:
                queries = _apply_changes([request.change], queries)
                possible.append(request)
            except Exception as error:
                request.error = error
        if not possible:
            return
        try:
            self._apply(queries)
        except Exception as error:
            if len(possible) == 1:
                possible[0].error = error
            else:
                for request in possible:
                    self._make([request])


def _apply_changes(changes: list[Change], queries: Any) -> Any:
    for change in changes:
        queries = change(list(getattr(queries, "queries", queries)))
    return queries
