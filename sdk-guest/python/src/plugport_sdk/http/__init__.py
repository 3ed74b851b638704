"""Requests to other hosts.

    response = http.get("https://example.com/list", headers={"accept": "application/json"})
    names = response.json() if response.ok else []

The host sends a request only if the plugin's operator granted it, and follows no redirect: a redirect is a response
whose `location` the plugin may request next, with all checks. A status such as 404 is a response too. If there is no
response, a `Failure` is raised: `Denied` with the line that would grant the request, `OverLimit` with the limit's name,
and others.

`fetch_all` sends several requests at once. In an `async def`, `async_get` and the others do so under `asyncio.gather`.
`urllib.request.urlopen` sends its requests in the same way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal, Unpack, overload

from . import round_trip
from .failure import Denied, Failed, Failure, OverLimit, PrivateAddress, TimedOut
from .message import Body, Headers, Request, RequestOptions, Response, SendOptions
from .round_trip import AsyncStream, Stream

__all__ = [
    "AsyncStream",
    "Denied",
    "Failed",
    "Failure",
    "Headers",
    "OverLimit",
    "PrivateAddress",
    "Request",
    "Response",
    "Stream",
    "TimedOut",
    "async_get",
    "async_post",
    "async_request",
    "async_stream",
    "fetch_all",
    "get",
    "post",
    "request",
    "stream",
]


def request(method: str, url: str, /, **options: Unpack[RequestOptions]) -> Response:
    """Sends a request, and reads the response.

    `headers` is a dict or pairs. `body` is a text, bytes, a file, or an iterable of pieces, of which `length` says how
    long they are together; `json` is any value. `timeout` says how many seconds to wait for the response, and for each
    piece of it. Of the body at most `max_body` bytes are read, 1 MiB by default.
    """
    return round_trip.now(round_trip.fetch(Request(method, url, **options), round_trip.at_once))


def get(url: str, /, **options: Unpack[RequestOptions]) -> Response:
    """Sends a `GET` request; the options are those of `request`."""
    return request("GET", url, **options)


def post(url: str, body: Body | None = None, /, **options: Unpack[RequestOptions]) -> Response:
    """Sends a `POST` request with a body; the options are those of `request`."""
    return request("POST", url, **_with_body(body, options))


@contextmanager
def stream(method: str, url: str, /, **options: Unpack[SendOptions]) -> Iterator[Stream]:
    """Sends a request and gives its response, whose body is read as it comes: `with http.stream(...) as response`."""
    found = Stream(*round_trip.now(round_trip.stream(Request(method, url, **options), round_trip.at_once)))
    try:
        yield found
    finally:
        found.close()


@overload
def fetch_all(
    requests: Iterable[str | Request], *, return_exceptions: Literal[False] = False
) -> list[Response]: ...
@overload
def fetch_all(
    requests: Iterable[str | Request], *, return_exceptions: Literal[True]
) -> list[Response | Failure]: ...
def fetch_all(requests: Iterable[str | Request], *, return_exceptions: bool = False) -> Any:
    """Sends requests at the same time, and reads their responses, in the order of the requests.

    A URL alone is a `GET` request. The first failure is raised, or with `return_exceptions` stands in the place of its
    response. The host sends as many at once as its limit `http_parallel` says.
    """
    sending = [one if isinstance(one, Request) else Request("GET", one) for one in requests]
    return round_trip.together([round_trip.fetch(one, round_trip.in_turn) for one in sending], return_exceptions)


async def async_request(method: str, url: str, /, **options: Unpack[RequestOptions]) -> Response:
    """As `request`; those that are awaited at the same time, with `asyncio.gather`, are under way at the same time."""
    return await round_trip.fetch(Request(method, url, **options), round_trip.in_loop)


async def async_get(url: str, /, **options: Unpack[RequestOptions]) -> Response:
    """As `get`."""
    return await async_request("GET", url, **options)


async def async_post(url: str, body: Body | None = None, /, **options: Unpack[RequestOptions]) -> Response:
    """As `post`."""
    return await async_request("POST", url, **_with_body(body, options))


@asynccontextmanager
async def async_stream(method: str, url: str, /, **options: Unpack[SendOptions]) -> AsyncIterator[AsyncStream]:
    """As `stream`, for `async with`."""
    found = AsyncStream(*await round_trip.stream(Request(method, url, **options), round_trip.in_loop))
    try:
        yield found
    finally:
        found.close()


def _with_body(body: Body | None, options: RequestOptions) -> RequestOptions:
    return options if body is None else {**options, "body": body}
