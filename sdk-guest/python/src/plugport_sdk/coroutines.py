"""Whether a function is `async`, and the result of one that is.

Every function of a plugin may be `async`. Whatever calls one passes what it returned through `finish`, which costs
nothing for other functions.
"""

from __future__ import annotations

import inspect
from types import CoroutineType
from typing import Any


def is_async(function: Any) -> bool:
    """Whether it is an `async def`, also behind decorators."""
    return inspect.iscoroutinefunction(inspect.unwrap(function))


def prepare(function: Any, role: str) -> None:
    """Loads, while the plugin is built, what runs the function; a component has no files to load it from."""
    if inspect.isasyncgenfunction(function):
        raise TypeError(f"{role} is an `async` generator; return a list")
    if is_async(function):
        from . import event_loop as event_loop


def reject_async(function: Any, role: str) -> None:
    """For what must answer at once."""
    if is_async(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{role} is `async`; write `def`")


def finish(value: Any) -> Any:
    """The value, and where it is a coroutine, its result."""
    if not isinstance(value, CoroutineType):
        return value
    from . import event_loop

    return event_loop.run(value)
