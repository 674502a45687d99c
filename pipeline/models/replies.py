"""Every reply that was paid for, kept by its address: what was asked once is not asked again.

An append-only file of JSON lines for each shard and role: one process at a time adds to it. A line is written when the reply is there, so that a process
that is killed loses only what was on its way. It ends with a checksum: one that was torn or damaged is passed over, and asked again. Where
the run's folder is elsewhere, the files are kept here, and copied there every minute and at the end.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from shopwright.pipeline.files import here, is_here, send, write_whole
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.problem import Problem

ANEW = "anew.json"
# What a line may say, and as what: the folder may be somebody else's.
KINDS: dict[str, Any] = {
    **dict.fromkeys(("key", "prompt", "text", "reasoning", "finish", "fault"), str),
    **dict.fromkeys(("round", "prompt_tokens", "tokens"), int),
    **dict.fromkeys(("calls", "chances"), list),
    "seconds": (int, float),
}
# Seconds after which what was written is made to stay, at the latest with the next reply.
SYNCED = 0.5
# Seconds after which it is copied to where the run's folder is, if that is elsewhere.
COPIED = 60.0


# The file of a reply, and where in it its line begins.
Place = tuple[Path, int]


class Replies:
    """The replies in a folder; opened to read all of them and to add to a file of one's own, whose replies come first.

    `known`: what a process found that opened the folder before for the same build; it reads its own file alone then, as only others add to the rest.
    Kept are places, not texts: an index of a million replies takes some 200 MB.
    """

    def __init__(
        self, folder: Path, name: str, *, fresh: bool = False, known: dict[Path, dict[str, Place]] | None = None
    ) -> None:
        self.folder, self.there = here(folder), folder / f"{name}.jsonl"
        self.path = self.folder / self.there.name
        fetch_replies(folder)
        self.rounds = read_rounds(folder)
        """By address: how often a reply was asked for anew (`ask_anew`)."""
        known = {} if known is None else known
        self.places: dict[str, Place] = {}
        if not fresh and folder in known:
            self.places |= list_reply_places(folder, self.rounds, only=self.path.name)
        elif not fresh:
            known[folder] = dict(self.sort_out(list_reply_places(folder, self.rounds)))
        self.others = {} if fresh else known[folder]
        self.file: Any = None
        self.synced = self.copied = monotonic()
        self.copying: Thread | None = None

    def sort_out(self, places: Iterable[tuple[str, Place]]) -> Iterator[tuple[str, Place]]:
        """All of them; those in its own file are put aside, as they come first."""
        for key, place in places:
            if place[0] == self.path:
                self.places[key] = place
            yield key, place

    def get(self, key: str) -> Reply | None:
        place = self.places.get(key) or self.others.get(key)
        if place is None:
            return None
        path, offset = place
        if path == self.path and self.file is not None:
            self.file.flush()
        with open(path, "rb") as file:
            file.seek(offset)
            found = json.loads(file.readline())
        facts = {name: value for name, value in found.items() if name not in ("key", "prompt", "round", "sum")}
        return Reply(**{"text": "", **facts, "calls": tuple(facts.get("calls", ()))}, key=key, kept=True)

    def put(self, key: str, prompt: str, reply: Reply) -> None:
        """That there was no answer is not kept: another time there may be one."""
        if reply.finish == "unanswered":
            return
        if self.file is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            repair_replies(self.path)
            self.file = open(self.path, "ab")  # noqa: SIM115  (held as long as this is)
        plain = {name: value for name, value in vars(reply).items() if value and name not in ("kept", "key")}
        if again := self.rounds.get(key):
            plain["round"] = again
        self.places[key] = self.path, self.file.tell()
        self.file.write(encode_reply_line({"key": key, "prompt": prompt, **plain}))
        self.file.flush()
        if monotonic() - self.synced > SYNCED:
            os.fsync(self.file.fileno())
            self.synced = monotonic()
        if not is_here(self.there) and monotonic() - self.copied > COPIED:
            self.copy()

    def copy(self) -> None:
        """Begins to copy the file to where the run is; one copy at a time."""
        if self.copying is None or not self.copying.is_alive():
            self.copying, self.copied = Thread(target=send, args=(self.path, self.there)), monotonic()
            self.copying.start()

    def close(self) -> None:
        if self.file is not None:
            os.fsync(self.file.fileno())
            self.file.close()
            self.file = None
            if self.copying is not None:
                self.copying.join()
            if not is_here(self.there):
                send(self.path, self.there)


def fetch_replies(folder: Path) -> None:
    """Copies what was replied elsewhere to here, where another machine has more of it."""
    if is_here(folder):
        return
    for there in folder.glob("*.jsonl"):
        mine, facts = here(folder) / there.name, there.stat()
        if not mine.exists() or mine.stat().st_size < facts.st_size:
            mine.parent.mkdir(parents=True, exist_ok=True)
            mine.write_bytes(there.read_bytes())
            os.utime(mine, (facts.st_mtime, facts.st_mtime))


def read_rounds(folder: Path) -> dict[str, int]:
    path = folder / ANEW
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return {str(key): int(count) for key, count in found.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise Problem(f"{path} cannot be read. Take it away, or use another --run folder.") from None


def ask_anew(folder: Path, keys: Iterable[str]) -> None:
    """The replies at these addresses count no longer: they are asked for again, drawn with another seed.

    Those that came before stay where they are.
    """
    known = read_rounds(folder)
    known |= {key: known.get(key, 0) + 1 for key in keys}
    write_whole(folder / ANEW, json.dumps(known))


def repair_replies(path: Path) -> None:
    """Cuts a torn last line off, so that the next one begins on its own."""
    if not path.exists():
        return
    with open(path, "rb+") as file:
        whole = file.read()
        file.truncate(whole.rfind(b"\n") + 1)


def list_reply_places(
    folder: Path, rounds: Mapping[str, int] = {}, *, only: str = "*.jsonl"
) -> Iterator[tuple[str, Place]]:
    """The address of every reply in a folder, or in one file, and where it stands; of two replies the one in the later file comes last.

    What is damaged is told on standard error, a line for each file.
    """
    for path in sorted(here(folder).glob(only), key=lambda path: (path.stat().st_mtime_ns, path.name)):
        offset = damaged = 0
        with open(path, "rb") as file:
            for line in file:
                found = decode_reply_line(line)
                damaged += found is None and line.endswith(b"\n")
                if found and found.get("round", 0) == rounds.get(found["key"], 0):
                    yield found["key"], (path, offset)
                offset += len(line)
        if damaged:
            print(
                f"{path}: {damaged:,} replies are damaged, and are asked again where they are needed.", file=sys.stderr
            )


def encode_reply_line(facts: Mapping[str, Any]) -> bytes:
    """
    >>> encode_reply_line({"key": "a"})
    b'{"key": "a", "sum": "d3cba6c63a0f80fe"}\\n'
    """
    body = json.dumps(facts, ensure_ascii=False, default=dict)[:-1].encode("utf-8", "surrogatepass")
    return b'%b, "sum": "%b"}\n' % (body, line_checksum(body))


def line_checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


def decode_reply_line(line: bytes) -> dict[str, Any] | None:
    """What a line says; None where it is not as it was written, or is no reply."""
    body, sign, rest = line.rpartition(b', "sum": "')
    if not sign or rest != line_checksum(body) + b'"}\n':
        return None
    try:
        found: dict[str, Any] = json.loads(body + b"}")
        whole = "key" in found and all(isinstance(value, KINDS[name]) for name, value in found.items())
        called = all(isinstance(each, dict) for each in found.get("calls", ()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return found if whole and called else None
