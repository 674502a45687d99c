"""A worker behind the front: takes connections from it, answers them by an application, and tells of those that have ended."""
# mypy: disable-error-code="import-not-found"

import asyncio
import hmac
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from shopwright.pipeline.browse.guard import App, Receive, Scope, Send
from shopwright.pipeline.trainers.front import NUMBER, STOP
from shopwright.pipeline.trainers.replies import Reply, make_text_reply

# Bytes of a client's message: the longest action has 100,000 characters.
LONGEST = 4 * 1024 * 1024
# Headers that are about a connection, and not about what is asked.
OF_THE_LINE = (b"connection", b"content-length", b"transfer-encoding")
# What may be asked without a token: whether the server lives and takes episodes.
OPEN_PATHS = ("/health", "/ready")


class Passed(socket.socket):
    """A connection that the front has handed on, which it hears of when it is closed."""

    number = 0
    control: socket.socket | None = None

    def close(self) -> None:
        control, self.control = self.control, None
        super().close()
        if control is not None:
            with suppress(OSError):
                control.send(NUMBER.pack(self.number))


async def answer_connections(
    app: App, control: socket.socket, place: Path, drain: Callable[[], Awaitable[None]]
) -> None:
    """Until the front says stop, and `drain` is through; or until the front is gone. place: of this worker's socket for the other workers."""
    import uvicorn  # type: ignore[import-not-found, unused-ignore]

    from shopwright.pipeline.browse.patience import PatientProtocol

    class Deaf(uvicorn.Server):  # type: ignore[misc, unused-ignore]
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """The front hears signals."""

    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        log_level="warning",
        ws_per_message_deflate=False,
        ws_max_size=LONGEST,
        timeout_graceful_shutdown=5,
    )
    server = Deaf(config)
    running = asyncio.create_task(server.serve(sockets=[]))
    while not server.started:
        await asyncio.sleep(0.01)
        if running.done():
            return await running
    loop = asyncio.get_running_loop()

    def make_protocol() -> Any:
        return config.http_protocol_class(  # type: ignore[call-arg, unused-ignore]
            config=config, server_state=server.server_state, app_state=server.lifespan.state
        )

    stopped, tasks = asyncio.Event(), set[asyncio.Task[Any]]()
    place.unlink(missing_ok=True)
    beside = await loop.create_unix_server(make_protocol, str(place))

    def take() -> None:
        for _ in range(64):
            try:
                said, handles = receive_handle(control)
            except BlockingIOError:
                return
            except OSError:
                said, handles = b"", []
            if not handles:  # told to stop, or the front is gone
                gone.extend([] if said and NUMBER.unpack(said)[0] == STOP else [True])
                loop.remove_reader(control)
                stopped.set()
                return
            handle = Passed(fileno=handles[0])
            handle.number, handle.control = NUMBER.unpack(said)[0], control
            handle.setblocking(False)
            task = loop.create_task(loop.connect_accepted_socket(make_protocol, handle))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    gone: list[bool] = []
    loop.add_reader(control, take)
    await stopped.wait()
    if not gone:
        await drain()
    beside.close()
    server.should_exit = True
    return await running


def receive_handle(control: socket.socket) -> tuple[bytes, list[int]]:
    """What the front says, with the connection that it hands on; never waits (`socket.recv_fds` would, whatever its flags)."""
    size = struct.calcsize("i")
    said, more, _, _ = control.recvmsg(NUMBER.size, socket.CMSG_LEN(size), socket.MSG_DONTWAIT)
    return said, [found for _, _, data in more for (found,) in struct.iter_unpack("i", data)]


class TokenGuard:
    """An application for those who know the token: `Authorization: Bearer TOKEN`."""

    def __init__(self, app: App, token: str) -> None:
        self.app, self.token = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if (
            scope["type"] not in ("http", "websocket")
            or scope["path"] in OPEN_PATHS
            or hmac.compare_digest(given, self.token)
        ):
            await self.app(scope, receive, send)
            return
        kind = "websocket.http" if scope["type"] == "websocket" else "http"
        body = b"The token is missing or wrong. Send it: Authorization: Bearer TOKEN\n"
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": f"{kind}.response.start", "status": 401, "headers": headers})
        await send({"type": f"{kind}.response.body", "body": body})


class Forwarding:
    """Passes requests on to the workers that have their sessions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clients: dict[int, Any] = {}

    async def __call__(self, owner: int, scope: Scope, body: bytes) -> Reply:
        import aiohttp
        from yarl import URL

        if owner not in self.clients:
            connector = aiohttp.UnixConnector(str(place_of(self.folder, owner)))
            self.clients[owner] = aiohttp.ClientSession(connector=connector)
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in scope["headers"]
            if name not in OF_THE_LINE
        ]
        address = URL.build(
            scheme="http", host="worker", path=scope["path"], query_string=scope["query_string"].decode("latin-1")
        )
        try:
            async with self.clients[owner].request(scope["method"], address, data=body, headers=headers) as reply:
                return reply.status, reply.headers.get("content-type", "text/plain"), await reply.read()
        except aiohttp.ClientError as error:
            return make_text_reply(f"The worker that has this session does not answer: {error}", 503)

    async def close(self) -> None:
        for client in self.clients.values():
            await client.close()


def place_of(folder: Path, index: int) -> Path:
    return folder / f"worker-{index}"
