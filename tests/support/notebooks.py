"""Notebooks without Jupyter: the cells of a file run in order, and what each of them puts out.

`python -m tests.support.notebooks examples/notebook.ipynb` runs a notebook and saves its outputs.
"""

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and what its last line shows if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
        )
    if value is not None:
        outputs.append({"output_type": "execute_result", "metadata": {}, "data": _shown(value)})
    return outputs


def _shown(value: object) -> dict[str, list[str]]:
    html = getattr(value, "_repr_html_", lambda: None)()
    return {
        "text/plain": _lines(repr(value)),
        **({} if html is None else {"text/html": _lines(html)}),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(path: Path) -> None:
    """Run a notebook and save what its cells put out."""
    notebook = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        cell["execution_count"] = number
        cell["outputs"] = run_cell("".join(cell["source"]), names)
        for output in cell["outputs"]:
            if output["output_type"] == "execute_result":
                output["execution_count"] = number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
