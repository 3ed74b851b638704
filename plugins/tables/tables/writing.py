"""From a table to text: CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json
from typing import Literal

from .table import Table, Value, kinds, parsed, shown

Format = Literal["csv", "json", "markdown"]


def write(table: Table, format: Format, delimiter: str = ",") -> str:
    """The table as text."""
    if format == "json":
        return as_json(table)
    return as_markdown(table) if format == "markdown" else as_csv(table, delimiter)


def as_csv(table: Table, delimiter: str) -> str:
    """A CSV with a row of names; what has to be quoted is."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([shown(value) for value in row] for row in table.rows)
    return out.getvalue()


def as_json(table: Table) -> str:
    """A list of objects, one on each line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    lines = [encode(dict(zip(table.columns, row))) for row in table.rows]
    return "[\n" + ",\n".join(f"  {line}" for line in lines) + "\n]\n" if lines else "[]\n"


def as_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, with numbers to the right."""
    right = [
        _numeric([parsed(value) if isinstance(value, str) else value for value in table.values(at)])
        for at in range(len(table.columns))
    ]
    lines = [_line(table.columns), _line(["---:" if number else "---" for number in right])]
    lines += [_line([shown(value) for value in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def _numeric(values: list[Value]) -> bool:
    return kinds(values) in ("integer", "number")


def _line(cells: list[str]) -> str:
    escaped = [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells]
    flat = ["<br>".join(cell.strip().splitlines()) for cell in escaped]
    return "| " + " | ".join(flat) + " |"
