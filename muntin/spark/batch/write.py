"""Writes answers to folders: computes them once, writes them beside their place, moves them."""

from collections.abc import Iterable, Mapping
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import RunError, nearest
from muntin.spark.folder import Folder
from muntin.spark.output.flatten import FLAT_FORMATS, flatten

MODES = ("error", "overwrite", "append")


def write(
    session: SparkSession,
    answers: Iterable[tuple[str, DataFrame]],
    names: list[str],
    directory: str,
    *,
    format: str,
    mode: str,
    flat: bool,
    options: Mapping[str, str],
) -> None:
    """Write every answer to `directory/name`; none is in place before all are written."""
    if mode not in MODES:
        raise RunError(f"no write mode is called {mode!r}; {nearest(mode, list(MODES))}")
    folder = Folder(session, directory)
    if mode == "error":
        for name in names:
            if folder.has(name):
                raise RunError(
                    f"query {name!r}: {directory}/{name} is there already; "
                    f"write elsewhere, or with mode='overwrite' or mode='append'"
                )
    staging = f".muntin-{uuid4().hex}"
    try:
        for name, frame in answers:
            if flat or format in FLAT_FORMATS:
                frame = flatten(name, frame)
            frame.write.format(format).options(**options).save(f"{directory}/{staging}/{name}")
        for name in names:
            if mode == "append" and folder.has(name):
                folder.move_files(f"{staging}/{name}", name)
            else:
                folder.move(f"{staging}/{name}", name)
    finally:
        folder.delete(staging)
