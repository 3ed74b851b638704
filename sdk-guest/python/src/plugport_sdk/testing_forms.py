"""Checks what a person filled in as the server does before a plugin gets it, in its words.

MCP has few keywords for the fields of a form, and the server checks those. Formats, and keywords that MCP does not
have, are for the client.
"""

from __future__ import annotations

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
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str) and _within(len(value), field, "Length") and _is_chosen(field, value)
    if kind == "number":
        return isinstance(value, (int, float)) and _within(value, field, "imum")
    if kind == "integer":
        return isinstance(value, (int, float)) and value % 1 == 0 and _within(value, field, "imum")
    if kind == "array":
        choices = _choices(field.get("items", {}))
        fits = isinstance(value, list) and all(isinstance(item, str) and item in choices for item in value)
        return fits and _within(len(value), field, "Items")
    return False


def _within(size: float, field: Any, bound: str) -> bool:
    """Compares with the bounds of these names, such as `minLength` and `maxLength`."""
    return bool(field.get(f"min{bound}", size) <= size <= field.get(f"max{bound}", size))


def _is_chosen(field: Any, value: str) -> bool:
    choices = _choices(field)
    return not choices or value in choices


def _choices(field: Any) -> list[Any]:
    """The values that a field lets a person choose from; empty for any other field."""
    if "enum" in field:
        return list(field["enum"])
    titled = field.get("oneOf", field.get("anyOf", ()))
    return [choice["const"] for choice in titled if "const" in choice]
