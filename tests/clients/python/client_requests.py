"""Answers the client requests of a server's tools, with the official Python package, and checks the results.

The server is taken for what it says on the wire: this file knows the fixtures of the official conformance suite and
nothing of Plugport. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
"""

import asyncio
import warnings

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, PromptReference, Root, TextContent
from script import MODERN, MODES, REVISIONS, Surprise, command_parser, expect, pin, run, text

OLDER = ["2025-06-18", "2025-03-26", "2024-11-05"]
FIRST_TO_ELICIT = "2025-06-18"
ARRIVAL_SECONDS = 5
ROOT = "file:///somewhere"


class Answers:
    """What this client answers, and what it heard."""

    def __init__(self):
        self.asked, self.logs, self.progress = [], [], []

    async def sample(self, context, params):
        self.asked.append("sampling")
        content = TextContent(type="text", text="well met")
        return CreateMessageResult(role="assistant", model="test", content=content, stop_reason="endTurn")

    async def elicit(self, context, params):
        self.asked.append("elicitation")
        content = {"username": "ada", "email": "ada@example.com", "name": "Ada", "color": "blue"}
        return ElicitResult(action="accept", content=content)

    async def roots(self, context):
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri=ROOT, name="Somewhere")])

    async def log(self, params):
        self.logs.append(params.data)

    async def on_progress(self, done, total, message):
        self.progress.append(done)


async def check_client_requests(client, elicits):
    said = text(await client.call_tool("test_sampling", {"prompt": "Greet me."}))
    expect(said == "LLM response: well met", "the model's answer reaches the tool", said)
    said = text(await client.call_tool("test_input_required_result_list_roots", {}))
    expect(ROOT in said, "the roots reach the tool", said)
    if not elicits:
        return
    said = text(await client.call_tool("test_elicitation", {"message": "Who are you?"}))
    expect("accept" in said and "ada@example.com" in said, "the person's answer reaches the tool", said)
    said = text(await client.call_tool("test_input_required_result_multiple_inputs", {}))
    expect(said == "well met Ada has 1 roots.", "three answers reach the tool together", said)
    said = text(await client.call_tool("test_input_required_result_multi_round", {}))
    expect("Ada likes blue" in said, "a second question follows the first", said)


async def check_notifications(client, answers, legacy):
    if legacy:
        await client.set_logging_level("info")
    await client.call_tool("test_tool_with_logging", {})
    await client.call_tool("test_tool_with_progress", {}, progress_callback=answers.on_progress)
    try:
        async with asyncio.timeout(ARRIVAL_SECONDS):
            while len(answers.logs) < 3 or len(answers.progress) < 3:
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise Surprise(f"3 logs and 3 reports arrive; found {answers.logs}, {answers.progress}") from None


async def check_items(client):
    read = await client.read_resource("test://static-text")
    expect("static text resource" in read.contents[0].text, "a resource is read", read)
    read = await client.read_resource("test://template/7/data")
    expect('"7"' in read.contents[0].text, "a template is read", read)
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    expect("arg2='b'" in prompt.messages[0].content.text, "a prompt has its arguments", prompt)
    reference = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completed = await client.complete(reference, {"name": "arg1", "value": "par"})
    expect(isinstance(completed.completion.values, list), "an argument is completed", completed)


async def drive(server, mode):
    answers, wanted = Answers(), REVISIONS.get(mode, mode)
    elicits = wanted >= FIRST_TO_ELICIT
    if mode in OLDER:
        pin(wanted)
    client = Client(
        server,
        mode=MODES.get(mode, "legacy"),
        sampling_callback=answers.sample,
        elicitation_callback=answers.elicit,
        list_roots_callback=answers.roots,
        logging_callback=answers.log,
        log_level="info",
    )
    async with client:
        revision = client.protocol_version
        expect(revision == wanted, f"the revision is {wanted}", revision)
        await check_client_requests(client, elicits)
        await check_notifications(client, answers, wanted != MODERN)
        await check_items(client)
    all_kinds = {"sampling", "roots"} | ({"elicitation"} if elicits else set())
    expect(set(answers.asked) == all_kinds, "all was asked that the revision has", answers.asked)
    return {"revision": revision, "asked": len(answers.asked)}


def server_of(transport, target):
    command, *rest = target
    if transport == "http":
        return command
    return sse_client(command) if transport == "sse" else StdioServerParameters(command=command, args=rest)


# Sampling, roots and logging are deprecated in the newest revision and still served.
warnings.simplefilter("ignore", MCPDeprecationWarning)
given = command_parser(__doc__, ["http", "stdio", "sse"], [*MODES, *OLDER]).parse_args()
server = server_of(given.transport, given.target)
run("python", {"transport": given.transport, "mode": given.mode}, drive(server, given.mode))
