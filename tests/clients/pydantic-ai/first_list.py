"""Prints the names of the tools that an agent of pydantic-ai would offer its model, as one line of JSON."""

import argparse
import asyncio
import json

from pydantic_ai.mcp import MCPToolset, StdioTransport

parser = argparse.ArgumentParser()
parser.add_argument("--transport", choices=["http", "stdio"])
parser.add_argument("--mode")
parser.add_argument("target", nargs="+")
asked = parser.parse_args()
if asked.transport == "http":
    server = asked.target[0]
else:
    server = StdioTransport(asked.target[0], asked.target[1:])


async def first_list():
    async with MCPToolset(server, init_timeout=120, read_timeout=120) as toolset:
        return await toolset.list_tools()


print(json.dumps({"tools": [tool.name for tool in asyncio.run(first_list())]}))
