"""Every block of code of the README and the documents runs as it stands there."""

import re
from pathlib import Path

import pytest

import muntin as mt
from muntin.demo import sample_readings
from muntin.techniques.table import TECHNIQUES
from tests.support.pages import PAGES, ROOT, SHOWN, Reader, blocks, working_in

LANGUAGES = {"python", "sh", "sql", *SHOWN}
# How the first block of Python begins on a page.
OPENING = "import muntin as mt\n"
# Pages whose Python is about something else.
OTHERWISE = {
    "techniques.md": "from muntin.aggregates.monoids import MAX\n",
    "tutorial.md": "from pyspark.sql import SparkSession\n",
}


def after_readme(reader):
    assert "auto plan: 2 of 2 queries share; 1 scan instead of 2" in reader.said
    with reader.names["results"] as results:
        found = results.together().select("query").distinct().collect()
    assert {row["query"] for row in found} == {"day", "hot"}
    names = {query.name for query in mt.parse_sql(Path("muntin-demo/dashboard.sql").read_text())}
    assert {path.name for path in Path("answers").iterdir()} == names


def after_streaming(reader):
    pipeline = reader.names["pipeline"]
    assert set(pipeline.status().queries) == {"hot", "slow"}
    assert not pipeline.status().is_active


# What must hold when a page has been read.
AFTER = {"README.md": after_readme, "streaming.md": after_streaming}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.long
def test_the_blocks_of_a_page_run(page, spark, tmp_path, capsys):
    # For blocks of SQL: Python of a page makes what it needs.
    sample_readings(spark)
    reader = Reader(spark, {"__name__": "__main__"}, lambda: capsys.readouterr().out)
    with working_in(spark, tmp_path):
        for block in blocks(page):
            assert block.language in LANGUAGES, f"{block.place}: a block says its language"
            reader.run(block)
        AFTER.get(page.name, lambda reader: None)(reader)
    spark.catalog.dropTempView("readings")


def test_the_python_of_a_page_begins_with_its_imports():
    for page in PAGES:
        python = [each for each in blocks(page) if each.language == "python" and not each.title]
        run = [block for block in python if block.why_not is None]
        if run:
            assert run[0].text.startswith(OTHERWISE.get(page.name, OPENING)), run[0].place


def test_a_block_that_is_not_run_says_why():
    marked = [block for page in PAGES for block in blocks(page) if block.mark is not None]
    assert marked
    for block in marked:
        assert block.is_printed or block.why_not, f"{block.place}: {block.mark}"


def test_every_fence_is_of_a_block_that_was_found():
    for page in PAGES:
        fences = re.findall(r"^ *```", page.read_text(), re.MULTILINE)
        assert len(fences) == 2 * len(blocks(page)), page.name


def anchor(heading: str) -> str:
    """The anchor of a heading, as the site and the usual viewers of Markdown make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def test_every_page_and_heading_that_is_linked_is_there():
    for page in PAGES:
        for target, _, heading in re.findall(r"\]\(([^)#:]*)(#([^)]+))?\)", page.read_text()):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {target}"
            if heading:
                there = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
                assert heading in map(anchor, there), f"{page.name}: {target}#{heading}"


def test_every_file_that_a_page_names_is_there():
    rooms = {path.name: path for path in (ROOT / "muntin").iterdir()}
    rooms |= {
        name: ROOT / name for name in ("muntin", "tests", "docs", "examples", "benchmarks", "tools")
    }
    for page in PAGES:
        for name in re.findall(r"`((?:\w+/)+[\w.]*)`", page.read_text()):
            room, _, rest = name.partition("/")
            # A page may name what its reader is to write.
            if (room in rooms or rest.endswith(".py")) and "your_" not in rest:
                assert room in rooms, f"{page.name}: {name}"
                assert (rooms[room] / rest).exists(), f"{page.name}: {name}"


TABLES = {"planning.md": mt.STRATEGIES, "techniques.md": TECHNIQUES}


@pytest.mark.parametrize("page", TABLES)
def test_a_page_has_all_rows_of_its_table(page):
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    there = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(TABLES[page]) <= there
