"""A small Hub on 127.0.0.1 that gives out the datasets in a folder: FOLDER/owner/name/files; those of `secret` to nobody."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789012345678901234567890123456789"


class Hub:
    """
    with Hub(folder) as hub: ...        # hub.url for HF_ENDPOINT, hub.log for what was asked
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.log: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def files(self, repo: str) -> dict[str, Path]:
        root = self.folder / repo
        return {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        self.hub.log.append(f"{self.command} {path} {self.headers.get('authorization', '')}".strip())
        parts = path.removeprefix("api/").split("/")
        repo = "/".join(parts[1:3])
        files = self.hub.files(repo)
        if repo.startswith("secret/"):
            self.answer(b"{}", 403, {"X-Error-Code": "GatedRepo"})
        elif not files:
            self.answer(b"{}", 404, {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("api/") and parts[3:4] == ["tree"]:
            self.answer(json.dumps([entry(name, file) for name, file in files.items()]).encode())
        elif path.startswith("api/"):
            siblings = [{"rfilename": name} for name in files]
            self.answer(json.dumps({"id": repo, "sha": COMMIT, "private": False, "siblings": siblings}).encode())
        elif (name := "/".join(parts[5:])) in files:
            data = files[name].read_bytes()
            self.answer(data, 200, {"X-Repo-Commit": COMMIT, "ETag": f'"{oid(data)}"'})
        else:
            self.answer(b"{}", 404, {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def answer(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def entry(name: str, file: Path) -> dict[str, object]:
    data = file.read_bytes()
    return {"type": "file", "path": name, "size": len(data), "oid": oid(data)}


def oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
