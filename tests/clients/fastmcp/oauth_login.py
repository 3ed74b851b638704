"""Logs in to a protected server with the package fastmcp: discovery, token, call, step-up, call.

The authorization server is that of `tests/clients/authorization-server`, whose first line of output is the argument
SERVER. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1. Neither holds a token.
"""

import logging
import threading
import time
import urllib.error
import urllib.request
import warnings
import webbrowser

from fastmcp import Client
from fastmcp.client.auth import ClientCredentialsOAuthProvider, OAuth, PrivateKeyJWTOAuthProvider, SignedJWTParameters
from fastmcp.client.transports import StreamableHttpTransport
from login import DEADLINE_SECONDS, RequestLog, check_login, check_step_up, choice, client_assertions, parse_options
from script import MODERN, expect, pin, run


class Person(webbrowser.BaseBrowser):
    """The browser that the package opens: it follows the redirects, until the package has its code."""

    def __init__(self, name):
        super().__init__("person")
        self.person = name

    def open(self, url, new=0, autoraise=True):
        threading.Thread(target=self.visit, args=[f"{url}&login_hint={self.person}"], daemon=True).start()
        return True

    def visit(self, url):
        # The package begins to listen for the code after it has opened the browser.
        for _ in range(DEADLINE_SECONDS * 10):
            try:
                return urllib.request.urlopen(url, timeout=DEADLINE_SECONDS).read()
            except urllib.error.URLError:
                time.sleep(0.1)


def auth_provider(options):
    server, key = options.server, options.server["machine_key"]
    if options.grant == "secret":
        return ClientCredentialsOAuthProvider(**server["machine_secret"])
    if options.grant == "key":
        assertions = client_assertions(SignedJWTParameters, key)
        return PrivateKeyJWTOAuthProvider(client_id=key["client_id"], assertion_provider=assertions)
    known = {
        "document": {"client_metadata_url": server["client_document"]},
        "public": {"client_id": server["public_client"]},
    }
    webbrowser.register("person", None, Person(options.person), preferred=True)
    return OAuth(callback_host="127.0.0.1", **known.get(options.grant, {}))


async def drive(options):
    wanted, log = options.mode, RequestLog()
    if wanted != MODERN:
        pin(wanted)
    auth = auth_provider(options)
    transport = StreamableHttpTransport(options.target, auth=auth, httpx_client_factory=log.client)
    async with Client(transport, mode=MODERN if wanted == MODERN else "legacy") as client:
        tools = [tool.name for tool in await client.list_tools()]
        await check_login(client, tools, log.challenges)
        revision = client.protocol_version
        expect(revision == wanted, f"the revision is {wanted}", revision)
        await check_step_up(client, log.challenges)
    scope = auth.context.current_tokens.scope
    return {"revision": revision, "tools": tools, "scopes": [scope], **log.report()}


# The packages log the traceback of a failed login, with the request in it.
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
options = parse_options(__doc__, ["http"])
run("fastmcp", choice(options), drive(options), DEADLINE_SECONDS)
