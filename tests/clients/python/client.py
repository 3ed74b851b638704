"""Drives a server with the official Python client and checks every answer.

The server is taken for what it says on the wire: this file knows the test guest `polite` and nothing of Plugport.
Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
"""

import asyncio
import warnings
from dataclasses import dataclass, field

from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from script import MODES, REVISIONS, Surprise, command_parser, expect, run, text

TOOLS = {"polite-echo", "polite-add", "polite-fail", "polite-narrate"}
STEPS = 3
ARRIVAL_SECONDS = 5


@dataclass
class Heard:
    """What arrived besides answers."""

    progress: list[float] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)

    async def on_progress(self, done, total, message):
        self.progress.append(done)

    async def on_log(self, params):
        self.logs.append(params.level)

    async def complete(self):
        """Notifications are handed over by tasks of their own, which may run after the answer is there."""
        async with asyncio.timeout(ARRIVAL_SECONDS):
            while min(len(self.progress), len(self.logs)) < STEPS:
                await asyncio.sleep(0.01)


async def check_results(client):
    echo = await client.call_tool("polite-echo", {"message": "héllo ✓"})
    expect(not echo.is_error and text(echo) == "héllo ✓", "echo returns the message", echo)

    added = await client.call_tool("polite-add", {"a": 2, "b": 40})
    expect(added.structured_content == {"sum": 42}, "add returns a structured sum", added)

    failed = await client.call_tool("polite-fail", {"reason": "no luck"})
    chain = "no luck" in text(failed) and "caused by: " in text(failed)
    expect(failed.is_error and chain, "fail is a tool error with its causes", failed)


async def check_errors(client):
    wrong = await client.call_tool("polite-add", {"a": "two", "b": 40})
    expect(wrong.is_error and "/a" in text(wrong), "a wrong argument is a tool error naming /a", wrong)

    try:
        answer = await client.call_tool("polite-missing", {})
    except MCPError as error:
        expect(error.code == -32602, "an unknown tool is error -32602", error.error)
    else:
        raise Surprise(f"an unknown tool is an error; found {answer!r}")


async def check_notifications(client, heard, mode):
    if mode == "legacy":
        await client.set_logging_level("info")
    await client.call_tool("polite-narrate", {"steps": STEPS}, progress_callback=heard.on_progress)
    try:
        await heard.complete()
    except TimeoutError:
        raise Surprise(f"narrate sends {STEPS} logs and {STEPS} progress notifications; found {heard}") from None
    expect(len(heard.progress) == STEPS, f"narrate reports progress {STEPS} times", heard.progress)


async def drive(server, mode):
    heard = Heard()
    async with Client(server, mode=MODES[mode], logging_callback=heard.on_log, log_level="info") as client:
        revision = client.protocol_version
        expect(revision == REVISIONS[mode], f"the revision is {REVISIONS[mode]}", revision)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        expect(TOOLS <= set(tools), f"the tools of polite are listed: {sorted(TOOLS)}", tools)
        await check_results(client)
        await check_errors(client)
        await check_notifications(client, heard, mode)
        return {"revision": revision, "tools": tools, "progress": len(heard.progress), "logs": len(heard.logs)}


# Logging is deprecated in the newest revision and still served.
warnings.simplefilter("ignore", MCPDeprecationWarning)
given = command_parser(__doc__, ["http", "stdio"], MODES).parse_args()
command, *rest = given.target
server = command if given.transport == "http" else StdioServerParameters(command=command, args=rest)
run("python", {"transport": given.transport, "mode": given.mode}, drive(server, given.mode))
