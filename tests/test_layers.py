"""What packages import and make public. `make lint` checks layers and cycles by import-linter."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import muntin

ROOT = Path(muntin.__file__).parent


def modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Dotted names of everything that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_imports_are_absolute():
    assert all(imports(path) is not None for path in modules())


def test_the_model_needs_the_standard_library_alone():
    for path in modules():
        if path.parts[0] in ("model", "errors.py"):
            roots = {name.split(".")[0] for name in imports(path)}
            assert roots <= set(sys.stdlib_module_names) | {"muntin"}, path


def test_a_package_says_what_it_is_for():
    for package in {path.parent for path in modules()}:
        assert ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text())), package


def test_a_worker_loads_the_runtime_and_neither_parser_nor_optimizers():
    script = (
        "import sys, muntin.spark.batch.compiled_answers; "
        "print(*({'sqlglot', 'muntin.sql', 'muntin.optimizer', 'muntin.spark.pipeline'} "
        "& set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (loaded.stdout.strip(), loaded.returncode) == ("", 0), loaded.stderr


def test_the_process_that_spark_asks_for_states_loads_nothing_that_computes():
    # Spark starts one with each start of a stream, and so with each change of queries.
    script = (
        "import sys, pickle, pyarrow as pa; "
        "from muntin.spark.stream.bucket_processor import BucketProcessor; "
        "sys.stdout.buffer.write(pickle.dumps(BucketProcessor([], pa.schema([]), [])))"
    )
    pickled = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    script = (
        "import sys, pickle; pickle.loads(sys.stdin.buffer.read()); "
        "print(*(name for name in ('numpy', 'pyarrow', 'pandas', 'numba', 'muntin.runtime') "
        "if name in sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], input=pickled, capture_output=True)
    assert (loaded.stdout.strip(), loaded.returncode) == (b"", 0), loaded.stderr


def test_every_public_name_is_there_and_listed():
    assert all(getattr(muntin, name) is not None for name in muntin.__all__)
    assert set(muntin.__all__) <= set(dir(muntin))


def test_verbs_are_functions_with_signatures():
    verbs = ("plan", "run", "share", "start", "stream", "parse_sql")
    for verb in verbs:
        function = getattr(muntin, verb)
        assert inspect.isfunction(function), verb
        assert function.__doc__, verb
        assert inspect.signature(function).parameters, verb


def test_only_the_engine_package_uses_private_attributes_of_spark():
    private = {
        "_jdf",
        "_jvm",
        "_jsparkSession",
        "_jsc",
        "_jsq",
        "_sc",
        "sparkContext",
        "pythonExec",
        "_plan",
    }
    found = []
    for path in modules():
        if path.parts[0] != "spark" or path.parts[:2] == ("spark", "engine"):
            continue
        nodes = ast.walk(ast.parse((ROOT / path).read_text()))
        names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        found += [f"{path}: {name}" for name in sorted(names & private)]
    assert found == []
