"""A store in memory, for tests: each `TestClient` has its own."""

from __future__ import annotations

import re

from .. import host_double
from ..errors import Denied, Internal


def open_bucket() -> Bucket:
    """The bucket of the client whose call this is."""
    host = host_double.current()
    if host.denies:
        raise Denied("this server does not grant `kv` to the plugin, or only for callers with credentials")
    return Bucket(host.values)


class Bucket:
    """Values in bytes."""

    def __init__(self, values: dict[str, bytes]) -> None:
        self._values = values

    def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def exists(self, key: str) -> bool:
        return key in self._values

    def keys(self) -> list[str]:
        return list(self._values)

    def increment(self, key: str, by: int) -> int:
        """The host counts in 64 bits."""
        before = self._values.get(key, b"0")
        total = int(before) + by if re.fullmatch(rb"[+-]?[0-9]{1,20}", before) else None
        if total is None or not -(2**63) <= total < 2**63:
            raise Internal(f"`{key}` is no number, or has no room for the sum")
        self._values[key] = str(total).encode()
        return total

    def swap(self, key: str) -> Swap:
        return Swap(self, key)


class Swap:
    """One attempt to replace a value."""

    def __init__(self, bucket: Bucket, key: str) -> None:
        self._bucket, self._key = bucket, key
        self._current = bucket.get(key)

    def current(self) -> bytes | None:
        return self._current

    def finish(self, value: bytes) -> Swap | None:
        """Sets the value; if another call set the key meanwhile, returns the next attempt."""
        if self._bucket.get(self._key) != self._current:
            return Swap(self._bucket, self._key)
        self._bucket.set(self._key, value)
        return None
