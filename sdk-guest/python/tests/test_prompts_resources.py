import unittest
from typing import Annotated

from plugport_sdk import resources as reading
from plugport_sdk import (
    AsyncCall,
    Completion,
    Contents,
    Image,
    Message,
    complete,
    errors,
    notify,
    prompt,
    rank,
    resource,
    testing,
)
from plugport_sdk.resources import Matched
from plugport_sdk.uri_template import Template


@resource("notes://help", title="Help")
def help_page() -> str:
    """How to use the notes."""
    return "Read notes://note/1."


@resource("notes://note/{id}{?part}")
def note(id: int, part: str | None) -> str | None:
    """One note."""
    return f"Note {id}, {part or 'whole'}" if id < 3 else None


@resource("data://{name}")
def data(name: str):
    return {"bytes": b"\0", "many": [Contents("a"), Contents(b"b", uri="x:y")]}.get(name, {"name": name})


@prompt(title="Review")
def review(
    code: Annotated[str, "What to review."], lines: int = 10, focus: str | None = None
) -> list[Message | str]:
    """Ask for a review."""
    return [f"Review {lines} lines for {focus or 'mistakes'}:", Message.assistant(code)]


@complete(prompt=review, argument="focus")
def focuses(value: str, context: dict[str, str]) -> list[str]:
    return rank(value, ["speed", "safety", context.get("code", "")])


class Resources(unittest.TestCase):
    def test_texts_bytes_and_json(self):
        self.assertEqual(
            testing.read(help_page), [Contents("Read notes://note/1.", "text/plain", "notes://help")]
        )
        self.assertEqual(
            testing.read(data, "data://bytes", name="bytes")[0].mime_type, "application/octet-stream"
        )
        self.assertEqual(
            testing.read(data, "data://x", name="x")[0],
            Contents('{"name":"x"}', "application/json", "data://x"),
        )
        many = testing.read(data, "data://many", name="many")
        self.assertEqual([one.uri for one in many], ["data://many", "x:y"])

    def test_variables_become_what_was_annotated(self):
        contents = testing.read(note, "notes://note/1?part=a%20b", id="1", part="a b")[0]
        self.assertEqual((contents.data, contents.uri), ("Note 1, a b", "notes://note/1?part=a%20b"))
        self.assertEqual(testing.read(note, "notes://note/2", id="2")[0].data, "Note 2, whole")
        for id in ("9", "x", ""):
            with self.assertRaisesRegex(errors.NotFound, f"no resource `notes://note/{id}`"):
                testing.read(note, f"notes://note/{id}", id=id)

    def test_a_fixed_one_goes_before_a_template(self):
        @resource("notes://note/2")
        def second() -> str:
            """The second note."""
            return "second"

        def read(uri: str, matched: Matched | None) -> str:
            return reading.read([note.plugport, second.plugport], testing.call(), uri, matched)[0].data

        matched = Matched(note.plugport.uri, {"id": "2"})
        self.assertEqual(read("notes://note/2", matched), "second")
        self.assertEqual(read("notes://note/02", matched), "Note 2, whole")
        for other in (None, Matched("notes://{other}", {"other": "2"}), Matched("notes://note/2", {})):
            with self.assertRaises(errors.NotFound):
                read("notes://note/02", other)

    def test_variables_and_parameters_must_agree(self):
        for uri in ("a:{x}", "a:b"):

            def function(y: str) -> str:
                return y

            with self.assertRaises(TypeError):
                _ = resource(uri)(function).plugport.signature


class Templates(unittest.TestCase):
    def test_variables_in_order(self):
        for template, names in (
            ("a:b", []),
            ("a:{x}/{y.z}", ["x", "y.z"]),
            ("a:{+x}{/y}{?p,q}{&r}{#f}", ["x", "y", "p", "q", "r", "f"]),
        ):
            with self.subTest(template=template):
                self.assertEqual(Template(template).names, names)

    def test_mistakes(self):
        for text in ("a:{x", "a:x}", "a:{}", "a:{x,y}", "a:{;x}"):
            with self.assertRaises(ValueError):
                Template(text)


class Prompts(unittest.TestCase):
    def test_messages(self):
        found = testing.get_prompt(review, code="x = 1", lines="3")
        self.assertEqual(found, [Message.user("Review 3 lines for mistakes:"), Message.assistant("x = 1")])

    def test_arguments(self):
        with self.assertRaisesRegex(errors.InvalidParams, "`code` is missing"):
            testing.get_prompt(review)
        with self.assertRaisesRegex(errors.InvalidParams, "the argument `lines` cannot be used"):
            testing.get_prompt(review, code="x", lines="many")
        with self.assertRaisesRegex(errors.InvalidParams, "the argument `lines` cannot be used"):
            testing.get_prompt(review, code="x", lines=" " + "[" * 20_000)
        required = {name: one.required for name, one in review.plugport.signature.parameters.items()}
        self.assertEqual(required, {"code": True, "lines": False, "focus": False})

    def test_what_is_returned(self):
        @prompt
        def picture() -> Image:
            """A picture."""
            return Image(b"", "image/png")

        self.assertEqual(testing.get_prompt(picture)[0].content, Image(b"", "image/png"))


class Completions(unittest.TestCase):
    def test_the_best_come_first(self):
        self.assertEqual(testing.complete(focuses, "S"), Completion(["speed", "safety"], 2))
        self.assertEqual(testing.complete(focuses, "se", code="see").values, ["see", "speed", "safety"])
        cities = ["Las Palmas", "Paris", "Aspar", "Pa", "Oslo"]
        self.assertEqual(rank("pa", cities), ["Pa", "Paris", "Las Palmas", "Aspar"])

    def test_more_than_mcp_allows_is_cut(self):
        @complete(template=note, argument="id")
        def ids(value: str) -> list[int]:
            return list(range(150))

        found = testing.complete(ids, "")
        self.assertEqual((len(found.values), found.total, found.has_more), (100, 150, True))
        self.assertEqual(ids.plugport.target, "notes://note/{id}{?part}")

    def test_they_may_be_async(self):
        @complete(template=note, argument="id")
        async def ids(value: str, call: AsyncCall) -> list[str]:
            return [root.uri for root in await call.roots()]

        ids.plugport.prepare()
        self.assertEqual(testing.TestClient().has_roots("file:///a").complete(ids, "").values, ["file:///a"])

        @complete(template=note, argument="part")
        def parts(value: str, call: AsyncCall) -> list[str]:
            return []

        with self.assertRaisesRegex(TypeError, "what completes `part` takes an AsyncCall but is not `async`"):
            parts.plugport.prepare()


class Changes(unittest.TestCase):
    def test_they_are_told(self):
        notify.tools_changed()
        notify.resource_updated("a:b")
        self.assertEqual((testing.changes(), testing.changes()), (["tools", "a:b"], []))


if __name__ == "__main__":
    unittest.main()
