"""Spans of time as two columns, begins and ends: which rows start in them, and what is left."""

from dataclasses import dataclass

import numpy as np

from muntin.runtime.columns.partials import Bools, Int64s


@dataclass(frozen=True, kw_only=True)
class Spans:
    """Disjoint spans `[begins[i], ends[i])`, in the order of time."""

    begins: Int64s
    ends: Int64s

    @staticmethod
    def of(begin: int, end: int) -> "Spans":
        """Returns one span, or none if it is empty."""
        some = slice(0, 1 if begin < end else 0)
        return Spans(begins=np.array([begin], np.int64)[some], ends=np.array([end], np.int64)[some])

    def __bool__(self) -> bool:
        return len(self.begins) > 0

    def before(self, instant: int) -> "Spans":
        """Returns what is before an instant."""
        some = self.begins < instant
        return Spans(begins=self.begins[some], ends=np.minimum(self.ends[some], instant))

    def hold(self, starts: Int64s) -> Bools:
        """Whether each instant is inside."""
        at = np.searchsorted(self.begins, starts, side="right") - 1
        found: Bools = (at >= 0) & (starts < self.ends[np.maximum(at, 0)])
        return found

    def meet(self, first: int, last: int) -> bool:
        """Whether some instant from `first` to `last` is inside."""
        return bool(((self.begins <= last) & (self.ends > first)).any())

    def without(self, cells: Int64s, width: int) -> "Spans":
        """Returns what is left without cells of some width, which ascend and are inside."""
        if not len(cells):
            return self
        # What a cell leaves of its span: from the end of the cell before, or the span's begin.
        inside = np.searchsorted(self.begins, cells, side="right") - 1
        is_first = np.concatenate([[True], inside[1:] != inside[:-1]])
        is_last = np.concatenate([inside[1:] != inside[:-1], [True]])
        before = np.concatenate([[0], cells[:-1] + width])
        lows = np.where(is_first, self.begins[inside], before)
        untouched = np.ones(len(self.begins), np.bool_)
        untouched[inside] = False
        begins = np.concatenate([self.begins[untouched], lows, cells[is_last] + width])
        ends = np.concatenate([self.ends[untouched], cells, self.ends[inside[is_last]]])
        some = begins < ends
        order = np.argsort(begins[some], kind="stable")
        return Spans(begins=begins[some][order], ends=ends[some][order])
