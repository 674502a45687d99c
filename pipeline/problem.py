"""What the user can mend: said in one sentence, without a traceback, with exit code 2."""

import json
import os
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from threading import current_thread, main_thread

# What moves a terminal's cursor, colors it, turns the direction of letters, or cannot be printed at all.
COMMANDING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""As it may be printed, whoever wrote it: what would command a terminal stands there as JSON escapes it.

    >>> harmless("a\x1b[2Jb\u202ec\nd")
    'a\\u001b[2Jb\\u202ec\nd'
    """
    return COMMANDING.sub(lambda found: json.dumps(found[0])[1:-1], text)


class Problem(Exception):
    """The message says what happened and what to do."""

    def __str__(self) -> str:
        return harmless(super().__str__())


# The signals that ask a process to stop, as far as its system has them.
ASKING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


# Those that have asked this one.
STOPS: list[int] = []


# Not empty while a stop has to wait.
PUT_OFF: list[bool] = []


def stop(number: int, _: object) -> None:
    """Handles such a signal. A library may turn what it raises into an error of its own, as DuckDB does; `STOPS` still tells."""
    STOPS.append(number)
    if not PUT_OFF:
        raise KeyboardInterrupt


@contextmanager
def finish_before_stopping() -> Iterator[None]:
    """What begins in here comes to its end before a stop is heard, which only the main thread hears."""
    if current_thread() is not main_thread():
        yield
        return
    PUT_OFF.append(True)
    try:
        yield
    finally:
        PUT_OFF.pop()
    heed_stop()


def heed_stop() -> None:
    """Raises KeyboardInterrupt where a stop was asked for that nobody heard: Python drops what is raised while it clears an object away."""
    if STOPS:
        raise KeyboardInterrupt


class Stale(Problem):
    """A dataset is there, but something that makes it has changed since; the message names it."""


class Ended(Problem):
    """Work was ended from outside, or by a limit; unlike after other problems, what is finished is kept."""


class Lacking(Problem):
    """What is there does not have what a dataset is made of; others can be made all the same."""


# The exit code of that.
LACKING = 4


def check_system() -> None:
    """Raises Lacking on a system without file locks (Windows), or where one process cannot wait for another to stop (macOS before Python 3.13)."""
    if find_spec("fcntl") is None or not hasattr(os, "waitid"):
        raise Lacking(
            "Shopwright works on Linux, and on macOS with Python 3.13 or later. On Windows use it inside WSL (Windows Subsystem for Linux)."
        )


def suggest_name(name: str, known: Iterable[str]) -> str:
    """What a name may have been meant to be, else all that there are.

    >>> suggest_name("trajectorys", ["personas", "trajectories"])
    'Did you mean trajectories?'
    >>> suggest_name("lamps", ["personas", "trajectories"])
    'There are: personas, trajectories.'
    """
    names = list(known)
    near = closest(name, names)
    return f"Did you mean {near}?" if near else f"There are: {', '.join(names)}."


def closest(name: str, known: Iterable[str]) -> str:
    """The name that is much like this one; empty where none is.

    >>> closest("env-task", ["env_tasks", "env_episodes"]), closest("--colour", ["--columns"])
    ('env_tasks', '')
    """
    plain = {each.lower().replace("_", "-").lstrip("-"): each for each in known}
    near = get_close_matches(name.lower().replace("_", "-").lstrip("-"), plain, n=1, cutoff=0.7)
    return plain[near[0]] if near else ""
