"""Prints the names of the tools that langchain-mcp-adapters loads, as one line of JSON."""

import argparse
import asyncio
import json

from langchain_mcp_adapters.client import MultiServerMCPClient

parser = argparse.ArgumentParser()
parser.add_argument("--transport", choices=["http", "stdio"])
parser.add_argument("--mode")
parser.add_argument("target", nargs="+")
asked = parser.parse_args()
if asked.transport == "http":
    server = {"transport": "streamable_http", "url": asked.target[0]}
else:
    server = {"transport": "stdio", "command": asked.target[0], "args": asked.target[1:]}


async def first_list():
    return await MultiServerMCPClient({"plugport": server}).get_tools()


print(json.dumps({"tools": [tool.name for tool in asyncio.run(first_list())]}))
