"""A function's parameters: which are arguments, and how a call's values become them.

Everything that looks at types happens in `Signature.of`, once; `arguments` is what a call runs.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import docs, to_json
from .call import Call
from .errors import InvalidParams
from .json_types import Mismatch, Schema, Shape, Shapes, Unsupported, present


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
    """What a function takes and gives."""

    description: str
    parameters: dict[str, Parameter]
    call: str | None
    returns: Any
    shapes: Shapes = field(repr=False)

    @classmethod
    def of(cls, function: Any, role: str) -> Signature:
        """Reads a function; `role` says what it is in messages."""
        reject_async(function, role)
        description, described = docs.read(function)
        hints = typing.get_type_hints(function, include_extras=True)
        shapes, parameters, call = Shapes(), {}, None
        for name, found in inspect.signature(function).parameters.items():
            _check(found, hints, role)
            if hints[name] is Call:
                call = name
                continue
            parameter = _parameter(found, hints[name], shapes, described.get(name), role)
            parameters[parameter.name] = parameter
        return cls(description, parameters, call, hints.get("return", ...), shapes)

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
                one["default"] = to_json.plain(parameter.default)
            schema["properties"][name] = one
        required = [name for name, parameter in self.parameters.items() if parameter.required]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        return self.shapes.finish(schema)

    def arguments(self, text: str, call: Call) -> dict[str, Any]:
        """The keyword arguments for the JSON object of a call."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidParams(f"the arguments are not a JSON object: {error}") from None
        if not isinstance(given, dict):
            raise InvalidParams("the arguments are not a JSON object")
        return self.filled(given, call, lambda shape, value, name: shape.read(value, name))

    def texts(self, given: Mapping[str, str], call: Call) -> dict[str, Any]:
        """The keyword arguments where every value came as a text: of a URI, or of a prompt."""
        return self.filled(given, call, from_text)

    def filled(self, given: Mapping[str, Any], call: Call, read: Any) -> dict[str, Any]:
        """The keyword arguments, each read by `read`."""
        found: dict[str, Any] = {self.call: call} if self.call else {}
        for name, value in given.items():
            parameter = self.parameters.get(name)
            if parameter is None:
                known = ", ".join(self.parameters) or "none"
                raise InvalidParams(f"there is no argument `{name}`; this takes {known}")
            try:
                found[parameter.python] = read(parameter.shape, value, name)
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


def reject_async(function: Any, role: str) -> None:
    """Nothing in a component would await it."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{role} is `async`; write `def`: what asks the client waits by itself")


def _check(found: inspect.Parameter, hints: dict[str, Any], role: str) -> None:
    if found.kind in (found.VAR_POSITIONAL, found.VAR_KEYWORD, found.POSITIONAL_ONLY):
        raise TypeError(f"the parameter `{found.name}` of {role} must be an ordinary one, without *, ** or /")
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
