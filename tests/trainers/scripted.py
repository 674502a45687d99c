"""A model that plays known calls, as a server of chat completions, whole or streamed: what others' loops are driven by in tests."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shopwright.pipeline.trainers.env import ENVIRONMENTS, ShopEnv, call_env_tool, get_env_task, solve_env_task


@contextmanager
def serve_script(scripts):
    """scripts: calls, or words, by what the shopper says first; a model that has no more says that it is done. Yields the address and what came."""
    came = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            came.append(body)
            message = answer(scripts, body["messages"])
            stream = bool(body.get("stream"))
            sent = (
                "".join(map(write_event, make_chunks(message))) + "data: [DONE]\n\n" if stream else make_reply(message)
            )
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.send_header("Content-Length", str(len(sent.encode())))
            self.end_headers()
            self.wfile.write(sent.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", came
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(scripts, messages):
    first = next(read_text(message) for message in messages if message["role"] == "user")
    place = sum(message["role"] == "assistant" for message in messages)
    calls = scripts[first]
    now = calls[place] if place < len(calls) else "Done."
    if isinstance(now, str):
        return {"role": "assistant", "content": now}
    name, arguments = now
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{place}", "type": "function", "function": function}],
    }


def read_text(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
ABOUT = {"id": "chat-1", "created": 0, "model": "scripted"}


def make_reply(message):
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    return json.dumps({**ABOUT, "object": "chat.completion", "choices": [choice], "usage": USAGE})


def make_chunks(message):
    calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls", ()))]
    yield make_choice({**message, "tool_calls": calls} if calls else message)
    yield make_choice({}, "tool_calls" if calls else "stop")
    yield {"choices": [], "usage": USAGE}


def make_choice(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def write_event(chunk):
    return f"data: {json.dumps({**ABOUT, 'object': 'chat.completion.chunk', **chunk})}\n\n"


# What is scripted


def begin(run, environment, index):
    env = ENVIRONMENTS[environment](run)
    env.reset(extra_info={"task": get_env_task(run, environment, index)})
    return env


def write_scripts(run, environment):
    """Scripts of a few tasks by what is said first, and of each what it earns in process: solved, broken off, and with wrong calls."""
    scripts, earned = {}, {}
    for index, script in enumerate(list_scripts(run, environment)):
        env = begin(run, environment, index)
        for each in script:
            env._hear(each) if isinstance(each, str) else call_env_tool(env, *each)
        scripts[env._prompt[1]["content"]] = script
        earned[index] = {"reward": env.get_reward(), "success": float(env._succeeds())}
    assert len(scripts) == len(earned), "Two tasks begin with the same words."
    return scripts, earned


def list_scripts(run, environment):
    tasks = [get_env_task(run, environment, index) for index in range(5)]
    if environment == "envs":
        solved = [solve_env_task(ShopEnv(run), task) for task in tasks]
        return [
            solved[0],
            [("datetime_now", {})],
            [("teleport", {})],
            [*solved[3][:1], ("catalog_search", {"x": 1})],
            solved[4],
        ]
    if environment == "questions":
        return [[("submit", {"answer": task["answer"]})] for task in tasks[:2]] + [[("submit", {"answer": "no"})], []]
    if environment == "questions_boxed":
        code = ("code_interpreter", {"code": "print(1)"})
        return [[code, f"It is \\boxed{{{tasks[0]['answer']}}}."], ["\\boxed{no}"], [code]]
    return [[("search", {"words": "lamp"}), ("click", {"thing": "Buy Now"})], [("search", {})], []]
