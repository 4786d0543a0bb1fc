"""Runs the tests that are marked `core` on every supported Spark and Python; prints a table.

Each combination has an environment of its own in build/versions. With arguments, such as `4.0`,
only the versions of Spark that begin so are run.
"""

import glob
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "versions"
# The oldest and the newest patch of each minor version.
SPARKS = ("4.0.0", "4.0.5", "4.1.0", "4.1.4", "4.2.0", "4.2.1", "4.3.0")
PYTHONS = ("3.11", "3.12", "3.13")
KINDS = ("batches", "streams", "Spark Connect")
TESTING = ("hypothesis>=6.100", "pytest>=8.2", "pytest-xdist>=3.6")


def main(only: list[str]) -> int:
    """Returns 0 if everything passed that could be run."""
    rows = []
    is_fine = True
    for spark, python in combinations():
        if only and not any(spark.startswith(each) for each in only):
            continue
        interpreter = interpreter_of(python)
        if interpreter is None:
            print(f"Spark {spark}, Python {python}: there is no Python {python} here", flush=True)
            continue
        place = environment(spark, python, interpreter)
        found = tested(place)
        told = [said(found[kind]) for kind in KINDS]
        is_fine &= all(not found[kind]["failed"] and found[kind]["passed"] for kind in KINDS)
        rows.append((spark, python, *told))
        print(f"Spark {spark}, Python {python}: {', '.join(told)}", flush=True)
    print(f"\n| Spark | Python | {' | '.join(KINDS)} |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return 0 if is_fine else 1


def combinations() -> Iterator[tuple[str, str]]:
    """Yields every Spark with the first Python, and the last Spark with the others."""
    for spark in SPARKS:
        yield spark, PYTHONS[0]
    for python in PYTHONS[1:]:
        yield SPARKS[-1], python


def interpreter_of(python: str) -> str | None:
    """Returns a Python of a version: from the path, or as pyenv installs it."""
    pattern = os.path.expanduser(f"~/.pyenv/versions/{python}.*/bin/python3")
    for path in (shutil.which(f"python{python}"), *sorted(glob.glob(pattern))):
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def environment(spark: str, python: str, interpreter: str) -> Path:
    """Returns the environment for a combination, made if it is not there."""
    place = BUILD / f"spark-{spark}-python-{python}"
    if not (place / ".ready").exists():
        subprocess.run([interpreter, "-m", "venv", str(place)], check=True)
        install = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        wanted = ["-e", f"{ROOT}[connect]", f"pyspark[connect]=={spark}", *TESTING]
        subprocess.run([*install, "--disable-pip-version-check", *wanted], check=True)
        (place / ".ready").touch()
    return place


def tested(place: Path) -> dict[str, Counter[str]]:
    """Runs the tests in an environment; returns how many passed, failed and were skipped."""
    report = place / "report.xml"
    report.unlink(missing_ok=True)
    command = [str(place / "bin" / "python"), "-m", "pytest", "-q", "-m", "core", "tests/spark"]
    with (place / "log").open("w") as log:
        subprocess.run([*command, f"--junit-xml={report}"], cwd=ROOT, stdout=log, stderr=log)
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for case in ET.parse(report).iter("testcase") if report.exists() else ():
        outcome = "passed"
        for child in case:
            outcome = {"failure": "failed", "error": "failed"}.get(child.tag, child.tag)
        found[kind_of(case.get("classname", ""))][outcome] += 1
    return found


def kind_of(name: str) -> str:
    """Returns what a test is about, by the folder and file that it is in."""
    if ".connect." in name:
        return "Spark Connect"
    return "streams" if "stream" in name or "pipeline" in name else "batches"


def said(found: Counter[str]) -> str:
    """Returns the outcome of some tests in words."""
    if found["failed"] or not found["passed"]:
        return f"{found['failed']} of {found['failed'] + found['passed']} failed"
    return f"{found['passed']} passed" + (f", {found['skipped']} not" if found["skipped"] else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
