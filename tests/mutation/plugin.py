"""For pytest: instead of the tests once, a baseline of them with the lines that each reaches, and then those of each mutant's line."""

import functools
import gc
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from tempfile import mkdtemp
from types import CodeType, FunctionType

from tests.mutation.operators import list_mutants, make_mutant

HOME = Path(__file__).parents[2]
# Of what the tests took in the baseline; and seconds more, as a machine is not always as quick.
PATIENCE, MORE = 10, 20


def pytest_pycollect_makeitem(collector, name):
    """Of the code itself only its examples are tests, whatever its functions are called."""
    return None if collector.path.is_relative_to(HOME / "tests") else []


def pytest_runtestloop(session):
    asked = json.load(sys.stdin)
    gc.unfreeze()  # else the functions of the modules are not found below
    texts = {path: (HOME / path).read_text("utf-8") for path in asked["files"]}
    reached = read_result(*start(session, lambda say: trace(session, set(texts), say)), most=3_600)
    failed = [name for name, each in reached.items() if each["outcome"] == "failed"]
    if failed or not reached:
        print(f"The baseline fails: {', '.join(failed) or 'no test ran'}.", flush=True)
        session.testsfailed = 1
        return True
    passed = {name: each for name, each in reached.items() if each["outcome"] == "passed"}
    with open(asked["out"], "a", encoding="utf-8") as out:
        for path, numbers in asked["mutants"].items():
            known = list_mutants(texts[path])
            for number in numbers:
                tree, new = make_mutant(texts[path], number)
                reach = sorted(
                    (each["seconds"], name)
                    for name, each in passed.items()
                    if known[number].line in each["lines"].get(path, ())
                )
                found = try_mutant(session, path, tree, reach, asked["seconds"])
                facts = {
                    "file": path,
                    "line": known[number].line,
                    "old": shorten(known[number].old),
                    "new": shorten(new),
                }
                out.write(json.dumps(facts | found, ensure_ascii=False) + "\n")
                out.flush()
    return True


def shorten(code, most=160):
    flat = " ".join(code.split())
    return flat if len(flat) <= most else f"{flat[:most]} ..."


def try_mutant(session, path, tree, reach, most):
    chosen, seconds = [], 0.0
    for took, name in reach:
        if not chosen or seconds + took <= most:
            chosen, seconds = [*chosen, name], seconds + took
    if not chosen:
        return {"outcome": "not reached", "tests": 0}
    items = [item for name in chosen for item in session.items if item.nodeid == name]
    started = time.monotonic()
    told = read_result(*start(session, lambda say: run_mutant(items, path, tree, say)), most=PATIENCE * seconds + MORE)
    return {
        "outcome": told.get("outcome", "killed"),  # nothing is told by one that hangs, or takes its process with it
        "by": told.get("by", "end of the process"),
        "tests": len(chosen),
        "left_out": len(reach) - len(chosen),
        "seconds": round(time.monotonic() - started, 2),
    }


def start(session, act):
    """A process of its own that acts, and where it tells what came of it."""
    read, write = os.pipe()
    folder = Path(mkdtemp(prefix="mutant-"))
    child = os.fork()
    if not child:
        os.close(read)
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(silent, number)
        session.config._tmp_path_factory._basetemp = folder
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # else a shop is read that was made without the mutant
        try:
            act(lambda found: os.write(write, (json.dumps(found) + "\n").encode()))
        finally:
            os._exit(0)
    os.close(write)
    return child, read, folder


def read_result(child, read, folder, most):
    """What it told; nothing where it had to be ended."""
    alarm = threading.Timer(most, end, (child,))
    alarm.start()
    with open(read, encoding="utf-8") as told:
        line = told.readline()
    alarm.cancel()
    end(child)
    os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    return json.loads(line) if line else {}


def end(child):
    """And what it has started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


class Outcomes:
    """Of tests, by their names; calls `when_failed` at the first failure."""

    def __init__(self, when_failed=lambda name: None):
        self.found, self.when_failed = {}, when_failed

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.found[report.nodeid] = "failed"
            self.when_failed(report.nodeid)
        elif report.skipped or report.when == "call":
            self.found.setdefault(report.nodeid, report.outcome)


def run_tests(items, outcomes):
    items[0].config.pluginmanager.register(outcomes)
    for place, item in enumerate(items):
        after = items[place + 1] if place + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def trace(session, files, say):
    """Runs every test and tells, for each, its outcome, its seconds and the lines of these files that it reaches."""
    outcomes, known = Outcomes(), {}
    lines: dict[str, set[int]] = defaultdict(set)
    results = {}

    def note(frame, event, _):
        if event == "line":
            lines[known[frame.f_code.co_filename]].add(frame.f_lineno)
        return note

    def enter(frame, _, __):
        name = frame.f_code.co_filename
        if name not in known:
            real = Path(os.path.realpath(name))
            inside = real.relative_to(HOME).as_posix() if real.is_relative_to(HOME) else ""
            known[name] = inside if inside in files else ""
        if not known[name]:
            return None
        lines[known[name]].add(frame.f_lineno)
        return note

    threading.settrace(enter)
    session.config.pluginmanager.register(outcomes)
    forget_results()
    for place, item in enumerate(session.items):
        lines.clear()
        began = time.monotonic()
        sys.settrace(enter)
        after = session.items[place + 1] if place + 1 < len(session.items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        sys.settrace(None)
        results[item.nodeid] = {
            "outcome": outcomes.found.get(item.nodeid, "skipped"),
            "seconds": time.monotonic() - began,
            "lines": {path: sorted(found) for path, found in lines.items()},
        }
    say(results)


def run_mutant(items, path, tree, say):
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a mistake may ask for any amount
    try:
        put_code(path, compile(tree, str(HOME / path), "exec", dont_inherit=True))
    except (ValueError, SyntaxError) as error:  # the change would need another closure
        say({"outcome": "not made", "by": str(error)})
        return
    forget_results()

    def tell(name):
        say({"outcome": "killed", "by": name})
        os._exit(0)

    run_tests(items, Outcomes(tell))
    say({"outcome": "survived", "by": ""})


def put_code(path, module):
    """Gives every function that was made from this file the code of the same name and line."""
    codes = {(each.co_qualname, each.co_firstlineno): each for each in list_codes(module)}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and os.path.realpath(each.__code__.co_filename) == str(HOME / path):
            key = each.__code__.co_qualname, each.__code__.co_firstlineno
            if key in codes:
                each.__code__ = codes[key]


def list_codes(code):
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from list_codes(each)


def forget_results():
    """Of functions that keep them: some were computed while tests were collected."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and (each.__module__ or "").startswith("shopwright"):
            each.cache_clear()
