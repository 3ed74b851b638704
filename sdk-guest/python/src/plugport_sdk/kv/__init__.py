"""The plugin's key-value store: its only memory between calls.

    store = kv.open()
    store.set("greeting", "hello")
    visits = store.increment("visits")

No other plugin sees it. The operator may give each caller a store of its own; then a call finds what its caller stored,
functions that list items find nothing of it, and a caller without credentials gets `errors.Denied`. Inside a component
this is the standard interface `wasi:keyvalue`; in a test the store is that of the `TestClient`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from .. import to_json, to_wit
from ..errors import Internal
from ..host import inside

if inside():
    from . import host as backend
else:
    from . import memory as backend  # type: ignore[no-redef]

__all__ = ["Store", "open"]

D = TypeVar("D")
Value = str | bytes | bytearray | memoryview

# How often an update is tried when other calls set the same key.
_ATTEMPTS = 100


def open() -> Store:
    """Opens the store. Raises `errors.Denied` if the operator does not grant `kv` to the plugin."""
    return Store(backend.open_bucket())


class Store:
    """Values by key, also as in a dict: `store["a"] = "b"`, `"a" in store`, `for key in store`.

    It is no `Mapping`: it has no length, and neither `items` nor `values`.
    """

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket

    @overload
    def get(self, key: str) -> bytes | None: ...

    @overload
    def get(self, key: str, default: D) -> bytes | D: ...

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key in bytes, or `default`."""
        value = self._bucket.get(_named(key))
        return default if value is None else value

    def get_text(self, key: str) -> str | None:
        """The value of a key as text, or `None`."""
        return _text(key, self.get(key))

    def get_json(self, key: str) -> Any:
        """The value of a key that holds JSON, or `None`."""
        return _parsed(key, self.get(key))

    def set(self, key: str, value: Value) -> None:
        """Sets the value of a key: a text or bytes."""
        self._bucket.set(_named(key), _octets(key, value))

    def set_json(self, key: str, value: Any) -> None:
        """Sets the value of a key to JSON."""
        self._bucket.set(_named(key), to_json.dumps(value).encode())

    def delete(self, key: str) -> None:
        """Removes a key, if it is there."""
        self._bucket.delete(_named(key))

    def exists(self, key: str) -> bool:
        """Whether a key has a value."""
        return self._bucket.exists(_named(key))  # type: ignore[no-any-return]

    def keys(self) -> list[str]:
        """All keys, in no fixed order."""
        return self._bucket.keys()  # type: ignore[no-any-return]

    def increment(self, key: str, by: int = 1) -> int:
        """Adds to a number, and returns the sum. A missing number counts as 0, and no addition is lost."""
        if not isinstance(by, int) or not -(2**63) <= by < 2**63:
            raise Internal(f"{by!r} cannot be added; it is no whole number of 64 bits")
        return self._bucket.increment(_named(key), int(by))  # type: ignore[no-any-return]

    def update(self, key: str, change: Callable[[bytes | None], Value]) -> bytes:
        """Replaces a value by what `change` makes of it, and returns the new one.

        If another call sets the key meanwhile, `change` is called again with what it set.
        """
        return self._update(key, lambda old: _octets(key, change(old)))

    def update_json(self, key: str, change: Callable[[Any], Any]) -> Any:
        """The same for JSON."""
        return json.loads(self._update(key, lambda old: to_json.dumps(change(_parsed(key, old))).encode()))

    def _update(self, key: str, change: Callable[[bytes | None], bytes]) -> bytes:
        swap = self._bucket.swap(_named(key))
        for _ in range(_ATTEMPTS):
            value = change(swap.current())
            swap = swap.finish(value)
            if swap is None:
                return value
        raise Internal(f"`{key}` could not be updated, since others kept writing it")

    def __getitem__(self, key: str) -> bytes:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: Value) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.exists(key):
            raise KeyError(key)
        self.delete(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.exists(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


def _named(key: Any) -> str:
    return to_wit.text(key, "a key of the store")


def _octets(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return to_wit.sound(value).encode()
    return to_wit.octets(value, f"the value for `{key}`", "a text or bytes")


def _text(key: str, value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        raise Internal(f"what is stored under `{key}` is not text") from None


def _parsed(key: str, value: bytes | None) -> Any:
    text = _text(key, value)
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        raise Internal(f"what is stored under `{key}` is not JSON") from None
