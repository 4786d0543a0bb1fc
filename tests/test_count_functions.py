"""The walk of a batch of two queries that how-it-works.md prints is the walk that runs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-it-works.md"


@pytest.mark.slow
@pytest.mark.spark
def test_the_page_prints_the_walk():
    printed = subprocess.run(
        [sys.executable, "tools/count_functions.py"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed.count("\n") > 20
    assert f"```text\n{printed}```\n" in PAGE.read_text(encoding="utf-8")
