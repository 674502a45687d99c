"""A model that plays known calls, as a server of chat completions, whole or streamed: what others' loops are driven by in tests."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_script(scripts):
    """scripts: calls by what the shopper says first; a model that has no more calls says that it is done. Yields the address and what came."""
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
    if place >= len(calls):
        return {"role": "assistant", "content": "Done."}
    name, arguments = calls[place]
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
