"""Where files are: in a folder of this machine, or in one that fsspec reaches, such as `s3://bucket/folder`.

Both are written as `pathlib` paths. A file elsewhere is made here and sent when it is whole, so that there too it is either whole or absent.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from time import sleep, time
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.problem import Problem

T = TypeVar("T")
# Requests to another machine, which answers each after some milliseconds.
AT_ONCE = 16
# What reads a protocol, where it is a package of its own.
KNOWN_BY = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
# Where a file that is sent shows only when all of it is there.
IN_ONE_STEP = {"s3", "s3a", "gs", "gcs", "az", "abfs", "hf", "memory"}
NEVER = datetime(1970, 1, 1)
# Seconds after which the holder of a lock says that it is still at work.
BEAT = 20.0
# Seconds after its last word when it is watched for a while, and counts as dead if it says nothing: the clocks of two machines may differ.
SILENT = 120.0


def find_cache_folder() -> Path:
    """Where this user keeps what is only there to save time."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "shopwright"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # a home that cannot be written to, or none
        return Path(tempfile.gettempdir())


def path_of(where: str | Path) -> Path:
    """The path of a folder or file, wherever it is. Raises Problem for a protocol that nothing here reads.

    >>> path_of("data/runs/demo").as_posix()
    'data/runs/demo'
    """
    if not isinstance(where, str):
        return where
    protocol, sign, rest = where.partition("://")
    if not sign or protocol == "file":
        return Path(rest or where)
    if protocol == "hf":
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # a bar for every shard
    from upath import UPath

    try:
        found: Any = UPath(where, use_listings_cache=False)  # others write there at the same time
        filesystem_of(found)
    except (ImportError, ValueError) as error:
        needed = f"Install it: pip install {KNOWN_BY[protocol]}." if protocol in KNOWN_BY else f"{error}."
        raise Problem(f"{where} cannot be reached. {needed}") from None
    return found


def check_reachable(folder: Path) -> None:
    """Asks once for a folder elsewhere. Raises Problem where there is no way to it."""
    if not is_here(folder):
        with explain_remote_errors(folder):
            filesystem_of(folder).exists(path_in_filesystem(folder))


def check_run_contents(run: Path, names: Iterable[str]) -> None:
    """Raises Problem where one of these folders of a run is or holds a link that leads out of it, or what is no file at all.

    In the folder of somebody else such a link would have files elsewhere read, written over or taken away; a pipe is waited for without end.
    """
    base = os.path.realpath(run)
    for path in chain.from_iterable(below(os.path.join(run, name)) for name in names):
        if os.path.islink(path) and os.path.commonpath([base, os.path.realpath(path)]) != base:
            raise Problem(
                f"{path} is a link that leads out of {run}. Put what it leads to there, or use another folder."
            )
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
            raise Problem(f"{path} is neither a file nor a folder. Take it away, or use another folder.")


def below(path: str) -> Iterator[str]:
    """A path, and all that is in it where it is a folder; what links lead to is not looked into."""
    yield path
    if os.path.isdir(path) and not os.path.islink(path):
        for each in os.scandir(path):
            yield from below(each.path)


def is_here(path: Path) -> bool:
    return isinstance(path, Path)  # a `UPath` only looks like one


def absolute(path: Path) -> Path:
    """As another process finds it, wherever that was started."""
    return path.absolute() if is_here(path) else path


def here(folder: Path) -> Path:
    """A folder of this machine for what belongs to another one but has to be a file here: itself, where it is here."""
    if is_here(folder):
        return folder
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "shopwright" / "runs" / hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def parquet(path: Path) -> pq.ParquetFile:
    """Raises ArrowInvalid where it is none."""
    file = (
        pq.ParquetFile(path)
        if is_here(path)
        else pq.ParquetFile(path_in_filesystem(path), filesystem=filesystem_of(path))
    )
    check_footer(file.metadata, path)
    return file


def footer(path: Path) -> pq.FileMetaData:
    """Raises ArrowInvalid where it is none."""
    with parquet(path) as file:
        return file.metadata


def check_footer(footer: pq.FileMetaData, path: Path) -> None:
    """Raises ArrowInvalid where it counts more rows than its file has bytes: each row has an id of its own.

    Room for all of them is asked for before the first is read, and a footer of somebody else may say what it likes.
    """
    most = path.stat().st_size if is_here(path) else 2**40  # elsewhere a size is one more request
    counts = [footer.num_rows, *(footer.row_group(number).num_rows for number in range(footer.num_row_groups))]
    if max(counts) > most:
        raise pa.ArrowInvalid(f"{path.name} counts {max(counts):,} rows in {most:,} bytes")


def filesystem_of(path: Path) -> Any:
    """The fsspec file system of a path that is not here."""
    found: Any = path
    if found.fs.async_impl:
        from fsspec.asyn import get_loop

        get_loop().set_exception_handler(tell_unless_lost)
    return found.fs


def tell_unless_lost(loop: Any, context: dict[str, Any]) -> None:
    """What nobody waited for, as asyncio tells it, but for a connection that was lost: who asked is told of that, in a line."""
    if not isinstance(context.get("exception"), ConnectionError):
        loop.default_exception_handler(context)


def path_in_filesystem(path: Path) -> str:
    """As its file system calls it."""
    found: Any = path
    name: str = found.path
    return name


def connect_duckdb(paths: Iterable[Path] = ()) -> Any:
    """A DuckDB connection that can read these files, and puts what memory is too small for where temporary files go."""
    import duckdb

    connection = duckdb.connect(config={"temp_directory": str(Path(tempfile.gettempdir()) / "shopwright-duckdb")})
    first = next(iter(paths), None)
    if first is not None and not is_here(first):
        files = filesystem_of(first)
        # the Hub keeps files in commits, which have no time for each file; DuckDB asks for one
        if "hf" in list_protocols(files):
            files.modified = lambda path: NEVER
        connection.register_filesystem(files)
    return connection


def map_paths(function: Callable[[Path], T], paths: Iterable[Path]) -> list[T]:
    """What a function gives for each path, many at once where each is a request."""
    paths = list(paths)
    if len(paths) < 2 or is_here(paths[0]):
        return [function(path) for path in paths]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(function, paths))


def is_readable_parquet(path: Path) -> bool:
    """Whether the Parquet file is there and its footer can be read."""
    try:
        footer(path)
    except (pa.ArrowInvalid, OSError):
        return False
    return True


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def compute_stamp(files: Iterable[Path]) -> tuple[Any, ...]:
    """Differs when one of these files does."""
    files = list(files)
    if files and not is_here(files[0]):
        facts = filesystem_of(files[0]).ls(path_in_filesystem(files[0].parent), detail=True)
        # Each store tells in another way that a file has changed.
        kinds = ("name", "size", "ETag", "LastModified", "mtime", "created", "last_commit", "blob_id")
        found = []
        for fact in facts:
            found.append(tuple(str(fact.get(kind, "")) for kind in kinds))
        return tuple(sorted(found))
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in files)


def temporary_path(path: Path) -> Path:
    """Where a file is written before it takes its place: no other process has the same."""
    name = f".{path.name}.{uuid4().hex[:8]}.tmp"
    return path.with_name(name) if is_here(path) else Path(tempfile.gettempdir()) / f"shopwright{name}"


def move_into_place(beside: Path, path: Path) -> None:
    """Puts a finished file in its place, in one step and for good."""
    with open(beside, "rb") as file:
        os.fsync(file.fileno())
    if is_here(path):
        os.replace(beside, path)
        return
    send(beside, path)
    beside.unlink()


def send(file: Path, path: Path) -> None:
    """Copies a file of this machine to another one; it is there when all of it is."""
    files, name = filesystem_of(path), path_in_filesystem(path)
    if in_one_step(files):
        files.put_file(str(file), name)
        return
    files.makedirs(path_in_filesystem(path.parent), exist_ok=True)
    first = f"{path_in_filesystem(path.parent)}/.{path.name}.{uuid4().hex[:8]}.tmp"
    files.put_file(str(file), first)
    files.mv(first, name)


def remove(path: Path) -> None:
    """Takes a file away, if it is there."""
    if is_here(path):
        path.unlink(missing_ok=True)
        return
    files, name = filesystem_of(path), path_in_filesystem(path)
    if files.exists(name):
        with suppress(FileNotFoundError):
            files.rm_file(name)


def in_one_step(files: Any) -> bool:
    """Whether what is sent to this file system shows only when all of it is there; folders need not be made there."""
    return bool(list_protocols(files) & IN_ONE_STEP)


def list_protocols(files: Any) -> set[str]:
    """The protocols that a file system goes by."""
    return {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)


def write_whole(path: Path, text: str) -> None:
    """The file with this text, either whole or as it was before."""
    first = path.with_name(f".{path.name}.tmp") if is_here(path) else temporary_path(path)
    first.parent.mkdir(parents=True, exist_ok=True)
    try:
        first.unlink(missing_ok=True)  # one that was left, or a link that somebody put there
        with open(first, "x", encoding="utf-8") as file:
            file.write(text)
        move_into_place(first, path)
    except BaseException:
        first.unlink(missing_ok=True)
        raise


@contextmanager
def lock_run(folder: Path, run: Path) -> Iterator[str]:
    """One build at a time in a run: `folder` is where it keeps its lock; gives its key. Raises Problem while another one is at work, and says which.

    Here the lock goes with the process that holds it. Elsewhere it is a file that its holder renews: when it has been silent for
    two minutes and stays so while it is watched, or at once where the holder was a process of this machine that is no more, another
    build takes it over.
    """
    lock = folder / ".lock"
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    mine = {"host": socket.gethostname(), "pid": os.getpid(), "since": since, "key": uuid4().hex}
    with lock_local_folder(lock, mine, run) if is_here(folder) else lock_remote_folder(lock, mine, run):
        yield str(mine["key"])


@contextmanager
def lock_local_folder(lock: Path, mine: dict[str, Any], run: Path) -> Iterator[None]:
    """The folder itself is locked; the file in it only tells others by whom."""
    handle = os.open(lock.parent, os.O_RDONLY)
    try:
        if not all(os.access(each, os.W_OK) for each in (run, lock.parent)):
            raise Problem(f"Cannot write to {run}: Permission denied. Choose another --run folder.")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise at_work(run, read_lock(lock)) from None
        except OSError as error:
            raise Problem(f"{run} cannot be locked: {error.strerror}. Choose a --run folder on another disk.") from None
        try:
            lock.write_text(json.dumps(mine), encoding="utf-8")
            yield
        finally:
            with suppress(OSError):
                lock.unlink()
    finally:
        os.close(handle)


@contextmanager
def lock_remote_folder(lock: Path, mine: dict[str, Any], run: Path) -> Iterator[None]:
    with explain_remote_errors(run):
        acquire_lock(lock, mine, run)
    over = threading.Event()
    keeper = threading.Thread(target=renew_lock, args=(lock, mine, over), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
        with suppress(Exception):  # nobody answers; it is taken over later
            if read_lock(lock).get("key") == mine["key"]:
                remove(lock)


def at_work(run: Path, other: dict[str, Any]) -> Problem:
    since = f" since {other['since']}" if other.get("since") else ""
    who = f" (process {other.get('pid')} on {other.get('host')}{since})" if other else ""
    return Problem(f"Another build is at work in {run}{who}. Wait for it, or use another --run folder.")


@contextmanager
def explain_remote_errors(run: Path) -> Iterator[None]:
    """Tells in one line why a folder elsewhere cannot be used."""
    try:
        yield
    except Problem:
        raise
    except Exception as error:  # noqa: BLE001 - each file system has errors of its own
        why = " ".join(str(error).split()) or type(error).__name__
        raise Problem(
            f"{run} cannot be used: {why}. Look at the address, and at the keys that its file system reads from the environment."
        ) from None


# Whose errors tell of another machine.
CLIENTS = {"botocore", "aiobotocore", "aiohttp", "gcsfs", "azure", "google", "httpx", "httpx2", "huggingface_hub"}
# How DuckDB tells what was raised where it read by fsspec: the place, and then the error's name and words.
RAISED_IN_DUCKDB = re.compile(
    r'Traceback \(most recent call last\):\s+File "([^"]+)".*?^\w+: ([^\n]+)', re.DOTALL | re.MULTILINE
)


def describe_remote_error(error: BaseException) -> str:
    """Why a machine elsewhere did not do what it was asked for; empty for every other error.

    >>> describe_remote_error(ConnectionResetError("reset by peer")), describe_remote_error(ValueError("no number"))
    ('reset by peer', '')
    """
    if isinstance(error, ConnectionError | TimeoutError) or type(error).__module__.partition(".")[0] in CLIENTS:
        return " ".join(str(error).split()) or type(error).__name__
    if raised := RAISED_IN_DUCKDB.match(str(error)):
        return raised[2].strip() if CLIENTS & set(Path(raised[1]).parts) else ""
    return ""


# What a machine lacks when it says this: room, rights, a sound disk, open files.
WITHOUT_IT = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EIO,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
}


# How libraries say that there is no more memory, and Python where it runs out inside of the interpreter (a SystemError).
STARVED = (
    os.strerror(errno.ENOMEM),
    "can't start new thread",
    "unable to start watchdog thread",
    "Failed to launch worker thread",
    "failed to map segment",
    "std::bad_alloc",
    "without exception set",
    "without setting an exception",
)


def describe_machine_error(error: BaseException) -> str:
    """Why this machine did not do what it was asked for; empty for every other error.

    >>> describe_machine_error(OSError(28, "No space left on device", "a.parquet")), describe_machine_error(KeyError("a"))
    ('a.parquet: No space left on device', '')
    >>> describe_machine_error(MemoryError()), describe_machine_error(SystemError("error return without exception set"))
    ('memory ran out', 'memory ran out')
    """
    words = " ".join(str(error).split())
    # By name: Arrow and DuckDB are not imported for this.
    may_tell = (
        isinstance(error, OSError | ImportError | RuntimeError | SystemError)
        or type(error).__name__ == "ArrowException"
    )
    starved = may_tell and any(sign in words for sign in STARVED)
    if starved or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return "memory ran out"
    if isinstance(error, OSError) and error.errno in WITHOUT_IT:
        return f"{error.filename}: {error.strerror}" if error.filename else words
    # Errors of libraries that tell of files carry no number.
    of_files = isinstance(error, OSError) or type(error).__name__ in ("IOException", "RuntimeError")
    return words if of_files and any(os.strerror(each) in words for each in WITHOUT_IT) else ""


def acquire_lock(lock: Path, mine: dict[str, Any], run: Path) -> None:
    """Makes the lock file, or takes over that of a build that is no more."""
    if create_lock_file(lock, mine):
        return
    other = read_lock(lock)
    if not is_lock_dead(lock, other):
        raise at_work(run, other)
    remove(lock)
    # Another one may have taken it over in between.
    if not create_lock_file(lock, mine):
        raise at_work(run, read_lock(lock))


def create_lock_file(lock: Path, mine: dict[str, Any]) -> bool:
    """Writes the lock where there is none; false where there is one."""
    words = json.dumps({**mine, "beat": time()}).encode()
    files, name = filesystem_of(lock), path_in_filesystem(lock)
    if files.exists(name):
        return False
    if not in_one_step(files):
        files.makedirs(path_in_filesystem(lock.parent), exist_ok=True)
    try:
        files.pipe_file(name, words, mode="create")
    except FileExistsError:
        return False
    except (TypeError, ValueError, NotImplementedError):  # it cannot make a file only where there is none
        files.pipe_file(name, words)
    return True


def read_lock(lock: Path) -> dict[str, Any]:
    """What a lock says of who made it; nothing where there is none, or one that was torn."""
    try:
        found = json.loads(
            lock.read_bytes() if is_here(lock) else filesystem_of(lock).cat_file(path_in_filesystem(lock))
        )
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_lock_dead(lock: Path, other: dict[str, Any]) -> bool:
    """Whether who made the lock is no more. Where a clock says so, its word alone is not enough: it may have been set."""
    pid, beat = other.get("pid"), other.get("beat")
    if not isinstance(pid, int) or not isinstance(beat, (int, float)):
        return True
    if other.get("host") == socket.gethostname() and not is_process_alive(pid):
        return True
    if abs(time() - beat) < SILENT:
        return False
    print(
        f"{lock.parent.parent}: a lock of process {pid} on {other.get('host')} is watched ...",
        file=sys.stderr,
        flush=True,
    )
    sleep(2.5 * BEAT)  # two of its beats, and room for a slow one
    return read_lock(lock) == other


def is_process_alive(pid: int) -> bool:
    try:
        os.kill(max(pid, 1), 0)  # 0 and below mean groups of processes
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        return True
    return True


def renew_lock(lock: Path, mine: dict[str, Any], over: threading.Event) -> None:
    """Says from time to time that the holder is at work, unless another one took the lock over."""
    while not over.wait(BEAT):
        with suppress(Exception):
            if read_lock(lock).get("key") == mine["key"]:
                filesystem_of(lock).pipe_file(path_in_filesystem(lock), json.dumps({**mine, "beat": time()}).encode())
