"""What the logins of the clients in Python share: what is noted of them, and what is expected.

The server is taken for what it says on the wire: this file knows the test guest `polite`, of which `polite-add` needs
the scope `tools:write`.
"""

import json
import re

import httpx2
from script import MODERN, expect, parser, text

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN]
GRANTS = ["registered", "document", "public", "secret", "key"]
DEADLINE_SECONDS = 60


class RequestLog(httpx2.AsyncHTTPTransport):
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

    def client(self, headers=None, timeout=None, auth=None, **_):
        return httpx2.AsyncClient(transport=self, headers=headers, timeout=timeout, auth=auth)

    def report(self):
        return {"challenges": self.challenges, "requests": self.requests}


async def check_login(client, tools, challenges):
    first = challenges[0] if challenges else {}
    demanded = first.get("status") == 401 and first["metadata"] and first["scope"] and not first["error"]
    expect(demanded, "a request without a token is 401 with metadata and scope, and without an error", first)
    expect("polite-add" in tools, "a tool that lacks only a scope is listed", tools)
    echo = await client.call_tool("polite-echo", {"message": "héllo ✓"})
    expect(text(echo) == "héllo ✓", "echo returns the message", echo)
    expect(len(challenges) == 1, "nothing is demanded again", challenges)


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


def parse_options(description, transports):
    options = parser(description, transports, REVISIONS)
    options.add_argument("target", help="a URL")
    options.add_argument("grant", choices=GRANTS)
    options.add_argument("server", type=json.loads, help="the first line of the authorization server")
    options.add_argument("person", nargs="?", default="alice")
    return options.parse_args()


def client_assertions(parameters, key):
    """What a machine signs to show who it is. `parameters` is the class of the package."""
    signed = parameters(
        issuer=key["client_id"],
        subject=key["client_id"],
        signing_key=key["private_key"],
        signing_algorithm=key["algorithm"],
    )
    return signed.create_assertion_provider()


def choice(options):
    return {"transport": options.transport, "mode": options.mode, "grant": options.grant}
