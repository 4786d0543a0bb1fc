"""muntin's code in Spark's Python workers."""

import gc
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark import cloudpickle

from muntin.spark import worker_site
from muntin.spark.worker import Task, begin_task


def test_what_a_worker_has_loaded_is_not_looked_at_after_every_task(spark):
    def frozen(batches):
        begin_task()
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [gc.get_freeze_count()] * batch.num_rows})

    counts = spark.range(1).mapInArrow(frozen, "id BIGINT").collect()
    assert counts[0].id > 10_000


def test_what_a_task_is_given_is_the_same_in_every_task_of_a_worker():
    def given(batches, *, users):
        return (users for _ in batches)

    # Kernels are kept by function; one that is defined here is pickled with its code.
    sent = cloudpickle.dumps(Task(given, users=lambda a, b: a + b))
    (first,), (second,) = (pickle.loads(sent)([None]) for _ in range(2))
    assert first(1, 2) == 3
    assert first is second


def test_pyspark_is_imported_from_where_it_is_compiled_and_not_from_a_zip_file(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('the next')")
    package = Path(pyspark.__file__).parent
    zips = sorted(str(path) for path in (package / "python" / "lib").glob("*.zip"))
    site = str(Path(worker_site.__file__).parent)
    script = "import pyspark.worker, py4j; print(pyspark.__file__, py4j.__file__, sep='\\n')"

    def imported(*paths):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()

    assert len(zips) == 2
    said, *files = imported(*zips, site, str(tmp_path))
    assert said == "the next"
    assert files == [pyspark.__file__, str(package.parent / "py4j" / "__init__.py")]
    # Those of another place may be of another release.
    others = [shutil.copy(path, tmp_path) for path in zips]
    assert imported(*others, site)[0].startswith(str(tmp_path))
