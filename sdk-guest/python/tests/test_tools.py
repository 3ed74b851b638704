import enum
import json
import unittest
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from plugport_sdk import (
    Call,
    Contents,
    Embedded,
    Field,
    Image,
    Link,
    Text,
    ToolError,
    ToolResult,
    errors,
    testing,
    tool,
)

from .test_schemas import Place, Point, Tree, Unit


@tool
def show(
    call: Call,
    count: int = 1,
    ratio: float = 0.5,
    unit: Unit = Unit.METRIC,
    place: Place | None = None,
    points: list[Point] | None = None,
    pair: tuple[int, str] | None = None,
    either: int | str = 0,
    folder: Annotated[str, Field(name="in")] = "/",
) -> str:
    """Show what came."""
    return repr((count, ratio, unit, place, points, pair, either, folder))


def error_text(**arguments):
    """What the SDK itself says, which clients read only if a schema of the author's own lets the arguments pass."""
    try:
        show.plugport.run(testing.call(), json.dumps(arguments))
    except errors.InvalidParams as error:
        return str(error)
    raise AssertionError(f"{arguments} fit")


class Arguments(unittest.TestCase):
    def test_values_become_what_was_annotated(self):
        place = {"name": "Here", "latitude": 1, "unit": "imperial"}
        outcome = testing.invoke(
            show,
            {"in": "/a", "count": 2.0, "ratio": 1, "place": place, "points": [{"x": 1}], "pair": [1, "b"]},
        )
        here = Place("Here", 1.0, None, Unit.IMPERIAL)
        self.assertEqual(outcome.text, repr((2, 1.0, Unit.METRIC, here, [{"x": 1}], (1, "b"), 0, "/a")))

    def test_a_null_is_nothing_where_something_may_be_missing(self):
        @dataclass
        class Inner:
            n: int = 3
            word: str | None = None

        def given(inner: Inner, n: int = 7, most: int | None = 9, anything: Any = 1) -> str:
            """Say them."""
            return repr((inner.n, inner.word, n, most, anything))

        given.__annotations__["inner"] = Inner
        nulls = {"inner": {"n": None, "word": None}, "n": None, "most": None, "anything": None}
        self.assertEqual(testing.invoke(tool(given), nulls).text, "(3, None, 7, None, None)")
        self.assertTrue(testing.invoke(tool(given), {"inner": None}).is_error)

    def test_whole_numbers_may_be_written_in_any_way(self):
        def given(number: int, part: float, anything: Any) -> str:
            """Say them."""
            return f"{number} {part!r} {anything!r}"

        for written, number in (
            ("1.0", 1),
            ("-0.0", 0),
            ("15e-1", None),
            ("9007199254740993.0", 9007199254740993),
            ("-9.223372036854775807e18", -(2**63) + 1),
            ("1e20", 10**20),
            ("9007199254740993.5", None),
        ):
            text = f'{{"number": {written}, "part": {written}, "anything": 1e16}}'
            with self.subTest(written):
                if number is None:
                    with self.assertRaises(errors.InvalidParams):
                        tool(given).plugport.run(testing.call(), text)
                else:
                    found = tool(given).plugport.run(testing.call(), text).content[0].text
                    self.assertEqual(found, f"{number} {float(written)!r} 1e+16")

    def test_big_numbers_stay_whole(self):
        self.assertIn(str(10**40), testing.invoke(show, count=10**40).text)

    def test_what_does_not_fit_is_named(self):
        for arguments, words in (
            ({"count": "2"}, 'the argument `count` cannot be used: expected a whole number, found "2"'),
            ({"count": True}, "expected a whole number, found true"),
            ({"count": 1.5}, "found 1.5"),
            ({"unit": "feet"}, 'the argument `unit` cannot be used: "feet" is none of "metric", "imperial"'),
            ({"place": {"name": "x"}}, "the argument `place` cannot be used: `latitude` is missing"),
            (
                {"place": {"name": 1, "latitude": 1}},
                "the argument `place.name` cannot be used: expected a text",
            ),
            (
                {"place": {"nmae": "x", "name": "x", "latitude": 1}},
                "there is no `nmae`; it has name, latitude",
            ),
            ({"points": [{"x": 1}, {"x": "y"}]}, "the argument `points[1].x`"),
            ({"pair": [1]}, "expected a list of 2"),
            ({"either": []}, "expected a whole number, found [] and expected a text, found []"),
            ({"folder": "/"}, "there is no argument `folder`; this takes count, ratio"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(words, error_text(**arguments))

    def test_missing_arguments_are_named(self):
        @tool
        def needs(name: str, maybe: int | None) -> str:
            """Need."""
            return f"{name} {maybe}"

        self.assertIn("/name: is required and missing", testing.invoke(needs).text)
        with self.assertRaisesRegex(errors.InvalidParams, "the argument `name` is missing"):
            needs.plugport.run(testing.call(), "{}")
        self.assertEqual(testing.invoke(needs, name="a").text, "a None")

    def test_no_object_is_rejected(self):
        for text in ("[]", "{", "[" * 100_000):
            with self.assertRaises(errors.InvalidParams):
                show.plugport.run(testing.call(), text)

    def test_a_tool_is_still_a_function(self):
        @tool(read_only=True, name="other")
        def double(number: int) -> int:
            """Double."""
            return number * 2

        self.assertEqual(double(4), 8)
        self.assertEqual((double.plugport.name, double.plugport.read_only), ("other", True))


@dataclass
class Made:
    name: Annotated[str, Field(name="in")]
    unit: Unit
    tree: Tree


@dataclass
class Around:
    inner: Any


class Name(str):
    pass


class Count(enum.IntEnum):
    ONE = 1


class Places(enum.Enum):
    ALL = ["Here"]


def nested(depth, wrap, value=1):
    for _ in range(depth):
        value = wrap(value)
    return value


def returning(value, kind=...):
    def give():
        """Give."""
        return value

    if kind is not ...:
        give.__annotations__["return"] = kind
    return testing.invoke(tool(give))


class Results(unittest.TestCase):
    def test_texts_and_nothing(self):
        self.assertEqual(returning("a").result, ToolResult((Text("a"),)))
        self.assertEqual(returning(None).result, ToolResult())
        self.assertEqual(returning([], list[Text]).result, ToolResult())

    def test_content_goes_out_as_made(self):
        pieces = [Text("a", priority=1.0), Image(b"\0", "image/png"), Link("a:b", "b")]
        pieces.append(Embedded(Contents("x", "text/plain", "a:c")))
        self.assertEqual(returning(pieces).content, pieces)
        self.assertEqual(returning(pieces[1]).content, pieces[1:2])
        made = ToolResult((Text("no"),), {"a": 1}, is_error=True)
        self.assertIs(returning(made).result, made)
        self.assertTrue(returning(made).is_error)

    def test_the_rest_is_structured(self):
        made = Made("x", Unit.METRIC, Tree(1, [Tree(2, [])]))
        for value, kind, expected in (
            (3, int, 3),
            ({"a": [1]}, dict, {"a": [1]}),
            ([], list[int], []),
            ("metric", Unit, "metric"),
            (None, int | None, None),
            ({"b", "a"}, set[str], ["a", "b"]),
            (
                made,
                Made,
                {
                    "in": "x",
                    "unit": "metric",
                    "tree": {"value": 1, "children": [{"value": 2, "children": []}]},
                },
            ),
        ):
            with self.subTest(value=value):
                outcome = returning(value, kind)
                self.assertEqual(outcome.structured, expected)
                self.assertEqual(json.loads(outcome.text), expected)

    def test_what_json_cannot_hold_is_said(self):
        for value, words in (
            (float("nan"), "JSON"),
            (object(), "`object` has no place in JSON"),
            ({1j: 1}, "keys"),
        ):
            outcome = returning(value, dict)
            self.assertIsInstance(outcome.error, errors.Internal)
            self.assertIn(words, outcome.text)

    def test_what_is_nested_too_deeply_is_said(self):
        for wrap in (
            lambda inner: [inner],
            lambda inner: (inner,),
            lambda inner: {"a": inner},
            lambda inner: MappingProxyType({"a": inner}),
            lambda inner: Around(inner),
        ):
            # The result itself is the first level.
            self.assertFalse(returning({"v": nested(63, wrap)}, dict).is_error)
            for depth in (64, 500, 2_000, 20_000):
                outcome = returning({"v": nested(depth, wrap)}, dict)
                self.assertIsInstance(outcome.error, errors.Internal)
                self.assertIn("it is nested more than 64 deep", outcome.text)

    def test_what_is_no_list_may_be_in_the_innermost(self):
        for inner, written in (
            (Unit.METRIC, '"metric"'),
            (Name("a"), '"a"'),
            (Count.ONE, "1"),
            (None, "null"),
        ):
            outcome = returning(nested(64, lambda one: {"v": one}, inner), dict)
            self.assertFalse(outcome.is_error)
            self.assertIn(f'{{"v":{written}}}', outcome.text.replace(" ", ""))
        for inner in ([], Places.ALL):
            outcome = returning(nested(64, lambda one: {"v": one}, inner), dict)
            self.assertIn("it is nested more than 64 deep", outcome.text)

    def test_what_holds_itself_is_said(self):
        ring = Around(None)
        ring.inner = [ring, {"first": ring, "second": ring}]
        outcome = returning(ring, dict)
        self.assertIsInstance(outcome.error, errors.Internal)
        self.assertIn("or holds itself", outcome.text)

    def test_what_is_only_wide_is_no_matter(self):
        shared = [[1]] * 1_000
        rows = {"rows": [{"a": shared, "b": (1, "x")} for _ in range(100)]}
        self.assertEqual(returning(rows, dict).structured["rows"][99]["b"], [1, "x"])

    def test_a_log_that_is_nested_too_deeply_says_so(self):
        recorder = testing.TestClient()
        recorder.call().log("info", nested(2_000, lambda inner: [inner]))
        self.assertIn("nested more than 64 deep", recorder.logs[0].data)


class OwnSchemas(unittest.TestCase):
    def test_texts_go_out_byte_for_byte(self):
        text = '{ "type": "object" }'

        @tool(input_schema=text, output_schema={"type": "object"})
        def own(a: int, **more: int) -> dict:
            """Have schemas of its own."""
            return {"sum": a + sum(more.values())}

        noted = own.plugport
        self.assertEqual((noted.input_schema, noted.output_schema), (text, '{"type":"object"}'))
        self.assertEqual(testing.invoke(own, {"a": 1, "b-c": 2}).structured, {"sum": 3})
        self.assertIn(
            "`b` cannot be used: expected a whole number", testing.invoke(own, {"a": 1, "b": "2"}).text
        )
        self.assertEqual(testing.invoke(own, {}).text, "the argument `a` is missing")

    def test_the_rest_does_not_hide_parameters(self):
        @tool(input_schema={"type": "object"})
        def own(call: Call, folder: Annotated[str, Field(name="in")] = "/", **more: Any) -> str:
            """Take anything."""
            return f"{folder} {more}"

        self.assertEqual(testing.invoke(own, {"in": "/a", "x": [1]}).text, "/a {'x': [1]}")
        for name in ("folder", "call"):
            self.assertIn(f"there is no argument `{name}`", testing.invoke(own, {name: "x"}).text)

    def test_a_result_that_is_promised_is_structured(self):
        @tool(output_schema='{"type": "string"}')
        def word() -> str:
            """Give a word."""
            return "a"

        self.assertEqual((testing.invoke(word).structured, testing.invoke(word).text), ("a", '"a"'))

    def test_what_is_no_schema_is_said(self):
        for schema, words in (
            ("{", "`input_schema` is not JSON"),
            ("[]", "must be an object"),
            ({"a": {1}, "b": 1j}, "JSON"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                tool(input_schema=schema)


def failing(error, cause=None):
    @tool
    def fail() -> str:
        """Fail."""
        raise error from cause

    return testing.invoke(fail)


class Failures(unittest.TestCase):
    def test_words_of_the_author_are_the_result(self):
        outcome = failing(ToolError("Say a city."))
        self.assertEqual((outcome.is_error, outcome.text, outcome.logs), (True, "Say a city.", []))

    def test_any_exception_is_a_result_and_its_traceback_a_log(self):
        outcome = failing(ValueError("no such day"), OSError("disk"))
        self.assertEqual((outcome.error, outcome.text), (None, "no such day\ncaused by: disk"))
        self.assertEqual((outcome.logs[0].level, outcome.logs[0].logger), ("error", "traceback"))
        self.assertIn("Traceback", outcome.logs[0].data)
        self.assertEqual(failing(KeyError("a")).text, "KeyError: 'a'")
        self.assertEqual(failing(RuntimeError()).text, "RuntimeError")
        self.assertEqual(failing(SystemExit(3)).text, "SystemExit: 3")
        self.assertEqual(failing(KeyboardInterrupt()).text, "KeyboardInterrupt")

    def test_the_hosts_errors_are_handed_on(self):
        denied = errors.Denied("sampling is not granted")
        self.assertIs(failing(denied).error, denied)
        self.assertEqual(failing(denied).text, "not allowed: sampling is not granted")
        lacking = errors.MissingCapability("roots")
        self.assertIs(failing(ValueError("x"), lacking).error, lacking)
        self.assertEqual(
            failing(ValueError("x"), denied).text, "x\ncaused by: not allowed: sampling is not granted"
        )


if __name__ == "__main__":
    unittest.main()
