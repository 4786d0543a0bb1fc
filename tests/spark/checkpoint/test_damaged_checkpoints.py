"""A checkpoint of which something is gone or cut short is refused, and nothing is written."""

import shutil
from dataclasses import replace

import pytest

from muntin.api.stream import start
from muntin.errors import RunError
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.streams import MINUTE, SITES, Input, events, joined, unload_states

BUCKETS = 2


@pytest.fixture(scope="module")
def healthy(spark, tmp_path_factory):
    """A checkpoint with several batches under two plans."""
    base = tmp_path_factory.mktemp("healthy")
    source = Input(spark, base / "in")
    made = events(51, files=3)
    for queries, files in (([MINUTE], made[:1]), ([MINUTE, SITES], made[1:])):
        source.put(joined(files))
        with go(base, source, queries) as pipeline:
            pipeline.process_all_available()
    # A copy of a checkpoint whose files come and go is no whole one.
    unload_states(spark)
    return base, source


def go(base, source, queries, name="check"):
    return start(
        queries,
        source.stream(),
        checkpoint=base / name,
        sink=base / "out",
        options=StreamOptions(buckets=BUCKETS),
    )


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def last(folder):
    return max((one for one in folder.iterdir() if one.name.isdigit()), key=lambda p: int(p.name))


def cut(file, size):
    file.write_bytes(file.read_bytes()[:size])
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def as_a_folder(file):
    """Turns a file into what Spark writes for a text."""
    text = file.read_text()
    remove(file)
    file.mkdir()
    (file / "part-00000-c000.txt").write_text(text)


DAMAGE = {
    "all commits": (lambda c: remove(c / "spark" / "commits"), "commit is gone"),
    "the last two commits": (
        lambda c: [remove(last(c / "spark" / "commits")) for _ in range(2)],
        "the commit of batch .* is gone",
    ),
    "all offsets": (lambda c: remove(c / "spark" / "offsets"), "spark/offsets is gone"),
    "the last offset": (
        lambda c: remove(last(c / "spark" / "offsets")),
        "its entry in spark/offsets is gone",
    ),
    "offsets and commits": (
        lambda c: [remove(c / "spark" / one) for one in ("offsets", "commits")],
        "commit is gone",
    ),
    "Spark's part": (lambda c: remove(c / "spark"), "commit is gone"),
    "state": (lambda c: remove(c / "spark" / "state"), "spark/state is gone"),
    "state of the operator": (lambda c: remove(c / "spark" / "state" / "0"), "spark/state is gone"),
    "state of a partition": (
        lambda c: remove(c / "spark" / "state" / "0" / "1"),
        "state/0/1 is gone",
    ),
    "the files that were read": (lambda c: remove(c / "spark" / "sources"), "files that were read"),
    "a log of files": (lambda c: cut(last(c / "spark" / "sources" / "0"), 0), "is cut short"),
    "an empty commit": (lambda c: cut(last(c / "spark" / "commits"), 0), "it has no version"),
    "half a commit": (lambda c: cut(last(c / "spark" / "commits"), 20), "commits/.* cannot be"),
    "a commit without its JSON": (lambda c: cut(last(c / "spark" / "commits"), 3), "no nextBatch"),
    "half an offset": (lambda c: cut(last(c / "spark" / "offsets"), 40), "offsets/.* cannot be"),
    "an empty offset": (lambda c: cut(last(c / "spark" / "offsets"), 0), "it has no version"),
    "Spark's id": (lambda c: remove(c / "spark" / "metadata"), "metadata is gone"),
    "half of Spark's id": (lambda c: cut(c / "spark" / "metadata", 5), "metadata cannot be read"),
    "half a plan": (lambda c: cut(c / "muntin-00001.json", 200), "plan muntin-00001.json cannot"),
    "an empty plan": (lambda c: cut(c / "muntin-00001.json", 0), "plan muntin-00001.json cannot"),
    "the first plan": (lambda c: remove(c / "muntin-00000.json"), "muntin-00000.json is gone"),
    "the last plan": (lambda c: remove(c / "muntin-00001.json"), "muntin-00001.json is gone"),
    "half a note of the last plan": (lambda c: cut(c / "_last_plan.json", 5), "_last_plan.json"),
    "a checksum": (
        lambda c: (c / ".muntin-00001.json.crc").write_bytes(b"crc\0\0\0\2\0" + b"1" * 60),
        "plan muntin-00001.json cannot be read",
    ),
    "a changed plan": (
        lambda c: (c / "muntin-00001.json").write_text(
            (c / "muntin-00001.json").read_text().replace('"minute"', '"minuit"')
        ),
        "plan muntin-00001.json cannot be read",
    ),
    "a plan that is none": (
        lambda c: [cut(c / "muntin-00001.json", 0), (c / "muntin-00001.json").write_text("[]")],
        "plan muntin-00001.json cannot be read",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused(healthy, tmp_path, kind):
    base, source = healthy
    damage, message = DAMAGE[kind]
    shutil.copytree(base / "check", base / kind)
    damage(base / kind)
    before = contents(base / kind), contents(base / "out")
    # Plans are read in other places, too, where queries have changed.
    others = [[MINUTE, replace(SITES, name="more")]] if "plan" in kind else []
    for queries in ([MINUTE, SITES], *others):
        with pytest.raises(RunError, match=f"is damaged: .*{message}.*; restore it"):
            go(base, source, queries, kind)
    assert (contents(base / kind), contents(base / "out")) == before


def test_plans_that_spark_connect_wrote_are_told_from_damage(healthy):
    base, source = healthy
    check = base / "of connect"
    shutil.copytree(base / "check", check)
    for file in sorted(check.glob("muntin-*.json")):
        as_a_folder(file)
    with pytest.raises(RunError, match="made by a pipeline on Spark Connect"):
        go(base, source, [MINUTE, SITES], check.name)


@pytest.mark.parametrize(
    "kind", ["as it was", "a cut batch", "old batches deleted", "of an older version"]
)
def test_what_a_crash_or_spark_itself_leaves_is_no_damage(healthy, kind):
    base, source = healthy
    check = base / kind
    shutil.copytree(base / "check", check)
    if kind == "a cut batch":
        remove(last(check / "spark" / "commits"))
    if kind == "of an older version":
        remove(check / "_last_plan.json")
    if kind == "old batches deleted":
        for log in ("offsets", "commits"):
            for number in range(int(last(check / "spark" / log).name) - 1):
                remove(check / "spark" / log / str(number))
    with go(base, source, [MINUTE, SITES], kind) as pipeline:
        pipeline.process_all_available()
