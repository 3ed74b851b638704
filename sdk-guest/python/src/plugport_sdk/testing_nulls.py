"""Removes explicit nulls that stand for optional arguments, as the server does before it validates."""

from __future__ import annotations

from typing import Any

# References followed one after the other, and levels of nested choices.
HOPS = 8
DEPTH = 16


def remove_nulls(root: Any, value: Any) -> bool:
    """Removes members that are null and that the schema neither requires nor allows to be null: whether any were."""
    return _walk(root, root, value)


def _walk(root: Any, schema: Any, value: Any) -> bool:
    schema = resolved(root, schema)
    if not isinstance(schema, dict):
        return False
    if isinstance(value, list):
        return any([_walk(root, schema.get("items"), item) for item in value])
    if not isinstance(value, dict):
        return False
    properties, required = schema.get("properties", {}), schema.get("required", ())
    absent = [
        name
        for name, item in value.items()
        if item is None and name not in required and name in properties
        if not _may_be_null(root, properties[name], DEPTH)
    ]
    for name in absent:
        del value[name]
    # Which names `patternProperties` has is not found out, as in the server.
    others = None if "patternProperties" in schema else schema.get("additionalProperties")
    return any([_walk(root, properties.get(name, others), item) for name, item in value.items()]) or bool(absent)


def _may_be_null(root: Any, schema: Any, depth: int) -> bool:
    """Whether null fits, or may fit in a way that is not understood here."""
    schema = resolved(root, schema)
    if depth == 0 or not isinstance(schema, dict):
        return True
    kinds = schema.get("type", "null")
    choices = [schema[word] for word in ("anyOf", "oneOf") if word in schema]
    return (
        "null" in ([kinds] if isinstance(kinds, str) else kinds)
        and None in schema.get("enum", [None])
        and schema.get("const") is None
        and all(any(_may_be_null(root, choice, depth - 1) for choice in each) for each in choices)
    )


def resolved(root: Any, schema: Any) -> Any:
    """Follows references within the schema."""
    for _ in range(HOPS):
        reference = schema.get("$ref", "") if isinstance(schema, dict) else ""
        target = root if reference.startswith("#") else None
        for step in reference[1:].split("/")[1:]:
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        if target is None:
            break
        schema = target
    return schema
