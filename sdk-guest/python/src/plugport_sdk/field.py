"""The keywords of an annotation besides its type: `Annotated[int, Field("How many.", minimum=1)]`.

The names are those of Python, the meaning is that of the JSON Schema keyword. A plain text in `Annotated` is
the description, so that most parameters need no `Field`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

_KEYWORDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "above": "exclusiveMinimum",
    "below": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
    "title": "title",
}

_FOR_LISTS = {"min_length": "minItems", "max_length": "maxItems"}
_FOR_OBJECTS = {"min_length": "minProperties", "max_length": "maxProperties"}


@dataclass(frozen=True, slots=True)
class Field:
    """A description and constraints. The server checks them before the tool runs."""

    description: str | None = None
    _: KW_ONLY
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    title: str | None = None
    name: str | None = None

    def keywords(self, kind: object) -> dict[str, Any]:
        """The JSON Schema keywords for a value of this `type`."""
        special = {"array": _FOR_LISTS, "object": _FOR_OBJECTS}.get(kind if isinstance(kind, str) else "", {})
        found = {}
        for name, keyword in _KEYWORDS.items():
            value = getattr(self, name)
            if value is not None:
                found[special.get(name, keyword)] = value
        return found
