"""Makes the first call of an instance cheap, since with fresh instances every call is the first one.

The component holds an image of the memory as it is when the build ends, and two things cost time in each instance:

- What Python does once: it specializes bytecode, fills caches and imports modules late. So `exports()` serves a few
  calls of tools of this module while the component is built. No function of the plugin runs, and nothing of these
  calls is kept but what Python itself learned of this package: `host.wake` seeds `random` again in every call.
- Each page of memory that is written is copied before and reset afterwards. New objects go into the gaps that freed
  ones left, and these lie on hundreds of pages. So the gaps are filled, and new objects lie side by side. A collection
  of garbage writes to nearly all pages, so it waits for more objects than a usual call makes.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from .call import Call
from .tools import Tool

_CALLS = 20

# Objects that a call may make, less those that it freed, before Python collects garbage; Python begins with 2000. What
# they may hold is far less than the memory of an instance.
_COLLECT_AFTER = 20_000

# From the largest to the smallest: a small object would split a large gap.
_SIZES = (*(1 << bits for bits in range(16, 9, -1)), *range(512, 64, -32), *range(64, 0, -8))
# Bytes behind the gaps that stay free for the objects of a call.
_ROOM = 1 << 20
# When so many objects of one size lie behind the room, or as many as take a quarter of it, that size has no gaps left.
_MAX_BEHIND = 64
# Most objects of one size that are made.
_MAX_FILLERS = 100_000

_fillers: list[bytes] = []


def serve_samples(publish: Callable[[dict[str, Tool]], type[Any]]) -> None:
    """Serves calls of the tools below, as `publish` makes a plugin's tools ready for the host."""
    samples = {name: Tool(function, name) for name, function in (("text", _text), ("values", _values))}
    served = publish(samples)()
    for _ in range(_CALLS):
        for name, args in (("text", '{"text": "a", "number": 1}'), ("values", '{"values": [1, 2]}')):
            handle = _Handle()
            # componentize-py makes one for each handle; the first one imports a module.
            weakref.finalize(handle, _nothing).detach()
            served.call_tool(handle, name, args)


class _Handle:
    """Stands in for the host's handle of a call."""

    def log(self, *_: object) -> None:
        pass


def _nothing() -> None:
    pass


def _text(call: Call, text: str, number: int | None = None, flag: bool = False) -> str:
    """Takes arguments of the usual types."""
    call.info(text)
    return f"{text} {number} {flag}"


def _values(values: list[int]) -> Mapping[str, list[int]]:
    """Gives structured content."""
    return {"values": values}


def settle_memory() -> None:
    """Fills the gaps in the memory, with room behind them for the objects of a call, and puts off collections."""
    gc.collect()
    # Zero means never, and a larger number is the author's.
    if 0 < gc.get_threshold()[0] < _COLLECT_AFTER:
        gc.set_threshold(_COLLECT_AFTER)
    room = bytes(_ROOM)
    for size in _SIZES:
        _fill(size, id(room))
    del room


def _fill(size: int, room: int) -> None:
    """Makes objects until they no longer lie before the room. In CPython the `id` of an object is its address."""
    behind: list[bytes] = []
    enough = max(1, min(_MAX_BEHIND, _ROOM // 4 // size))
    for _ in range(_MAX_FILLERS):
        # All `bytes` of less than two bytes exist already and take no memory.
        filler = bytes(max(size, 2))
        if id(filler) < room:
            _fillers.append(filler)
        else:
            behind.append(filler)
        if len(behind) == enough:
            return
