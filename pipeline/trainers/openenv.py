"""All environments behind one OpenEnv server: a session resets by a task's number or by a row, and calls tools.

    client.reset(split="envs", index=3)                                     # observation.metadata: prompt and tools
    client.step({"tool_name": "cart_view", "arguments": {}})                # observation.result; reward 0 until the end
    client.reset(training="first")                                          # with a curriculum: the next task of this training run

Splits are the environments' names; what can be asked about a task is its id. `app` is for `uvicorn shopwright.pipeline.trainers.openenv:app`.

OpenEnv's own server keeps a thread and a queue for each session, refuses the one more that it has no place for, and reads and writes each message
through models. So what is said over connections (`/ws`, `/mcp`) is answered here, in its words; tests compare them. All else is its own application.
"""
# mypy: disable-error-code="import-not-found"

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from shopwright.pipeline.browse.guard import App, Receive, Scope, Send
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.curriculum_page import render_curriculum_page
from shopwright.pipeline.trainers.curriculum_state import Training, list_trainings, summarize_group, summarize_training
from shopwright.pipeline.trainers.env import ENVIRONMENTS, RUN, count_env_tasks, find_environment_name, get_env_task
from shopwright.pipeline.trainers.replies import (
    Forward,
    Reply,
    make_json_reply,
    read_body,
    read_query,
    render_state_page,
    send_reply,
)
from shopwright.pipeline.trainers.sessions import (
    Answer,
    Opened,
    Refused,
    Session,
    Sessions,
    dump_tools,
    find_owner,
    list_default_tools,
)

# What JSON-RPC calls the reasons.
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, SERVER_ERROR = -32700, -32600, -32601, -32602, -32000
ACTION = {"type", "tool_name", "arguments", "metadata"}


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = make_openenv_app(os.environ.get(RUN, ""))
    return globals()["app"]


def make_openenv_app(run: str | Path, sessions: Sessions | None = None, forward: Forward | None = None) -> App:
    """The server's application, over a run's datasets."""
    found = sessions or Sessions(str(run))
    return Talk(make_rest(found), found, forward)


class Malformed(Refused):
    """What was sent is no message of OpenEnv's."""

    def __init__(self, why: str, code: str = "VALIDATION_ERROR") -> None:
        super().__init__(code, why)


class Talk:
    """Answers what is said over connections and to `/mcp`, and leaves all else to `rest`."""

    def __init__(self, rest: App, sessions: Sessions, forward: Forward | None = None) -> None:
        self.rest, self.sessions, self.forward = rest, sessions, forward

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind, path = scope["type"], scope.get("path", "")
        if kind == "websocket" and path in ("/ws", "/mcp"):
            await self.serve_connection(scope, receive, send)
        elif kind == "http" and path == "/mcp" and scope["method"] == "POST":
            await send_reply(send, await self.answer_request(scope, await read_body(receive)))
        elif kind == "http" and scope["method"] in ("GET", "HEAD") and (page := render_state_page(self.sessions, path)):
            await send_reply(send, page)
        else:
            await self.rest(scope, receive, send)

    async def serve_connection(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        key = read_query(scope, "session_id")
        session = self.sessions.live.get(key) if key else self.sessions.open()
        if session is None:
            await send({"type": "websocket.send", "text": dump_error("SESSION_ERROR", self.explain_unknown(key))})
            await send({"type": "websocket.close", "code": 1008})
            return
        connection = Connection(session)
        answer = connection.answer if scope["path"] == "/ws" else connection.answer_rpc
        try:
            while (message := await receive())["type"] == "websocket.receive":
                said = await answer(message.get("text") or "")
                if said is None:
                    await send({"type": "websocket.close", "code": 1000})
                    break
                await send({"type": "websocket.send", "text": said})
        finally:
            connection.leave(keep=bool(key))

    def explain_unknown(self, key: str) -> str:
        return (
            f"Unknown session_id: {key[:60]}. It was closed, was idle for {self.sessions.idle:g} seconds, "
            "or the worker that had it died."
        )

    async def answer_request(self, scope: Scope, body: bytes) -> Reply:
        """A request of JSON-RPC, about a session that an earlier one has made."""
        request = parse_rpc(body)
        key = str((request.get("params") or {}).get("session_id") or "")
        owner = find_owner(key, self.sessions.owners) if key else self.sessions.owner
        if owner != self.sessions.owner and self.forward:
            return await self.forward(owner, scope, body)
        return make_json_reply(await self.answer_keyed_rpc(request))

    async def answer_keyed_rpc(self, request: dict[str, Any]) -> dict[str, Any]:
        method, params = request.get("method"), request.get("params") or {}
        if "error" in request:
            return request
        if method == "openenv/session/create":
            session = self.sessions.open()
            return await answer_rpc(request, session, take_place(session))
        key = str(params.get("session_id") or "")
        known = self.sessions.live.get(key)
        if key and known is None:
            return make_rpc_error(request, INVALID_PARAMS, self.explain_unknown(key))
        if method == "openenv/session/close":
            if known is None:
                return make_rpc_error(request, INVALID_PARAMS, "Invalid params - 'session_id' is required")
            known.close()
            return make_rpc_result(request, {"session_id": key, "closed": True})
        return await answer_rpc(request, known or self.sessions.open())


class Connection:
    """A client's connection: a session, and those of batches by the keys that the client gave them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.many: dict[str, Session] = {}

    def leave(self, keep: bool) -> None:
        """Frees what the client had; `keep`: the session has a key, by which the client may come back."""
        for session in [*self.many.values(), *([] if keep else [self.session])]:
            session.close()

    async def answer(self, text: str) -> str | None:
        """To a message of OpenEnv's; None where it says that the client leaves."""
        try:
            message = parse_object(text)
            kind, data = message.get("type", ""), message.get("data", {})
            if kind == "close":
                return None
            if kind == "state":
                state = {"episode_id": self.session.episode or None, "step_count": self.session.steps}
                return json.dumps({"type": "state", "data": state})
            if kind == "mcp":
                return json.dumps({"type": "mcp", "data": await answer_rpc(check_rpc(data), self.session)})
            if kind in ("reset", "step") and isinstance(data, dict):
                return f'{{"type": "observation", "data": {await ACTIONS[kind](self.session, data)}}}'
            if kind in ("reset_many", "step_many") and isinstance(data, dict):
                return await self.answer_many(ACTIONS[kind.removesuffix("_many")], data)
            if kind == "close_many" and isinstance(data, list):
                for key in data:
                    if known := self.many.pop(str(key), None):
                        known.close()
                return json.dumps({"type": "observations", "data": {}})
            if kind in ("reset", "step", "reset_many", "step_many", "close_many"):
                raise Malformed("Invalid message: data has another form.")
            raise Malformed(f"Unknown message type: {str(kind)[:60]}", "UNKNOWN_TYPE")
        except Exception as error:  # noqa: BLE001 - whatever is wrong is the client's to know, and ends nothing
            return dump_error(*explain(error))

    async def answer_many(self, act: "Act", data: Mapping[str, Any]) -> str:
        """Each by itself: one that fails leaves the others as they are."""

        async def act_on(key: str, asked: Any) -> str:
            try:
                if not isinstance(asked, dict):
                    raise Malformed("Invalid message: data has another form.")
                if key not in self.many:
                    self.many[key] = self.session.sessions.open()
                return await act(self.many[key], asked)
            except Exception as error:  # noqa: BLE001 - as above
                code, why = explain(error)
                return json.dumps({"error": {"message": why, "code": code}})

        found = await asyncio.gather(*(act_on(key, asked) for key, asked in data.items()))
        parts = ", ".join(f"{json.dumps(key)}: {text}" for key, text in zip(data, found, strict=True))
        return f'{{"type": "observations", "data": {{{parts}}}}}'

    async def answer_rpc(self, text: str) -> str:
        return json.dumps(await answer_rpc(parse_rpc(text.encode()), self.session))


# What OpenEnv's messages say


async def take_reset(session: Session, data: dict[str, Any]) -> str:
    return dump_opened(await session.reset(**data))


async def take_step(session: Session, data: dict[str, Any]) -> str:
    if data.get("type") == "list_tools":
        return f'{{"observation": {{"metadata": {{}}, "tools": {dump_openenv_tools(session)}}}, "reward": null, "done": false}}'
    name, arguments = data.get("tool_name"), data.get("arguments", {})
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict) or not data.keys() <= ACTION:
        raise Malformed("Invalid message: a step has tool_name, which is text, and arguments, an object.")
    return dump_answer(name, await session.step(name, arguments))


Act = Callable[[Session, dict[str, Any]], Awaitable[str]]
ACTIONS: dict[str, Act] = {"reset": take_reset, "step": take_step}


def dump_opened(opened: Opened) -> str:
    known = opened.metadata
    return f'{{"observation": {{"metadata": {known}}}, "reward": null, "done": false, "metadata": {known}}}'


def dump_answer(name: str, answer: Answer) -> str:
    result = f'"tool_name": {json.dumps(name)}, "result": {json.dumps(answer.text)}, "error": null'
    return f'{{"observation": {{"metadata": {{}}, {result}}}, "reward": {answer.reward!r}, "done": {json.dumps(answer.done)}}}'


def dump_error(code: str, why: str) -> str:
    return json.dumps({"type": "error", "data": {"message": why, "code": code}})


def explain(error: Exception) -> tuple[str, str]:
    """The code and the words for what went wrong."""
    if isinstance(error, Refused):
        return error.code, str(error)
    if isinstance(error, json.JSONDecodeError):
        return "INVALID_JSON", f"Invalid JSON: {error}"
    tell_unexpected(error)
    return "EXECUTION_ERROR", str(error)


def tell_unexpected(error: Exception) -> None:
    """A fault of ours, not the client's: where the server runs it is told whole."""
    if not isinstance(error, Problem):
        logging.getLogger(__name__).error("A request failed.", exc_info=error)


def parse_object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise Malformed("Invalid message: it is no object.")
    return found


def dump_openenv_tools(session: Session) -> str:
    """Of the session's environment; before its first reset, of the one that a reset without a name plays."""
    run, env = session.sessions.run, session.env
    return flatten_tools(dump_tools(find_environment_name(env)) if env else list_default_tools(run))


def flatten_tools(tools: str) -> str:
    found = [each["function"] for each in json.loads(tools)]
    names = {"name": "name", "description": "description", "input_schema": "parameters"}
    return json.dumps([{new: each[old] for new, old in names.items()} for each in found])


# JSON-RPC, as OpenEnv's clients of tools ask


async def take_place(session: Session) -> dict[str, Any]:
    await session.take_place()
    return {"session_id": session.id}


def parse_rpc(body: bytes) -> dict[str, Any]:
    """A request; one that is none is the error to be answered."""
    try:
        return check_rpc(json.loads(body))
    except (ValueError, RecursionError):
        return make_rpc_error({}, PARSE_ERROR, "Parse error")


def check_rpc(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict) or not isinstance(found.get("method"), str):
        return make_rpc_error({}, INVALID_REQUEST, "Invalid request")
    if not isinstance(found.get("params") or {}, dict):
        return make_rpc_error(found, INVALID_PARAMS, "Params must be an object")
    return {name: found.get(name) for name in ("method", "params", "id")}


def make_rpc_result(request: Mapping[str, Any], result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}


def make_rpc_error(request: Mapping[str, Any], code: int, why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": code, "message": why}}


async def answer_rpc(
    request: dict[str, Any], session: Session, result: Awaitable[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """To a request about this session; `result`: what it asks for, where that is known."""
    if "error" in request:
        return request
    try:
        if result is None:
            result = ask_rpc(session, request["method"], request["params"] or {})
        return make_rpc_result(request, await result)
    except NotImplementedError as error:
        return make_rpc_error(request, METHOD_NOT_FOUND, str(error))
    except Malformed as error:
        return make_rpc_error(request, INVALID_PARAMS, str(error))
    except Exception as error:  # noqa: BLE001 - the client's to know, as above
        tell_unexpected(error)
        return make_rpc_error(request, SERVER_ERROR, str(error))


async def ask_rpc(session: Session, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    if method == "tools/list":
        return {"tools": json.loads(dump_openenv_tools(session))}
    if method == "openenv/session/create":
        return await take_place(session)
    if method != "tools/call":
        raise NotImplementedError(f"Method not found: {method[:60]}")
    asked = {"tool_name": params.get("name"), "arguments": params.get("arguments", {})}
    found = json.loads(await take_step(session, asked))
    return {"done": found["done"], "reward": found["reward"], **found["observation"]}


# The rest, by OpenEnv's own server


def make_rest(sessions: Sessions) -> Any:
    """OpenEnv's application: its pages, schemas and tasks, and requests that stand for themselves; with the curriculum."""
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.mcp_types import (
        CallToolAction,
        CallToolObservation,
        ListToolsAction,
        ListToolsObservation,
    )
    from openenv.core.env_server.types import Observation, State
    from starlette.responses import PlainTextResponse

    class Served(Environment):  # type: ignore[misc]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self.session = sessions.open()

        async def reset_async(self, seed: int | None = None, episode_id: str | None = None, **asked: Any) -> Any:
            opened = await self.session.reset(seed=seed, episode_id=episode_id, **asked)
            return Observation(metadata=json.loads(opened.metadata))

        async def step_async(self, action: Any, timeout_s: float | None = None, **more: Any) -> Any:
            if isinstance(action, ListToolsAction):
                return ListToolsObservation(tools=json.loads(dump_openenv_tools(self.session)))
            name = action.tool_name
            answer = await self.session.step(name, action.arguments)
            return CallToolObservation(tool_name=name, result=answer.text, done=answer.done, reward=answer.reward)

        def reset(self, seed: int | None = None, episode_id: str | None = None, **asked: Any) -> Any:
            return asyncio.run(self.reset_async(seed, episode_id, **asked))

        def step(self, action: Any, timeout_s: float | None = None, **more: Any) -> Any:
            return asyncio.run(self.step_async(action, timeout_s, **more))

        @property
        def state(self) -> Any:
            return State(episode_id=self.session.episode or None, step_count=self.session.steps)

        def close(self) -> None:
            self.session.close()

        def list_splits(self) -> list[str]:
            return [name for name in ENVIRONMENTS if count_env_tasks(sessions.run, name)]

        def num_tasks(self, split: str) -> int:
            return count_env_tasks(sessions.run, split)

        def get_task(self, split: str, index: int) -> dict[str, Any]:
            return {"id": get_env_task(sessions.run, split, index)["id"], "index": index}

        def list_tasks(self, split: str) -> list[dict[str, Any]]:
            return [{"index": index} for index in range(self.num_tasks(split))]

    app = create_app(
        Served, CallToolAction, CallToolObservation, env_name="shopwright", max_concurrent_envs=sessions.most
    )
    app.add_exception_handler(Problem, lambda request, problem: PlainTextResponse(str(problem), 400))
    if sessions.begin is not None:
        add_curriculum_pages(app, sessions.run)
    return app


def add_curriculum_pages(app: Any, folder: str) -> None:
    """The training runs of a run: their levels as JSON and as a page, and the results of a group."""
    from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

    def answer(look: Callable[[], Any], kind: Any = JSONResponse) -> Any:
        try:
            return kind(look())
        except Problem as problem:
            return PlainTextResponse(str(problem), 404)

    def trainings() -> Any:
        return answer(lambda: {"trainings": list_trainings(folder)})

    def levels(training: str) -> Any:
        return answer(lambda: summarize_training(Training(folder, training)))

    def group(training: str, number: int) -> Any:
        return answer(lambda: summarize_group(Training(folder, training), number))

    def page(training: str) -> Any:
        return answer(lambda: render_curriculum_page(summarize_training(Training(folder, training))), HTMLResponse)

    for path, look in {
        "/curriculum": trainings,
        "/curriculum/{training}": levels,
        "/curriculum/{training}/page": page,
        "/curriculum/{training}/groups/{number}": group,
    }.items():
        app.add_api_route(path, look, response_class=Response)
