"""Counts the files and functions of muntin that a batch of two queries runs in the driver.

`python tools/count_functions.py` prints both numbers and the walk: the functions that are called,
and what these call, to a depth of two (`--depth`). `--files` lists the functions of each file.
"""

import argparse
import importlib
import pkgutil
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType

from pyspark.sql import SparkSession

import muntin as mt

ROOT = Path(mt.__file__).parent
# A tumbling and a hopping window.
STATEMENTS = """
SELECT device, window, max(temp) AS hottest FROM readings
WHERE temp > 0 GROUP BY device, window(ts, '1 minute');

SELECT device, window, avg(temp) AS mean FROM readings
WHERE temp > 0 GROUP BY device, window(ts, '1 hour', '1 minute');
"""


class Walk:
    """The functions of the package that are called, and the paths of calls, by their first call."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()
        self.steps: dict[tuple[CodeType, ...], None] = {}
        self._path: list[CodeType] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Notes an event of `sys.setprofile`."""
        code = frame.f_code
        if not is_function_of_muntin(code):
            return
        if event == "call":
            self.calls[code] += 1
            self._path.append(code)
            self.steps.setdefault(tuple(self._path))
        elif event == "return" and self._path:
            self._path.pop()

    @property
    def functions_by_file(self) -> dict[str, list[str]]:
        """The names of the functions that ran in each file."""
        files: dict[str, list[str]] = defaultdict(list)
        for code in self.calls:
            files[file_of(code)].append(code.co_qualname)
        return dict(sorted(files.items()))


def is_function_of_muntin(code: CodeType) -> bool:
    """Whether code is a function of the package; comprehensions are part of the one around them."""
    return code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<")


def file_of(code: CodeType) -> str:
    """Returns the path of a function's file in the package."""
    return str(Path(code.co_filename).relative_to(ROOT.parent))


def run_two_queries(session: SparkSession) -> None:
    """Answers both queries over a few rows, through every step."""
    readings = session.range(1000).selectExpr(
        "timestamp_seconds(id) AS ts", "id % 7 AS device", "CAST(id % 50 AS DOUBLE) AS temp"
    )
    queries = mt.parse_sql(STATEMENTS)
    with mt.run(queries, {"readings": readings}) as results:
        for name in results:
            results[name].collect()


def main() -> None:
    """Prints the counts and the walk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=2, help="how deep the walk is printed")
    parser.add_argument("--files", action="store_true", help="list the functions of each file")
    arguments = parser.parse_args()
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    # What is imported on first use does not count.
    for module in pkgutil.walk_packages([str(ROOT)], "muntin."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    walk = Walk()
    sys.setprofile(walk)
    run_two_queries(session)
    sys.setprofile(None)
    files = walk.functions_by_file
    print(f"{len(files)} files, {len(walk.calls)} functions")
    for path in walk.steps:
        if len(path) <= arguments.depth:
            code = path[-1]
            print(f"{'  ' * (len(path) - 1)}{code.co_qualname}  ({file_of(code)})")
    if arguments.files:
        for file, functions in files.items():
            print(f"{file}: {', '.join(functions)}")


if __name__ == "__main__":
    main()
