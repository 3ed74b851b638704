"""Requests that the host sends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import host
from .failure import Denied, Failed, Failure, Kind, OverLimit, PrivateAddress, TimedOut
from .message import Request

wit = host.interface("http_client", "http")

T = TypeVar("T")

# The longest wait, seconds; the host counts milliseconds in 32 bits.
_LONGEST = 1e6

_PLAIN: dict[str, Kind] = {
    "Failure_UnknownHost": "unknown-host",
    "Failure_Unreachable": "unreachable",
    "Failure_Tls": "tls",
}
_EXPLAINED: dict[str, Kind] = {
    "Failure_Invalid": "invalid",
    "Failure_Unsent": "unsent",
    "Failure_Broken": "broken",
}


def send(request: Request) -> Sent:
    """Begins to send it."""
    host.check_live("`http`")
    body = request.body
    given = wit.Body_Bytes(body) if isinstance(body, bytes) else wit.Body_Pieces(request.length)
    sent = wit.Request(request.method, request.url, request.headers.fields, given, request.timeout_ms)
    return Sent(_attempt(lambda: wit.send(sent)))


class Sent:
    """A request under way."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def write(self, piece: bytes) -> bool:
        """Hands over a piece of at most 64 KiB; `False` if the host takes no more."""
        return bool(_attempt(lambda: self._used().write(piece)))

    def finish(self) -> None:
        """Ends a body of pieces."""
        self._used().finish()

    def head(self) -> tuple[int, list[tuple[str, str]]]:
        """Waits for the status and the header fields."""
        found = _attempt(lambda: self._used().response())
        return found.status, found.headers

    def read(self) -> bytes:
        """Waits for the next piece of the body; empty at the end."""
        return bytes(_attempt(lambda: self._used().read()))

    def drop(self) -> None:
        """Ends it. Nothing but another `drop` may follow."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.__exit__(None, None, None)

    async def news(self) -> None:
        """Lets others run until the head or a piece is there."""
        from .. import event_loop

        await event_loop.news(self)

    @staticmethod
    def wait(requests: Sequence[Sent], seconds: float | None) -> list[int]:
        """Waits until one of them has news, or the time is up, or very long: the positions of those with news."""
        # Whoever reads one that another task closed gets the failure when it reads on.
        gone = [at for at, one in enumerate(requests) if one._handle is None]
        if gone:
            return gone
        ms = None if seconds is None else math.ceil(min(seconds, _LONGEST) * 1000)
        return list(wit.wait([one._used() for one in requests], ms))

    def _used(self) -> Any:
        # The bindings end the instance when a handle is used that was dropped.
        if self._handle is None:
            raise Failed("broken", "its body was closed")
        return self._handle


def _attempt(run: Callable[[], T]) -> T:
    return host.unwrapped(run, _received)


def _received(value: Any) -> Failure:
    name = type(value).__name__
    if name == "Failure_Denied":
        return Denied(value.value.request, value.value.grant)
    if name == "Failure_PrivateAddress":
        return PrivateAddress()
    if name == "Failure_TimedOut":
        return TimedOut()
    if name == "Failure_OverLimit":
        return OverLimit(value.value)
    if kind := _PLAIN.get(name):
        return Failed(kind)
    return Failed(_EXPLAINED.get(name, "unsent"), str(getattr(value, "value", name)))
