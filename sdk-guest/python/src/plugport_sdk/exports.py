"""What the host calls: the four classes that componentize-py looks for in a plugin's module.

`exports()` collects what the decorators noted and prepares all of it, schemas and lists too. It runs while
the component is built, so that mistakes stop the build and a call finds everything done in the snapshot.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import completions as completing
from . import host
from . import preimport as preimport
from . import prompts as prompting
from . import resources as reading
from . import tools as calling
from . import warm_up
from .call import Call
from .errors import Internal, explain, handed_on

T = TypeVar("T")


def exports() -> tuple[type[Any], type[Any], type[Any], type[Any]]:
    """The classes of a plugin. `Tools, Resources, Prompts, Completions = exports()` is its last line."""
    tools = _by_name("tool", calling.found)
    prompts = _by_name("prompt", prompting.found)
    resources, completers = list(reading.found), list(completing.found)
    _check(tools, prompts, resources, completers)
    host.loosen()
    prepares = host.inside() and not host.is_built()
    if prepares:
        warm_up.serve_samples(_tools)
    classes = _tools(tools), _resources(resources), _prompts(prompts), _completions(completers)
    if "urllib.request" in sys.modules:
        from . import urllib_opener

        urllib_opener.install()
    if prepares:
        warm_up.settle_memory()
    host.go_live()
    return classes


def _by_name(what: str, found: Iterable[T]) -> dict[str, T]:
    named: dict[str, T] = {}
    for one in found:
        name = one.name  # type: ignore[attr-defined]
        if name in named:
            raise TypeError(
                f"there are two {what}s with the name `{name}`; give one of them another: @{what}(name=...)"
            )
        named[name] = one
    return named


def _check(tools: Any, prompts: Any, resources: Any, completers: Any) -> None:
    """Prepares all items and reports their mistakes."""
    for tool in tools.values():
        _ = tool.description, tool.input_schema, tool.output_schema
    for other in [*prompts.values(), *resources]:
        _ = other.signature
    for completer in completers:
        completer.prepare()


def _tools(tools: dict[str, calling.Tool]) -> type[Any]:
    listed = [(tool, host.describe_tool(tool)) for tool in tools.values()] if host.inside() else []

    class Tools:
        def list_tools(self) -> Any:
            return _guarded(lambda: [described for tool, described in listed if tool.listed])

        def call_tool(self, call: Any, name: str, args: str) -> Any:
            return _served(call, lambda call: host.tool_result(calling.find(tools, name).run(call, args)))

    return Tools


def _resources(resources: list[reading.Resource]) -> type[Any]:
    def listed(plain: bool) -> list[Any]:
        return [host.describe_resource(one) for one in resources if one.template.plain == plain]

    fixed, templates = (listed(True), listed(False)) if host.inside() else ([], [])
    listings = [one.listing for one in resources if one.listing]

    class Resources:
        def list_resources(self) -> Any:
            return _guarded(
                lambda: fixed + [host.descriptor(link) for listing in listings for link in listing()]
            )

        def list_resource_templates(self) -> Any:
            return templates

        def read_resource(self, call: Any, uri: str, template: Any) -> Any:
            matched = reading.Matched(template.uri_template, dict(template.variables)) if template else None

            def read(call: Call) -> Any:
                return [host.contents_of(one) for one in reading.read(resources, call, uri, matched)]

            return _served(call, read)

    return Resources


def _prompts(prompts: dict[str, prompting.Prompt]) -> type[Any]:
    listed = [(one, host.describe_prompt(one)) for one in prompts.values()] if host.inside() else []

    class Prompts:
        def list_prompts(self) -> Any:
            return _guarded(lambda: [described for one, described in listed if one.listed])

        def get_prompt(self, call: Any, name: str, args: list[tuple[str, str]]) -> Any:
            def get(call: Call) -> Any:
                return host.prompt_result(prompting.find(prompts, name).get(call, dict(args)))

            return _served(call, get)

    return Prompts


def _completions(completers: list[completing.Completer]) -> type[Any]:
    by_target = {(one.kind, one.target, one.argument): one for one in completers}

    class Completions:
        def complete(
            self, call: Any, target: Any, argument: str, value: str, context: list[tuple[str, str]]
        ) -> Any:
            kind = "prompt" if type(target).__name__ == "Target_Prompt" else "resource"
            completer = by_target.get((kind, target.value, argument))
            if completer is None:
                return host.completion(completing.Completion([]))
            return _served(call, lambda call: host.completion(completer.complete(call, value, dict(context))))

    return Completions


def _served(handle: Any, serve: Callable[[Call], Any]) -> Any:
    """Serves one request. Whatever is raised becomes an error of the WIT: any other ends the instance."""

    def work() -> Any:
        host.wake()
        return serve(Call(host.HostCallBackend(handle)))

    return _guarded(work)


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except BaseException as error:  # Whatever is not caught ends the instance without a word.
        own = handed_on(error)
        # An author's error need not count as true.
        raise host.wit_error(Internal(explain(error)) if own is None else own) from None
    finally:
        host.settle()
