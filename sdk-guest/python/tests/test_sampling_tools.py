import unittest

from plugport_sdk import AsyncCall, Call, Image, SamplingTool, ToolError, errors, tool
from plugport_sdk.testing import TestClient


@tool(read_only=True)
def weather(call: Call, city: str) -> str:
    """Tell the weather of a city."""
    call.info(city)
    if city == "Atlantis":
        raise ToolError("There is no such city.")
    return f"Rain in {city}"


async def twice(call: AsyncCall, number: int) -> int:
    """Double a number."""
    return number * len([await call.roots()]) * 2


def chart() -> Image:
    """Draw a chart."""
    return Image(b"\0", "image/png")


def conversation(call, tools):
    messages = ["What now?"]
    answer = call.sample(messages, tools=tools)
    while answer.tool_uses:
        messages += [answer.message, call.tool_results(answer, tools)]
        answer = call.sample(messages, tools=tools, tool_choice="auto")
    return answer.text


def results(client, at=1):
    return client.requests[at].params["messages"][-1]["content"]


class Uses(unittest.TestCase):
    def test_the_model_learns_of_tools_and_of_what_came_of_them(self):
        client = TestClient().uses_tool("weather", city="Paris").samples("Take a coat.")
        self.assertEqual(conversation(client.call(), [weather]), "Take a coat.")
        first, second = (one.params for one in client.requests)
        described = first["tools"][0]
        self.assertEqual(
            (described["name"], described["description"]), ("weather", "Tell the weather of a city.")
        )
        self.assertEqual(described["inputSchema"]["required"], ["city"])
        self.assertEqual(second["toolChoice"], {"mode": "auto"})
        asked, used, told = second["messages"]
        self.assertEqual(used["role"], "assistant")
        self.assertEqual(used["content"][0]["input"], {"city": "Paris"})
        text = {"type": "text", "text": "Rain in Paris"}
        self.assertEqual(
            told,
            {"role": "user", "content": [{"type": "tool_result", "toolUseId": "use-1", "content": [text]}]},
        )
        self.assertEqual(client.logs[0].data, "Paris")

    def test_functions_need_not_be_published(self):
        client = TestClient().uses_tool("chart").samples("Nice.")
        self.assertEqual(conversation(client.call(), [chart]), "Nice.")
        self.assertEqual(
            results(client)[0]["content"], [{"type": "image", "data": "AA==", "mimeType": "image/png"}]
        )

    def test_failures_are_told_to_the_model(self):
        for name, arguments, words in (
            ("weather", {"city": "Atlantis"}, "There is no such city."),
            ("weather", {"town": "Paris"}, "there is no argument `town`; this takes city"),
            ("wether", {}, "there is no tool `wether`; use one of weather"),
        ):
            client = TestClient().uses_tool(name, **arguments).samples("Sorry.")
            self.assertEqual(conversation(client.call(), [weather]), "Sorry.")
            result = results(client)[0]
            self.assertEqual((result["isError"], result["content"][0]["text"]), (True, words))

    def test_what_the_host_says_ends_the_call(self):
        def roots(call: Call) -> str:
            """List folders."""
            return str(call.roots())

        with self.assertRaises(errors.MissingCapability):
            conversation(TestClient().uses_tool("roots").call(), [roots])

    def test_tools_may_be_described_and_run_by_hand(self):
        client = TestClient().uses_tool("search", words="a").samples("Found.")
        by_hand = SamplingTool("search", "Search.", {"type": "object"})
        answer = client.call().sample("?", tools=[by_hand], extra={"metadata": {}})
        self.assertEqual(client.requests[0].params["tools"][0]["inputSchema"], {"type": "object"})
        use = answer.tool_uses[0]
        self.assertEqual((use.name, use.input), ("search", {"words": "a"}))
        self.assertEqual(
            use.result("nothing", is_error=True),
            {
                "type": "tool_result",
                "toolUseId": use.id,
                "content": [{"type": "text", "text": "nothing"}],
                "isError": True,
            },
        )

    def test_async_tools_run_in_an_async_call(self):
        @tool
        async def ask(call: AsyncCall) -> str:
            """Ask the model."""
            answer = await call.sample("?", tools=[twice, weather])
            told = await call.tool_results(answer, [twice, weather])
            return (await call.sample([answer.message, told])).text

        client = TestClient().uses_tool("twice", number=4).samples("Eight.").has_roots()
        self.assertEqual(client.invoke(ask).text, "Eight.")
        self.assertEqual(results(client, 2)[0]["content"][0]["text"], "8")

    def test_a_wrong_key_is_named(self):
        with self.assertRaisesRegex(TypeError, "max_token"):
            TestClient().samples("x").call().sample("?", max_token=5)


if __name__ == "__main__":
    unittest.main()
