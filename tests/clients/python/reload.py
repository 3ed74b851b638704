"""Follows a tool that appears, changes and vanishes, with the official Python client.

It looks again only when the server says that its tools have changed, in the way of the client's era. In the folder
`--steps` it leaves a file for everything that it has seen, so that whoever publishes the tool knows when to go on.
Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
"""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import ToolListChangedNotification
from script import MODES, REVISIONS, command_parser, run

TOOL = "r-version"
STEPS = {"appeared": "Say that this is variant 1.", "changed": "Say that this is variant 2.", "vanished": None}
# A client with a session opens the stream for what comes unasked in the background, and does not say when it has.
STREAM_SECONDS = 0.5


class Unasked:
    """What arrives in a session besides answers."""

    def __init__(self):
        self.changes = asyncio.Queue()

    async def on_message(self, message):
        if isinstance(message, ToolListChangedNotification):
            self.changes.put_nowait(message)

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self.changes.get()


@asynccontextmanager
async def listening(client, mode, unasked):
    """What tells of changes: in sessions whatever comes unasked, otherwise a subscription."""
    if mode == "legacy":
        await asyncio.sleep(STREAM_SECONDS)
        yield unasked
    else:
        async with client.listen(tools_list_changed=True) as subscription:
            yield subscription


async def described(client):
    """What the tool says of itself; nothing when it is not there."""
    tools = (await client.list_tools(cache_mode="refresh")).tools
    return next((tool.description for tool in tools if tool.name == TOOL), None)


async def follow(server, mode, steps):
    unasked = Unasked()
    told = 0
    async with Client(server, mode=MODES[mode], message_handler=unasked.on_message) as client:
        if client.protocol_version != REVISIONS[mode]:
            raise RuntimeError(f"the revision is {client.protocol_version}")
        if found := await described(client):
            raise RuntimeError(f"the tool is there before it was published: {found}")
        async with listening(client, mode, unasked) as changes:
            (steps / "listening").touch()
            for step, expected in STEPS.items():
                async for _ in changes:
                    told += 1
                    if await described(client) == expected:
                        break
                else:
                    raise RuntimeError(f"the server ended the subscription before the tool {step}")
                (steps / step).touch()
        return {"revision": client.protocol_version, "told": told}


options = command_parser(__doc__, ["http", "stdio"], ["legacy", "modern"])
options.add_argument("--steps", type=Path, required=True)
given = options.parse_args()
command, *rest = given.target
server = command if given.transport == "http" else StdioServerParameters(command=command, args=rest)
run(
    "python",
    {"transport": given.transport, "mode": given.mode},
    follow(server, given.mode, given.steps),
    progress=lambda: sorted(step.name for step in given.steps.iterdir()),
)
