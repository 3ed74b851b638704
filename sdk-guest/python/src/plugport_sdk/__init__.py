"""Write MCP tools, resources and prompts as Python functions and build them into Plugport plugins.

from plugport_sdk import exports, tool

@tool
def hello(name: str) -> str:
    \"\"\"Greet someone by name.\"\"\"
    return f"Hello, {name}!"

Tools, Resources, Prompts, Completions = exports()
"""

from . import errors, notify
from .call import Call, Client, Level
from .client_requests import CreateMessageResult, ElicitResult, Root
from .completions import Completion, complete, rank
from .content import Audio, Content, Contents, Embedded, Image, Link, Message, Text, ToolResult
from .errors import Error, ToolError
from .exports import exports
from .field import Field
from .prompts import prompt
from .resources import resource
from .tools import tool

__all__ = [
    "Audio",
    "Call",
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
    "Root",
    "Text",
    "ToolError",
    "ToolResult",
    "complete",
    "errors",
    "exports",
    "notify",
    "prompt",
    "rank",
    "resource",
    "tool",
]
