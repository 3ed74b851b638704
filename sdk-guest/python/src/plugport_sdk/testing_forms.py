"""Checks what a person filled in as the server does before a plugin gets it, in its words.

MCP has few keywords for the fields of a form, and the server checks those. Formats, and keywords that MCP does not
have, are for the client.
"""

from __future__ import annotations

import math
from typing import Any


def form_fault(schema: Any, content: Any) -> str | None:
    """Why the server does not pass on what a person filled in, if it does not."""
    if not isinstance(content, dict):
        return "`content` is missing"
    for name in schema.get("required", ()):
        if name not in content:
            return f"the field `{name}` is missing"
    fields = schema.get("properties", {})
    for name, value in content.items():
        if name not in fields and not _is_plain(value):
            return f"the field `{name}` is not part of the form"
        if name in fields and not _fits(fields[name], value):
            return f"the field `{name}` does not fit the form"
    return None


def _is_plain(value: Any) -> bool:
    """Whether a client may add a field with this value."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, (str, int, float))


def _fits(field: Any, value: Any) -> bool:
    kind = field.get("type")
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str) and _within(len(value), field, "Length") and _is_chosen(field, value)
    if kind in ("number", "integer"):
        size = _as_float(value) if _is_number(value) else math.inf
        is_kind = math.isfinite(size) and (kind == "number" or size.is_integer())
        return is_kind and _within(size, field, "imum")
    if kind == "array":
        choices = _choices(field.get("items", {}))
        fits = isinstance(value, list) and all(isinstance(item, str) and item in choices for item in value)
        return fits and _within(len(value), field, "Items")
    return False


def _within(size: float, field: Any, bound: str) -> bool:
    """Compares with the bounds of these names, such as `minLength` and `maxLength`. One that is no number is none."""
    least, most = field.get(f"min{bound}"), field.get(f"max{bound}")
    is_below = _is_number(least) and size < _as_float(least)
    is_above = _is_number(most) and size > _as_float(most)
    return not is_below and not is_above


def _as_float(value: float) -> float:
    """As the server reads a number, which may be a neighbour of a large one. Beyond all floats it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_chosen(field: Any, value: str) -> bool:
    choices = _choices(field)
    return not choices or value in choices


def _choices(field: Any) -> list[Any]:
    """The values that a field lets a person choose from; empty for any other field."""
    if isinstance(field.get("enum"), list):
        return list(field["enum"])
    titled = field.get("oneOf", field.get("anyOf"))
    choices = titled if isinstance(titled, list) else []
    return [choice["const"] for choice in choices if isinstance(choice, dict) and "const" in choice]
