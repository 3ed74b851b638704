"""Sends requests and reads responses, for functions that wait and for those that are `async`.

Both do the same in the same order, so it is written once, as coroutines. Where a function waits, nothing in them ever
has to be waited for: the host's functions wait themselves, and `now` runs such a coroutine to its end.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from ..host import inside
from ..errors import Internal
from .message import Headers, Request, Response, whole

if inside():
    from . import host as backend
else:
    from . import scripted as backend  # type: ignore[no-redef]

T = TypeVar("T")

# The longest piece that the host takes, bytes.
_PIECE = 1 << 16


def now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    coroutine.close()
    raise Internal("a body that is `async` needs `async_request` or `async_stream`")


async def start(request: Request) -> Any:
    """Begins to send it, and hands over its body."""
    sent = backend.send(request)
    try:
        if not isinstance(request.body, bytes):
            await _write(sent, request.body)
    except BaseException:
        sent.drop()
        raise
    return sent


async def _write(sent: Any, body: Any) -> None:
    """Hands over a body until it ends, or until the host takes no more; the response then says why."""
    if isinstance(body, AsyncIterable):
        async for piece in body:
            if not _write_piece(sent, piece):
                return
    else:
        for piece in body:
            if not _write_piece(sent, piece):
                return
    sent.finish()


def _write_piece(sent: Any, piece: Any) -> bool:
    data = whole(piece, "a piece of the body")
    return all(sent.write(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE))


async def response(sent: Any, max_body: int, is_async: bool = False) -> Response:
    """The response, with at most so much of its body."""
    reader = Reader(sent, is_async)
    try:
        status, headers = await reader.head()
        body = bytearray()
        while len(body) <= max_body and (piece := await reader.piece()):
            body += piece
        return Response(status, bytes(body[:max_body]), headers, len(body) > max_body)
    finally:
        sent.drop()


class Reader:
    """Reads a response piece by piece."""

    def __init__(self, sent: Any, is_async: bool) -> None:
        self._sent = sent
        self._is_async = is_async
        self._rest = b""
        self._ended = False

    async def head(self) -> tuple[int, Headers]:
        """The status and the header fields."""
        await self._news()
        status, fields = self._sent.head()
        return status, Headers(fields)

    async def piece(self) -> bytes:
        """The next piece; empty at the end."""
        if self._rest:
            piece, self._rest = self._rest, b""
            return piece
        if self._ended:
            return b""
        await self._news()
        piece = self._sent.read()
        if not piece:
            self._ended = True
            self._sent.drop()
        return bytes(piece)

    async def some(self, size: int) -> bytes:
        """At least a byte and at most so many, as soon as they are there; none at the end."""
        piece = await self.piece()
        self._rest = piece[size:]
        return piece[:size]

    async def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end; all of them if the number is negative."""
        found = bytearray()
        while (size < 0 or len(found) < size) and (piece := await self.piece()):
            found += piece
        if 0 <= size < len(found):
            self._rest = bytes(found[size:])
            del found[size:]
        return bytes(found)

    def close(self) -> None:
        """Ends the request; the rest is not fetched."""
        self._ended = True
        self._rest = b""
        self._sent.drop()

    async def _news(self) -> None:
        if self._is_async:
            await self._sent.news()


class _StreamBase:
    """`status`, `headers`, and a body that is read as it comes."""

    def __init__(self, status: int, headers: Headers, reader: Reader) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader

    def close(self) -> None:
        """Ends the request; the rest of the body is not fetched."""
        self._reader.close()


class Stream(_StreamBase):
    """A response whose body is read as it comes: `for piece in stream`, or `read` as of a file."""

    def __iter__(self) -> Iterator[bytes]:
        while piece := now(self._reader.piece()):
            yield piece

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end; without a number all."""
        return now(self._reader.read(size))

    def read1(self, size: int) -> bytes:
        """What has come, at least a byte and at most so many; none at the end."""
        return now(self._reader.some(size))


class AsyncStream(_StreamBase):
    """The same for `async def`: `async for piece in stream`, or `await stream.read()`."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self._reader.piece():
            yield piece

    async def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end; without a number all."""
        return await self._reader.read(size)


async def stream(request: Request, is_async: bool) -> tuple[int, Headers, Reader]:
    """Sends a request, and waits for the head of its response."""
    sent = await start(request)
    reader = Reader(sent, is_async)
    try:
        return *await reader.head(), reader
    except BaseException:
        sent.drop()
        raise
