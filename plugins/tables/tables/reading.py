"""From text to a table: CSV with any delimiter, JSON in the three shapes that people use, and lines of JSON.

A row that is too short is filled up, since many programs leave out empty cells at the end; one that is too
long is rejected with its number, since nobody can tell which of its cells is too many.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from .table import BadTable, Table, Value, parsed

MOST_CELLS = 500_000
DELIMITERS = ",;\t|"
DEEPEST = 50
EMPTY = "the data is empty; pass CSV with a row of column names, or JSON"
STEPS = dict(zip(b"[{]}", (1, 1, -1, -1)))
NO_MARKS = bytes(letter for letter in range(128) if letter not in b'[{]}"')

csv.field_size_limit(1 << 20)


def read(data: str, format: str | None = None, delimiter: str | None = None, raw: bool = False) -> Table:
    """The table in a text; its format is guessed from how it begins. Raw cells of a CSV stay texts."""
    data = data.removeprefix("\ufeff")
    if not data.strip():
        raise BadTable(EMPTY)
    if format is None:
        format = "json" if data.lstrip()[0] in "[{" else "csv"
    return read_json(data) if format == "json" else read_csv(data, delimiter, str if raw else parsed)


def read_csv(data: str, delimiter: str | None, cell: Callable[[str], Value] = parsed) -> Table:
    """The table in a CSV. Its first row that is not empty has the names."""
    delimiter = delimiter or guessed(data)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise BadTable(
            f"the delimiter must be one character other than a quote or a line end, not {delimiter!r}"
        )
    reader = csv.reader(io.StringIO(data, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if len(row) > 1 or (row and row[0].strip())]
    except csv.Error as error:
        raise BadTable(
            f"the CSV cannot be read at line {reader.line_num}: {error}; check its quotes"
        ) from None
    if not lines:
        raise BadTable(EMPTY)
    columns = named(lines[0][1])
    rows = [_row(line, cells, columns, cell) for line, cells in lines[1:]]
    return _bounded(Table(columns, rows))


def guessed(data: str) -> str:
    """The delimiter that the first line has most of, outside of quotes."""
    line = next(line for line in data.splitlines() if line.strip())
    outside = "".join(line.split('"')[::2])
    best = max(DELIMITERS, key=outside.count)
    return best if outside.count(best) else ","


def named(cells: Iterable[str]) -> list[str]:
    """Names for columns: those without one are called by their place, and no two are the same."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for place, cell in enumerate(cells, 1):
        name = wanted = cell.strip() or f"column_{place}"
        number = numbers.get(wanted, 2)
        while name in names:
            name, number = f"{wanted}_{number}", number + 1
        names[name], numbers[wanted] = None, number
    return list(names)


def _row(line: int, cells: list[str], columns: list[str], cell: Callable[[str], Value]) -> list[Value]:
    extra = [one for one in cells[len(columns) :] if one.strip()] if len(cells) > len(columns) else []
    if extra:
        raise BadTable(
            f"line {line} has {len(cells)} cells, but there are {len(columns)} columns; "
            f"the first one too many is {extra[0][:40]!r}. Quote cells that hold the delimiter"
        )
    values = list(map(cell, cells[: len(columns)]))
    return values + [None] * (len(columns) - len(values))


def read_json(data: str) -> Table:
    """The table in a JSON: objects in a list or on lines, lists in a list (names first), or columns."""
    value = _loaded(data)
    if isinstance(value, dict) and value and all(isinstance(one, list) for one in value.values()):
        return _of_columns(value)
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise BadTable("the JSON is no table; pass a list of objects, a list of lists, or an object of lists")
    if not value:
        raise BadTable("the JSON is an empty list; pass at least one object, or a list with the column names")
    if all(isinstance(one, list) for one in value):
        return _of_lists(value)
    return _of_objects(value)


def _loaded(data: str) -> Any:
    if data.count("[") + data.count("{") > DEEPEST and _depth(data) > DEEPEST:
        raise BadTable("the JSON is nested too deeply to be a table, or lacks quotes or brackets")
    try:
        return json.loads(data)
    except ValueError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines):
            return [_line(number, line) for number, line in enumerate(lines, 1)]
        raise BadTable(f"the JSON cannot be read: {error}") from None


def _depth(data: str) -> int:
    """How deep brackets stand within each other, outside of quotes.

    In a component `json` ends the instance where the stack ends. Each step here is one of C: a walk in Python, or
    a piece for each text, would cost a good part of the fuel that reading the table does.
    """
    letters = data.encode("ascii", "ignore")
    if b"\\" in letters:
        letters = letters.replace(rb"\\", b"").replace(rb'\"', b"")
    # Texts without brackets in them are two quotes now, and gone. Few are left.
    marks = letters.translate(None, NO_MARKS).replace(b'""', b"")
    outside = b"".join(marks.split(b'"')[::2])
    return max(accumulate(map(STEPS.__getitem__, outside)), default=0)


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise BadTable(f"line {number} is not JSON: {error}") from None


def _of_objects(values: list[Any]) -> Table:
    columns: dict[str, None] = {}
    for number, one in enumerate(values, 1):
        if not isinstance(one, dict):
            raise BadTable(f"row {number} is no object; every element of the list must be one")
        columns.update(dict.fromkeys(one))
        if len(columns) * len(values) > MOST_CELLS:
            break
    table = Table(list(columns), [])
    _bounded(table, len(values))
    table.rows = [
        [_cell(one.get(name), number, name) for name in columns] for number, one in enumerate(values, 1)
    ]
    return table


def _of_lists(values: list[list[Any]]) -> Table:
    columns = named(str(cell) if cell is not None else "" for cell in values[0])
    rows = []
    for number, cells in enumerate(values[1:], 1):
        if len(cells) > len(columns):
            raise BadTable(f"row {number} has {len(cells)} values, but there are {len(columns)} columns")
        filled = cells + [None] * (len(columns) - len(cells))
        rows.append([_cell(one, number, name) for one, name in zip(filled, columns)])
    return _bounded(Table(columns, rows))


def _of_columns(value: dict[str, list[Any]]) -> Table:
    height = max(len(one) for one in value.values())
    for name, cells in value.items():
        if len(cells) != height:
            raise BadTable(
                f"the column `{name}` has {len(cells)} values, but another has {height}; fill up with null"
            )
    rows = [[_cell(cells[at], at + 1, name) for name, cells in value.items()] for at in range(height)]
    return _bounded(Table(list(value), rows))


def _cell(value: Any, row: int, column: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (dict, list)):
        raise BadTable(
            f"row {row}, column `{column}`: a list or an object cannot be in a cell; flatten it first"
        )
    return value


def _bounded(table: Table, height: int | None = None) -> Table:
    cells = len(table.columns) * (len(table.rows) if height is None else height)
    if cells > MOST_CELLS:
        raise BadTable(f"the table has {cells} cells, and {MOST_CELLS} is the most; pass a part of it")
    return table
