"""Sampling: the request to the client's model, its result, and the tools that the model may use.

The plugin runs these tools, not the client. They are functions like other tools, published or not, so one description
serves both; what the model wants is run through the same reading of arguments. Messages that carry uses and results
are objects as MCP writes them, which a request takes beside texts and `Message`s.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from .content import Audio, Content, Image, Message, Role, Text, ToolResult, piece
from .errors import Internal
from .json_types import Schema

ToolChoice = Literal["auto", "required", "none"]


@dataclass(frozen=True)
class SamplingTool:
    """A tool described by hand, for the model. What it wants is in `CreateMessageResult.tool_uses`."""

    name: str
    description: str
    input_schema: Schema


class SampleOptions(TypedDict, total=False):
    """The keys of `Call.sample`."""

    max_tokens: int
    system: str | None
    temperature: float | None
    stop: Sequence[str]
    hints: Sequence[str]
    intelligence: float | None
    speed: float | None
    cost: float | None
    tools: Iterable[Callable[..., Any] | SamplingTool]
    tool_choice: ToolChoice | None
    extra: Mapping[str, Any] | None


@dataclass(frozen=True)
class ToolUse:
    """What the model wants to be run: the tool's name and its arguments."""

    id: str
    name: str
    input: dict[str, Any]

    def result(self, content: str | Content | Sequence[Content], *, is_error: bool = False) -> dict[str, Any]:
        """The block that tells the model what came of it, for a message of the user."""
        pieces = [content] if isinstance(content, (str, Content)) else content
        found = {"type": "tool_result", "toolUseId": self.id, "content": [block(one) for one in pieces]}
        return {**found, "isError": True} if is_error else found

    def results_of(self, result: ToolResult) -> dict[str, Any]:
        """The same for the result of a tool."""
        return self.result(result.content, is_error=bool(result.is_error))


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

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tools that the model wants to be run before it goes on."""
        uses = [one for one in self.content if one.get("type") == "tool_use"]
        return [ToolUse(one.get("id", ""), one.get("name", ""), one.get("input") or {}) for one in uses]

    @property
    def message(self) -> dict[str, Any]:
        """The same as a message of the next request."""
        return {"role": self.role, "content": self.content}

    @classmethod
    def read(cls, answer: str) -> CreateMessageResult:
        """From the result of `sampling/createMessage`."""
        try:
            found = json.loads(answer)
            content = found["content"] if isinstance(found["content"], list) else [found["content"]]
            return cls(found.get("role", "assistant"), content, found["model"], found.get("stopReason"))
        except (ValueError, KeyError, TypeError) as error:
            raise Internal(f"the client's answer cannot be read: {error!r}") from None


def params(
    messages: str | Message | Mapping[str, Any] | Sequence[str | Message | Mapping[str, Any]],
    *,
    max_tokens: int = 1000,
    system: str | None = None,
    temperature: float | None = None,
    stop: Sequence[str] = (),
    hints: Sequence[str] = (),
    intelligence: float | None = None,
    speed: float | None = None,
    cost: float | None = None,
    tools: Iterable[Any] = (),
    tool_choice: ToolChoice | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The parameters of `sampling/createMessage`."""
    spoken = [messages] if isinstance(messages, (str, Message, Mapping)) else messages
    preferences = {
        "costPriority": cost,
        "speedPriority": speed,
        "intelligencePriority": intelligence,
        "hints": [{"name": name} for name in hints] or None,
    }
    given = {
        "systemPrompt": system,
        "temperature": temperature,
        "stopSequences": list(stop) or None,
        "modelPreferences": _given(preferences) or None,
        "tools": [_described(one) for one in tools] or None,
        "toolChoice": tool_choice and {"mode": tool_choice},
    }
    body = {"messages": [_message(one) for one in spoken], "maxTokens": max_tokens}
    return {**body, **_given(given), **(extra or {})}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _described(tool: Any) -> dict[str, Any]:
    if not isinstance(tool, SamplingTool):
        from .tools import Tool

        noted = Tool.of(tool)
        tool = SamplingTool(noted.name, noted.description, json.loads(noted.input_schema))
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}


def _message(said: str | Message | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(said, Mapping):
        return said
    message = Message("user", said) if isinstance(said, str) else said
    return {"role": message.role, "content": block(message.content)}


def block(content: str | Content) -> dict[str, Any]:
    """A piece of a message to a model, as MCP writes it."""
    part = piece(content)
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, (Image, Audio)):
        kind = "image" if isinstance(part, Image) else "audio"
        data = base64.b64encode(part.data).decode()
        return {"type": kind, "data": data, "mimeType": part.mime_type}
    raise Internal(f"a model cannot be asked with `{type(part).__name__}`; use Text, Image or Audio")
