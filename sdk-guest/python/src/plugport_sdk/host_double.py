"""What a `TestClient` has in place of the host's interfaces: each client its own, so that tests need not clean up.

Code finds that of the client which called it, also when several calls are under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .errors import Internal


@dataclass
class HostDouble:
    """The store, the settings, and who answers requests to other hosts. All of it is empty at first."""

    values: dict[str, bytes] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)
    answer: Callable[[Any], Any] | None = None
    denies: bool = False  # client requests and the store

    @contextmanager
    def current(self) -> Iterator[None]:
        """Lets code find it, as long as this is open."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[HostDouble] = ContextVar("host_double")


def current() -> HostDouble:
    """That of the client whose call this is."""
    found = _current.get(None)
    if found is None:
        raise Internal("there is no host here; call this through a `TestClient` of `plugport_sdk.testing`")
    return found
