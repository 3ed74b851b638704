"""The store that the host keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import host
from ..errors import Denied, Error, Internal

store = host.interface("keyvalue_store", "keyvalue")
atomics = host.interface("atomics", "keyvalue")

T = TypeVar("T")


def open_bucket() -> Bucket:
    """The plugin's bucket."""
    host.check_live("`kv`")
    return Bucket(_attempt(lambda: store.open("default")))


class Bucket:
    """Values in bytes."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def get(self, key: str) -> bytes | None:
        found = _attempt(lambda: self._handle.get(key))
        return None if found is None else bytes(found)

    def set(self, key: str, value: bytes) -> None:
        _attempt(lambda: self._handle.set(key, value))

    def delete(self, key: str) -> None:
        _attempt(lambda: self._handle.delete(key))

    def exists(self, key: str) -> bool:
        return bool(_attempt(lambda: self._handle.exists(key)))

    def keys(self) -> list[str]:
        found: list[str] = []
        cursor = None
        while True:
            page = _attempt(lambda: self._handle.list_keys(cursor))
            found += page.keys
            cursor = page.cursor
            if cursor is None:
                return found

    def increment(self, key: str, by: int) -> int:
        return int(_attempt(lambda: atomics.increment(self._handle, key, by)))

    def swap(self, key: str) -> Swap:
        return Swap(_attempt(lambda: atomics.Cas.new(self._handle, key)))


class Swap:
    """One attempt to replace a value."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def current(self) -> bytes | None:
        found = _attempt(lambda: self._handle.current())
        return None if found is None else bytes(found)

    def finish(self, value: bytes) -> Swap | None:
        """Sets the value; if another call set the key meanwhile, returns the next attempt."""
        try:
            host.unwrapped(lambda: atomics.swap(self._handle, value), _not_swapped)
        except _Again as again:
            return Swap(again.handle)
        return None


class _Again(Exception):
    """Another call set the key; the handle is that of the next attempt."""

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self.handle = handle


def _not_swapped(error: Any) -> Exception:
    is_again = type(error).__name__ == "CasError_CasFailed"
    return _Again(error.value) if is_again else _failed(error.value)


def _attempt(run: Callable[[], T]) -> T:
    return host.unwrapped(run, _failed)


def _failed(error: Any) -> Error:
    name = type(error).__name__
    if name == "Error_AccessDenied":
        return Denied("this server does not grant `kv` to the plugin, or only for callers with credentials")
    if name == "Error_NoSuchStore":
        return Internal("this server has no key-value store")
    return Internal(f"the key-value store failed: {getattr(error, 'value', name)}")
