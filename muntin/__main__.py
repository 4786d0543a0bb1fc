"""The command `muntin`, also as `python -m muntin`.

Loading Spark's and the compiler's libraries takes a second or two. This file loads nothing but the
standard library, so that Ctrl-C ends the command quietly from its first moment to its last.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command that the arguments say, and end the process with its exit code."""
    signal.signal(signal.SIGINT, _quit)
    from muntin.cli import main as command

    code = command()
    if code == _INTERRUPTED:
        # What was broken off is not waited for.
        _quit()
    sys.exit(code)


def _quit(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
