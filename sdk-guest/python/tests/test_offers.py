import unittest
from typing import Annotated

from plugport_sdk import (
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
from plugport_sdk.templates import MOST_TRIES, Search, Template


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
def focuses(value: str, known: dict[str, str]) -> list[str]:
    return rank(value, ["speed", "safety", known.get("code", "")])


class Resources(unittest.TestCase):
    def test_texts_bytes_and_json(self):
        self.assertEqual(
            testing.read(help_page), [Contents("Read notes://note/1.", "text/plain", "notes://help")]
        )
        self.assertEqual(testing.read(data, "data://bytes")[0].mime_type, "application/octet-stream")
        self.assertEqual(
            testing.read(data, "data://x")[0], Contents('{"name":"x"}', "application/json", "data://x")
        )
        self.assertEqual([one.uri for one in testing.read(data, "data://many")], ["data://many", "x:y"])

    def test_variables_become_what_was_annotated(self):
        self.assertEqual(testing.read(note, "notes://note/1?part=a%20b")[0].data, "Note 1, a b")
        self.assertEqual(testing.read(note, "notes://note/2")[0].data, "Note 2, whole")
        for uri in (
            "notes://note/9",
            "notes://note/x",
            "notes://note/1/2",
            "notes://note/",
            "notes://note/1?other=2",
        ):
            with self.assertRaises(errors.NotFound):
                testing.read(note, uri)

    def test_variables_and_parameters_must_agree(self):
        for uri in ("a:{x}", "a:b"):

            def function(y: str) -> str:
                return y

            with self.assertRaises(TypeError):
                _ = resource(uri)(function).plugport.signature


class Templates(unittest.TestCase):
    def test_every_kind_of_variable(self):
        for template, uri, expected in (
            ("a:{x}/{y}", "a:1/2", {"x": "1", "y": "2"}),
            ("a:{x}", "a:%C3%BC%2F", {"x": "ü/"}),
            ("a:{+x}", "a:1/2?3", {"x": "1/2?3"}),
            ("a:b{/x}", "a:b/1", {"x": "1"}),
            ("a:b{/x}", "a:b", {}),
            ("a:b{#x}", "a:b#c/d", {"x": "c/d"}),
            ("a:b?c=1{&x,y}", "a:b?c=1&y=2", {"y": "2"}),
            ("a.b", "axb", None),
            ("a:{x}", "a:1/2", None),
            ("a://{x}/{y}", "a://1/2", {"x": "1", "y": "2"}),
            ("a://{+x}/end", "a://1/2/end", {"x": "1/2"}),
            ("a://{x}{/y}", "a://1", {"x": "1"}),
            ("a://{x}{#y}", "a://1#f/g", {"x": "1", "y": "f/g"}),
            ("a://x{?p,q}", "a://x?q=2&p=1%2B+", {"p": "1++", "q": "2"}),
            ("a://x{?p}", "a://x?z=1", None),
            ("a://x{?p}", "a://x?p=%ff", None),
            ("a://{x}.{y}", "a://1.2.3", {"x": "1.2", "y": "3"}),
            ("a://{x}", "a://%ff", None),
            ("a://{x}", "a://%4", None),
            ("a://{x}4{y}", "a://%44%41", None),
            ("a://{x}{y}", "a://a%C3%A9", {"x": "a", "y": "é"}),
            ("a://{x}{y}", "a://\U0001f600z", {"x": "\U0001f600", "y": "z"}),
            ("a://{x}{y}", "a://%A9%A9", None),
            ("a://{x}.txt", "a://.txt.txt", {"x": ".txt"}),
            ("a://{x}.txt", "a://.txt", None),
            ("img://{w}x{h}/{n}", "img://640x480/a%20b", {"w": "640", "h": "480", "n": "a b"}),
        ):
            with self.subTest(template=template, uri=uri):
                self.assertEqual(Template(template).values(uri), expected)

    def test_a_uri_made_to_cost_much_is_given_up(self):
        for template, uri in (
            ("a://{x}-{y}-{z}/b", "a://" + "-" * 1000),
            ("a://{x}-{y}-{z}/b", "a://" + "%2D-" * 500),
            ("a://{x}{y}{z}/b", "a://" + "x" * 2000),
            ("a://{+x}{?p}{+y}{?q}{#z}b", "a://" + "?p=" * 600 + "&"),
            ("a://{+x}{?p}b", "a://" + "?p=" * 340 + "&p=" * 340 + "&"),
        ):
            with self.subTest(template=template, uri=uri[:10]):
                made = Template(template)
                self.assertIsNone(made.values(uri))
                search = Search(made._pieces, uri)
                search.fits(0, 0)
                self.assertLessEqual(search.tries, MOST_TRIES + len(made._pieces) * len(uri))

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

    def test_nothing_awaits_them(self):
        @complete(template=note, argument="id")
        async def ids(value: str) -> list[int]:
            return []

        with self.assertRaisesRegex(TypeError, "what completes `id` is `async`; write `def`"):
            ids.plugport.prepare()


class Changes(unittest.TestCase):
    def test_they_are_told(self):
        notify.tools_changed()
        notify.resource_updated("a:b")
        self.assertEqual((testing.changes(), testing.changes()), (["tools", "a:b"], []))


if __name__ == "__main__":
    unittest.main()
