"""The errors of functions, and those of the host.

`ToolError` has the author's own message. The subclasses of `Error` are the cases of the WIT variant `error`:
if a function does not catch them, the client gets the matching error of MCP. Any other
exception of a tool is a result for the model to read, and where MCP has no such results it is internal.
"""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """A tool's failure with a message for the model, which can then correct the call."""


class Error(Exception):
    """Why the host failed, and what a tool, a resource or a prompt may fail with."""

    prefix = ""
    words = "something went wrong"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.words)
        self.message = message

    def __str__(self) -> str:
        return f"{self.prefix}{self.message or self.words}"


class NotFound(Error):
    """There is nothing of this name or URI."""

    words = "there is no such thing"


class InvalidParams(Error):
    """The arguments do not fit."""

    words = "the arguments do not fit"


class Internal(Error):
    """An error that the caller cannot correct."""


class MissingCapability(Error):
    """The client lacks the capability `sampling`, `elicitation` or `roots`."""

    def __str__(self) -> str:
        return f"the client lacks the capability `{self.message}`"


class Denied(Error):
    """The server's operator has not granted it to the plugin."""

    prefix = "not allowed: "


class OverBudget(Error):
    """The operator's budget for it is spent."""

    prefix = "over budget: "


class TimedOut(Error):
    """The client did not respond in time."""

    words = "the client did not answer in time"


class Cancelled(Error):
    """The client no longer waits."""

    words = "the call was cancelled"


class Rejected(Error):
    """The person, or the client itself, rejected the request."""

    prefix = "rejected: "


class RpcError(Error):
    """A JSON-RPC error, sent unchanged."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def explain(error: BaseException) -> str:
    """The words of an exception, and one line for each cause."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < 10:
        lines.append(words(cause))
        cause = cause.__cause__
    return "\ncaused by: ".join(lines)


def handed_on(error: BaseException) -> Error | None:
    """The host's own error, where it is among the causes."""
    cause: BaseException | None = error
    for _ in range(10):
        if cause is None or isinstance(cause, Error):
            return cause
        cause = cause.__cause__
    return None


def words(error: BaseException) -> str:
    """The words of an exception alone, whose own way of saying them may fail too."""
    try:
        return _words(error)
    except Exception:
        return type(error).__name__


def _words(error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, ModuleNotFoundError):
        return (
            f"{error}; import it at the top of the plugin: only what is imported while it is built is in it"
        )
    if isinstance(error, (KeyError, IndexError, AttributeError, NameError, SystemExit)):
        return f"{kind}: {error}"
    return str(error) or kind
