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
_NUMBER = re.compile(r"\s*([+-]?(?:(\d{1,300})(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,4})?)\s*", re.ASCII)
_BOOLS = {"true": True, "false": False}
_LONGEST_WORD = 5
_KINDS: dict[type, str] = {bool: "bool", int: "integer", float: "number", str: "text"}


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
    found = _NUMBER.fullmatch(text)
    if found:
        return _number(text, *found.groups())
    # Most cells are no words of this kind, which their length tells sooner than anything else.
    word = text.strip()
    if len(word) <= _LONGEST_WORD:
        folded = word.casefold()
        return None if folded in MISSING else _BOOLS.get(folded, text)
    return text


def _number(text: str, number: str, whole: str | None, part: str | None, power: str | None) -> Value:
    # A whole number with a zero before it is a code, such as one of a postal district.
    if whole and part is None and power is None:
        return text if len(whole) > 1 and whole[0] == "0" else int(number)
    value = float(number)
    return value if math.isfinite(value) else text


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether this is a number; `True` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kinds(values: list[Value]) -> str:
    """What a column is called: numbers that are whole or not are numbers, and a mixture is mixed."""
    found = {_KINDS[one] for one in set(map(type, values)) if one is not type(None)}
    if found == {"integer", "number"}:
        return "number"
    return found.pop() if len(found) == 1 else "mixed" if found else "empty"


def shown(value: Value) -> str:
    """A value as a text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
