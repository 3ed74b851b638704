"""Requests to the client and their results: sampling, elicitation and roots.

Bodies are the JSON objects of MCP's newest revision; the host adapts them to the client's. A person may
always refuse, so every outcome is an `ElicitResult` and refusing is no error.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from .content import Audio, Content, Image, Message, Role, Text
from .errors import Internal, Rejected
from .json_types import Mismatch, Schema, Shapes, Unsupported, present

T = TypeVar("T")


@dataclass(frozen=True)
class Root:
    """A folder in which the client's user works."""

    uri: str
    name: str | None = None


@dataclass(frozen=True)
class CreateMessageResult:
    """What the model said. `content` are its pieces as MCP writes them."""

    role: Role
    content: list[dict[str, Any]]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text of it, its pieces on lines of their own."""
        return "\n".join(one["text"] for one in self.content if one.get("type") == "text")

    @classmethod
    def read(cls, answer: str) -> CreateMessageResult:
        """From the result of `sampling/createMessage`."""
        try:
            found = json.loads(answer)
            content = found["content"] if isinstance(found["content"], list) else [found["content"]]
            return cls(found.get("role", "assistant"), content, found["model"], found.get("stopReason"))
        except (ValueError, KeyError, TypeError) as error:
            raise Internal(f"the client's answer cannot be read: {error!r}") from None


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


def params(
    messages: str | Sequence[str | Message | Mapping[str, Any]],
    max_tokens: int,
    given: Mapping[str, Any],
    preferences: Mapping[str, Any],
    hints: Sequence[str],
    extra: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The parameters of `sampling/createMessage`."""
    spoken = [messages] if isinstance(messages, (str, Message, Mapping)) else messages
    body: dict[str, Any] = {"messages": [_message(one) for one in spoken], "maxTokens": max_tokens}
    body.update({name: value for name, value in given.items() if value is not None})
    liked = {name: value for name, value in preferences.items() if value is not None}
    if hints:
        liked["hints"] = [{"name": name} for name in hints]
    if liked:
        body["modelPreferences"] = liked
    return {**body, **(extra or {})}


def _message(said: str | Message | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(said, Mapping):
        return said
    message = Message("user", said) if isinstance(said, str) else said
    return {"role": message.role, "content": block(message.content)}


def block(content: str | Content) -> dict[str, Any]:
    """A piece of a message to a model, as MCP writes it."""
    if isinstance(content, str):
        return {"type": "text", "text": content}
    if isinstance(content, Text):
        return {"type": "text", "text": content.text}
    if isinstance(content, (Image, Audio)):
        kind = "image" if isinstance(content, Image) else "audio"
        data = base64.b64encode(content.data).decode()
        return {"type": kind, "data": data, "mimeType": content.mime_type}
    raise Internal(f"a model cannot be asked with `{type(content).__name__}`; use Text, Image or Audio")


@functools.cache
def form(kind: type[Any]) -> tuple[Schema, Callable[[Any], Any]]:
    """The flat schema that MCP allows for a form, and the reader of the filled-in form."""
    if not (dataclasses.is_dataclass(kind) and isinstance(kind, type)):
        raise Internal(f"`{getattr(kind, '__name__', kind)}` cannot be shown as a form: only a dataclass can")
    shapes = Shapes()
    try:
        shape = shapes.of(kind)
    except Unsupported as error:
        raise Internal(f"`{kind.__name__}` cannot be shown as a form: {error}") from None
    whole = shapes.defs[shape.schema["$ref"].removeprefix("#/$defs/")]
    properties = {name: _form_field(kind, name, one) for name, one in whole["properties"].items()}
    schema = {"type": "object", "properties": properties}
    if "required" in whole:
        schema["required"] = whole["required"]
    return schema, lambda content: _filled(shape.read, content)


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


def _form_field(kind: type[Any], name: str, schema: Schema) -> Schema:
    merged = present(schema)
    for one in merged.pop("anyOf", ()):
        merged = {**one, **merged}
    main = merged.get("type")
    if isinstance(main, list):
        main = merged["type"] = main[0]
    keywords = _FIELD_KEYWORDS.get(main if isinstance(main, str) else "")
    if keywords is None or (main == "array" and "enum" not in merged.get("items", {})):
        reason = f"the field `{name}` must be a text, a number, a bool, a choice, or a list of choices"
        raise Internal(f"`{kind.__name__}` cannot be shown as a form: {reason}")
    allowed = keywords | {"type", "title", "description", "default"}
    return {keyword: value for keyword, value in merged.items() if keyword in allowed}
