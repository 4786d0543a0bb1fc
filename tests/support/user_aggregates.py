"""Windows and aggregates as a user would write them, for tests that run them in several ways."""

import muntin as mt


class Tens:
    """Windows of ten records, told of each."""

    def __init__(self):
        self.seen = 0

    def f_disc(self, record):
        begins = self.seen % 10 == 0
        self.seen += 1
        return int(begins), int(begins and self.seen > 1)


class Loads:
    """A window from each load of one to the third record after it."""

    def __init__(self):
        self.ages = []

    def f_disc(self, record):
        self.ages = [age + 1 for age in self.ages]
        ends = sum(age >= 3 for age in self.ages)
        self.ages = self.ages[ends:]
        begins = int(record.load == 1 and record.temp is not None)
        self.ages += [0] * begins
        return begins, ends


class LastFive:
    """The last five records, at every third."""

    def __init__(self):
        self.seen = 0

    def trigger(self, record):
        self.seen += 1
        return self.seen % 3 == 0

    def evict(self, record, held):
        return max(0, held - 4)


def first_of(a, b):
    return a if a[0] <= b[0] else b


# The load of the first record.
FIRST = mt.aggregate(["unix_micros(ts)", "load"], first_of, lambda p: p[1], (float("inf"), 0.0))
