"""A function's parameters: which are arguments, and how a call's values become them.

Everything that looks at types happens in `Signature.of`, once; `filled` is what a call runs.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import coroutines, docs, to_json, whole_numbers
from .call import AsyncCall, Call
from .errors import InvalidParams
from .json_types import Mismatch, Schema, Shape, Shapes, Unsupported, present, reads_null


@dataclass(frozen=True)
class Parameter:
    """An argument: the name that clients see, the name that Python has, and the rest."""

    name: str
    python: str
    shape: Shape
    required: bool
    description: str | None
    default: Any = ...


@dataclass(frozen=True)
class Signature:
    """What a function takes and gives. `rest` is what `**rest` takes, where it has that."""

    description: str
    parameters: dict[str, Parameter]
    call: str | None
    call_kind: type[Call] | type[AsyncCall]
    rest: Shape | None
    returns: Any
    shapes: Shapes = field(repr=False)

    @classmethod
    def of(cls, function: Any, role: str, takes_rest: bool = False) -> Signature:
        """Reads a function; `role` says what it is in messages, `takes_rest` whether it may have a `**rest`."""
        coroutines.prepare(function, role)
        description, described = docs.read(function)
        hints = typing.get_type_hints(function, include_extras=True)
        shapes, parameters, call, rest = Shapes(), {}, None, None
        for name, found in inspect.signature(function).parameters.items():
            _check(found, hints, role, takes_rest)
            if hints[name] in CALLS:
                call = name
                check_call(function, hints[name], role)
                continue
            parameter = _parameter(found, hints[name], shapes, described.get(name), role)
            if found.kind is found.VAR_KEYWORD:
                rest = parameter.shape
            else:
                parameters[parameter.name] = parameter
        kind = hints[call] if call else Call
        return cls(description, parameters, call, kind, rest, hints.get("return", ...), shapes)

    def input_schema(self) -> Schema:
        """The JSON Schema of the arguments."""
        schema: Schema = {"type": "object", "properties": {}}
        for name, parameter in self.parameters.items():
            one = dict(parameter.shape.schema)
            if parameter.shape.optional and parameter.default in (..., None) and not parameter.required:
                one = present(one)
            if parameter.description:
                one.setdefault("description", parameter.description)
            if parameter.default not in (..., None):
                one["default"] = to_json.default(parameter.default)
            schema["properties"][name] = one
        required = [name for name, parameter in self.parameters.items() if parameter.required]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        return self.shapes.finish(schema)

    def arguments(self, given: Mapping[str, Any], call: Call | AsyncCall) -> dict[str, Any]:
        """The keyword arguments for the JSON object of a call."""
        return self.filled(given, call, lambda shape, value, name: shape.read(value, name))

    def texts(self, given: Mapping[str, str], call: Call | AsyncCall) -> dict[str, Any]:
        """The keyword arguments where every value came as a text: of a URI, or of a prompt."""
        return self.filled(given, call, from_text)

    def filled(self, given: Mapping[str, Any], call: Call | AsyncCall, read: Any) -> dict[str, Any]:
        """The keyword arguments, each read by `read`."""
        found: dict[str, Any] = {self.call: self.call_kind.of(call)} if self.call else {}
        given = {name: value for name, value in given.items() if not self._is_absent(name, value)}
        for name, value in given.items():
            python, shape = self._target(name)
            try:
                found[python] = read(shape, value, name)
            except Mismatch as mismatch:
                raise InvalidParams(f"the argument `{mismatch.path}` cannot be used: {mismatch}") from None
        for name, parameter in self.parameters.items():
            if name in given:
                continue
            if parameter.required:
                raise InvalidParams(f"the argument `{name}` is missing")
            if parameter.default is ...:
                found[parameter.python] = None
        return found

    def _is_absent(self, name: str, value: Any) -> bool:
        """Whether this is a null that stands for nothing, as the host has it."""
        parameter = self.parameters.get(name)
        if value is not None or parameter is None or parameter.required:
            return False
        return not reads_null(parameter.shape)

    def _target(self, name: str) -> tuple[str, Shape]:
        """Where an argument goes: the name that Python has for it, and its shape."""
        if parameter := self.parameters.get(name):
            return parameter.python, parameter.shape
        own = {self.call, *(parameter.python for parameter in self.parameters.values())}
        if self.rest and name not in own:
            return name, self.rest
        known = ", ".join(self.parameters) or "none"
        raise InvalidParams(f"there is no argument `{name}`; this takes {known}")


CALLS = (Call, AsyncCall)


def check_call(function: Any, kind: Any, role: str) -> None:
    """An `AsyncCall` is of no use where nothing can be awaited."""
    if kind is AsyncCall and not coroutines.is_async(function):
        raise TypeError(f"{role} takes an AsyncCall but is not `async`; write `async def`, or take a Call")


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a call, which come as JSON."""
    try:
        given = whole_numbers.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidParams(f"the arguments are not a JSON object: {error}") from None
    if not isinstance(given, dict):
        raise InvalidParams("the arguments are not a JSON object")
    return given


def from_text(shape: Shape, text: str, path: str) -> Any:
    """A text, or what a text says: a number, a bool, a choice."""
    try:
        return shape.read(text, path)
    except Mismatch as mismatch:
        # Of no use here, and a nesting that is deep enough would exhaust the stack.
        if text.lstrip().startswith(("[", "{")):
            raise mismatch from None
        try:
            value = json.loads(text)
        except ValueError:
            raise mismatch from None
        if not isinstance(value, (int, float, bool)):
            raise mismatch from None
        return shape.read(value, path)


def _check(found: inspect.Parameter, hints: dict[str, Any], role: str, takes_rest: bool) -> None:
    if found.kind is found.VAR_KEYWORD and not takes_rest:
        raise TypeError(
            f"the parameter `**{found.name}` of {role} needs an `input_schema` that says what it takes"
        )
    if found.kind in (found.VAR_POSITIONAL, found.POSITIONAL_ONLY):
        raise TypeError(f"the parameter `{found.name}` of {role} must be an ordinary one, without * or /")
    if found.name not in hints:
        raise TypeError(
            f"the parameter `{found.name}` of {role} has no type; write `{found.name}: str`, for example"
        )


def _parameter(
    found: inspect.Parameter, hint: Any, shapes: Shapes, described: str | None, role: str
) -> Parameter:
    try:
        shape = shapes.of(hint)
    except Unsupported as error:
        raise TypeError(f"the parameter `{found.name}` of {role} cannot be an argument: {error}") from None
    default = found.default if found.default is not found.empty else ...
    required = default is ... and not shape.optional
    return Parameter(shape.field.name or found.name, found.name, shape, required, described, default)
