"""What is said of a column of values.

Written out here instead of taken from Python's module of this name: that one goes through fractions, which is
exact and thirty times slower. `math.fsum` loses nothing in sums of floats, and sums of whole numbers stay
whole.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from .table import Value, is_number, kinds, shown

Number = int | float


@dataclass
class Top:
    """A value that is there often."""

    value: str
    count: int


@dataclass
class Quantiles:
    """The values below which a tenth, a quarter, ... of the others are."""

    p10: Number
    p25: Number
    p50: Number
    p75: Number
    p90: Number


@dataclass
class Summary:
    """A column: numbers are there for columns of numbers only."""

    name: str
    type: Annotated[str, "integer, number, bool, text, mixed or empty"]
    count: Annotated[int, "Values that are there"]
    missing: int
    unique: int
    min: str | Number | None
    max: str | Number | None
    sum: Number | None
    mean: Number | None
    median: Number | None
    stdev: Annotated[Number | None, "Of a sample: divided by n - 1"]
    quantiles: Quantiles | None
    top: Annotated[list[Top], "The most frequent values, unless all are different"]


def summarize(name: str, values: list[Value], top: int) -> Summary:
    """What is said of one column."""
    there = [value for value in values if value is not None]
    kind = kinds(values)
    counts = Counter(there) if kind != "mixed" else Counter(map(apart, there))
    frequent = [Top(shown(value), count) for value, count in counts.most_common(top) if count > 1]
    numbers = sorted(filter(is_number, there)) if kind in ("integer", "number") else []
    texts = list(map(shown, there)) if not numbers else []
    return Summary(
        name=name,
        type=kind,
        count=len(there),
        missing=len(values) - len(there),
        unique=len(counts),
        min=numbers[0] if numbers else min(texts, default=None),
        max=numbers[-1] if numbers else max(texts, default=None),
        sum=total(numbers) if numbers else None,
        mean=mean(numbers) if numbers else None,
        median=quantile(numbers, 0.5) if numbers else None,
        stdev=stdev(numbers) if len(numbers) > 1 else None,
        quantiles=(
            Quantiles(*(quantile(numbers, at) for at in (0.1, 0.25, 0.5, 0.75, 0.9))) if numbers else None
        ),
        top=frequent,
    )


def apart(value: Value) -> Value:
    """A bool as a text, since for Python `True` and `1` are the same."""
    return shown(value) if isinstance(value, bool) else value


def total(numbers: list[Number]) -> Number | None:
    """The sum; none where it is beyond what a float holds."""
    if all(isinstance(one, int) for one in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError:
        return None


def mean(numbers: list[Number]) -> Number | None:
    """The sum divided by how many there are."""
    whole = total(numbers)
    return None if whole is None else ratio(whole, len(numbers))


def ratio(value: Number, by: int) -> Number | None:
    """A quotient; none where it is beyond what a float holds."""
    try:
        return tidy(value / by)
    except OverflowError:
        return value // by if isinstance(value, int) else None


def stdev(numbers: list[Number]) -> Number | None:
    """The standard deviation of a sample."""
    try:
        centre = math.fsum(numbers) / len(numbers)
        return tidy(math.sqrt(math.fsum((one - centre) ** 2 for one in numbers) / (len(numbers) - 1)))
    except OverflowError:
        return None


def quantile(ordered: list[Number], at: float) -> Number:
    """The value at a place from smallest (0) to largest (1), in a straight line between neighbours."""
    place = at * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    part = place - low
    if part == 0 or ordered[low] == ordered[high]:
        return ordered[low]
    try:
        return tidy(ordered[low] * (1 - part) + ordered[high] * part)
    except OverflowError:
        return ordered[low]


def tidy(number: float) -> float:
    """A number without the noise behind its fifteenth digit."""
    rounded = float(f"{number:.15g}")
    return rounded if math.isfinite(rounded) else number
