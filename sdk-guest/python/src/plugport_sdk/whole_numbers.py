"""Whole numbers that are written with a fraction or an exponent: for JSON Schema `1.0` and `1e18` are such.

A float holds them exactly up to 2**53. Those beyond keep how they were written, so that an `int` made of them is the
number that the client sent and not a neighbour.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

_EXACT = 2.0**53
_MAY_BE_LARGE = re.compile(r"\d{16}\d*\.|\d[eE]\+?\d")


class WrittenFloat(float):
    """A float that knows the number it was read from."""

    __slots__ = ("text",)
    text: str


def loads(text: str) -> Any:
    """As `json.loads`."""
    if _MAY_BE_LARGE.search(text) is None:
        return json.loads(text)
    return json.loads(text, parse_float=_read)


def whole(value: float) -> int:
    """The whole number that a float was written as."""
    return int(Decimal(value.text)) if isinstance(value, WrittenFloat) else int(value)


def is_whole(value: float) -> bool:
    """Whether it was written as a whole number."""
    if isinstance(value, WrittenFloat):
        number = Decimal(value.text)
        return number == number.to_integral_value()
    return value.is_integer()


def _read(text: str) -> float:
    value = float(text)
    if not _EXACT <= abs(value) < float("inf"):
        return value
    written = WrittenFloat(value)
    written.text = text
    return written
