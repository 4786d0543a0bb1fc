"""Checks of files and folders on the command line, before Spark takes seconds to start.

Paths with a scheme, such as s3://bucket/answers, are left to Spark.
"""

import os
from collections.abc import Callable, Iterable
from glob import glob
from pathlib import Path

from muntin.errors import RunError


def check_input(path: str) -> None:
    """Refuses an input that does not exist."""
    if not is_remote(path) and not glob(path):
        raise RunError(f"there is no {path}, which --input names")


def check_folder(path: str | Path, option: str) -> None:
    """Refuses a folder that is a file, or that cannot be created or written."""
    if is_remote(str(path)):
        return
    folder = Path(path).absolute()
    # A missing folder is created in the nearest existing one above it.
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        raise RunError(f"{existing} is a file; {option} needs a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise RunError(f"{existing} is not writable; {option} needs a folder that is")


def check_outside(output: str, inputs: Iterable[str]) -> None:
    """Refuses an output inside a partitioned input: Spark would read the folders of answers as
    partitions, and could read neither."""
    if is_remote(output):
        return
    folder = Path(output).absolute()
    for path in inputs:
        source = Path(path).absolute()
        is_inside = source == folder or source in folder.parents
        if is_inside and any("=" in each.name for each in source.iterdir() if each.is_dir()):
            raise RunError(
                f"--output {output} is inside {path}, which --input names and which is "
                f"partitioned; name a folder outside of it"
            )


def check_file(path: Path | None, option: str) -> None:
    """Refuses an output file that is a folder, or whose folder is missing or not writable."""
    if path is None:
        return
    folder = path.absolute().parent
    if path.is_dir():
        raise RunError(f"{path} is a folder; {option} needs a file")
    if not folder.is_dir():
        raise RunError(f"there is no folder {path.parent} for {path.name}, which {option} names")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise RunError(f"{path} is not writable; {option} needs a file that is")


def check_absent(output: str, names: Iterable[str], exists: Callable[[str], bool]) -> None:
    """Refuses an output that already has answers of one of the queries; `exists` looks for them."""
    for name in names:
        if exists(name):
            raise RunError(
                f"query {name!r}: {output.rstrip('/')}/{name} exists already; "
                f"name another --output, or add --mode overwrite or --mode append"
            )


def is_remote(path: str) -> bool:
    """Whether a path is on a file system that only Spark reaches."""
    return "://" in path
