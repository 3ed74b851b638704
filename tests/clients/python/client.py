"""Drives a server with the official Python client and checks every answer.

The server is taken for what it says on the wire: this file knows the test guest `polite` and nothing of Plugport.
Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
"""

import argparse
import asyncio
import json
import sys
import warnings
from dataclasses import dataclass, field

from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

LEGACY, MODERN = "2025-11-25", "2026-07-28"
REVISIONS = {"legacy": LEGACY, "modern": MODERN, "auto": MODERN}
MODES = {"legacy": "legacy", "modern": MODERN, "auto": "auto"}
TOOLS = {"polite-echo", "polite-add", "polite-fail", "polite-narrate"}
STEPS = 3
DEADLINE_SECONDS = 120
ARRIVAL_SECONDS = 5


class Surprise(Exception):
    """The server answered, but not as expected."""


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


def expect(true, what, found):
    if not true:
        raise Surprise(f"{what}; found {found!r}")


def text(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transport", choices=["http", "stdio"], required=True)
    parser.add_argument("--mode", choices=list(MODES), required=True)
    parser.add_argument("target", nargs="+", help="a URL, or `--` and the command of a stdio server")
    return parser.parse_args()


def root_causes(error):
    """The client runs in task groups, which wrap whatever goes wrong."""
    if not isinstance(error, BaseExceptionGroup):
        return [f"{type(error).__name__}: {error}"]
    return [cause for inner in error.exceptions for cause in root_causes(inner)]


async def main():
    given = arguments()
    command, *rest = given.target
    server = command if given.transport == "http" else StdioServerParameters(command=command, args=rest)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            found = await drive(server, given.mode)
    except Exception as error:
        sys.exit(f"python client, {given.transport}, {given.mode}: " + "; ".join(root_causes(error)))
    report = {"client": "python", "transport": given.transport, "mode": given.mode, **found, "ok": True}
    print(json.dumps(report, ensure_ascii=False))


# Logging is deprecated in the newest revision and still served.
warnings.simplefilter("ignore", MCPDeprecationWarning)
asyncio.run(main())
