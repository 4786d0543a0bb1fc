"""`muntin warmup`: compiles the kernels of common queries."""

from muntin.demo.warm_up_kernels import warm_up_kernels
from muntin.errors import RunError
from muntin.measure.progress import show_spark_start
from muntin.spark.session import local_session


def warmup_verb() -> None:
    """Compile the kernels of common queries, and keep the machine code for this user and machine.

    \b
    $ muntin warmup
    $ NUMBA_CACHE_DIR=/opt/kernels muntin warmup

    Without it, the first queries compile what they need, which takes them some seconds more.
    """
    with show_spark_start():
        session = local_session()
    kernels = warm_up_kernels(session)
    if not kernels:
        raise RunError("no folder for compiled kernels is private and writable")
    print(f"{len(kernels)} kernels are compiled, in {kernels[0].parent}")
