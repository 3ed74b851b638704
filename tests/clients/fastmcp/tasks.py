"""Makes a slow call with a question, over the packages fastmcp and fastmcp-tasks, and checks what comes of it.

Importing fastmcp-tasks teaches every client the extension for tasks of 2026-07-28. It has no tasks of 2025-11-25, where
the call is answered when it has ended. The server is taken for what it says on the wire: this file knows the test guest
`client_requests` and nothing of Plugport. Prints one JSON line and exits with 0, or says on stderr what was wrong and
exits with 1.
"""

import warnings

from fastmcp import Client
from fastmcp_tasks import call_tool_task
from fastmcp_tasks.client_models import CancelTaskRequest, GetTaskRequest, UpdateTaskRequest
from script import MODERN, MODES, REVISIONS, command_parser, expect, run, text

TOOL = "client_requests-slow"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
QUESTION = {"method": "elicitation/create", "params": {"message": "Who are you?", "requestedSchema": FORM}}

# The package forgets the header `Mcp-Name`, which these requests must have (SEP-2663); its SDK writes it if told to.
for request in (GetTaskRequest, UpdateTaskRequest, CancelTaskRequest):
    request.name_param = "taskId"


async def check_handle(client, asked):
    """The task by hand: its states, its question, its result, and another one that is cancelled."""
    task = await call_tool_task(client, TOOL, QUESTION)
    found = await task.status()
    expect(found.status == "working" and found.task_id == task.task_id, "the slow call is a task", found)
    found = await task.wait(state="input_required")
    expect(len(found.input_requests) == 1, "the task asks once", found)
    said = text(await task.result())
    expect("Ada" in said and len(asked) == 2, "the person's answer reaches the task", (said, asked))
    expect((await task.status()).status == "completed", "the result stays", said)
    task = await call_tool_task(client, TOOL, QUESTION)
    await task.cancel()
    found = await task.wait()
    expect(found.status == "cancelled", "the task is cancelled", found)


async def drive(url, mode):
    asked = []

    async def elicit(message, response_type, params, context):
        asked.append(message)
        expect(message == "Who are you?", "the question reaches the person", message)
        return {"name": "Ada"}

    client = Client(url, mode=MODES[mode], elicitation_handler=elicit)
    async with client:
        revision = client.protocol_version
        expect(revision == REVISIONS[mode], f"the revision is {REVISIONS[mode]}", revision)
        # Whether the call is a task or not, the caller sees its result.
        said = text(await client.call_tool(TOOL, QUESTION))
        expect("Ada" in said and len(asked) == 1, "the person's answer reaches the tool", (said, asked))
        if revision == MODERN:
            await check_handle(client, asked)
    return {"revision": revision, "asked": len(asked)}


warnings.simplefilter("ignore")
given = command_parser(__doc__, ["http"], ["legacy", "modern"]).parse_args()
run("fastmcp", {"transport": given.transport, "mode": given.mode}, drive(given.target[0], given.mode))
