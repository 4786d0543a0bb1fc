"""Answers that are held for some batches appear once, all at a time, whatever is cut off."""

import json

import pytest

from muntin.errors import RunError
from muntin.spark.engine.folder import Folder
from muntin.spark.sinks.folder_sink import Files
from tests.support.made_answers import Given, answer, devices, opened


def sink(spark, folder, compact=3, **more):
    return opened(Files(folder, compact=compact, **more), spark)


def batch(spark, number):
    """Batch `number` has the answer `number` of a, and for even numbers one of b."""
    return Given(answer(spark, "a", number, 1), answer(spark, "b", number, 1 - number % 2))


def visible(spark, folder):
    files = {path.name: sorted(path.glob("part-*")) for path in folder.iterdir() if path.name < "z"}
    return {
        name: (devices(spark.read.parquet(*map(str, paths))), len(paths))
        for name, paths in files.items()
        if paths
    }


class Cut(Exception):
    """The process is killed here."""


def test_three_batches_are_one_file_for_each_query(spark, tmp_path):
    one = sink(spark, tmp_path)
    for number in range(5):
        one.write(number, batch(spark, number))
        if number == 1:
            assert visible(spark, tmp_path) == {}
    assert visible(spark, tmp_path) == {"a": ([0, 1, 2], 1), "b": ([0, 2], 1)}
    # A stop publishes what is left of batches that were finished: not of batch 4.
    one.close(3)
    assert visible(spark, tmp_path)["a"] == ([0, 1, 2, 3], 2)
    # Batch 4 comes again, without holding: it replaces what was held of it.
    last = sink(spark, tmp_path, compact=1)
    last.write(4, batch(spark, 4))
    last.write(5, batch(spark, 5))
    last.close(5)
    assert visible(spark, tmp_path) == {"a": ([0, 1, 2, 3, 4, 5], 4), "b": ([0, 2, 4], 2)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("compact", [1, 3, 4])
def test_a_batch_that_has_published_comes_again_and_holds_for_longer(spark, tmp_path, compact):
    first = sink(spark, tmp_path, 2)
    for number in (0, 1):
        first.write(number, batch(spark, number))
    assert visible(spark, tmp_path)["a"] == ([0, 1], 1)
    # Batch 1 was cut off after it had published both.
    again = sink(spark, tmp_path, compact)
    for number in (1, 2, 3):
        again.write(number, batch(spark, number))
    again.close(3)
    found = visible(spark, tmp_path)
    assert (found["a"][0], found["b"][0]) == ([0, 1, 2, 3], [0, 2])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_held_batch_that_comes_again_without_holding_is_not_published_later(spark, tmp_path):
    first = sink(spark, tmp_path, 3)
    for number in (0, 1):
        first.write(number, batch(spark, number))
    # Batch 1 was cut off, and comes again in a process that holds nothing, with another query.
    second = sink(spark, tmp_path, 1)
    second.write(1, Given(answer(spark, "a", 1, 1), answer(spark, "c", 1, 1)))
    assert visible(spark, tmp_path)["a"] == ([0, 1], 2)
    # That process is killed, too, and the next one holds again.
    third = sink(spark, tmp_path, 2)
    for number in (2, 3):
        third.write(number, batch(spark, number))
    third.close(3)
    found = visible(spark, tmp_path)
    assert {name: rows for name, (rows, _) in found.items()} == {
        "a": [0, 1, 2, 3],
        "b": [0, 2],
        "c": [1],
    }


def test_a_cut_among_deleted_files_publishes_nothing_again(spark, tmp_path, monkeypatch):
    first = sink(spark, tmp_path, 2)
    for number in (0, 1):
        first.write(number, batch(spark, number))
    real = Folder.delete

    def cut(self, name):
        """A file system deletes the files of a folder in any order."""
        if name == "":
            real(self, "published.json")
            raise Cut
        real(self, name)

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "delete", cut)
        with pytest.raises(Cut):
            first.write(2, batch(spark, 2))
    again = sink(spark, tmp_path, 2)
    for number in (2, 3):
        again.write(number, batch(spark, number))
    assert visible(spark, tmp_path) == {"a": ([0, 1, 2, 3], 2), "b": ([0, 2], 2)}


# Every step of a batch that publishes: the cut may come before or after it.
STEPS = [
    (owner, name)
    for owner, names in {
        "FolderSink": ["_delete_leftovers", "_stage", "_move_files"],
        "BatchBuffer": ["add", "save_publication", "delete_until"],
    }.items()
    for name in names
]


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_cut_at_any_step_loses_and_repeats_nothing(spark, tmp_path, monkeypatch, after):
    import muntin.spark.sinks.batch_buffer as batch_buffer
    import muntin.spark.sinks.folder_sink as sinks

    owners = {"FolderSink": sinks.FolderSink, "BatchBuffer": batch_buffer.BatchBuffer}
    for place, (owner, name) in enumerate(STEPS):
        folder = tmp_path / str(place)
        one, number = sink(spark, folder, 2), 0
        counted = [0]
        # The first, second and third call of the step are cut off.
        cuts = {1, 3, 5}
        real = getattr(owners[owner], name)

        def step(self, *args, _real=real, _counted=counted, _cuts=cuts, **kwargs):
            _counted[0] += 1
            is_cut = _counted[0] in _cuts
            if is_cut and not after:
                raise Cut
            result = _real(self, *args, **kwargs)
            if is_cut:
                raise Cut
            return result

        monkeypatch.setattr(owners[owner], name, step)
        while number < 5:
            try:
                one.write(number, batch(spark, number))
                number += 1
            except (Cut, RunError):
                # Another process goes on.
                one = sink(spark, folder, 2)
            found = visible(spark, folder) if folder.exists() else {}
            rows = found.get("a", ([], 0))[0]
            assert len(rows) == len(set(rows)), (owner, name)
        for _ in range(4):
            try:
                one.close(4)
                break
            except (Cut, RunError):
                one = sink(spark, folder, 2)
        monkeypatch.undo()
        assert counted[0] > 1, (owner, name)
        found = visible(spark, folder)
        assert found["a"][0] == [0, 1, 2, 3, 4], (owner, name)
        assert found["b"][0] == [0, 2, 4], (owner, name)
        assert not [path for path in folder.iterdir() if path.name.startswith(".")], (owner, name)


def test_held_answers_keep_their_columns_when_queries_change(spark, tmp_path):
    one = sink(spark, tmp_path, 4, format="json", flatten=True)
    one.write(0, Given(answer(spark, "a", 0, 1)))
    schemas = {"a": answer(spark, "a", 0, 1).frame.schema}
    one.claim(schemas)
    # Nothing is in place yet, and still another type of a column is refused.
    other = {"a": answer(spark, "a", 0, 1, "1 AS device").frame.schema}
    with pytest.raises(RunError, match="the column device is string"):
        one.check(other)
    one.write(1, Given(answer(spark, "n", 1, 1, "'d' || id AS device, struct(id AS s) AS window")))
    one.close(1)
    found = spark.read.json(str(tmp_path / "n"))
    assert [row.asDict() for row in found.collect()] == [{"device": "d1", "window_s": 1}]
    assert devices(spark.read.json(str(tmp_path / "a"))) == [0]
    assert json.loads((tmp_path / "a" / "_muntin.json").read_text())["mark"] == "m"


def test_compact_is_a_number_of_batches(spark):
    with pytest.raises(RunError, match="compact is a number of batches, such as 10, not 0"):
        opened(Files("out", compact=0), spark)
