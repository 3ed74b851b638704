"""Calls that become tasks: the client need not wait, and fetches the result later.

    tasks.detach(call, "rendering 400 pages")

A call that takes long becomes a task by itself. A tool says it earlier if it knows that it will take long, or if what it
asks from here on belongs to the task. This is a module of its own, so that only a component whose plugin imports it
imports the interface.
"""

from __future__ import annotations

from . import host, to_wit
from .call import AsyncCall, Call

__all__ = ["detach"]

# Now, since a call finds only what was imported while the component was built.
host.interface("tasks", "detaching")


def detach(call: Call | AsyncCall, status: str | None = None) -> bool:
    """Lets a client that knows tasks go on without waiting for the call. Whether the call is a task now.

    If not, everything goes on as before. `status` is for people; the messages of `progress` replace it.
    """
    return call._backend.detach(to_wit.text_or_none(status, "the status of `detach`"))
