"""The wheel has all files of the package, and what it installs runs without the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import muntin as mt
from muntin.demo import dashboard_file
from tests.support.pages import ROOT, blocks
from tests.support.session import SETTINGS

# What the README takes to be there, and a line that fails if the checkout is imported.
SESSION = """
import sys
import muntin
from muntin.spark.session import local_session

assert muntin.__file__.startswith(sys.prefix), muntin.__file__
spark = local_session(more={settings!r})
readings = spark.range(400).selectExpr(
    "timestamp_micros(id * 30000000) AS ts",
    "concat('device-', id % 5) AS device",
    "CAST(id % 40 AS DOUBLE) AS temp",
)
readings.coalesce(1).write.parquet("readings")
readings = spark.read.parquet("readings")
readings.createOrReplaceTempView("readings")
"""
# An aggregate of every representation of partials: a number, a coded value, a set of values,
# registers, a sketch, and the user's own.
REPRESENTATIONS = """
statement = (
    "SELECT device, window, avg(temp), max(device), count(DISTINCT temp),"
    " approx_count_distinct(temp), count_min_sketch(CAST(temp AS INT), 0.1D, 0.9D, 5)"
    " FROM readings GROUP BY device, window(ts, '1 hour', '10 minutes')"
)
with mt.run(mt.parse_sql("-- name: all\\n" + statement), readings) as results:
    assert not results.plan.plain_queries
    assert sorted(results["all"].collect()) == sorted(spark.sql(statement).collect())

own = mt.Query(
    name="own",
    window=mt.tumbling("1 hour"),
    aggregates={"total": mt.aggregate("temp", lambda a, b: a + b, lambda a: a, 0.0)},
    keys=["device"],
    time="ts",
)
with mt.run([own], readings) as results:
    assert sum(row["total"] for row in results["own"].collect()) == 7800.0
"""
COMMANDS = """
from muntin.cli import main

assert main(["run", "hot.sql", "--input", "readings", "--output", "answers"]) == 0
assert spark.read.parquet("answers/hot").count() == 400
spark.stop()
"""
HOT = """
-- name: hot
SELECT device, window, max(temp) AS hottest FROM readings GROUP BY device, window(ts, '30 seconds')
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built of a copy: the folder of an earlier build may have files of that time."""
    copy = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "muntin", copy / "muntin", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", copy / "dist", copy)
    (path,) = (copy / "dist").iterdir()
    return path


def pip(*arguments):
    """Runs pip without a network."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    run(command, PIP_NO_INDEX="1")


def run(command, folder=None, **environment):
    """Runs a command that has to succeed, outside the checkout; returns what it prints."""
    # Of the checkout: the tests set them for their own session.
    ours = ("PYTHONPATH", "PYSPARK_PYTHON")
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_every_file_of_the_package(wheel):
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "muntin").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("muntin/")}
    assert packed == files


@pytest.mark.spark
@pytest.mark.long
def test_the_installed_package_runs_the_readme_every_representation_and_the_command(
    wheel, tmp_path
):
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip("--python", python, "install", "--no-deps", wheel)
    # The dependencies are those of this environment. Python does not follow its .pth files, so
    # that the editable muntin is not found.
    packages = Path(sysconfig.get_path("purelib", vars={"base": environment}))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    examples = [
        block.text
        for block in blocks(ROOT / "README.md")
        if block.language == "python" and block.why_not is None
    ]
    parts = [
        SESSION.format(settings=SETTINGS),
        *examples[:3],
        REPRESENTATIONS,
        COMMANDS,
    ]
    (tmp_path / "script.py").write_text("\n".join(parts))
    (tmp_path / "hot.sql").write_text(HOT)
    assert "hottest" in run([python, "script.py"], tmp_path)
    installed = packages / dashboard_file().relative_to(ROOT)
    plan = run([environment / "bin" / "muntin", "explain", installed], tmp_path)
    assert f"{len(mt.parse_sql(dashboard_file().read_text()))} queries" in plan
