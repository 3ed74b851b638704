import dataclasses
import unittest

from plugport_sdk import Text, ToolResult, errors, middleware, middlewares, prompt, resource, testing, tool


class Around(unittest.TestCase):
    def setUp(self):
        self.addCleanup(middlewares.found.clear)
        self.said = []

    def noting(self, name):
        def note(context, call_next):
            self.said.append(f"{name} {context.method} {context.name} {dict(context.arguments)}")
            try:
                return call_next(context)
            finally:
                self.said.append(f"end of {name}")

        return middleware(note)

    def test_the_first_is_the_outermost(self):
        @tool
        def add(a: int, b: int = 1) -> int:
            """Add."""
            return a + b

        self.noting("one"), self.noting("two")
        self.assertEqual(testing.invoke(add, a=1).structured, 2)
        about = "tools/call add {'a': 1}"
        self.assertEqual(self.said, [f"one {about}", f"two {about}", "end of two", "end of one"])

    def test_resources_and_prompts_have_it_too(self):
        @resource("m://{id}")
        def item(id: int) -> str:
            return f"item {id}"

        @prompt
        def greet(name: str) -> str:
            """Greet."""
            return name

        self.noting("x")
        self.assertEqual(testing.read(item, "m://7", id="7")[0].data, "item 7")
        self.assertEqual(testing.get_prompt(greet, name="Ada")[0].content, "Ada")
        self.assertEqual(
            self.said[::2], ["x resources/read m://7 {'id': '7'}", "x prompts/get greet {'name': 'Ada'}"]
        )

    def test_it_may_change_arguments_and_results(self):
        @middleware
        def shout(context, call_next):
            arguments = {**context.arguments, "word": context.arguments["word"].upper()}
            result = call_next(dataclasses.replace(context, arguments=arguments))
            return dataclasses.replace(result, content=[*result.content, Text("!")])

        @tool
        async def say(word: str) -> str:
            """Say."""
            return word

        self.assertEqual(testing.invoke(say, word="a").text, "A\n!")

    def test_it_may_answer_itself(self):
        @middleware
        def answer(context, call_next):
            if context.name == "known":
                return "kept"
            raise errors.Denied("not on Sundays")

        @tool
        def known() -> str:
            """Be known."""
            return "new"

        @tool
        def unknown() -> str:
            """Be unknown."""
            return "new"

        self.assertEqual(testing.invoke(known).result, ToolResult((Text("kept"),)))
        self.assertEqual(testing.invoke(unknown).text, "not allowed: not on Sundays")

    def test_it_sees_what_was_raised(self):
        @middleware
        def catch(context, call_next):
            try:
                return call_next(context)
            except ZeroDivisionError:
                return ToolResult((Text("caught"),), is_error=True)

        @tool
        def fail() -> int:
            """Fail."""
            return 1 // 0

        self.assertEqual((testing.invoke(fail).text, testing.invoke(fail).is_error), ("caught", True))

    def test_mistakes_stop_the_build(self):
        async def later(context, call_next):
            pass

        def short(context):
            pass

        for function, words in (
            (later, "`later` is `async`; write `def`"),
            (short, "must take two parameters"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                middleware(function)


if __name__ == "__main__":
    unittest.main()
