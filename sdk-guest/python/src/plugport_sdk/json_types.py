"""From a type annotation to its JSON Schema and to the function that reads a value of it.

Both come from one walk over the annotation, done when the plugin is built: the snapshot that componentize-py
takes then holds finished schemas and readers, and a call does no work on types. Schemas are those of JSON
Schema 2020-12 without `$schema` and titles, which tell a model nothing. Dataclasses and TypedDicts stand
under `$defs`, so that they may refer to themselves.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Required, Union

from . import docs, to_json, whole_numbers
from .field import Field

Reader = Callable[[Any, str], Any]
Schema = dict[str, Any]

NULL = type(None)
_LISTS = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    set: set,
    frozenset: frozenset,
}
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Mismatch(ValueError):
    """A value that does not fit its type: where, and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class Unsupported(TypeError):
    """An annotation that has no place in JSON."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is known of an annotation."""

    schema: Schema
    read: Reader
    optional: bool = False
    field: Field = Field()


class Shapes:
    """Shapes that share one `$defs`. Results have all fields, arguments may lack some."""

    def __init__(self, giving: bool = False) -> None:
        self.giving = giving
        self.defs: dict[str, Schema] = {}
        self._names: dict[Any, str] = {}
        self._readers: dict[Any, Reader] = {}

    def of(self, kind: Any) -> Shape:
        """The shape of an annotation."""
        origin, args = typing.get_origin(kind), typing.get_args(kind)
        if origin is Annotated:
            return self._annotated(args[0], args[1:])
        if origin in (Required, NotRequired):
            return self.of(args[0])
        if origin in (Union, types.UnionType):
            return self._union(args)
        if origin is Literal:
            return _choice(list(args), list(args))
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if (origin or kind) in _LISTS:
            return self._list(_LISTS[origin or kind], args[0] if args else Any)
        if (origin or kind) is tuple:
            return self._tuple(args)
        if (origin or kind) in _DICTS:
            return self._dict(args)
        return self._named(kind)

    def finish(self, schema: Schema) -> Schema:
        """The schema as a document of its own."""
        reference = schema.get("$ref", "")
        name = reference.removeprefix("#/$defs/")
        if name in self.defs and set(schema) == {"$ref"} and not self._refers_to(reference):
            schema = self.defs.pop(name)
        return {**schema, "$defs": self.defs} if self.defs else schema

    def _refers_to(self, reference: str) -> bool:
        return f"'$ref': {reference!r}" in str(list(self.defs.values()))

    def _named(self, kind: Any) -> Shape:
        if hasattr(kind, "__supertype__"):
            return self.of(kind.__supertype__)
        if hasattr(kind, "__value__"):
            return self.of(kind.__value__)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return _choice([one.value for one in kind], list(kind))
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            return self._object(kind, _dataclass_members(kind), lambda found: kind(**found))
        if typing.is_typeddict(kind):
            return self._object(kind, _typed_dict_members(kind), dict)
        name = getattr(kind, "__name__", None) or str(kind)
        raise Unsupported(
            f"`{name}` has no place in JSON; use str, int, float, bool, list, dict, an Enum or a dataclass"
        )

    def _annotated(self, kind: Any, notes: tuple[Any, ...]) -> Shape:
        shape = self.of(kind)
        schema, field = dict(shape.schema), shape.field
        for note in notes:
            if isinstance(note, str):
                note = Field(note)
            if isinstance(note, Field):
                schema.update(note.keywords(_main(schema)))
                field = note if note.name else field
                if note.description:
                    schema["description"] = note.description
        return dataclasses.replace(shape, schema=schema, field=field)

    def _union(self, kinds: tuple[Any, ...]) -> Shape:
        shapes = [self.of(kind) for kind in kinds if kind is not NULL]
        optional = NULL in kinds
        if len(shapes) == 1:
            return Shape(nullable(shapes[0].schema), _or_none(shapes[0].read), True, shapes[0].field)
        every = [shape.schema for shape in shapes] + ([{"type": "null"}] if optional else [])
        schema = _merged(every)
        read = _any_of([shape.read for shape in shapes])
        return Shape(schema, _or_none(read) if optional else read, optional)

    def _list(self, make: Callable[[Any], Any], item: Any) -> Shape:
        shape = self.of(item)
        schema: Schema = {"type": "array", "items": shape.schema}
        if make is not list:
            schema["uniqueItems"] = True

        def read(value: Any, path: str) -> Any:
            if not isinstance(value, list):
                raise _wrong(path, "a list", value)
            return make([shape.read(one, f"{path}[{index}]") for index, one in enumerate(value)])

        return Shape(schema, read)

    def _tuple(self, kinds: tuple[Any, ...]) -> Shape:
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            many = self.of(list[kinds[0]])  # type: ignore[valid-type]
            return Shape(many.schema, lambda value, path: tuple(many.read(value, path)))
        shapes = [self.of(kind) for kind in kinds]
        count = len(shapes)
        schema = {
            "type": "array",
            "prefixItems": [s.schema for s in shapes],
            "minItems": count,
            "maxItems": count,
        }

        def read(value: Any, path: str) -> Any:
            if not isinstance(value, list) or len(value) != count:
                raise _wrong(path, f"a list of {count}", value)
            return tuple(s.read(one, f"{path}[{at}]") for at, (s, one) in enumerate(zip(shapes, value)))

        return Shape(schema, read)

    def _dict(self, kinds: tuple[Any, ...]) -> Shape:
        if kinds and kinds[0] not in (str, Any):
            raise Unsupported("the keys of a dict are texts in JSON; write dict[str, ...]")
        shape = self.of(kinds[1] if kinds else Any)

        def read(value: Any, path: str) -> Any:
            if not isinstance(value, dict):
                raise _wrong(path, "an object", value)
            return {key: shape.read(one, f"{path}.{key}") for key, one in value.items()}

        schema: Schema = {"type": "object"}
        return Shape({**schema, "additionalProperties": shape.schema} if shape.schema else schema, read)

    def _object(self, kind: Any, members: Members, make: Callable[[dict[str, Any]], Any]) -> Shape:
        if kind not in self._names:
            name = kind.__name__
            while name in self.defs:
                name += "_"
            self._names[kind] = name
            self.defs[name] = {}
            found = [(member, self.of(member.kind)) for member in members]
            self.defs[name] = _object_schema(kind, found, self.giving)
            self._readers[kind] = _object_reader(found, make)
        readers = self._readers
        return Shape({"$ref": f"#/$defs/{self._names[kind]}"}, lambda value, path: readers[kind](value, path))


@dataclasses.dataclass(frozen=True)
class Member:
    """A field of an object. `default` is `...` where there is none that can be shown."""

    name: str
    kind: Any
    required: bool
    default: Any = ...


Members = list[Member]


def _dataclass_members(kind: Any) -> Members:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        default = field.default if field.default is not dataclasses.MISSING else ...
        if field.default_factory in (list, dict, set):
            default = field.default_factory()
        required = default is ... and field.default_factory is dataclasses.MISSING
        members.append(Member(field.name, hints[field.name], required, default))
    return members


def _typed_dict_members(kind: Any) -> Members:
    hints = typing.get_type_hints(kind, include_extras=True)
    return [Member(name, hint, _required(kind, name, hint)) for name, hint in hints.items()]


def _required(kind: Any, name: str, hint: Any) -> bool:
    while typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    # Where annotations are texts, Python itself did not see these two.
    origin = typing.get_origin(hint)
    return origin is Required or (origin is not NotRequired and name in kind.__required_keys__)


def _object_schema(kind: Any, members: list[tuple[Member, Shape]], giving: bool) -> Schema:
    description, described = docs.read(kind)
    schema: Schema = {"type": "object", "properties": {}}
    if description and not description.startswith(f"{kind.__name__}("):
        schema["description"] = description
    required = []
    for member, shape in members:
        field = dict(shape.schema)
        left_out = member.default is None or member.required or typing.is_typeddict(kind)
        always = giving and dataclasses.is_dataclass(kind)
        needed = always or (member.required and not (shape.optional and dataclasses.is_dataclass(kind)))
        if shape.optional and left_out and not needed and not giving:
            field = present(field)
        if member.name in described:
            field.setdefault("description", described[member.name])
        if not giving and member.default not in (..., None):
            field["default"] = to_json.default(member.default)
        name = shape.field.name or member.name
        schema["properties"][name] = field
        if needed:
            required.append(name)
    if required:
        schema["required"] = required
    if not giving:
        schema["additionalProperties"] = False
    return schema


def _object_reader(members: list[tuple[Member, Shape]], make: Callable[[dict[str, Any]], Any]) -> Reader:
    known = {shape.field.name or member.name: (member, shape) for member, shape in members}

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, "an object", value)
        found = {}
        for name, (member, shape) in known.items():
            # A null stands for nothing where a member may be missing, as the host has it.
            absent = name not in value or (
                value[name] is None and not member.required and not reads_null(shape)
            )
            if not absent:
                found[member.name] = shape.read(value[name], f"{path}.{name}")
            elif member.required and shape.optional and make is not dict:
                found[member.name] = None
            elif member.required:
                raise Mismatch(path, f"`{name}` is missing")
        for name in value:
            if name not in known:
                raise Mismatch(path, f"there is no `{name}`; it has {', '.join(known)}")
        return make(found)

    return read


def reads_null(shape: Shape) -> bool:
    """Whether null is a value of this shape."""
    try:
        shape.read(None, "")
    except Mismatch:
        return False
    return True


def _merged(schemas: list[Schema]) -> Schema:
    """Types without more to say as one list of them, everything else as alternatives."""
    kinds = [
        schema["type"] for schema in schemas if set(schema) == {"type"} and isinstance(schema["type"], str)
    ]
    if len(kinds) < len(schemas):
        return {"anyOf": schemas}
    return {"type": [kind for kind in kinds if kind != "integer" or "number" not in kinds]}


def nullable(schema: Schema) -> Schema:
    """The schema that allows null too."""
    if isinstance(schema.get("type"), str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    if not schema:
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def present(schema: Schema) -> Schema:
    """The schema without the null that stands for a value left out.

    Saying both that it may be left out and that it may be null says the same twice, and many clients cannot read
    it. A call may have null all the same; the server takes it for nothing given.
    """
    some = {key: value for key, value in schema.items() if key != "anyOf"}
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        some = {**choices[0], **some}
    elif choices:
        some["anyOf"] = choices
    if isinstance(some.get("type"), list):
        kinds = [kind for kind in some["type"] if kind != "null"]
        some["type"] = kinds[0] if len(kinds) == 1 else kinds
    return some


def _main(schema: Schema) -> Any:
    kind = schema.get("type")
    return kind[0] if isinstance(kind, list) else kind


def _choice(shown: list[Any], meant: list[Any]) -> Shape:
    if not all(isinstance(one, (str, int, float, bool, NULL)) for one in shown):
        raise Unsupported("the values of a choice must be texts, numbers or bools")
    schema: Schema = {"type": "string"} if all(isinstance(one, str) for one in shown) else {}
    schema["enum"] = shown
    names = ", ".join(to_json.dumps(one) for one in shown)

    def read(value: Any, path: str) -> Any:
        for one, meaning in zip(shown, meant):
            if one == value and isinstance(one, bool) == isinstance(value, bool):
                return meaning
        raise Mismatch(path, f"{to_json.short(value)} is none of {names}")

    return Shape(schema, read)


def _or_none(read: Reader) -> Reader:
    return lambda value, path: None if value is None else read(value, path)


def _any_of(readers: list[Reader]) -> Reader:
    def read(value: Any, path: str) -> Any:
        reasons = []
        for reader in readers:
            try:
                return reader(value, path)
            except Mismatch as mismatch:
                reasons.append(str(mismatch))
        raise Mismatch(path, " and ".join(dict.fromkeys(reasons)))

    return read


def _wrong(path: str, wanted: str, value: Any) -> Mismatch:
    return Mismatch(path, f"expected {wanted}, found {to_json.short(value)}")


def _text(value: Any, path: str) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(path, "a text", value)


def _integer(value: Any, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and whole_numbers.is_whole(value):
        return whole_numbers.whole(value)
    raise _wrong(path, "a whole number", value)


def _number(value: Any, path: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _wrong(path, "a number", value)


def _boolean(value: Any, path: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(path, "true or false", value)


def _null(value: Any, path: str) -> None:
    if value is not None:
        raise _wrong(path, "null", value)


_SIMPLE: dict[Any, Shape] = {
    str: Shape({"type": "string"}, _text),
    int: Shape({"type": "integer"}, _integer),
    float: Shape({"type": "number"}, _number),
    bool: Shape({"type": "boolean"}, _boolean),
    None: Shape({"type": "null"}, _null, True),
    NULL: Shape({"type": "null"}, _null, True),
    Any: Shape({}, lambda value, path: value),
    object: Shape({}, lambda value, path: value),
}
