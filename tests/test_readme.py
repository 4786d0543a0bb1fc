"""The README's Python runs as it stands, one block after the other."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_examples_run(spark, capsys):
    names = {
        "readings": spark.range(2000).selectExpr(
            "timestamp_micros(id * 30000000) AS ts",
            "concat('device-', id % 5) AS device",
            "CAST(id % 40 AS DOUBLE) AS temp",
        )
    }
    assert len(blocks()) == 2
    for block in blocks():
        exec(block, names)
    shown = capsys.readouterr().out
    assert "auto plan: 2 queries, 1 tree" in shown
    assert "|  device|" in shown or "|device" in shown.replace(" ", "")
    assert {
        row["query"] for row in names["results"].together().select("query").distinct().collect()
    } == {
        "day",
        "hot",
    }
    names["results"].release()


def test_every_page_that_is_linked_is_there():
    root = Path(__file__).parent.parent
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
