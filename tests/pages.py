"""Follows a page of docs/ from top to bottom: `python tests/pages.py docs/tutorial.md` writes its files, runs its commands and its Python.

It writes into the folder that it runs in: a copy of the project. A block is a file where its first line names one: ```python a/b.py
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
DONE = ("setup", "trainers")
"""Targets of make that set the machine up."""


def blocks(page):
    """Language, file name (if it is to be a file) and text of each block, in order."""
    return BLOCK.findall(Path(page).read_text(encoding="utf-8"))


def commands(page):
    """The lines of a page's shell blocks, as words."""
    return typed("".join(text for language, _, text in blocks(page) if language == "sh"))


def typed(text):
    split = [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines()]
    return [words for words in split if words]


def step(language, name, text):
    if name:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    elif language == "python":
        exec(compile(text, "<page>", "exec"), {"__name__": "page"})  # noqa: S102 - our own
    elif language == "sh":
        for words in typed(text):
            print("$", shlex.join(words), flush=True)
            assert run(words) in (0, None), words


def run(words):
    tool = Path(words[0]).name
    if tool == "shopwright":
        from shopwright.pipeline.__main__ import main  # not before the page's own files are there

        try:
            return main(words[1:])
        except SystemExit as ended:  # as --help does
            return ended.code
    if tool == "make" and words[1] in DONE:
        return 0
    return subprocess.call([sys.executable, *words[1:]] if tool == "python" else words)


if __name__ == "__main__":
    for block in blocks(sys.argv[1]):
        step(*block)
