"""Requests and responses."""

from __future__ import annotations

import codecs
import json as json_module
import math
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypedDict

from .. import from_json, to_json, to_wit
from ..errors import Internal

# The default maximum of a response's body, bytes.
MAX_BODY = 1 << 20
_MOST_MS = 2**32 - 1
# Codecs that hosts may not choose: they take long for long texts, or give half characters.
_NO_CHARSETS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | str: ...


Octets = bytes | bytearray | memoryview
Body = str | Octets | Iterable[Octets | str] | AsyncIterable[Octets | str] | _Readable
Fields = Mapping[str, str] | Iterable[tuple[str, str]]


class SendOptions(TypedDict, total=False):
    """What a request may have beside its method and URL."""

    headers: Fields | None
    body: Body | None
    json: Any
    length: int | None
    timeout: float | None


class RequestOptions(SendOptions, total=False):
    """The same for a response that is read as a whole."""

    max_body: int


class Headers(Mapping[str, str]):
    """Header fields by name, whether in small or capital letters. Several of one name are joined by commas."""

    def __init__(self, fields: Fields | None = None) -> None:
        given = fields.items() if isinstance(fields, Mapping) else fields or ()
        self.fields = [
            (to_wit.text(name, "the name of a header field"), to_wit.text(value, f"the header field `{name}`"))
            for name, value in given
        ]

    def get_all(self, name: str) -> list[str]:
        """Each value of this name."""
        return [value for other, value in self.fields if other.lower() == name.lower()]

    def __getitem__(self, name: str) -> str:
        if values := self.get_all(name):
            return ", ".join(values)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.get_all(name))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name.lower() for name, _ in self.fields))

    def __len__(self) -> int:
        return len({name.lower() for name, _ in self.fields})

    def __repr__(self) -> str:
        return f"Headers({self.fields})"


class Received:
    """Header fields and a body that has come as a whole."""

    def __init__(self, headers: Fields | None, body: str | Octets) -> None:
        self.headers = headers if isinstance(headers, Headers) else Headers(headers)
        self.body = whole(body, "the body")

    def text(self) -> str:
        """The body as text, in the charset that `content-type` names, or else UTF-8.

        What is no text becomes U+FFFD. Of charsets a component has UTF-8, 16 and 32, ASCII, ISO-8859-1, -2 and -15,
        Windows-1250 to -1252, KOI8-R, and those whose module, `encodings.cp1253` for example, the plugin imports.
        A text in another one is read as UTF-8, and so is one in UTF-7 or in a codec of Python that is no charset, such
        as `punycode` or `unicode_escape`.
        """
        try:
            return self.body.decode(_codec(_charset(self.headers.get("content-type", ""))), "replace")
        except (LookupError, ValueError):
            return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON; a `ValueError` if it is none."""
        encoding = json_module.detect_encoding(self.body)
        return from_json.loads(self.body.decode(encoding))


class Response(Received):
    """A response: `status`, `headers`, `body` in bytes, and whether the body is `truncated`."""

    def __init__(
        self, status: int, body: str | Octets = b"", headers: Fields | None = None, truncated: bool = False
    ) -> None:
        super().__init__(headers, body)
        self.status = status
        self.truncated = truncated

    @property
    def ok(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300

    def __repr__(self) -> str:
        return f"<Response {self.status}, {len(self.body)} bytes>"


class Request:
    """A request, whose body is bytes or comes in pieces."""

    def __init__(
        self,
        method: str,
        url: str,
        *,
        headers: Fields | None = None,
        body: Body | None = None,
        json: Any = None,
        length: int | None = None,
        timeout: float | None = None,
        max_body: int = MAX_BODY,
    ) -> None:
        self.method = to_wit.text(method, "the method of a request").upper()
        self.url = to_wit.text(url, "the URL of a request")
        self.headers = Headers(headers)
        self.body: bytes | Iterable[Any] | AsyncIterable[Any] = _body(body)
        if json is not None:
            if body is not None:
                raise Internal("a request has either `body` or `json`")
            self.body = to_json.dumps(json).encode()
            if "content-type" not in self.headers:
                self.headers.fields.append(("content-type", "application/json"))
        self.length = length
        self.timeout_ms = _milliseconds(timeout)
        self.max_body = max_body

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url}>"


def whole(body: Any, what: str) -> bytes:
    """A text or bytes as bytes."""
    if isinstance(body, str):
        return to_wit.sound(body).encode()
    return to_wit.octets(body, what, "a text or bytes")


def _body(body: Any) -> bytes | Iterable[Any] | AsyncIterable[Any]:
    if body is None:
        return b""
    if isinstance(body, (str, bytes, bytearray, memoryview)):
        return whole(body, "the body")
    if hasattr(body, "read"):
        return iter(lambda: whole(body.read(1 << 16), "a piece of the body"), b"")
    if isinstance(body, (Iterable, AsyncIterable)) and not isinstance(body, Mapping):
        return body
    kind = type(body).__name__
    raise Internal(f"the body must be a text, bytes, a file or pieces of these, but it is of the type `{kind}`")


def _milliseconds(timeout: Any) -> int | None:
    seconds = to_wit.number_or_none(timeout, "`timeout`")
    return None if seconds is None else max(1, min(math.ceil(seconds * 1000), _MOST_MS))


def _codec(charset: str) -> str:
    """The codec of a charset, or that of UTF-8 for one that hosts may not choose."""
    name = codecs.lookup(charset).name
    return "utf-8" if name.replace("_", "-") in _NO_CHARSETS else name


def _charset(content_type: str) -> str:
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"')
    return "utf-8"
