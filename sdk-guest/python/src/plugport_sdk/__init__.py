"""Write MCP tools, resources and prompts as Python functions and build them into Plugport plugins.

from plugport_sdk import exports, tool

@tool
def hello(name: str) -> str:
    \"\"\"Greet someone by name.\"\"\"
    return f"Hello, {name}!"

Tools, Resources, Prompts, Completions = exports()
"""

from . import errors, notify
from .call import AsyncCall, Call, Client, Level
from .client_requests import Root
from .completions import Completion, complete, rank
from .content import Audio, Content, Contents, Embedded, Image, Link, Message, Text, ToolResult
from .elicitation import ElicitResult
from .errors import Error, ToolError
from .exports import exports
from .field import Field
from .middlewares import CallNext, MiddlewareContext, middleware
from .prompts import prompt
from .resources import resource
from .sampling import CreateMessageResult, SamplingTool, ToolUse
from .tools import tool

__all__ = [
    "AsyncCall",
    "Audio",
    "Call",
    "CallNext",
    "Client",
    "Completion",
    "Content",
    "Contents",
    "CreateMessageResult",
    "ElicitResult",
    "Embedded",
    "Error",
    "Field",
    "Image",
    "Level",
    "Link",
    "Message",
    "MiddlewareContext",
    "Root",
    "SamplingTool",
    "Text",
    "ToolError",
    "ToolResult",
    "ToolUse",
    "complete",
    "errors",
    "exports",
    "middleware",
    "notify",
    "prompt",
    "rank",
    "resource",
    "tool",
]
