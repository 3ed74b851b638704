"""Forms for the person at the client, and what the person did with one.

A form is flat in MCP: an object of texts, numbers, bools and choices. A dataclass says one; any other type is the only
field of a form. A person may always refuse, so every outcome is an `ElicitResult` and refusing is no error.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from .errors import Internal, Rejected
from .json_types import Mismatch, Schema, Shape, Shapes, Unsupported, present

T = TypeVar("T")

# The field of a form that has no other.
_ONLY = "value"


@dataclass(frozen=True)
class ElicitResult(Generic[T]):
    """The outcome of a form: `value` is set when the person accepted."""

    action: Literal["accept", "decline", "cancel"]
    value: T | None = None

    @property
    def declined(self) -> bool:
        """Whether they said no."""
        return self.action == "decline"

    @property
    def cancelled(self) -> bool:
        """Whether the person closed the form or page."""
        return self.action == "cancel"

    def accepted(self) -> T:
        """What they filled in, for those who cannot go on without it; else raises `Rejected`."""
        if self.action == "accept":
            return cast(T, self.value)
        raise Rejected("the person declined to answer" if self.declined else "the person closed the question")

    @classmethod
    def read(cls, answer: str, read: Callable[[Any], T]) -> ElicitResult[T]:
        """From the result of `elicitation/create`."""
        try:
            found = json.loads(answer)
            action = found["action"]
            return cls(action, read(found.get("content") or {})) if action == "accept" else cls(action)
        except (ValueError, KeyError, TypeError) as error:
            raise Internal(f"the client's answer cannot be read: {error}") from None


@functools.cache
def form(kind: Any) -> tuple[Schema, Callable[[Any], Any]]:
    """The flat schema that MCP allows for a form, and the reader of the filled-in form."""
    name = getattr(kind, "__name__", None) or str(kind)
    shapes = Shapes()
    try:
        shape = shapes.of(kind)
    except Unsupported as error:
        raise Internal(f"`{name}` cannot be shown as a form: {error}") from None
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        whole = shapes.defs[shape.schema["$ref"].removeprefix("#/$defs/")]
        fields = {key: _field(name, f"the field `{key}`", one) for key, one in whole["properties"].items()}
        return _schema(fields, whole.get("required")), functools.partial(_filled, shape.read)
    required = None if shape.optional else [_ONLY]
    only = _schema({_ONLY: _field(name, "it", shape.schema)}, required)
    return only, functools.partial(_filled, functools.partial(_only, shape))


def _schema(fields: dict[str, Schema], required: list[str] | None) -> Schema:
    schema: Schema = {"type": "object", "properties": fields}
    return {**schema, "required": required} if required else schema


def _only(shape: Shape, content: dict[str, Any], path: str) -> Any:
    if _ONLY not in content and not shape.optional:
        raise Mismatch(path, f"`{_ONLY}` is missing")
    return shape.read(content.get(_ONLY), _ONLY)


def _filled(read: Any, content: Any) -> Any:
    try:
        return read({name: value for name, value in content.items() if value is not None}, "form")
    except Mismatch as mismatch:
        raise Internal(f"the client's answer cannot be read: `{mismatch.path}`: {mismatch}") from None


_FIELD_KEYWORDS = {
    "string": {"minLength", "maxLength", "format", "enum"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set(),
    "array": {"minItems", "maxItems", "items"},
}


def _field(kind: str, what: str, schema: Schema) -> Schema:
    merged = present(schema)
    for one in merged.pop("anyOf", ()):
        merged = {**one, **merged}
    main = merged.get("type")
    if isinstance(main, list):
        main = merged["type"] = main[0]
    keywords = _FIELD_KEYWORDS.get(main if isinstance(main, str) else "")
    if keywords is None or (main == "array" and "enum" not in merged.get("items", {})):
        reason = f"{what} must be a text, a number, a bool, a choice, or a list of choices"
        raise Internal(f"`{kind}` cannot be shown as a form: {reason}")
    allowed = keywords | {"type", "title", "description", "default"}
    return {keyword: value for keyword, value in merged.items() if keyword in allowed}
