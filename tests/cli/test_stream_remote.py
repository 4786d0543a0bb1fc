"""`muntin stream --remote` refuses what a server does not do, before Spark is asked."""

import pytest

from muntin.cli import main


@pytest.mark.parametrize("option", [["--late", "late"], ["--compact", "3"]])
def test_what_a_server_does_not_do_is_refused(tmp_path, capsys, option):
    file = tmp_path / "queries.sql"
    file.write_text("SELECT window, count(*) AS n FROM r GROUP BY window(ts, '1 minute')")
    paths = ["--input", "in", "--output", "out", "--checkpoint", "check"]
    code = main(["stream", str(file), "--remote", "sc://nowhere:1", *paths, *option])
    assert code == 2
    assert f"{option[0]} does not work with --remote" in capsys.readouterr().err
