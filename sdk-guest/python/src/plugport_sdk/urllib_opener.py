"""Lets `urllib.request.urlopen` send its requests through the host, since a component has no sockets.

`exports()` installs this if the plugin, or a library that it uses, has imported `urllib.request`.
"""

from __future__ import annotations

from typing import Any
from urllib import request as urllib_request
from urllib.error import URLError

from . import host


def install() -> None:
    """Makes `urlopen` work, unless the author has installed an opener."""
    if getattr(urllib_request, "_opener", None) is not None:
        return
    opener = urllib_request.OpenerDirector()
    for handler in (
        _handler(),
        urllib_request.UnknownHandler(),
        urllib_request.HTTPDefaultErrorHandler(),
        urllib_request.HTTPRedirectHandler(),
        urllib_request.HTTPErrorProcessor(),
        urllib_request.FileHandler(),
        urllib_request.DataHandler(),
    ):
        opener.add_handler(handler)
    urllib_request.install_opener(opener)


def _handler() -> urllib_request.BaseHandler:
    try:
        from .http.urllib_handler import HostHandler
    except host.MissingWorld as missing:
        # A library may import `urllib.request` that the plugin never uses, so this must not stop the build.
        return _MissingHandler(str(missing))
    return HostHandler()


class _MissingHandler(urllib_request.HTTPHandler):
    def __init__(self, message: str) -> None:
        super().__init__()
        self._message = message

    def http_open(self, req: urllib_request.Request) -> Any:
        raise URLError(self._message)

    def https_open(self, req: urllib_request.Request) -> Any:
        raise URLError(self._message)
