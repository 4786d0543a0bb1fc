"""Turns a workload into a plan: slicing, costs and optimizers, one file each; no engine.

Called, this package is `mt.share`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """The package has the name of the function that users call, so it passes the call on.

    Python puts a package into its parent under its own name, where `mt.share` is looked for.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        return import_module("muntin.spark.frames.share").share(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
