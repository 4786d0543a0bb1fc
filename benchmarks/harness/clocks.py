"""Measures CPU seconds of work in this thread, and reads the processor's clock in compiled code."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped,unused-ignore]
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray


def cpu_seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """Returns the CPU seconds of the least disturbed of some runs; wall time would count others."""
    spent = []
    for _ in range(repeats):
        before = time.thread_time()
        work()
        spent.append(time.thread_time() - before)
    return min(spent)


def _cycles(typing_context: Any) -> Any:
    """Ticks of the time stamp counter; about 10 ns a reading."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind), [])

    return types.int64(), generate


# Callable only from compiled code.
cycles: Any = intrinsic(_cycles)


def _spin(count: int) -> int:
    """Returns the fewest ticks between two readings with nothing in between."""
    least = 1 << 40
    for _ in range(count):
        before = cycles()
        least = min(least, cycles() - before)
    return least


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Converts ticks to nanoseconds."""

    tick_ns: float
    # Ticks that the reading itself takes.
    overhead: int

    def nanoseconds(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the time between two readings, at least that of a reading itself."""
        return np.maximum(ticks - self.overhead, self.overhead) * self.tick_ns


def calibrate() -> Clock:
    """Compares the counter with the system's clock for a fiftieth of a second."""
    spin: Any = numba.njit(_spin)
    read: Any = numba.njit(lambda: cycles())
    spin(1), read()
    before, start = read(), time.perf_counter_ns()
    while time.perf_counter_ns() - start < 20_000_000:
        pass
    elapsed, ticks = time.perf_counter_ns() - start, read() - before
    return Clock(tick_ns=elapsed / ticks, overhead=int(spin(10_000)))
