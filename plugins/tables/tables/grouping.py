"""Groups of rows by the values of a column, and what is said of each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from .statistics import Number, mean, quantile, stdev, total
from .table import BadTable, Table, Value, is_number, shown

Function = Literal["count", "sum", "mean", "median", "min", "max", "stdev", "unique"]
Cell = str | Number | None

_NUMERIC: dict[str, Callable[[list[Number]], Cell]] = {
    "sum": total,
    "mean": mean,
    "median": lambda numbers: quantile(sorted(numbers), 0.5),
    "stdev": lambda numbers: stdev(numbers) if len(numbers) > 1 else None,
}


def group(table: Table, by: str, column: str | None, functions: list[Function]) -> list[dict[str, Cell]]:
    """One row for each value of `by`, in the order in which they first come."""
    place = table.index(by)
    measured = None if column is None else table.index(column)
    needs = [function for function in functions if function != "count"]
    if needs and measured is None:
        raise BadTable(f"`{needs[0]}` is of a column; say which one with `column`")
    groups: dict[str, list[tuple[int, list[Value]]]] = {}
    for number, row in enumerate(table.rows, 1):
        groups.setdefault(shown(row[place]), []).append((number, row))
    return [_line(table, by, measured, functions, key, rows) for key, rows in groups.items()]


def _line(
    table: Table,
    by: str,
    measured: int | None,
    functions: list[Function],
    key: str,
    rows: list[tuple[int, list[Value]]],
) -> dict[str, Cell]:
    of = table.columns[table.index(by)]
    line: dict[str, Cell] = {of: key}
    for function in functions:
        if measured is None:
            line[_apart("count", of)] = len(rows)
        else:
            name = _apart(f"{function}_{table.columns[measured]}", of)
            line[name] = _aggregate(
                table.columns[measured], function, [(n, row[measured]) for n, row in rows]
            )
    return line


def _apart(name: str, of: str) -> str:
    """The name of an aggregate, which must not be that of the column whose values make the groups."""
    return f"{name}_2" if name == of else name


def _aggregate(column: str, function: Function, cells: list[tuple[int, Value]]) -> Cell:
    there = [(number, value) for number, value in cells if value is not None]
    values = [value for _, value in there]
    if function == "count":
        return len(values)
    if function == "unique":
        return len({(isinstance(value, bool), value) for value in values})
    if not values:
        return 0 if function == "sum" else None
    if function in ("min", "max"):
        return _extreme(function, values)
    for number, value in there:
        if not is_number(value):
            raise BadTable(
                f"row {number}, column `{column}`: {shown(value)[:40]!r} is no number; "
                f"`{function}` needs one"
            )
    return _NUMERIC[function](values)  # type: ignore[arg-type]


def _extreme(function: str, values: Sequence[Value]) -> Cell:
    pick = min if function == "min" else max
    if all(is_number(value) for value in values):
        return pick(values)  # type: ignore[type-var]
    return pick(shown(value) for value in values)
