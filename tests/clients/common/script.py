"""What the scripts of the clients in Python share: revisions, expectations, and how a script ends."""

import argparse
import asyncio
import json
import sys

from mcp.client import session

LEGACY, MODERN = "2025-11-25", "2026-07-28"
REVISIONS = {"legacy": LEGACY, "modern": MODERN, "auto": MODERN}
# What the packages call the modes.
MODES = {"legacy": "legacy", "modern": MODERN, "auto": "auto"}
DEADLINE_SECONDS = 120


class Surprise(Exception):
    """The server answered, but not as expected."""


def expect(true, what, found):
    if not true:
        raise Surprise(f"{what}; found {found!r}")


def text(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def pin(revision):
    """The packages always ask for the newest revision that has sessions, so that an older one is put in its place."""
    session.LATEST_HANDSHAKE_VERSION = revision


def parser(description, transports, modes):
    """The options that all scripts have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--transport", choices=transports, required=True)
    options.add_argument("--mode", choices=list(modes), required=True)
    return options


def command_parser(description, transports, modes):
    """The options of a script that takes a server of either transport."""
    options = parser(description, transports, modes)
    options.add_argument("target", nargs="+", help="a URL, or `--` and the command of a stdio server")
    return options


def root_causes(error):
    """The clients run in task groups, which wrap whatever goes wrong."""
    if not isinstance(error, BaseExceptionGroup):
        return [f"{type(error).__name__}: {error}"]
    return [cause for inner in error.exceptions for cause in root_causes(inner)]


def run(client, choice, work, deadline=DEADLINE_SECONDS, progress=None):
    """Awaits `work` and ends the script: with its report as one line of JSON, or with what was wrong on stderr.

    `choice` is what the caller has chosen, and `progress` says how far the script came.
    """

    async def report():
        try:
            async with asyncio.timeout(deadline):
                found = await work
        except Exception as error:
            came = [str(progress())] if progress else []
            where = ", ".join([f"{client} client", *choice.values(), *came])
            sys.exit(f"{where}: " + "; ".join(root_causes(error)))
        print(json.dumps({"client": client, **choice, **found, "ok": True}, ensure_ascii=False))

    asyncio.run(report())
