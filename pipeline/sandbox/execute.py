"""One block of code in a process made for it: what it finds there, what of it is printed, and what keeps it in."""

import ast
import json
import linecache
import os
import random
import resource
import signal
import socket
import sys
import sysconfig
import threading
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.sandbox import kernel
from shopwright.pipeline.sandbox.data_loader import fill_events_table, make_exact_frame
from shopwright.pipeline.sandbox.sql import MOST_ROWS, connect_confined, explain_refusal
from shopwright.pipeline.sandbox.threads import announce_threads
from shopwright.schemas.samples import Event

FILE = "<code>"
# Characters of a block.
LONGEST = 32_000
DISPLAY = {"display.width": 160, "display.max_columns": None, "display.max_colwidth": None, "display.max_rows": 60}
FENCE = "```"


@dataclass(frozen=True)
class Limits:
    """What one block may use."""

    cpu: int = 10
    """Seconds of processor time."""
    wall: float = 30.0
    """Seconds by the clock, of which others may take their share."""
    memory: int = 1 << 30
    """Bytes beyond what the interpreter itself takes."""
    scratch: int = 64 << 20
    """Bytes in all files that it writes; none where the sandbox has no namespaces."""
    files: int = 64
    """Open at a time; ten times as many in its folder."""
    threads: int = 256
    """That it may begin in all, one after another or together."""
    shown: int = 8_000
    """Characters of output; of more, the beginning and the end."""
    printed: int = 1 << 20
    """Bytes of output after which it is stopped."""

    @classmethod
    def of(cls, text: str) -> "Limits":
        return cls(**json.loads(text))

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class BlockPlace:
    """Where blocks run, which is the same for all of them."""

    scratch: str
    """The folder that each finds empty."""
    walls: tuple[str, ...]
    """The means that keep it in."""
    address_space: int
    """Bytes of addresses that the interpreter and its libraries take."""


class LoadedTrajectory:
    """A trajectory, ready in memory: the connection and the data frame that `load_trajectory` gives."""

    def __init__(self, id: str, events: Any, connection: Any) -> None:
        self.id, self.connection = id, connection
        fill_events_table(self.connection, events)
        self.frame = make_exact_frame(events)

    def load_trajectory(self, id: str) -> tuple[Any, Any]:
        """Raises FileNotFoundError for any other."""
        if id != self.id:
            raise FileNotFoundError(f"There is no trajectory {id!r} here. This question is about {self.id!r}.")
        return self.connection, self.frame


def warm_up() -> Any:
    """A connection; and everything that blocks use is imported and tried once, so that no block waits for it."""
    import duckdb
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.csv  # for `confine_process`, which must not have read any before the copy is made: it would wait for ever

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    for name, value in DISPLAY.items():
        pd.set_option(name, value)
    nobody = LoadedTrajectory("nobody", arrow_schema(Event).empty_table(), connect_confined())
    table = nobody.connection.execute("SELECT brand, SUM(price) AS paid FROM events GROUP BY brand").df()
    (
        str(nobody.frame.groupby("brand")["price"].sum()),
        str(table),
        split_last_expression("1"),
        explain_refusal("SELECT * FROM events"),
    )
    duckdb.set_default_connection(nobody.connection)
    nobody.connection.execute("SELECT setseed(0)").fetchall()
    np.random.seed(0)  # the state that pandas samples from
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return nobody.connection


def run_block(code: str, loaded: LoadedTrajectory, limits: Limits, place: BlockPlace, talk: socket.socket) -> bool:
    """Runs it behind the walls, in this process, which is of no other use afterwards. Returns whether it went well.

    What it prints goes to standard output. Through `talk` goes, once, what listens to its new threads.
    """
    if "namespaces" in place.walls:
        kernel.mount_scratch(place.scratch, limits.scratch, 10 * limits.files)
    os.chdir(place.scratch)
    os.environ.clear()
    confine_process(limits, place, talk)
    sql = extract_sql(code)
    return execute_sql_block(sql, loaded) if sql is not None else execute_python_block(code, loaded)


def confine_process(limits: Limits, place: BlockPlace, talk: socket.socket) -> None:
    """From here on: no other file, process, signal or network, and so much of everything else."""
    from pyarrow import csv, py_buffer

    own = "namespaces" in place.walls
    kernel.drop_privileges()
    if "limits" in place.walls:
        kernel.set_resource_limits(
            {
                resource.RLIMIT_CPU: limits.cpu,
                resource.RLIMIT_AS: place.address_space + limits.memory,
                resource.RLIMIT_FSIZE: limits.scratch if own else 0,
                resource.RLIMIT_NOFILE: limits.files,
                resource.RLIMIT_CORE: 0,
            }
        )
    if "landlock" in place.walls:
        kernel.restrict_files(READABLE, [place.scratch] if own else [])
    # The two threads that Arrow needs, begun behind the walls and before each new thread waits for a leave.
    csv.read_csv(py_buffer(b"a\n1\n"))
    if "seccomp" in place.walls:
        announce_threads(talk)
        kernel.restrict_system_calls()
    talk.close()


def measure_address_space() -> int:
    """Bytes of addresses that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def find_library_folders() -> list[str]:
    """The folders of the interpreter's own modules and of those installed, and nothing of the project's or the user's."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    ends = ("site-packages", "dist-packages", "lib-dynload")
    return sorted(folders | {path for path in sys.path if path.rstrip("/").endswith(ends)})


LIBRARIES = find_library_folders()
SYSTEM = ("/usr/lib", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime")
DEVICES = ("/dev/urandom", "/dev/null", "/dev/zero")
READABLE = [*LIBRARIES, sysconfig.get_config_var("LIBDIR") or "/usr/lib", *SYSTEM, *DEVICES]


def extract_sql(code: str) -> str | None:
    """The query of a block that is fenced as SQL.

    >>> extract_sql("```sql\\nSELECT 1\\n```")
    'SELECT 1'
    """
    text = code.strip()
    if not text.lower().startswith(f"{FENCE}sql"):
        return None
    return text[len(FENCE) + 3 :].removesuffix(FENCE).strip().rstrip(";").strip()


def extract_python(code: str) -> str:
    """The code of a block, its fence taken off."""
    text = code.strip("\n")
    first, _, rest = text.strip().partition("\n")
    if first.strip().lower() in (FENCE, f"{FENCE}python", f"{FENCE}py"):
        return rest.rstrip().removesuffix(FENCE)
    return text


def execute_sql_block(sql: str, loaded: LoadedTrajectory) -> bool:
    """One query over `events`, which nothing can change, as a table."""
    import duckdb

    if why := explain_refusal(sql):
        print(f"Error: {why}. One SELECT over events can be run here.")
        return False
    loaded.connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        found = loaded.connection.execute(sql)
        names, rows = [each[0] for each in found.description], found.fetchmany(MOST_ROWS + 1)
    except duckdb.Error as error:
        print(f"{type(error).__name__}: {error}")
        return False
    for row in (names, *rows[:MOST_ROWS]):
        print(" | ".join("NULL" if value is None else str(value) for value in row))
    print(f"({len(rows)} rows)" if len(rows) <= MOST_ROWS else f"(more than {MOST_ROWS:,} rows)")
    return True


def execute_python_block(code: str, loaded: LoadedTrajectory) -> bool:
    """Python, its last expression printed."""
    text = extract_python(code)
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    sys.modules["data_loader"] = loader = ModuleType("data_loader")
    sys.modules["__main__"] = main = ModuleType("__main__")
    loader.load_trajectory = loaded.load_trajectory  # type: ignore[attr-defined]
    random.seed(0)  # which a copy of a process forgets
    sys.stderr = sys.stdout  # in the order in which they are written
    sys.argv, sys.path[:] = [FILE], [path for path in sys.path if path in LIBRARIES]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    threading.excepthook = print_thread_error
    ok = execute_statements(text, main)
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the interpreter does at its end
    return ok


def execute_statements(text: str, main: ModuleType) -> bool:
    """Whether they ended without an error."""
    try:
        begin, last = split_last_expression(text)
        exec(begin, main.__dict__)  # noqa: S102
        if last is not None:
            value = eval(last, main.__dict__)
            if value is not None:
                print(value)
        return True
    except SystemExit as end:
        return end.code in (None, 0)
    except BaseException as error:  # noqa: BLE001 - any fault of the block becomes its output
        print(format_block_error(error))
        return False


def print_thread_error(error: threading.ExceptHookArgs) -> None:
    """As an error of the block itself is printed; the block goes on."""
    if error.exc_value is not None and error.exc_type is not SystemExit:
        print(format_block_error(error.exc_value))


def split_last_expression(text: str) -> tuple[Any, Any]:
    """The statements, and the last expression where it ends with one. Raises SyntaxError."""
    tree = ast.parse(text, FILE)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    found = compile(ast.Expression(last.value), FILE, "eval") if isinstance(last, ast.Expr) else None
    return compile(tree, FILE, "exec"), found


def format_block_error(error: BaseException) -> str:
    """A traceback with the lines of the block alone: where this machine keeps its libraries is nobody's business."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    lines = [f"  line {frame.lineno}, in {frame.name}\n    {(frame.line or '').strip()}" for frame in frames]
    what = "".join(traceback.format_exception_only(error)).rstrip().replace(f'File "{FILE}", ', "")
    return "\n".join(["Traceback (most recent call last):", *lines, what])
