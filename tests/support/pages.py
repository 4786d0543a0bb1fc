"""The blocks of code in README.md, CONTRIBUTING.md and docs/, and how each of them is run.

A block says its language. What stands above it, as a comment of HTML, is a mark:

- `<!-- not run: why -->`: the block cannot run in a test, and why.
- `<!-- printed -->`: each line of the block was printed by the blocks above.

A block with a title is a file: `title="dashboard.sql"`. One titled `add to dashboard.sql` goes to
the end of that file.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from muntin.cli import main
from muntin.demo import dashboard_file, machine_readings

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
# Of pictures, plans and figures: there is nothing to run.
SHOWN = {"text", "diff"}
# What a command is given besides, so that it ends.
ALSO = {"stream": ["--trigger", "available now"]}

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>.*?) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n"
    r"(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
_NOT_RUN = "not run: "
_PRINTED = "printed"
_ADDED = "add to "


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code on a page."""

    page: Path
    line: int
    language: str
    title: str | None
    mark: str | None
    text: str

    @property
    def place(self) -> str:
        """The page and the line, for messages."""
        return f"{self.page.name}:{self.line}"

    @property
    def why_not(self) -> str | None:
        """Why it is not run; none for a block that is."""
        if self.mark is None or not self.mark.startswith(_NOT_RUN):
            return None
        return self.mark.removeprefix(_NOT_RUN)

    @property
    def is_printed(self) -> bool:
        """Whether the blocks above printed it."""
        return self.mark == _PRINTED

    @property
    def commands(self) -> list[str]:
        """The lines of a shell block, without comments; one that ends in a backslash goes on."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.removeprefix("$ ") for line in lines if line.strip() and line[0] != "#"]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(
            page=page,
            line=text.count("\n", 0, match.start("indent")) + 1,
            language=match["language"],
            title=match["title"],
            mark=match["mark"],
            text=re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
        )
        for match in _BLOCK.finditer(text)
    ]


class Reader:
    """Runs the blocks of a page as its reader would: in one folder, one after the other."""

    def __init__(
        self, spark: SparkSession, names: dict[str, Any], printed: Callable[[], str]
    ) -> None:
        """`names` are what the page takes to be there; `printed` gives what was printed since."""
        self._spark = spark
        self.names = names
        self._printed = printed
        self.said = ""

    def run(self, block: Block) -> None:
        """Run a block, or write the file that it is."""
        if block.why_not is not None:
            return
        if block.title is not None:
            self._write(block)
        elif block.language in SHOWN:
            self._compare(block)
        else:
            runners = {"python": self._python, "sh": self._shell, "sql": self._sql}
            runners[block.language](block)
        self.said += self._printed()

    def _write(self, block: Block) -> None:
        name = block.title.removeprefix(_ADDED)
        with open(name, "a" if block.title.startswith(_ADDED) else "w") as file:
            file.write(block.text)

    def _compare(self, block: Block) -> None:
        if block.is_printed:
            there = {_spaced(line) for line in self.said.splitlines()}
            for line in block.text.splitlines():
                assert _spaced(line) in there, f"{block.place}: not printed: {line}\n{self.said}"

    def _python(self, block: Block) -> None:
        # Lines in a traceback are those of the page.
        exec(compile("\n" * block.line + block.text, str(block.page), "exec"), self.names)

    def _sql(self, block: Block) -> None:
        assert self._spark.sql(block.text).collect(), block.place

    def _shell(self, block: Block) -> None:
        for command in block.commands:
            program, *arguments = shlex.split(command, comments=True)
            if (program, *arguments) == ("muntin", "demo"):
                leave_demo(self._spark)
            elif program == "muntin":
                also = ALSO.get(arguments[0], [])
                more = [] if set(also) & set(arguments) else also
                assert main([*arguments, *more]) == 0, f"{block.place}: {command}"
            elif program == "python":
                _python_file(*arguments)
            elif program == "make":
                # What a target runs has tests of its own; here it must be there.
                subprocess.run(
                    ["make", "-n", *arguments], cwd=ROOT, check=True, capture_output=True
                )
            else:
                raise AssertionError(f"{block.place}: a test cannot run `{command}`: mark it")


@contextmanager
def working_in(spark: SparkSession, folder: Path) -> Iterator[None]:
    """While the block runs, relative paths are in a folder, here and in the JVM."""
    jvm = spark._jvm
    files = jvm.org.apache.hadoop.fs.FileSystem.get(spark._jsc.hadoopConfiguration())
    here, there = Path.cwd(), files.getWorkingDirectory()

    def move(to: Path, path: Any) -> None:
        os.chdir(to)
        files.setWorkingDirectory(path)
        # What checkpoints are written with looks here.
        jvm.System.setProperty("user.dir", str(to))

    move(folder, jvm.org.apache.hadoop.fs.Path(str(folder)))
    try:
        yield
    finally:
        move(here, there)


def leave_demo(spark: SparkSession) -> None:
    """What `muntin demo` leaves for other commands. Its comparison has tests of its own."""
    machine_readings(spark, 3000).write.parquet("muntin-demo/events")
    shutil.copy(dashboard_file(), "muntin-demo")


def _spaced(line: str) -> str:
    """A line whose columns are one space apart."""
    return " ".join(line.split())


def _python_file(name: str, *arguments: str) -> None:
    """`python name arguments...`, in this process."""
    before, sys.argv = sys.argv, [name, *arguments]
    try:
        runpy.run_path(name, run_name="__main__")
    finally:
        sys.argv = before
