"""The plugin's settings and secrets, from its operator.

    region = config.get("region", "eu")
    token = config.require("token")

Both are read by name in the same way. Inside a component this is the standard interface `wasi:config`; in a test they
are those of the `TestClient`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import host, host_double, to_wit
from .errors import Internal

__all__ = ["all", "get", "parse", "require"]

_store = host.interface("config_store", "config")

T = TypeVar("T")
_BOOLS = {"true": True, "false": False}


@overload
def get(key: str) -> str | None: ...
@overload
def get(key: str, default: T) -> str | T: ...
def get(key: str, default: Any = None) -> Any:
    """The value of a setting or a secret, or the default if the operator did not set it."""
    name = to_wit.text(key, "the name of a setting")
    if _store is None:
        double = host_double.current()
        found = double.secrets.get(name, double.settings.get(name))
    else:
        found = _attempt(lambda: _store.get(name))
    return default if found is None else found


def require(key: str) -> str:
    """The value of a setting or a secret that the plugin cannot do without."""
    found = get(key)
    if found is None:
        raise Internal(f"this plugin needs the setting `{key}`, which its operator has not made")
    return found


def parse(key: str, kind: Callable[[str], T]) -> T | None:
    """The value as another type, such as `int`; `bool` reads `true` and `false`.

    If it does not fit, the error does not repeat it, since it may be a secret.
    """
    found = get(key)
    if found is None:
        return None
    try:
        return _BOOLS[found] if kind is bool else kind(found)  # type: ignore[return-value]
    except Exception:
        raise Internal(f"the setting `{key}` is not what this plugin expects there") from None


def all() -> dict[str, str]:
    """All settings that are no secrets."""
    if _store is None:
        return dict(host_double.current().settings)
    return dict(_attempt(lambda: _store.get_all()))


def _attempt(run: Callable[[], T]) -> T:
    host.check_live("`config`")
    return host.unwrapped(
        run, lambda error: Internal(f"the configuration cannot be read: {error.value}")
    )
