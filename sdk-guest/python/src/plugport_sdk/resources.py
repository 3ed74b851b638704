"""Resources: what `@resource` notes of a function, and how one is read.

A URI with variables is a template, and its variables are the function's parameters; without any it is one
resource.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from . import coroutines, middlewares, to_json
from .call import Call
from .content import Contents, Link
from .errors import InvalidParams, NotFound
from .middlewares import MiddlewareContext
from .signature import Signature
from .uri_template import Template

F = TypeVar("F", bound=Callable[..., Any])

found: list[Resource] = []


@dataclass
class Resource:
    """A function that is a resource or a template."""

    function: Callable[..., Any]
    template: Template
    name: str
    title: str | None = None
    mime_type: str | None = None
    listing: Callable[[], Iterable[Link]] | None = None
    extra: Mapping[str, Any] | None = None
    middleware: Sequence[middlewares.Function] = ()

    @property
    def uri(self) -> str:
        """The URI or its template, as it was written."""
        return self.template.text

    @cached_property
    def signature(self) -> Signature:
        """Its parameters, which are the template's variables."""
        signature = Signature.of(self.function, f"the resource `{self.name}`")
        if self.listing:
            coroutines.reject_async(self.listing, f"`list` of the resource `{self.name}`")
        for name in self.template.names:
            if name not in signature.parameters:
                raise TypeError(f"the resource `{self.name}` has no parameter for the variable `{name}`")
        for name, parameter in signature.parameters.items():
            if name not in self.template.names:
                raise TypeError(
                    f"the resource `{self.name}` has a parameter `{name}`, but `{self.uri}` no such variable"
                )
        return signature

    def read(self, call: Call, uri: str, variables: Mapping[str, str]) -> list[Contents]:
        """What it holds, where the URI has these values for the variables. Raises `NotFound`."""
        context = MiddlewareContext(call, "resources/read", uri, variables)
        return self._contents(middlewares.serve(self.middleware, context, self._called), uri)

    def _called(self, context: MiddlewareContext) -> list[Contents]:
        try:
            arguments = self.signature.texts(context.arguments, context.call)
        except InvalidParams:
            raise no_such_resource(context.name) from None
        return self._contents(coroutines.finish(self.function(**arguments)), context.name)

    def _contents(self, value: Any, uri: str) -> list[Contents]:
        if value is None:
            raise no_such_resource(uri)
        several = value if isinstance(value, list) and value and isinstance(value[0], Contents) else [value]
        return [self._one(one, uri) for one in several]

    def _one(self, value: Any, uri: str) -> Contents:
        if isinstance(value, Contents):
            kind = value.mime_type or self.mime_type
            return dataclasses.replace(value, uri=value.uri or uri, mime_type=kind)
        if isinstance(value, str):
            return Contents(value, self.mime_type or "text/plain", uri)
        if isinstance(value, (bytes, bytearray)):
            return Contents(bytes(value), self.mime_type or "application/octet-stream", uri)
        text = to_json.written(value, f"the resource `{self.name}`")
        return Contents(text, self.mime_type or "application/json", uri)


def resource(
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    mime_type: str | None = None,
    list: Callable[[], Iterable[Link]] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Callable[[F], F]:
    """Makes a function a resource: `@resource("notes://help")`, or a template, with `"notes://note/{id}"`.

    It returns text, bytes, `Contents`, a list of these, or anything that JSON can hold; `None` means that
    there is no such resource. `list` tells of single resources of a template, as they are at that moment.
    """
    template = Template(uri)

    def note(function: F) -> F:
        around = middlewares.found
        noted = Resource(function, template, name or function.__name__, title, mime_type, list, extra, around)
        function.plugport = noted  # type: ignore[attr-defined]
        found.append(noted)
        return function

    return note


@dataclass(frozen=True)
class Matched:
    """A template that a URI comes from, and the values of its variables. The host finds both."""

    uri_template: str
    variables: Mapping[str, str]


def read(resources: Iterable[Resource], call: Call, uri: str, matched: Matched | None) -> list[Contents]:
    """What the fixed resource of this URI holds, or else one of the template."""
    # The first of several with one URI is the one that the host publishes.
    known = {(one.uri, one.template.plain): one for one in reversed(list(resources))}
    fixed = known.get((uri, True))
    if fixed:
        return fixed.read(call, uri, {})
    template = matched and known.get((matched.uri_template, False))
    if not matched or not template:
        raise no_such_resource(uri)
    return template.read(call, uri, matched.variables)


def no_such_resource(uri: str) -> NotFound:
    """The error for a URI of no resource."""
    return NotFound(f"there is no resource `{uri}`")
