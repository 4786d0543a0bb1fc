"""Changes that gather are made together, and a wrong one hurts nobody else."""

import threading

import pytest

from muntin.spark.pipeline.change_queue import ChangeQueue


class StreamPlan:
    """Names that run; some are refused when they are to run."""

    def __init__(self, *names, refused=()):
        self.names, self.refused, self.restarts = list(names), set(refused), 0
        self.queue = ChangeQueue(lambda: self.names, self.apply, threading.Lock())

    def apply(self, names):
        self.restarts += 1
        if self.refused & set(names):
            raise ValueError(f"refused {sorted(self.refused & set(names))}")
        self.names = names

    def add(self, name):
        def more(now):
            if name in now:
                raise KeyError(name)
            return [*now, name]

        self.queue.make(more)


def in_threads(running, names):
    """Ask for all names while another change is being made; gives the errors by name."""
    errors = {}

    def add(name, index):
        try:
            running.add(name)
        except Exception as error:
            errors[index] = type(error)

    threads = [threading.Thread(target=add, args=(name, index)) for index, name in enumerate(names)]
    with running.queue.lock:
        for thread in threads:
            thread.start()
        while len(running.queue._waiting) < len(names):
            pass
    for thread in threads:
        thread.join()
    return errors


def test_changes_that_wait_are_one_restart():
    running = StreamPlan("a")
    assert in_threads(running, ["b", "c", "d"]) == {}
    assert set(running.names) == {"a", "b", "c", "d"}
    assert running.restarts == 1


def test_what_cannot_be_asked_is_left_out_of_the_restart():
    running = StreamPlan("a")
    assert list(in_threads(running, ["b", "a", "c"]).values()) == [KeyError]
    assert set(running.names) == {"a", "b", "c"}
    assert running.restarts == 1


def test_what_is_refused_is_refused_alone():
    running = StreamPlan("a", refused={"x"})
    assert list(in_threads(running, ["b", "x", "c"]).values()) == [ValueError]
    assert set(running.names) == {"a", "b", "c"}


def test_a_block_of_changes_is_one_and_all_or_none():
    running = StreamPlan("a", refused={"x"})
    with running.queue.combine_changes():
        running.add("b")
        running.add("c")
        assert running.names == ["a"]
    assert (running.names, running.restarts) == (["a", "b", "c"], 1)

    def together(*names):
        with running.queue.combine_changes():
            for name in names:
                running.add(name)
            assert "?" not in names

    with pytest.raises(ValueError, match="refused"):
        together("d", "x")
    with pytest.raises(AssertionError):
        together("d", "?")
    assert running.names == ["a", "b", "c"]
