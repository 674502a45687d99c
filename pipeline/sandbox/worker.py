"""Where the sandbox's processes begin.

python -m pipeline.sandbox.worker LIMITS SCRATCH WITHOUT < a socket
"""

import gc
import json
import os
import socket
import sys

from pipeline.sandbox import kernel

SHARED = "/dev/shm"
"""Where a block's own file system lies, for that block alone: a path that is the same on every machine."""


def main(limits: str, scratch: str, without: str) -> None:
    """Says what this machine lacks, and serves where that may be so."""
    kernel.ends_with_its_parent()
    talk = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    lacking = kernel.missing()
    if refused := {name: why for name, why in lacking.items() if name not in without.split(",")}:
        talk.send(json.dumps({"missing": refused}).encode())
        return
    walls = tuple(name for name in kernel.MEANS if name not in lacking)
    if "namespaces" in walls:
        kernel.own_namespaces()  # before anything is imported that starts a thread
        scratch = SHARED if os.path.isdir(SHARED) else scratch
    from pipeline.sandbox import block, server

    connection = block.warmed()
    gc.collect()
    gc.freeze()
    talk.send(b'{"missing": {}}')
    server.Server(talk, connection, block.Limits.of(limits), scratch, walls).serve()
    os._exit(0)  # what the libraries would say of their own ends is nobody's business


if __name__ == "__main__":
    main(*sys.argv[1:])
