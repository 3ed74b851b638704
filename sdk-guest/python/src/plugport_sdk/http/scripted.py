"""Requests of tests: a function of the test answers them. Without one, nothing is granted."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from .. import host_double
from .failure import Denied, Failed
from .message import Fields, Received, Request, Response

_PIECE = 1 << 16


class HttpRequest(Received):
    """A request as it arrives: `method`, `url`, `headers` and `body`."""

    def __init__(self, method: str, url: str, headers: Fields, body: bytes) -> None:
        super().__init__(headers, body)
        self.method = method
        self.url = url

    def __repr__(self) -> str:
        return f"<HttpRequest {self.method} {self.url}>"


def send(request: Request) -> Sent:
    """Begins to send it."""
    return Sent(request)


class Sent:
    """A request, which is answered when its body is complete."""

    def __init__(self, request: Request) -> None:
        origin = _origin(request.url)
        self._host = host_double.current()
        self._request = request
        self._body = request.body if isinstance(request.body, bytes) else b""
        self._rest: bytes | None = None
        self._is_short = False
        if self._host.answer is None:
            self._record()
            raise Denied(f"{request.method} {origin}")

    def write(self, piece: bytes) -> bool:
        self._body += piece
        if self._request.length is not None and len(self._body) > self._request.length:
            raise Failed("invalid", "its body is longer than was said")
        return True

    def finish(self) -> None:
        """The body is complete."""
        self._is_short = self._request.length is not None and len(self._body) < self._request.length

    def head(self) -> tuple[int, list[tuple[str, str]]]:
        if self._is_short:
            raise Failed("invalid", "its body is shorter than was said")
        request = self._record()
        answer = self._host.answer(request) if self._host.answer else ""
        response = answer if isinstance(answer, Response) else Response(200, answer)
        self._rest = response.body
        return response.status, [(name.lower(), value) for name, value in response.headers.fields]

    def read(self) -> bytes:
        if self._rest is None:
            raise Failed("broken", "its body was closed")
        piece, self._rest = self._rest[:_PIECE], self._rest[_PIECE:]
        return piece

    def drop(self) -> None:
        self._rest = None

    async def news(self) -> None:
        from asyncio import sleep

        await sleep(0)

    @staticmethod
    def wait(requests: Sequence[Sent], seconds: float | None) -> list[int]:
        return list(range(len(requests)))

    def _record(self) -> HttpRequest:
        """Notes the request as it arrives."""
        request = self._request
        recorded = HttpRequest(request.method, request.url, request.headers, self._body)
        self._host.requests.append(recorded)
        return recorded


def _origin(url: str) -> str:
    """The scheme, host and port. In a component the host reads URLs."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise Failed("invalid", f"`{url}` is no URL") from None
    if parts.scheme not in ("http", "https"):
        raise Failed("invalid", "its URL begins with neither `https://` nor `http://`")
    if not parts.netloc or "@" in parts.netloc or not url.isascii() or " " in url:
        raise Failed("invalid", "its host is none, or not written in its usual form")
    return f"{parts.scheme}://{parts.netloc.lower()}"
