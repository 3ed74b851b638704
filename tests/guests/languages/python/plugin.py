"""One of each feature, the same in every language, so that one test can drive them all."""

import asyncio
import random
import time
import urllib.request
from dataclasses import dataclass
from typing import Annotated, Any

from plugport_sdk import (
    Call,
    Message,
    ToolError,
    complete,
    config,
    exports,
    http,
    kv,
    prompt,
    rank,
    resource,
    tasks,
    tool,
)


@dataclass
class Form:
    answer: str


@dataclass
class Numbers:
    sum: int
    product: int


@tool
def log(call: Call, text: Annotated[str, "What to log."]) -> str:
    """Log a text."""
    call.info(text, logger="features")
    return "logged"


@tool
def progress(call: Call, steps: Annotated[int, "How many steps."]) -> str:
    """Report progress."""
    for step in range(1, steps + 1):
        call.progress(step, steps, f"step {step}")
    return "done"


@tool
def sample(call: Call, question: Annotated[str, "What to ask."]) -> str:
    """Ask the client's model."""
    return call.sample(question, max_tokens=100).text


@tool
def elicit(call: Call, question: Annotated[str, "What to ask."]) -> str:
    """Ask the person at the client."""
    answer = call.elicit(Form, question)
    if answer.value:
        return f"accepted: {answer.value.answer}"
    return "declined" if answer.declined else "cancelled"


@tool
def roots(call: Call) -> str:
    """List the client's folders."""
    return ", ".join(root.uri for root in call.roots())


@tool(read_only=True)
def structured(a: int, b: int) -> Numbers:
    """Add and multiply."""
    return Numbers(a + b, a * b)


@tool
def nest(depth: Annotated[int, "How deep."]) -> dict[str, Any]:
    """Answer with lists in lists."""
    inner: Any = "here"
    for _ in range(depth):
        inner = [inner]
    return {"inner": inner}


@tool
def fail(why: Annotated[str, "The reason."]) -> str:
    """Fail for a reason."""
    raise ToolError(why)


@tool(name="print")
def print_text(text: Annotated[str, "What to print."]) -> str:
    """Print a text."""
    print(text)
    return "printed"


@tool(name="throw")
def throw() -> str:
    """Fail with what nobody catches."""
    return str(1 // 0)


@tool
def refuse(call: Call) -> str:
    """Ask the client's model without being allowed to."""
    return call.sample("May I?", max_tokens=100).text


@tool
def draw() -> str:
    """Draw a random number, and tell the time."""
    return f"{random.random()} {time.time()}"


@tool(name="fetch-text")
def fetch_text(url: Annotated[str, "Where it is."]) -> str:
    """Fetch a text."""
    if url.endswith("/urllib"):
        # In the other way that programs in Python send requests.
        with urllib.request.urlopen(url) as page:
            return page.read().decode()
    try:
        return http.get(url).text()
    except http.Failure as failure:
        raise ToolError(str(failure)) from None


@tool(name="fetch-all")
async def fetch_all(urls: Annotated[list[str], "Where they are."]) -> str:
    """Fetch several texts at once."""
    responses = await asyncio.gather(*(http.async_get(url) for url in urls))
    return "\n".join(response.text() for response in responses)


@tool(name="count-visits")
def count_visits(name: Annotated[str, "Who visits."]) -> str:
    """Count the visits of someone."""
    return str(kv.open().increment(name))


@tool(name="greet-configured")
def greet_configured(call: Call) -> str:
    """Say the greeting of the settings, and how long the secret is."""
    token = config.require("token")
    call.info(token)  # The client must not see it.
    return f"{config.require('greeting')} {len(token)}"


@tool
def detach(call: Call, status: Annotated[str, "What to tell people meanwhile."]) -> str:
    """Let the client go on without waiting, and say whether it does."""
    return str(tasks.detach(call, status)).lower()


@tool
def extensions(call: Call) -> str:
    """Say which extensions the client declared."""
    return ", ".join(call.client.extensions)


@tool
def sleep(ms: Annotated[int, "How many milliseconds."]) -> str:
    """Sleep."""
    time.sleep(ms / 1000)
    return "rested"


@resource("features://greeting", mime_type="text/plain")
def greeting() -> str:
    """A greeting."""
    return "Hello from python"


@resource("features://echo/{word}", mime_type="text/plain")
def echo(word: str) -> str:
    """The word of the URI."""
    return word


@prompt
def greet(name: Annotated[str, "Who to greet."]) -> Message:
    """Ask for a greeting."""
    return Message.user(f"Greet {name} warmly.")


@complete(prompt=greet, argument="name")
def names(value: str) -> list[str]:
    return [name for name in rank(value, ["Ada", "Alan", "Grace"]) if name.lower().startswith(value.lower())]


Tools, Resources, Prompts, Completions = exports()
