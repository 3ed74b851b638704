"""Tells the host that something listed has changed. It lists again, and tells its clients.

In a test nobody is told; `testing.changes()` has what was said.
"""

from __future__ import annotations

from . import host, to_wit

said: list[str] = []


def tools_changed() -> None:
    """The tools are others now."""
    _changed("tools")


def resources_changed() -> None:
    """Says that the resources have changed: the host calls the `list` functions of templates again."""
    _changed("resources")


def prompts_changed() -> None:
    """The prompts are others now."""
    _changed("prompts")


def resource_updated(uri: str) -> None:
    """What the resource holds is other now; those who subscribed to it hear of it."""
    uri = to_wit.text(uri, "the `uri` of a resource")
    if host.inside():
        host.changes.resource_updated(uri)
    else:
        said.append(uri)


def _changed(listing: str) -> None:
    if host.inside():
        host.changes.list_changed(host.changes.Listing[listing.upper()])
    else:
        said.append(listing)
