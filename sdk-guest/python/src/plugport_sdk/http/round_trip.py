"""Sends requests and reads responses, for functions that wait and for those that are `async`.

Both do the same in the same order, so it is written once, as coroutines; they differ in how they wait for the news of
a request. With `at_once` they never pause, since the host's functions wait themselves, and `now` runs such a coroutine
to its end. With `in_turn` they pause for `together`, which runs several, and with `in_loop` for the loop of asyncio.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from types import coroutine
from typing import Any, TypeVar

from ..errors import Internal
from ..host import inside
from .failure import Failure
from .message import Headers, Request, Response, whole

if inside():
    from . import host as backend
else:
    from . import scripted as backend  # type: ignore[no-redef]

T = TypeVar("T")

# The longest piece that the host takes, bytes.
_PIECE = 1 << 16
# How many requests of one list are under way; the host has a limit of its own, and a time for those beyond it.
_MOST_TOGETHER = 32

Wait = Callable[[Any], Awaitable[None]]


async def at_once(sent: Any) -> None:
    """The host's functions wait themselves."""


async def in_loop(sent: Any) -> None:
    """Lets other tasks run meanwhile."""
    await sent.news()


@coroutine
def in_turn(sent: Any) -> Generator[Any, None, None]:
    """Lets others of the list go on meanwhile."""
    yield sent


def now(job: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never pauses."""
    try:
        job.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    job.close()
    raise Internal("what waits here should not have to")


def together(jobs: Sequence[Coroutine[Any, Any, T]], return_failures: bool) -> list[T | Failure]:
    """The results of coroutines that pause with `in_turn`, in their order; those that have news go on."""
    results: dict[int, T | Failure] = {}
    paused: dict[int, Any] = {}

    def go_on(at: int) -> None:
        try:
            paused[at] = jobs[at].send(None)
        except StopIteration as ended:
            results[at] = ended.value
        except Failure as failure:
            if not return_failures:
                raise
            results[at] = failure

    def wait() -> None:
        waiting = list(paused.items())
        for at in backend.Sent.wait([sent for _, sent in waiting], None):
            job, _ = waiting[at]
            del paused[job]
            go_on(job)

    try:
        for at in range(len(jobs)):
            go_on(at)
            while len(paused) >= _MOST_TOGETHER:
                wait()
        while paused:
            wait()
    finally:
        for job in jobs:
            job.close()
    return [results[at] for at in range(len(jobs))]


async def fetch(request: Request, wait: Wait) -> Response:
    """Sends it, and reads the response."""
    sent = await start(request, wait)
    try:
        return await _response(Reader(sent, wait), request.max_body)
    finally:
        sent.drop()


async def start(request: Request, wait: Wait) -> Any:
    """Begins to send it, and hands over its body."""
    if wait is not in_loop and isinstance(request.body, AsyncIterable):
        raise Internal("a body that is `async` needs `async_request` or `async_stream`")
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


async def _response(reader: Reader, max_body: int) -> Response:
    status, headers = await reader.head()
    body = bytearray()
    while len(body) <= max_body and (piece := await reader.piece()):
        body += piece
    return Response(status, bytes(body[:max_body]), headers, len(body) > max_body)


class Reader:
    """Reads a response piece by piece."""

    def __init__(self, sent: Any, wait: Wait) -> None:
        self._sent = sent
        self._wait = wait
        # The piece that came last, and how much of it is read.
        self._last = b""
        self._at = 0
        # Whether it was read to its end; not if it was closed before, so that who reads on gets a failure.
        self._ended = False

    async def head(self) -> tuple[int, Headers]:
        """The status and the header fields."""
        await self._wait(self._sent)
        status, fields = self._sent.head()
        return status, Headers(fields)

    async def piece(self) -> bytes:
        """The next piece, or the rest of the last; empty at the end."""
        return await self.some(-1)

    async def some(self, size: int) -> bytes:
        """At least a byte and at most so many, as soon as they are there; none at the end.

        If the number is negative, all that are there.
        """
        if not self._last and not self._ended:
            await self._wait(self._sent)
            # Another task may have read, or have come to the end, meanwhile.
            if not self._last and not self._ended:
                self._fetch()
        return self._take(size)

    def _fetch(self) -> None:
        self._last = bytes(self._sent.read())
        if not self._last:
            self._ended = True
            self._sent.drop()

    def _take(self, size: int) -> bytes:
        """Bytes of the last piece. The rest stays where it is: a copy for each few bytes would take long."""
        end = len(self._last) if size < 0 else self._at + size
        found = self._last[self._at : end]
        self._at += len(found)
        if self._at == len(self._last):
            self._last, self._at = b"", 0
        return found

    async def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end; all of them if the number is negative."""
        found = bytearray()
        while size < 0 or len(found) < size:
            piece = await self.some(-1 if size < 0 else size - len(found))
            if not piece:
                break
            found += piece
        return bytes(found)

    def close(self) -> None:
        """Ends the request; the rest is not fetched."""
        self._last, self._at = b"", 0
        self._sent.drop()


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


async def stream(request: Request, wait: Wait) -> tuple[int, Headers, Reader]:
    """Sends a request, and waits for the head of its response."""
    sent = await start(request, wait)
    reader = Reader(sent, wait)
    try:
        return *await reader.head(), reader
    except BaseException:
        sent.drop()
        raise
