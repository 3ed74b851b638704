"""Why there is no response, in messages that a tool may show to a model.

They leave out the line that would grant the request, which is for the plugin's operator.
"""

from __future__ import annotations

from typing import Literal

from .. import errors

Kind = Literal[
    "denied",
    "private-address",
    "invalid",
    "unknown-host",
    "unreachable",
    "tls",
    "timed-out",
    "over-limit",
    "unsent",
    "broken",
]

_WORDS = {
    "invalid": "the request cannot be sent",
    "unknown-host": "there is no host of this name",
    "unreachable": "the host cannot be reached",
    "tls": "the host did not prove who it is, or does not speak TLS",
    "timed-out": "the host took too long to answer",
    "unsent": "the request could not be sent",
    "broken": "the answer is broken",
}


class Failure(errors.Error):
    """Why there is no response to a request. `kind` is the host's name for it."""

    kind: Kind = "unsent"

    def __str__(self) -> str:
        return self.message


class Denied(Failure, errors.Denied):
    """The operator has not granted this `request`; `grant` is the line of the configuration that would grant it."""

    kind: Kind = "denied"

    def __init__(self, request: str, grant: str | None = None) -> None:
        super().__init__(f"this server does not grant the request {request} to the plugin")
        self.request = request
        self.grant = grant or f'http = ["{request}"]'


class PrivateAddress(Failure, errors.Denied):
    """The name leads to an address that is not public, and that address was not granted."""

    kind: Kind = "private-address"

    def __init__(self) -> None:
        super().__init__(
            "the name leads to an address that is not public, and this server does not grant that"
        )


class OverLimit(Failure, errors.OverBudget):
    """The request is beyond a limit of the operator; `limit` is its name in the configuration."""

    kind: Kind = "over-limit"

    def __init__(self, limit: str) -> None:
        super().__init__(f"the request is beyond what this server allows (limit `{limit}`)")
        self.limit = limit


class Failed(Failure, errors.Internal):
    """There is no response for another reason: `invalid`, `unknown-host`, `unreachable`, `tls`, `unsent`, `broken`."""

    def __init__(self, kind: Kind, why: str = "") -> None:
        super().__init__(f"{_WORDS[kind]}: {why}" if why else _WORDS[kind])
        self.kind = kind


class TimedOut(Failed, TimeoutError):
    """The host took longer than `timeout`."""

    def __init__(self) -> None:
        super().__init__("timed-out")
