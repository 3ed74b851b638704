"""What a table is here: named columns, and rows of values that were read once.

A CSV holds texts only, so a text that looks like a number or a bool counts as one, and an empty one or `NA`
as missing. JSON says itself what a value is. Whole numbers stay whole however long they are: nothing goes
through a float that need not.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, TypeGuard

Value = str | int | float | bool | None

_MOST_DIGITS = 300
_NUMBERS_BEGIN = frozenset("0123456789+-.")
_MISSING = dict.fromkeys(("", "na", "n/a", "nan", "null", "none", "-"))
_WORDS: dict[str, bool | None] = {**_MISSING, "true": True, "false": False}
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


@functools.cache
def parsed(text: str) -> Value:
    """What a cell of a CSV says. It is kept, since most columns repeat themselves and every step costs fuel."""
    word = text.strip()
    if word[:1] in _NUMBERS_BEGIN and len(word) > 1 or word.isdecimal():
        return _number(text, word) if word.isascii() else text
    return _WORDS.get(word.casefold(), text) if len(word) <= _LONGEST_WORD else text


def _number(text: str, word: str) -> Value:
    digits = word if word.isdecimal() else word[1:] if word[0] in "+-" else ""
    if digits.isdecimal():
        # A number with a zero before it is a code, such as one of a postal district.
        code = digits[0] == "0" and len(digits) > 1
        return text if code or len(digits) > _MOST_DIGITS else int(word)
    # `float` knows words and groups of digits too, which are texts here.
    if "_" in word or word.count("-") > 2:
        return text
    try:
        value = float(word)
    except ValueError:
        return text
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
