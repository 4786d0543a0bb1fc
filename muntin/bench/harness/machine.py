"""What a bench ran on, for its JSON file."""

import os
import platform

import psutil
import pyspark


def machine() -> dict[str, object]:
    """Cores, memory and versions."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
    }
