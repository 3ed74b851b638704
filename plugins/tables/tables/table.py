"""What a table is here: named columns, and rows of values that were read once.

A CSV holds texts only, so a text that looks like a number or a bool counts as one, and an empty one or `NA`
as missing. JSON says itself what a value is. Whole numbers stay whole however long they are: nothing goes
through a float that need not.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, TypeGuard

Value = str | int | float | bool | None

MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}
_WHOLE = re.compile(r"[+-]?\d{1,300}")
_NUMBER = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,4})?")
_BOOLS = {"true": True, "false": False}


class BadTable(ValueError):
    """Data that is no table: where it goes wrong, and what to do."""


@dataclass
class Table:
    """Columns by name, and rows as long as there are columns."""

    columns: list[str]
    rows: list[list[Value]]

    def index(self, column: str) -> int:
        """Where a column is: by its name, or by its name without regard to case."""
        if column in self.columns:
            return self.columns.index(column)
        folded = [name.casefold() for name in self.columns]
        if folded.count(column.casefold()) == 1:
            return folded.index(column.casefold())
        raise BadTable(f"there is no column `{column}`; the table has {', '.join(self.columns) or 'none'}")

    def values(self, index: int) -> list[Value]:
        """The values of one column."""
        return [row[index] for row in self.rows]


def parsed(text: str) -> Value:
    """What a cell of a CSV says."""
    stripped = text.strip()
    folded = stripped.casefold()
    if folded in MISSING:
        return None
    if folded in _BOOLS:
        return _BOOLS[folded]
    # A number with a zero before it is a code, such as one of a postal district.
    if _WHOLE.fullmatch(stripped) and stripped.isascii():
        return text if len(stripped.lstrip("+-")) > 1 and stripped.lstrip("+-")[0] == "0" else int(stripped)
    if _NUMBER.fullmatch(stripped) and stripped.isascii():
        number = float(stripped)
        return number if math.isfinite(number) else text
    return text


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether this is a number; `True` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kind(value: Value) -> str:
    """What a value is called."""
    if isinstance(value, bool):
        return "bool"
    return "integer" if isinstance(value, int) else "number" if isinstance(value, float) else "text"


def kinds(values: list[Value]) -> str:
    """What a column is called: numbers that are whole or not are numbers, and a mixture is mixed."""
    found = {kind(value) for value in values if value is not None}
    if found == {"integer", "number"}:
        return "number"
    return found.pop() if len(found) == 1 else "mixed" if found else "empty"


def shown(value: Value) -> str:
    """A value as a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
