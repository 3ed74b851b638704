"""The pieces of results and messages, as an author writes them.

Bytes are bytes: the host does base64. They are small frozen dataclasses and know nothing of the WIT, so that
tests can compare them; `host` turns them into what the bindings want.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True)
class _Piece:
    _: KW_ONLY
    audience: Sequence[Role] = ()
    priority: float | None = None
    last_modified: str | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Text(_Piece):
    """Text."""

    text: str


@dataclass(frozen=True)
class Image(_Piece):
    """A picture: its bytes (not base64) and its type, such as `image/png`."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class Audio(_Piece):
    """Sound: its bytes (not base64) and its type, such as `audio/wav`."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class Contents:
    """The contents of a resource: text or bytes. Without a URI they have the URI of the request."""

    data: str | bytes
    mime_type: str | None = None
    uri: str = ""
    _: KW_ONLY
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Embedded(_Piece):
    """A resource within a result."""

    contents: Contents

    @classmethod
    def of(cls, uri: str, data: str | bytes, mime_type: str | None = None) -> Embedded:
        """A resource made of its parts."""
        return cls(Contents(data, mime_type, uri))


@dataclass(frozen=True)
class Link(_Piece):
    """A link to a resource, and also a line of the list that `@resource(..., list=...)` gives."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


Content = Text | Image | Audio | Embedded | Link


@dataclass(frozen=True)
class Message:
    """A line of a conversation. A text is a `Text`."""

    role: Role
    content: str | Content

    @classmethod
    def user(cls, content: str | Content) -> Message:
        """The user speaks."""
        return cls("user", content)

    @classmethod
    def assistant(cls, content: str | Content) -> Message:
        """The model speaks."""
        return cls("assistant", content)


@dataclass(frozen=True)
class ToolResult:
    """A tool's result made by hand, which is sent unchanged. `structured` is anything that JSON can hold."""

    content: Sequence[Content] = ()
    structured: Any = None
    is_error: bool = False
    extra: Mapping[str, Any] | None = None


def piece(content: str | Content) -> Content:
    """A text as a `Text`."""
    return Text(content) if isinstance(content, str) else content


def texts(content: Sequence[Content]) -> str:
    """The text of it, its pieces on lines of their own."""
    return "\n".join(one.text for one in content if isinstance(one, Text))
