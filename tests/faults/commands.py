"""Commands in processes that begin in a hundredth of a second, because one that has imported everything forks them: to be killed, and asked how they ended."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from tests.faults.builds import Begun, Forge, fork_each

LONGEST = 60
"""Seconds that a push may wait at a time."""


class Commands(Forge):
    """Starts commands; `with Commands() as commands:` ends with them. The keywords are their environment."""

    def __init__(self, **environment):
        self.folder = TemporaryDirectory()
        self.said = Path(self.folder.name) / "said"
        words = [sys.executable, "-W", "ignore", "-m", "tests.faults.commands"]
        self.process = subprocess.Popen(
            words, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def begin(self, *words):
        """Begins `shopwright` with these words; `push FOLDER REPO` is its last step of publishing, alone."""
        asked = {"words": [str(word) for word in words], "said": str(self.said)}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return Begun(self.process.stdout, int(self.process.stdout.readline()), self.said)

    def ended(self, *words):
        """Its exit code, and what it printed."""
        begun = self.begin(*words)
        return begun.ended(), self.said.read_text()


def main():
    import aiohttp  # noqa: F401  (what the first command would import)
    import duckdb  # noqa: F401
    import huggingface_hub.hf_api  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.dataset  # noqa: F401

    from shopwright.pipeline.__main__ import make_parser

    make_parser()
    fork_each(attempt)


def attempt(words):
    from shopwright.pipeline.__main__ import main as command

    return push(*words[1:]) if words[0] == "push" else command(words)


def push(folder, repo):
    """Without its pauses, of which none may be long; the client itself makes some of them, and takes no argument for that."""
    from huggingface_hub.utils import _http

    from shopwright.pipeline.problem import Problem
    from shopwright.pipeline.publish import hub

    def wait(seconds):
        if seconds > LONGEST:
            sys.exit(f"it would wait {seconds} seconds")

    _http.time = SimpleNamespace(**{**vars(time), "sleep": wait})
    try:
        hub.push(Path(folder), repo, wait=wait, patience=0.4)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    main()
