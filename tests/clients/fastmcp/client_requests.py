"""Lets a server's tools ask this client, over the package fastmcp, and checks what comes of it.

The server is taken for what it says on the wire: this file knows the fixtures of the official conformance suite and
nothing of Plugport. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
"""

import asyncio
import warnings

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport
from mcp.types import PromptReference
from script import MODERN, MODES, REVISIONS, Surprise, command_parser, expect, pin, run, text

OLDER = ["2025-06-18", "2025-03-26", "2024-11-05"]
FIRST_TO_ELICIT = "2025-06-18"
ARRIVAL_SECONDS = 5
ROOT = "file:///somewhere"


class Answers:
    """What this client answers, and what it heard."""

    def __init__(self):
        self.asked, self.logs, self.progress = [], [], []

    async def sample(self, messages, params, context):
        self.asked.append("sampling")
        return "well met"

    async def elicit(self, message, response_type, params, context):
        self.asked.append("elicitation")
        fields = params.requested_schema.get("properties", {}) if hasattr(params, "requested_schema") else {}
        known = {"username": "ada", "email": "ada@example.com", "name": "Ada", "color": "blue"}
        return {name: known[name] for name in fields if name in known}

    async def log(self, message):
        self.logs.append(message)

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
    await client.call_tool("test_tool_with_progress", {})
    try:
        async with asyncio.timeout(ARRIVAL_SECONDS):
            while len(answers.logs) < 3 or len(answers.progress) < 3:
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise Surprise(f"3 logs and 3 reports arrive; found {answers.logs}, {answers.progress}") from None


async def check_items(client):
    read = await client.read_resource("test://static-text")
    expect("static text resource" in read[0].text, "a resource is read", read)
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    expect("arg2='b'" in prompt.messages[0].content.text, "a prompt has its arguments", prompt)
    reference = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completed = await client.complete(reference, {"name": "arg1", "value": "par"})
    expect(isinstance(completed.values, list), "an argument is completed", completed)


async def drive(transport, mode):
    answers, wanted = Answers(), REVISIONS.get(mode, mode)
    elicits = wanted >= FIRST_TO_ELICIT
    if mode in OLDER:
        pin(wanted)
    client = Client(
        transport,
        mode=MODES.get(mode, "legacy"),
        sampling_handler=answers.sample,
        elicitation_handler=answers.elicit,
        roots=[ROOT],
        log_handler=answers.log,
        progress_handler=answers.on_progress,
    )
    async with client:
        revision = client.protocol_version
        expect(revision == wanted, f"the revision is {wanted}", revision)
        await check_client_requests(client, elicits)
        await check_notifications(client, answers, wanted != MODERN)
        await check_items(client)
    # The package answers for the roots by itself.
    all_kinds = {"sampling", "elicitation"} if elicits else {"sampling"}
    expect(set(answers.asked) == all_kinds, "all was asked that the revision has", answers.asked)
    return {"revision": revision, "asked": len(answers.asked)}


def transport_of(transport, target):
    command, *rest = target
    if transport == "http":
        return command
    return SSETransport(command) if transport == "sse" else StdioTransport(command, rest)


# Sampling, roots and logging are deprecated in the newest revision and still served.
warnings.simplefilter("ignore")
given = command_parser(__doc__, ["http", "stdio", "sse"], [*MODES, *OLDER]).parse_args()
server = transport_of(given.transport, given.target)
run("fastmcp", {"transport": given.transport, "mode": given.mode}, drive(server, given.mode))
