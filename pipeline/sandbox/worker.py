"""Where the sandbox's processes begin.

python -m pipeline.sandbox.worker LIMITS WITHOUT < a socket
"""

import gc
import json
import os
import platform
import socket
import sys
from contextlib import suppress
from pathlib import Path

from pipeline.sandbox import kernel

SCRATCH = "/scratch"


def main(limits: str, without: str) -> None:
    """Says what this machine lacks, and serves where that may be so."""
    kernel.ends_with_its_parent()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, these go first
    talk = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    lacking = kernel.missing()
    if refused := {name: why for name, why in lacking.items() if name not in without.split(",")}:
        talk.send(json.dumps({"missing": refused}).encode())
        return
    walls = tuple(name for name in kernel.MEANS if name not in lacking)
    own = "namespaces" in walls
    if own:
        kernel.own_namespaces()  # before anything is imported that starts a thread
        kernel.own_processes()
    from pipeline.sandbox import block, server

    connection = block.warmed()
    place = block.Place(SCRATCH if own else "/", walls, block.taken())
    if own:
        kernel.own_files(block.READABLE, SCRATCH)
    if "seccomp" in walls:
        kernel.program(platform.machine(), kernel.ANY_PROCESS)  # once for all
    gc.collect()
    gc.freeze()
    talk.send(b'{"missing": {}}')
    server.Server(talk, connection, block.Limits.of(limits), place).serve()
    os._exit(0)  # what the libraries would say of their own ends is nobody's business


if __name__ == "__main__":
    main(*sys.argv[1:])
