"""Refuses to write where a stream reads."""

import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.spark.engine.file_system import whole_path


def check_apart(session: SparkSession, inputs: list[str], written: Mapping[str, str]) -> None:
    """Refuse to write into what is read, or to read what is written; `written` are the folders
    by what they are called."""
    for read in inputs:
        # For a pattern, take the folder above it.
        source = whole_path(session, re.split(r"/[^/]*[*?\[{]", read)[0])
        for what, directory in written.items():
            target = whole_path(session, directory)
            if _is_in(target, source) or _is_in(source, target):
                where = "inside" if _is_in(target, source) else "around"
                raise RunError(
                    f"the {what} {directory} is {where} the input {read}, and the stream would "
                    f"read what it writes; give another folder"
                )


def check_late_folder(session: SparkSession, late: str, written: Mapping[str, str]) -> None:
    """Refuse a folder for late rows that is the checkpoint, or that of all answers."""
    for what, directory in written.items():
        if whole_path(session, late) == whole_path(session, directory):
            raise RunError(f"late rows need a folder of their own, and {late} is the {what}")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
