"""Tables that a model has as text: summed up, grouped, and converted, with numbers that are calculated and
not guessed.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from plugport_sdk import Field, ToolError, exports, tool
from tables.grouping import Cell, Function, group as group_rows
from tables.reading import read
from tables.statistics import Summary, summarize as summarize_column
from tables.table import BadTable, Table
from tables.writing import Format, write

Data = Annotated[str, "The table as text: CSV whose first row has the column names, or JSON."]
Source = Annotated[Literal["csv", "json"] | None, "What the data is. Guessed when left out."]
Delimiter = Annotated[
    str | None, Field("What separates the cells of a CSV. Guessed when left out.", min_length=1, max_length=1)
]


@dataclass
class TableSummary:
    rows: int
    columns: list[Summary]


@dataclass
class Groups:
    rows: Annotated[int, "How many rows the table has"]
    groups: list[dict[str, Cell]]


@tool(title="Summarize a table", read_only=True, idempotent=True, open_world=False)
def summarize(
    data: Data,
    format: Source = None,
    delimiter: Delimiter = None,
    columns: Annotated[list[str] | None, "Only these columns."] = None,
    top: Annotated[int, Field("How many of the most frequent values.", minimum=0, maximum=100)] = 5,
) -> TableSummary:
    """Describe each column of a CSV or JSON table: type, count, missing and unique values, minimum and
    maximum, sum, mean, median, standard deviation, quantiles and the most frequent values.
    """
    table = _read(data, format, delimiter)
    wanted = range(len(table.columns)) if columns is None else [_place(table, name) for name in columns]
    found = [summarize_column(table.columns[at], table.values(at), top) for at in wanted]
    return TableSummary(len(table.rows), found)


@tool(title="Group a table", read_only=True, idempotent=True, open_world=False)
def group(
    data: Data,
    by: Annotated[str, "The column whose values make the groups."],
    column: Annotated[
        str | None, "The column that is aggregated. Left out, the rows of each group are counted."
    ] = None,
    functions: Annotated[
        list[Function] | None, "What is calculated of it. Without it: count, or sum and mean."
    ] = None,
    format: Source = None,
    delimiter: Delimiter = None,
) -> Groups:
    """Group the rows of a CSV or JSON table by a column, and aggregate another column of each group."""
    table = _read(data, format, delimiter)
    usual: list[Function] = ["count"] if column is None else ["count", "sum", "mean"]
    try:
        return Groups(len(table.rows), group_rows(table, by, column, functions or usual))
    except BadTable as error:
        raise ToolError(str(error)) from None


@tool(title="Convert a table", read_only=True, idempotent=True, open_world=False)
def convert(
    data: Data,
    to: Annotated[Format, "What it is converted to."],
    format: Source = None,
    delimiter: Delimiter = None,
    columns: Annotated[list[str] | None, "Only these columns, in this order."] = None,
) -> str:
    """Convert a table from CSV or JSON to CSV, JSON or Markdown."""
    # Texts of a CSV are kept to the letter where the other side holds texts too.
    table = _read(data, format, delimiter, raw=to != "json")
    if columns is not None:
        places = [_place(table, name) for name in columns]
        table = Table(
            [table.columns[at] for at in places], [[row[at] for at in places] for row in table.rows]
        )
    return write(table, to)


def _read(data: str, format: str | None, delimiter: str | None, raw: bool = False) -> Table:
    try:
        return read(data, format, delimiter, raw)
    except BadTable as error:
        raise ToolError(str(error)) from None


def _place(table: Table, column: str) -> int:
    try:
        return table.index(column)
    except BadTable as error:
        raise ToolError(str(error)) from None


Tools, Resources, Prompts, Completions = exports()
