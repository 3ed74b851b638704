"""Logs in to a protected server with the official Python package: discovery, token, call, step-up, call.

The server is taken for what it says on the wire: this file knows the test guest `polite`, of which `polite-add` needs
the scope `tools:write`, and the authorization server of `tests/clients/authorization-server`, whose first line of
output is the argument SERVER. Prints one JSON line and exits with 0, or says on stderr what was wrong and exits with 1.
Neither holds a token.
"""

import logging
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from login import DEADLINE_SECONDS, RequestLog, check_login, check_step_up, choice, client_assertions, parse_options
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from script import MODERN, expect, pin, run

REDIRECT_URI = "http://127.0.0.1:7591/callback"  # Nothing listens there: the redirect is read, not followed.


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
    assertions = client_assertions(SignedJWTParameters, key)
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


async def drive(options):
    wanted, url = options.mode, options.target
    if wanted != MODERN:
        pin(wanted)
    storage, log = Storage(), RequestLog()
    auth = auth_provider(url, storage, options)
    async with log.client(timeout=DEADLINE_SECONDS, auth=auth) as http:
        if options.transport == "http":
            transport = streamable_http_client(url, http_client=http)
        else:
            transport = sse_client(url, httpx_client_factory=log.client, auth=auth)
        async with Client(transport, mode=MODERN if wanted == MODERN else "legacy") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            await check_login(client, tools, log.challenges)
            revision, scopes = client.protocol_version, [storage.tokens.scope]
            expect(revision == wanted, f"the revision is {wanted}", revision)
            # Over HTTP+SSE a missing scope is an error of MCP and no challenge.
            if options.transport == "http":
                await check_step_up(client, log.challenges)
                scopes.append(storage.tokens.scope)
    return {"revision": revision, "tools": tools, "scopes": scopes, **log.report()}


# The package logs the traceback of a failed login, with the request in it.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
options = parse_options(__doc__, ["http", "sse"])
run("python", choice(options), drive(options), DEADLINE_SECONDS)
