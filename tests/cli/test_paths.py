"""Paths that a command was given."""

import pytest

from muntin.cli.paths import check_outside
from muntin.errors import RunError


def test_an_output_inside_a_partitioned_input_is_refused(tmp_path):
    (tmp_path / "events" / "day=1").mkdir(parents=True)
    (tmp_path / "flat").mkdir()
    events, flat = str(tmp_path / "events"), str(tmp_path / "flat")
    for inside in (events, f"{events}/answers", f"{events}/a/b"):
        with pytest.raises(RunError, match=r"is inside .*, which --input names and which is parti"):
            check_outside(inside, [flat, events])
    check_outside(f"{flat}/answers", [flat, events])
    check_outside(f"{events}2", [flat, events])
