"""Logs in to a protected server with the official Python package: discovery, token, call, step-up, call.

The server is taken for what it says on the wire: this file knows the test guest `polite`, of which `polite-add` needs
the scope `tools:write`, and the authorization server of `tests/clients/authorization-server`, whose first line of
output is the argument SERVER. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
Neither holds a token.
"""

import argparse
import asyncio
import json
import logging
import re
import sys
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from mcp import Client
from mcp.client import session
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

MODERN = "2026-07-28"
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN]
GRANTS = ["registered", "document", "public", "secret", "key"]
REDIRECT_URI = "http://127.0.0.1:7591/callback"  # Nothing listens there: the redirect is read, not followed.
DEADLINE_SECONDS = 60


class Surprise(Exception):
    """The server answered, but not as expected."""


def expect(true, what, found):
    if not true:
        raise Surprise(f"{what}; found {found!r}")


def text(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


class Storage:
    """Keeps the tokens and the registration of one client."""

    def __init__(self, client=None):
        self.tokens, self.client = None, client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Login:
    """A person's login, without the person: the server approves at once, so its answer is the redirect."""

    def __init__(self, person):
        self.person, self.callback = person, None

    async def redirect(self, url):
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(f"{url}&{urlencode({'login_hint': self.person})}")
        location = response.headers.get("location", "")
        expect(location.startswith(REDIRECT_URI), "the login is approved", (response.status_code, response.text))
        self.callback = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}

    async def result(self):
        return AuthorizationCodeResult.model_validate(self.callback)


def person_provider(url, storage, person, document=None):
    login = Login(person)
    metadata = OAuthClientMetadata(
        client_name="plugport-tests", redirect_uris=[REDIRECT_URI], token_endpoint_auth_method="none"
    )
    return OAuthClientProvider(url, metadata, storage, login.redirect, login.result, client_metadata_url=document)


def machine_provider(url, storage, grant, server):
    if grant == "secret":
        return ClientCredentialsOAuthProvider(url, storage, **server["machine_secret"], issuer=server["issuer"])
    key = server["machine_key"]
    signed = SignedJWTParameters(
        issuer=key["client_id"],
        subject=key["client_id"],
        signing_key=key["private_key"],
        signing_algorithm=key["algorithm"],
    )
    assertions = signed.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, storage, key["client_id"], assertions, issuer=server["issuer"])


def auth_provider(url, storage, options):
    if options.grant in ("secret", "key"):
        return machine_provider(url, storage, options.grant, options.server)
    if options.grant == "public":
        storage.client = OAuthClientInformationFull(
            client_id=options.server["public_client"],
            redirect_uris=[REDIRECT_URI],
            token_endpoint_auth_method="none",
            issuer=options.server["issuer"],
        )
    document = options.server["client_document"] if options.grant == "document" else None
    return person_provider(url, storage, options.person, document)


class Recorder(httpx2.AsyncHTTPTransport):
    """Notes every request, and each challenge of the server. Queries, which hold codes, are left out."""

    def __init__(self):
        super().__init__()
        self.requests, self.challenges = [], []

    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        self.requests.append(f"{request.method} {request.url.path} {response.status_code}")
        if "www-authenticate" in response.headers:
            parameters = dict(re.findall(r'(\w+)="([^"]*)"', response.headers["www-authenticate"]))
            names = {"error": "error", "scope": "scope", "metadata": "resource_metadata"}
            demanded = {name: parameters.get(field) for name, field in names.items()}
            self.challenges.append({"status": response.status_code, **demanded})
        return response

    def client(self, headers=None, timeout=None, auth=None):
        return httpx2.AsyncClient(transport=self, headers=headers, timeout=timeout, auth=auth)


async def check_login(client, challenges):
    tools = [tool.name for tool in (await client.list_tools()).tools]
    first = challenges[0] if challenges else {}
    demanded = first.get("status") == 401 and first["metadata"] and first["scope"] and not first["error"]
    expect(demanded, "a request without a token is 401 with metadata and scope, and without an error", first)
    expect("polite-add" in tools, "a tool that lacks only a scope is listed", tools)
    echo = await client.call_tool("polite-echo", {"message": "héllo ✓"})
    expect(text(echo) == "héllo ✓", "echo returns the message", echo)
    expect(len(challenges) == 1, "nothing is demanded again", challenges)
    return tools


async def check_step_up(client, challenges):
    added = await client.call_tool("polite-add", {"a": 2, "b": 40})
    # Revisions before 2025-06-18 have no structured results.
    expect(json.loads(text(added)) == {"sum": 42}, "add returns a sum after the step-up", added)
    second = challenges[1] if len(challenges) > 1 else {}
    demanded = second.get("status") == 403 and second["error"] == "insufficient_scope" and second["metadata"]
    expect(demanded and "tools:write" in (second["scope"] or "").split(), "403 demands the scope", second)
    again = await client.call_tool("polite-echo", {"message": "again"})
    expect(text(again) == "again", "the second token is good for the first tool", again)
    expect(len(challenges) == 2, "there is one step-up", challenges)


async def drive(options):
    wanted, url = options.mode, options.target
    if wanted != MODERN:
        # The package always asks for the newest revision that has sessions, so that an older one is put in its place.
        session.LATEST_HANDSHAKE_VERSION = wanted
    storage, recorder = Storage(), Recorder()
    auth = auth_provider(url, storage, options)
    async with recorder.client(timeout=DEADLINE_SECONDS, auth=auth) as http:
        if options.transport == "http":
            transport = streamable_http_client(url, http_client=http)
        else:
            transport = sse_client(url, httpx_client_factory=recorder.client, auth=auth)
        async with Client(transport, mode=MODERN if wanted == MODERN else "legacy") as client:
            tools = await check_login(client, recorder.challenges)
            revision, scopes = client.protocol_version, [storage.tokens.scope]
            expect(revision == wanted, f"the revision is {wanted}", revision)
            await check_step_up(client, recorder.challenges)
            scopes.append(storage.tokens.scope)
    return {
        "revision": revision,
        "tools": tools,
        "challenges": recorder.challenges,
        "scopes": scopes,
        "requests": recorder.requests,
    }


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transport", choices=["http", "sse"], required=True)
    parser.add_argument("--mode", choices=REVISIONS, required=True)
    parser.add_argument("target", help="a URL")
    parser.add_argument("grant", choices=GRANTS)
    parser.add_argument("server", type=json.loads, help="the first line of the authorization server")
    parser.add_argument("person", nargs="?", default="alice")
    return parser.parse_args()


def root_causes(error):
    """The client runs in task groups, which wrap whatever goes wrong."""
    if not isinstance(error, BaseExceptionGroup):
        return [f"{type(error).__name__}: {error}"]
    return [cause for inner in error.exceptions for cause in root_causes(inner)]


async def main():
    options = parse_options()
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            report = await drive(options)
    except Exception as error:
        causes = "; ".join(root_causes(error))
        sys.exit(f"python client, {options.transport}, {options.mode}, {options.grant}: {causes}")
    choice = {"transport": options.transport, "mode": options.mode, "grant": options.grant}
    print(json.dumps({"client": "python", **choice, **report, "ok": True}, ensure_ascii=False))


# The package logs the traceback of a failed login, with the request in it.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
asyncio.run(main())
