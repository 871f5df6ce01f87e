"""A table as Parquet and CSV with plain numbers, and as Markdown and LaTeX for people."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from helpseek.files import atomic_path
from helpseek.provenance import stamp

MISSING = "–"
# Intervals keep plain brackets: escaped ones start a formula in some renderers.
MARKDOWN_SPECIAL = str.maketrans({c: "\\" + c for c in "\\|*`<"} | {"\n": " ", "\r": " "})
LATEX_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "–": "--",
        "\n": " ",
        "\r": " ",
    }
)

Cells = list[list[str]]


def write_formats(frame: pd.DataFrame, stem: Path, caption: str) -> None:
    """Write `stem` + .parquet, .csv, .md and .tex, each all or nothing.

    Columns `x`, `x_low`, `x_high` become one cell `0.62 [0.51, 0.72]` in Markdown and LaTeX; the others keep all
    columns and digits. An empty frame gives its header and a note that there are no rows.
    """
    header, cells = readable(frame)
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns if not _is_bound(name, frame)]
    with atomic_path(_beside(stem, "parquet")) as path:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        metadata = {"produced_by": json.dumps(stamp()), "caption": caption}
        pq.write_table(table.replace_schema_metadata((table.schema.metadata or {}) | metadata), path)
    with atomic_path(_beside(stem, "csv")) as path:
        frame.to_csv(path, index=False, lineterminator="\n")
    with atomic_path(_beside(stem, "md")) as path:
        path.write_text(markdown(header, cells, numeric, caption), encoding="utf-8")
    with atomic_path(_beside(stem, "tex")) as path:
        path.write_text(latex(header, cells, numeric, caption, label=stem.name), encoding="utf-8")


def _beside(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}.{suffix}")


def _is_bound(name: str, frame: pd.DataFrame) -> bool:
    """Whether a column is the bound of another one's interval."""
    return any(name.endswith(end) and name.removesuffix(end) in frame.columns for end in ("_low", "_high"))


def readable(frame: pd.DataFrame) -> tuple[list[str], Cells]:
    """Header and cells as people read them; bounds are merged into their estimate's cell."""
    columns = []
    names = [name for name in frame.columns if not _is_bound(name, frame)]
    for name in names:
        if f"{name}_low" in frame.columns and f"{name}_high" in frame.columns:
            parts = (frame[name], frame[f"{name}_low"], frame[f"{name}_high"])
            columns.append([_with_interval(*values) for values in zip(*parts, strict=True)])
        else:
            columns.append([_cell(value) for value in frame[name]])
    return [heading(name) for name in names], [list(row) for row in zip(*columns, strict=True)]


def heading(name: str) -> str:
    """A column's name in words."""
    return name.replace("pass_at_", "pass@").replace("ask_f1", "Ask-F1").replace("_", " ")


def _with_interval(estimate: float, low: float, high: float) -> str:
    if _is_missing(low) or _is_missing(high):
        return _cell(estimate)
    # One precision for the whole cell: that of its largest number.
    digits = _digits(max(abs(estimate), abs(low), abs(high)))
    return "{:,.{d}f} [{:,.{d}f}, {:,.{d}f}]".format(estimate, low, high, d=digits).replace("-", "−")


def _cell(value: Any) -> str:
    if _is_missing(value):
        return MISSING
    if isinstance(value, float):
        return f"{value:,.{_digits(abs(value))}f}".replace("-", "−")
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return str(value)


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _digits(magnitude: float) -> int:
    """Decimals that leave three or four significant digits: 0.62, 12.3, 1,234."""
    return 2 if magnitude < 10 else 1 if magnitude < 100 else 0


def markdown(header: Sequence[str], cells: Cells, numeric: Sequence[bool], caption: str) -> str:
    """A pipe table with its caption above, padded to be read as it is; columns of numbers are right-aligned."""
    table = [[_markdown_text(cell) for cell in row] for row in (header, *cells)]
    widths = [max(3, *(len(row[n]) for row in table)) for n in range(len(header))]
    rule = "|".join("-" * (width + 1) + (":" if right else "-") for width, right in zip(widths, numeric, strict=True))
    lines = [
        "| "
        + " | ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        + " |"
        for row in table
    ]
    note = [] if cells else ["", "No rows."]
    return "\n".join([_markdown_text(caption), "", lines[0], f"|{rule}|", *lines[1:], *note]) + "\n"


def _markdown_text(text: str) -> str:
    return text.translate(MARKDOWN_SPECIAL)


def latex(header: Sequence[str], cells: Cells, numeric: Sequence[bool], caption: str, label: str) -> str:
    """A `table` with booktabs rules; needs the package booktabs."""
    rows = [" & ".join(_latex_text(cell) for cell in row) + r" \\" for row in cells]
    none = [rf"\multicolumn{{{len(header)}}}{{c}}{{No rows.}} \\"]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex_text(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        " & ".join(_latex_text(name) for name in header) + r" \\",
        r"\midrule",
        *(rows or none),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_text(text: str) -> str:
    # A row that starts with a bracket would be read as the argument of the row end before it.
    escaped = text.translate(LATEX_SPECIAL).replace("−", "$-$")
    return "{" + escaped + "}" if escaped.startswith("[") else escaped
