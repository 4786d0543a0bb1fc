"""Spark's classes in a file that a JVM maps, which halves what its start and first queries cost.

`python -m tests.support.class_archive` makes the file, once for an environment. Java reads it only
beside the jars that it was made from; where it is missing, Java loads classes from the jars.
"""

import io
import os
import runpy
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from hashlib import sha256
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[2]
# Each file that is read or written, and each state, sends Hadoop's settings to its tasks. Of the
# thousand that Hadoop has by default, local files need one. An archive takes no folders, only jars.
HADOOP = ROOT / "tests" / "support" / "hadoop"
# Paths of jars are in the file, so that no other environment could read it.
FOLDER = Path(sys.prefix) / "muntin-tests"
# Else Java tells of each class that it cannot keep.
QUIET = "-Xlog:disable"


def driver_settings(options: Sequence[str]) -> dict[str, str]:
    """Spark's settings for a JVM with these options, and with the archive if there is one."""
    archive = FOLDER / f"{_digest()}.jsa"
    if not archive.exists():
        return _settings(options, HADOOP)
    return _settings([*options, f"-XX:SharedArchiveFile={archive}", QUIET], _jar(archive))


def make(options: Sequence[str]) -> None:
    """Makes the archive, unless it is there: a JVM with these options runs the examples."""
    archive = FOLDER / f"{_digest()}.jsa"
    if archive.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Who else makes it now has a folder of their own, too. Whole files are moved into place.
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        _write_jar(Path(folder, "settings.jar"))
        # An archive knows its jars by their times, so that the first jar stays.
        with suppress(FileExistsError):
            os.link(Path(folder, "settings.jar"), _jar(archive))
        made = Path(folder, "classes.jsa")
        keep = [*options, f"-XX:ArchiveClassesAtExit={made}", QUIET]
        _run_examples(_settings(keep, _jar(archive)), folder)
        # Where Java cannot make one, all runs without.
        with suppress(FileNotFoundError):
            os.replace(made, archive)


def _settings(options: Sequence[str], path: Path) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.driver.extraClassPath": str(path),
    }


def _digest() -> str:
    """Tells the Java, the jars and the settings that an archive is for."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    files = sorted((Path(pyspark.__file__).parent / "jars").iterdir())
    files += [Path(java).resolve()] if java else []
    known = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    texts = [path.read_bytes() for path in sorted(HADOOP.iterdir())]
    return sha256(repr((known, texts)).encode()).hexdigest()[:16]


def _jar(archive: Path) -> Path:
    return archive.with_suffix(".jar")


def _write_jar(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as jar:
        for file in sorted(HADOOP.iterdir()):
            jar.write(file, file.name)


def _run_examples(settings: dict[str, str], folder: str) -> None:
    """Runs them in a JVM with these settings, which has ended when this returns."""
    from tests.support.session import session

    spark = session(more=settings)
    gateway = spark.sparkContext._gateway
    os.chdir(folder)
    tempfile.tempdir = folder
    with redirect_stdout(io.StringIO()):
        for script in sorted((ROOT / "examples").glob("*.py")):
            runpy.run_path(str(script), run_name="__main__")
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    # Java ends at once when it is given half an archive.
    if gateway.proc.wait() != 0:
        raise RuntimeError("Java did not end as it should: there may be half an archive")


if __name__ == "__main__":
    from tests.support.session import DRIVER

    make(DRIVER)
