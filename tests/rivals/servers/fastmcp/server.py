"""The tools of `tests/rivals` in a server of the package fastmcp: `server.py PORT|stdio COUNT`.

COUNT tools are listed instead of the four; 0 means the four.
"""

import sys

import fastmcp
from fastmcp import Context, FastMCP

how, count = sys.argv[1], int(sys.argv[2])
fastmcp.settings.check_for_updates = "off"
server = FastMCP("fastmcp")


def echo(message: str) -> str:
    return message


async def narrate(context: Context) -> str:
    await context.info("working")
    await context.report_progress(1, 1)
    return "told"


def add(name, function):
    description = f"The tool {name.removeprefix('rivals-')}."
    # As the other servers answer: the text once, and no structured copy of it.
    server.tool(function, name=name, description=description, output_schema=None)


if count:
    for number in range(count):
        add(f"rivals-tool-{number:04}", echo)
else:
    add("rivals-echo", echo)
    add("rivals-narrate", narrate)

if how == "stdio":
    server.run("stdio", show_banner=False, log_level="error")
else:
    server.run("http", host="127.0.0.1", port=int(how), show_banner=False, log_level="error", json_response=True)
