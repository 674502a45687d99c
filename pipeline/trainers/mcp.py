"""The environments as tools of MCP, by its official SDK: over HTTP for episodes that have keys, or over stdin and stdout for one.

    POST /episodes {"environment": "envs", "index": 3}     # episode, prompt, tools: for whoever runs the agent
    Client("http://HOST/mcp?episode=KEY")                  # for the agent: tools, the shopper among them; the prompt `task`
    GET /episodes?episode=KEY                              # done and reward
    DELETE /episodes?episode=KEY

The protocol of 2026 has no sessions: two clients of one address are the same to it. So an episode is begun by name and each call carries its key;
one without, or with a key that is none (any more), is refused. Done and reward stand in the `_meta` of a result, which models are not shown.
"""
# mypy: disable-error-code="import-not-found"

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from shopwright import __version__
from shopwright.pipeline.browse.guard import App, Receive, Scope, Send
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.env import find_environment_name
from shopwright.pipeline.trainers.replies import (
    Forward,
    Reply,
    make_json_reply,
    make_text_reply,
    read_body,
    read_query,
    render_state_page,
    send_reply,
)
from shopwright.pipeline.trainers.sessions import (
    Refused,
    Session,
    Sessions,
    dump_tools,
    find_owner,
    list_default_tools,
)

DONE, REWARD = "shopwright/done", "shopwright/reward"
NO_KEY = "This call has no episode. Begin one (POST /episodes), and use its address: /mcp?episode=KEY."
INVALID_PARAMS = -32602
METHODS = {"/episodes": ("GET", "POST", "DELETE")}
# Finds the session of a request; None where it has no key.
Find = Callable[[Any], Session | None]


def make_mcp_app(sessions: Sessions, forward: Forward | None = None, host: str = "127.0.0.1") -> App:
    def find(context: Any) -> Session | None:
        key = context.request.query_params.get("episode", "")
        return find_episode(sessions, key) if key else None

    server = make_mcp_server(sessions, find)
    return Episodes(server.streamable_http_app(json_response=True, stateless_http=True, host=host), sessions, forward)


def find_episode(sessions: Sessions, key: str) -> Session:
    """Raises Refused where there is none of this key."""
    found = sessions.live.get(key)
    if found is None:
        raise Refused(
            "SESSION_ERROR",
            f"There is no episode {key[:60]}. It was never begun, was ended, was idle for {sessions.idle:g} seconds, "
            "or the worker that had it died.",
        )
    return found


class Episodes:
    """Begins and ends episodes, and leaves `/mcp` to the SDK; a request about another worker's episode goes there."""

    def __init__(self, mcp: App, sessions: Sessions, forward: Forward | None = None) -> None:
        self.mcp, self.sessions, self.forward = mcp, sessions, forward

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.mcp(scope, receive, send)
            return
        key, path = read_query(scope, "episode"), scope["path"]
        owner = find_owner(key, self.sessions.owners) if key else self.sessions.owner
        if owner != self.sessions.owner and self.forward:
            await send_reply(send, await self.forward(owner, scope, await read_body(receive)))
        elif path == "/mcp":
            await self.mcp(scope, receive, send)
        else:
            await send_reply(send, await self.answer(scope["method"], path, key, receive))

    async def answer(self, method: str, path: str, key: str, receive: Receive) -> Reply:
        if method not in METHODS.get(path, ("GET", "HEAD")):
            return make_text_reply(f"There is no {method[:20]} of {path[:60]}.", 405)
        if path == "/health":
            return make_json_reply({"status": "healthy"})
        if found := render_state_page(self.sessions, path):
            return found
        if path != "/episodes":
            return make_text_reply("There is /mcp, /episodes, /health, /ready and /metrics.", 404)
        try:
            if method == "POST":
                return make_json_reply(await begin_episode(self.sessions, await read_body(receive)))
            session = find_episode(self.sessions, key)
        except Refused as error:
            return make_text_reply(str(error), 503 if error.code == "CAPACITY_REACHED" else 404)
        except (Problem, ValueError, TypeError, RecursionError) as error:
            return make_text_reply(str(error), 400)
        known = {"done": session.done, "reward": session.reward, "steps": session.steps}
        if method == "DELETE":
            session.close()
        return make_json_reply(known)


async def begin_episode(sessions: Sessions, body: bytes) -> dict[str, Any]:
    """What whoever runs the agent is told. Raises Problem, ValueError or TypeError for what cannot be begun."""
    asked = json.loads(body or b"{}")
    if not isinstance(asked, dict):
        raise TypeError("An episode is asked for by an object of JSON.")
    session = sessions.open()
    try:
        opened = await session.reset(**asked)
    except BaseException:
        session.close()
        raise
    return {"episode": session.id, "path": f"/mcp?episode={session.id}", **json.loads(opened.metadata)}


def make_mcp_tools(tools: str) -> list[Any]:
    """tools: as JSON, from `dump_tools`."""
    from mcp_types import Tool

    told = [each["function"] for each in json.loads(tools)]
    return [Tool(name=each["name"], description=each["description"], input_schema=each["parameters"]) for each in told]


def make_mcp_server(sessions: Sessions, find: Find) -> Any:
    """The SDK's server, whose tools are those of the episode that a request is about."""
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        CallToolResult,
        GetPromptResult,
        ListPromptsResult,
        ListToolsResult,
        Prompt,
        PromptMessage,
        TextContent,
    )

    def require_session(context: Any) -> Session:
        try:
            session = find(context)
        except Refused as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        if session is None:
            raise MCPError(INVALID_PARAMS, NO_KEY)
        return session

    known: dict[str, ListToolsResult] = {}

    async def list_tools(context: Any, params: Any) -> Any:
        """Before an episode, those of the environment that is played where none is named."""
        try:
            session = find(context)
        except Refused as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        tools = (
            dump_tools(find_environment_name(session.env))
            if session and session.env
            else list_default_tools(sessions.run)
        )
        if tools not in known:
            known[tools] = ListToolsResult(tools=make_mcp_tools(tools))
        return known[tools]

    async def call_tool(context: Any, params: Any) -> Any:
        session = require_session(context)
        try:
            answer = await session.step(params.name, params.arguments or {})
        except Refused as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        about = {DONE: answer.done, REWARD: session.reward}
        return CallToolResult(content=[TextContent(type="text", text=answer.text)], _meta=about)

    async def list_prompts(context: Any, params: Any) -> Any:
        return ListPromptsResult(
            prompts=[Prompt(name="task", description="What the shopper says first, and the rules.")]
        )

    async def get_prompt(context: Any, params: Any) -> Any:
        """MCP knows no system's messages: they stand first, as the user's."""
        env = require_session(context).env
        if params.name != "task" or env is None:
            raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name[:60]} here.")
        said = [TextContent(type="text", text=message["content"]) for message in env._prompt]
        return GetPromptResult(messages=[PromptMessage(role="user", content=each) for each in said])

    return Server(
        "shopwright",
        version=__version__,
        instructions="A shop: look things up and act through tools. The prompt `task` has what the shopper wants.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def serve_stdio(run: str, environment: str, index: int) -> int:
    """One episode over stdin and stdout, until the client leaves; then done and reward on stderr, as JSON. Raises Problem."""
    return asyncio.run(answer_stdio(run, environment, index))


async def answer_stdio(run: str, environment: str, index: int) -> int:
    from mcp.server.stdio import stdio_server

    sessions = Sessions(run, idle=float("inf"))
    session = sessions.open()
    await session.reset(environment=environment, index=index)
    server = make_mcp_server(sessions, lambda context: session)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
    print(json.dumps({"done": session.done, "reward": session.reward, "steps": session.steps}), file=sys.stderr)
    return 0
