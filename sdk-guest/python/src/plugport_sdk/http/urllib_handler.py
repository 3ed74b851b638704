"""The requests of `urllib.request`, sent through the host.

Redirects, the errors of statuses and the rest are those of `urllib`; only the connection is another. A request without
a response is a `URLError` whose `reason` is the `Failure`.
"""

from __future__ import annotations

import io
import string
from email.message import Message
from http.client import HTTPMessage, responses
from typing import Any
from urllib import request as urllib_request
from urllib.error import URLError
from urllib.parse import quote
from urllib.response import addinfourl

from . import round_trip
from .failure import Failure
from .message import Request
from .round_trip import Stream


class HostHandler(urllib_request.HTTPHandler):
    """Sends requests through the host; for an opener of your own: `build_opener(HostHandler)`."""

    # Before the handlers that open sockets.
    handler_order = 100

    def http_open(self, req: urllib_request.Request) -> Any:
        try:
            stream = Stream(*round_trip.now(round_trip.stream(_request(req), round_trip.at_once)))
        except Failure as failure:
            raise URLError(failure) from failure
        return _response(req, stream)

    def https_open(self, req: urllib_request.Request) -> Any:
        return self.http_open(req)

    def https_request(self, request: urllib_request.Request) -> urllib_request.Request:
        return self.http_request(request)


def _request(req: urllib_request.Request) -> Request:
    fields: dict[str, Any] = {**req.headers, **req.unredirected_hdrs}
    # `urllib` adds these, and the host sets them itself.
    length = fields.pop("Content-length", None)
    fields.pop("Transfer-encoding", None)
    if fields.get("Host") == req.host:
        del fields["Host"]
    timeout = getattr(req, "timeout", None)
    return Request(
        req.get_method(),
        req.full_url,
        headers={name: str(value) for name, value in fields.items()},
        body=req.data,  # type: ignore[arg-type]
        length=None if length is None else int(length),
        # Without one it has a mark of its own there.
        timeout=timeout if isinstance(timeout, (int, float)) else None,
    )


def _response(req: urllib_request.Request, stream: Stream) -> Any:
    headers = HTTPMessage()
    for name, value in stream.headers.fields:
        headers.add_header(name, _location(value) if name.lower() == "location" else value)
    response = _Response(io.BufferedReader(_Body(stream)), headers, req.full_url, stream.status)
    response.msg = response.reason = responses.get(stream.status, "")
    return response


def _location(value: str) -> str:
    """A URL in ASCII: `urllib` itself would read what is no ASCII as Latin-1, and fail at other characters."""
    return quote(value, safe=string.punctuation)


class _Response(addinfourl):
    """What `urlopen` returns, with the methods that `http.client` has beside."""

    msg: str
    reason: str
    headers: Message

    def getheader(self, name: str, default: str | None = None) -> str | None:
        """The field of this name; several are joined by commas."""
        values = self.headers.get_all(name)
        return ", ".join(values) if values else default

    def getheaders(self) -> list[tuple[str, str]]:
        """All fields."""
        return list(self.headers.items())


class _Body(io.RawIOBase):
    """A body as a file."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            piece = self._stream.read1(len(buffer))
        except Failure as failure:
            raise URLError(failure) from failure
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        super().close()
