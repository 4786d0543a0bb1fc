"""Describes the machine of a bench, for its JSON file."""

import os
import platform

import pyspark


def machine() -> dict[str, object]:
    """Returns cores, memory and versions."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(_memory() / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
    }


def _memory() -> int:
    """Returns the machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
