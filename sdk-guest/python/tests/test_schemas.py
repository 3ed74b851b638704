import enum
import json
import typing
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from plugport_sdk import AsyncCall, Call, Field, Image, Text, ToolResult, tool
from plugport_sdk.json_types import Shapes


class Unit(enum.Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


@dataclass
class Place:
    """Somewhere.

    Args:
        name: What it is called.
    """

    name: str
    latitude: Annotated[float, Field("Degrees north.", minimum=-90, maximum=90)]
    note: str | None
    unit: Unit = Unit.METRIC
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    value: int
    children: list["Tree"]


class Point(TypedDict):
    x: int
    y: NotRequired[int]


def schema(kind, giving=False):
    shapes = Shapes(giving)
    return shapes.finish(shapes.of(kind).schema)


def of(function):
    return json.loads(function.plugport.input_schema)


class Types(unittest.TestCase):
    def test_simple_types(self):
        for kind, expected in (
            (str, {"type": "string"}),
            (int, {"type": "integer"}),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (Any, {}),
            (list, {"type": "array", "items": {}}),
            (list[int], {"type": "array", "items": {"type": "integer"}}),
            (Sequence[str], {"type": "array", "items": {"type": "string"}}),
            (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (dict, {"type": "object"}),
            (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
            (str | None, {"type": ["string", "null"]}),
            (typing.Optional[int], {"type": ["integer", "null"]}),
            (int | str, {"type": ["integer", "string"]}),
            (int | float | None, {"type": ["number", "null"]}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (Literal[1, "b"], {"enum": [1, "b"]}),
            (Unit, {"type": "string", "enum": ["metric", "imperial"]}),
            (Unit | None, {"anyOf": [{"type": "string", "enum": ["metric", "imperial"]}, {"type": "null"}]}),
        ):
            with self.subTest(kind=kind):
                self.assertEqual(schema(kind), expected)

    def test_fixed_tuples(self):
        expected = {"prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}
        self.assertEqual(schema(tuple[int, str]), {"type": "array", **expected})

    def test_dataclasses_taken(self):
        found = schema(Place)
        self.assertEqual(found["description"], "Somewhere.")
        self.assertEqual(found["required"], ["name", "latitude"])
        self.assertIs(found["additionalProperties"], False)
        self.assertEqual(found["properties"]["name"]["description"], "What it is called.")
        latitude = {"type": "number", "minimum": -90, "maximum": 90, "description": "Degrees north."}
        self.assertEqual(found["properties"]["latitude"], latitude)
        self.assertEqual(found["properties"]["unit"]["default"], "metric")
        self.assertEqual(found["properties"]["note"], {"type": "string"})

    def test_dataclasses_given_have_all_their_fields(self):
        found = schema(Place, giving=True)
        self.assertEqual(found["required"], ["name", "latitude", "note", "unit", "tags"])
        self.assertNotIn("default", found["properties"]["unit"])
        self.assertEqual(found["properties"]["note"], {"type": ["string", "null"]})

    def test_types_that_hold_themselves(self):
        found = schema(Tree)
        self.assertEqual(found["$ref"], "#/$defs/Tree")
        self.assertEqual(found["$defs"]["Tree"]["properties"]["children"]["items"], {"$ref": "#/$defs/Tree"})

    def test_typed_dicts(self):
        self.assertEqual(schema(Point)["required"], ["x"])

    def test_typed_dicts_whose_annotations_are_texts(self):
        class Texts(TypedDict):
            x: "int"
            y: "NotRequired[int]"
            z: "Annotated[NotRequired[int], 'Up.']"

        class Partial(TypedDict, total=False):
            x: "Required[int]"
            y: "int"

        self.assertEqual(schema(Texts)["required"], ["x"])
        self.assertEqual(schema(Partial)["required"], ["x"])

    def test_constraints_have_the_keywords_of_their_type(self):
        for kind, expected in (
            (Annotated[str, Field(min_length=1, pattern="^a")], {"minLength": 1, "pattern": "^a"}),
            (Annotated[list[str], Field(max_length=3)], {"maxItems": 3}),
            (Annotated[dict[str, str], Field(max_length=3)], {"maxProperties": 3}),
            (
                Annotated[int, Field(above=0, below=10, multiple_of=2)],
                {"exclusiveMinimum": 0, "exclusiveMaximum": 10},
            ),
        ):
            with self.subTest(kind=kind):
                self.assertLessEqual(expected.items(), schema(kind).items())


class Functions(unittest.TestCase):
    def test_what_may_be_left_out_need_not_be_null_too(self):
        @tool
        def find(
            text: str | None,
            unit: Unit | None = None,
            either: int | list[str] | None = None,
            most: int | None = 10,
            near: Point | None = None,
            marks: list[int | None] = [],
        ) -> str:
            return f"{text} {most}"

        found = of(find)["properties"]
        self.assertEqual(found["text"], {"type": "string"})
        self.assertEqual(found["unit"], {"type": "string", "enum": ["metric", "imperial"]})
        choices = [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]
        self.assertEqual(found["either"], {"anyOf": choices})
        self.assertEqual(found["near"], {"$ref": "#/$defs/Point"})
        # What a default leaves out is not null in the schema, which has no null there.
        def to(place: Place = Place("Here", 1.0, None)) -> None:
            """To."""

        default = of(tool(to))["properties"]["place"]["default"]
        self.assertEqual(default, {"name": "Here", "latitude": 1.0, "unit": "metric", "tags": []})
        self.assertEqual(of(tool(to))["$defs"]["Place"]["properties"]["tags"]["default"], [])
        # With another default, null has a meaning of its own.
        self.assertEqual(found["most"], {"type": ["integer", "null"], "default": 10})
        self.assertEqual(found["marks"]["items"], {"type": ["integer", "null"]})
        self.assertEqual(of(find).get("required"), None)
        arguments = find.plugport.signature.arguments({"text": None, "unit": None, "most": None}, None)
        self.assertEqual((arguments["text"], arguments["unit"], arguments["most"]), (None, None, None))

    def test_the_whole_of_a_tool(self):
        @tool
        def search(
            call: Call,
            words: list[str],
            tag: Annotated[str | None, "Only notes with this tag."],
            limit: int = 10,
            folder: Annotated[str, Field("Where.", name="in")] = "/",
        ) -> str:
            """Search the notes,
            all of them.

            Args:
                words: Words that must
                    all be there.
                limit (int): How many.

            Returns:
                What was found.
            """
            return ""

        self.assertEqual(search.plugport.description, "Search the notes, all of them.")
        self.assertIsNone(search.plugport.output_schema)
        found = of(search)
        self.assertEqual(list(found["properties"]), ["words", "tag", "limit", "in"])
        self.assertEqual(found["required"], ["words"])
        self.assertIs(found["additionalProperties"], False)
        self.assertEqual(found["properties"]["words"]["description"], "Words that must all be there.")
        self.assertEqual(
            found["properties"]["limit"], {"type": "integer", "description": "How many.", "default": 10}
        )
        self.assertEqual(
            found["properties"]["in"], {"type": "string", "description": "Where.", "default": "/"}
        )

    def test_output_schemas_come_from_what_is_returned(self):
        def returning(kind):
            def made():
                """Made."""

            made.__annotations__["return"] = kind
            text = tool(made).plugport.output_schema
            return text and json.loads(text)

        for kind in (str, None, str | None, Text, list[Text], list[Text | Image], ToolResult, Any):
            self.assertIsNone(returning(kind), kind)
        self.assertEqual(returning(int), {"type": "integer"})
        self.assertEqual(returning(list[str]), {"type": "array", "items": {"type": "string"}})
        self.assertEqual(returning(Point)["type"], "object")
        self.assertEqual(returning(Tree)["$defs"]["Tree"]["required"], ["value", "children"])

    def test_what_cannot_be_a_tool_is_said_in_words(self):
        def untyped(x):
            """Text."""

        def strange(x: complex):
            """Text."""

        def many(*x: int):
            """Text."""

        def silent(x: int):
            pass

        async def giving(x: int):
            """Text."""
            yield x

        def waiting(x: AsyncCall):
            """Text."""

        def rest(**x: int):
            """Text."""

        for function, words in (
            (untyped, "the parameter `x` of the tool `untyped` has no type"),
            (strange, "`complex` has no place in JSON"),
            (many, "must be an ordinary one"),
            (silent, "has no description; write a docstring"),
            (giving, "the tool `giving` is an `async` generator; return a list"),
            (waiting, "the tool `waiting` takes an AsyncCall but is not `async`"),
            (rest, "the parameter `**x` of the tool `rest` needs an `input_schema`"),
        ):
            with self.subTest(function=function.__name__), self.assertRaises(TypeError) as caught:
                _ = (noted := tool(function).plugport).input_schema, noted.description
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
