"""A Hub on 127.0.0.1 for tests: what `huggingface_hub` and `datasets` ask of the real one, and faults on demand.

    with LocalHub(folder) as hub:
        hub.fault("POST", "/commit/", status=503)           # the next such request only
        hub.fault("PUT", "/lfs/", cut=1_000)                # the connection breaks after so many bytes
        hub.fault("POST", "/commit/", silent=True)          # done, but the answer never comes

It keeps datasets of one user. Bytes go up by Git LFS where the client has HF_HUB_DISABLE_XET=1, else by Xet into a folder,
with the client's own code for both. Not here: pull requests, tags, models, limits, what the real one does under load.
"""

import base64
import hashlib
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_only_for_tests"


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, status, message, code=None, headers=None):
        super().__init__(message)
        self.status = status
        self.headers = {
            "X-Error-Message": " ".join(message.split()),
            **({"X-Error-Code": code} if code else {}),
            **(headers or {}),
        }


class Dataset:
    """Commits, each with its tree: path -> (SHA-256, size, whether it is a large file)."""

    def __init__(self, private):
        self.private = private
        self.trees, self.parents, self.titles, self.branches = {}, {}, {}, {}
        self.branches["main"] = self.add({}, None, "initial commit")

    def add(self, tree, parent, title):
        commit = hashlib.sha1(f"{sorted(tree.items())}{parent}{title}{len(self.trees)}".encode()).hexdigest()
        self.trees[commit], self.parents[commit], self.titles[commit] = tree, parent, title
        return commit

    def at(self, revision):
        found = self.branches.get(revision, revision)
        if found not in self.trees:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found

    def log(self, branch="main"):
        """The titles of a branch's commits, the first one first."""
        commit, titles = self.branches[branch], []
        while commit:
            titles.insert(0, self.titles[commit])
            commit = self.parents[commit]
        return titles


class LocalHub:
    """Serves until its `with` ends."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.blobs, self.cas = self.folder / "blobs", self.folder / "cas"
        for each in (self.blobs, self.cas):
            each.mkdir(parents=True)
        self.datasets, self.asked, self.faults, self.xet = {}, [], [], {}
        self.lock = threading.RLock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": self}))
        self.server.daemon_threads = True
        self.server.handle_error = self.tell
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *raised):
        self.server.shutdown()
        self.server.server_close()

    def tell(self, request, address):
        """Of a client that went away there is nothing to tell."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            traceback.print_exc()

    def fault(self, method, path, *, times=1, **what):
        self.faults.append({"method": method, "path": path, "times": times, **what})

    def fault_of(self, method, path):
        with self.lock:
            for each in self.faults:
                if each["times"] and each["method"] == method and re.search(each["path"], path):
                    each["times"] -= 1
                    return each
        return {}

    def count(self, method, path):
        """How many requests were answered without a fault."""
        return sum(each[0] == method and bool(re.search(path, each[1])) and each[2] < 300 for each in self.asked)

    def files(self, repo, branch="main"):
        found = self.datasets[repo]
        return found.trees[found.branches[branch]]

    def environment(self, folder, **more):
        """Of a process that knows no other Hub."""
        home = {"HF_HOME": str(folder), "HF_ENDPOINT": self.url, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_TELEMETRY": "1"}
        return {**os.environ, **home, **more}

    # Bytes, by their SHA-256.

    def keep(self, data):
        digest = hashlib.sha256(data).hexdigest()
        beside = self.blobs / f"{digest}.{threading.get_ident()}"
        beside.write_bytes(data)
        beside.rename(self.blobs / digest)
        return digest

    def has(self, digest):
        self.read_shards()
        return digest in self.xet or (self.blobs / digest).exists()

    def data(self, digest):
        if not (self.blobs / digest).exists():
            from hf_xet import XetFileInfo, XetSession

            group = XetSession().new_file_download_group(
                endpoint=f"local://{self.cas}", token="t", token_expiry_unix_secs=int(time.time()) + 3600
            )
            with group as files:
                files.start_download_file(XetFileInfo(*self.xet[digest]), str(self.blobs / digest))
        return (self.blobs / digest).read_bytes()

    def read_shards(self):
        """Learns from Xet's own files which SHA-256 is which Xet hash: 48-byte records, up to one of 0xff."""
        for path in self.cas.rglob("*.mdb"):
            data, at = path.read_bytes(), 48
            while data[:14] == b"HFRepoMetaData" and data[at : at + 32] != b"\xff" * 32:
                name, (flags, count) = data[at : at + 32], struct.unpack("<II", data[at + 32 : at + 40])
                at += 48
                size = sum(struct.unpack("<4I", data[at + 48 * n + 32 : at + 48 * n + 48])[1] for n in range(count))
                at += 48 * count * (2 if flags >> 31 & 1 else 1)
                if flags >> 30 & 1:
                    self.xet[words_of(data[at : at + 32])] = (words_of(name), size)
                    at += 48


def words_of(digest):
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", digest))


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """One request at a time is routed; faults come before."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written apart: the second would wait 40 ms for the first

    def log_message(self, *words):
        pass

    def handle_any(self):
        where = urlsplit(self.path)
        self.where, self.query = unquote(where.path), {name: each[0] for name, each in parse_qs(where.query).items()}
        length, self.status = int(self.headers.get("Content-Length") or 0), 0
        fault = self.hub.fault_of(self.command, self.where)
        self.silent = fault.get("silent", False)
        try:
            if "cut" in fault:
                self.rfile.read(min(fault["cut"], length))
                return self.hang_up()
            self.body = self.rfile.read(length)
            time.sleep(fault.get("delay", 0))
            if "status" in fault:
                raise Refused(fault["status"], fault.get("message", "a fault on demand"), headers=fault.get("headers"))
            with self.hub.lock:
                self.route()
            if self.silent:
                self.hang_up()
        except Refused as refused:
            self.answer({"error": str(refused)}, refused.status, refused.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.hub.asked.append((self.command, self.where, self.status or 999, length))

    do_GET = do_POST = do_PUT = do_HEAD = handle_any

    def hang_up(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer(self, value, status=200, headers=None, data=None):
        if self.silent:
            return
        data = json.dumps(value).encode() if data is None else data
        self.status = status
        self.send_response(status)
        for name, each in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, each)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def json(self):
        return json.loads(self.body or b"{}")

    @property
    def known(self):
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def needs_token(self):
        if not self.known:
            raise Refused(401, "Invalid username or password.")

    def dataset(self, repo):
        found = self.hub.datasets.get(repo)
        if found is None or (found.private and not self.known):
            raise Refused(404 if self.known else 401, "Repository not found", "RepoNotFound" if self.known else None)
        return found

    def route(self):
        routes = (
            (r"/api/repos/create", self.create),
            (r"/api/validate-yaml", lambda: self.answer({"errors": [], "warnings": []})),
            (r"/lfs/put/(\w+)", self.lfs_put),
            (r"/lfs/verify", lambda: self.answer({})),
            (r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", self.lfs_batch),
            (r"/(?:api/resolve-cache/)?datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.resolve),
            (r"/api/datasets/([^/]+/[^/]+?)(?:/revision/(.+))?", self.info),
            (r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)(?:/(.*))?", self.tree),
            (r"/api/datasets/([^/]+/[^/]+)/paths-info/([^/]+)", self.paths_info),
            (r"/api/datasets/([^/]+/[^/]+)/preupload/(.+)", self.preupload),
            (r"/api/datasets/([^/]+/[^/]+)/xet-(read|write)-token/(.+)", self.xet_token),
            (r"/api/datasets/([^/]+/[^/]+)/commit/(.+)", self.commit),
            (r"/api/datasets/([^/]+/[^/]+)/branch/(.+)", self.branch),
        )
        for pattern, route in routes:
            if found := re.fullmatch(pattern, self.where):
                return route(*found.groups())
        raise Refused(404, f"no route for {self.command} {self.where}", "EntryNotFound")

    def create(self):
        self.needs_token()
        given = self.json()
        user = given.get("organization") or "user"
        if user != "user":
            raise Refused(403, f"You don't have the rights to create a dataset under the namespace {user}")
        repo = f"{user}/{given['name']}"
        new = repo not in self.hub.datasets
        if new:
            self.hub.datasets[repo] = Dataset(given.get("visibility") == "private" or given.get("private", False))
        self.answer({"url": f"{self.hub.url}/datasets/{repo}"}, 200 if new else 409)

    def branch(self, repo, name):
        self.needs_token()
        found = self.dataset(repo)
        if name in found.branches:
            raise Refused(409, f"Reference already exists: refs/heads/{name}")
        found.branches[name] = found.at(self.json().get("startingPoint", "main"))
        self.answer({})

    def info(self, repo, revision):
        found = self.dataset(repo)
        commit = found.at(revision or "main")
        files = [{"rfilename": path} for path in found.trees[commit]]
        self.answer({"_id": "0", "id": repo, "sha": commit, "private": found.private, "siblings": files, "tags": []})

    def item(self, found, commit, path):
        digest, size, large = found.trees[commit][path]
        item = {"type": "file", "path": path, "size": size, "oid": git_sha1(digest.encode())}
        if not large:
            return {**item, "oid": git_sha1(self.hub.data(digest))}
        xet = {"xetHash": self.hub.xet[digest][0]} if digest in self.hub.xet else {}
        return {**item, "lfs": {"oid": digest, "size": size, "pointerSize": 130}, **xet}

    def items(self, found, commit, top, deep):
        start = f"{top.strip('/')}/" if top else ""
        inside = [path.removeprefix(start) for path in sorted(found.trees[commit]) if path.startswith(start)]
        if start and not inside:
            raise Refused(404, f"{top} does not exist", "EntryNotFound")
        parts = [path.split("/") for path in inside]
        folders = {"/".join(each[:n]) for each in parts for n in range(1, len(each))}
        told = [self.item(found, commit, start + path) for path in inside]
        told += [{"type": "directory", "path": start + path, "size": 0, "oid": "0" * 40} for path in folders]
        return [item for item in told if deep or "/" not in item["path"].removeprefix(start)]

    def tree(self, repo, revision, top):
        found = self.dataset(repo)
        items = self.items(
            found, found.at(revision), top or "", self.query.get("recursive", "").lower() in ("1", "true")
        )
        self.answer(sorted(items, key=lambda item: item["path"]))

    def paths_info(self, repo, revision):
        found = self.dataset(repo)
        commit = found.at(revision)
        kind = self.headers.get("Content-Type", "")
        wanted = self.json()["paths"] if "json" in kind else parse_qs(self.body.decode())["paths"]
        every = {item["path"]: item for item in self.items(found, commit, "", True)}
        self.answer([every[path] for path in wanted if path in every])

    def preupload(self, repo, revision):
        self.needs_token()
        tree = self.dataset(repo).trees[self.dataset(repo).at(revision)]
        told = []
        for each in self.json()["files"]:
            large = each["path"].endswith(".parquet") or b"\0" in base64.b64decode(each["sample"])
            known = tree.get(each["path"])
            oid = {} if not known else {"oid": known[0] if known[2] else git_sha1(self.hub.data(known[0]))}
            mode = "lfs" if large else "regular"
            told.append(
                {"path": each["path"], "uploadMode": mode, "shouldIgnore": self.ignored(tree, each["path"]), **oid}
            )
        self.answer({"files": told})

    def ignored(self, tree, path):
        """By a .gitignore of plain names."""
        return ".gitignore" in tree and path in self.hub.data(tree[".gitignore"][0]).decode().split()

    def lfs_batch(self, repo):
        self.needs_token()
        told = []
        for each in self.json()["objects"]:
            actions = {"upload": {"href": f"{self.hub.url}/lfs/put/{each['oid']}"}}
            told.append({**each, **({} if self.hub.has(each["oid"]) else {"actions": actions})})
        self.answer({"transfer": "basic", "objects": told})

    def lfs_put(self, digest):
        if self.hub.keep(self.body) != digest:
            raise Refused(400, "not those bytes")
        self.answer({}, headers={"ETag": f'"{digest}"'})

    def xet_token(self, repo, kind, revision):
        if kind == "write":
            self.needs_token()
        told = {"casUrl": f"local://{self.hub.cas}", "accessToken": "t", "exp": int(time.time()) + 3600}
        names = {"X-Xet-Cas-Url": told["casUrl"], "X-Xet-Access-Token": "t", "X-Xet-Token-Expiration": str(told["exp"])}
        self.answer(told, headers=names)

    def commit(self, repo, revision):
        self.needs_token()
        found = self.dataset(repo)
        head = found.at(revision)
        first, *lines = [json.loads(line) for line in self.body.splitlines() if line.strip()]
        if first["value"].get("parentCommit") not in (None, head):
            raise Refused(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(found.trees[head])
        for line in lines:
            value, path = line["value"], line["value"]["path"]
            if line["key"] == "file":
                data = base64.b64decode(value["content"])
                tree[path] = (self.hub.keep(data), len(data), False)
            elif line["key"] == "lfsFile":
                if not self.hub.has(value["oid"]):
                    raise Refused(400, f"{path} was never uploaded")
                tree[path] = (value["oid"], value["size"], True)
            else:
                del tree[path]
        found.branches[revision] = found.add(tree, head, first["value"]["summary"])
        url = f"{self.hub.url}/datasets/{repo}/commit/{found.branches[revision]}"
        self.answer({"success": True, "commitOid": found.branches[revision], "commitUrl": url})

    def resolve(self, repo, revision, path):
        found = self.dataset(repo)
        commit = found.at(revision)
        if path not in found.trees[commit]:
            raise Refused(404, "Entry not found", "EntryNotFound", {"X-Repo-Commit": commit})
        digest, size, large = found.trees[commit][path]
        tag = f'"{digest if large else git_sha1(self.hub.data(digest))}"'
        told = {
            "X-Repo-Commit": commit,
            "ETag": tag,
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
        }
        if large:
            told |= {"X-Linked-Size": str(size), "X-Linked-Etag": tag}
        data, status = self.hub.data(digest), 200
        if wanted := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or ""):
            first = int(wanted[1]) if wanted[1] else max(0, size - int(wanted[2]))
            last = min(int(wanted[2]), size - 1) if wanted[1] and wanted[2] else size - 1
            status, told["Content-Range"] = 206, f"bytes {first}-{last}/{size}"
            data = data[first : last + 1]
        self.answer(None, status, told, data)
