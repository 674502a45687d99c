"""Where the sandbox's processes begin.

python -m shopwright.pipeline.sandbox.worker LIMITS WITHOUT < a socket
"""

import gc
import json
import os
import platform
import socket
import sys
from contextlib import suppress
from pathlib import Path

from shopwright.pipeline.sandbox import kernel

SCRATCH = "/scratch"


def main(limits: str, without: str) -> None:
    """Says what this machine lacks, and serves where that may be so."""
    kernel.die_with_parent()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, these go first
    talk = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    lacking = kernel.find_missing_means()
    if needed := kernel.find_means_needed(lacking, without.split(",")):
        talk.send(json.dumps({"needed": needed}).encode())
        return
    walls = tuple(name for name in kernel.MEANS if name not in lacking)
    own = "namespaces" in walls
    if own:
        kernel.enter_namespaces()  # before anything is imported that starts a thread
        kernel.enter_process_namespace()
    from shopwright.pipeline.sandbox import execute, server

    connection = execute.warm_up()
    place = execute.BlockPlace(SCRATCH if own else "/", walls, execute.measure_address_space())
    if own:
        kernel.mount_readonly_root(execute.READABLE, SCRATCH)
    if "seccomp" in walls:
        kernel.build_seccomp_filter(platform.machine(), kernel.ANY_PROCESS)  # once for all
    gc.collect()
    gc.freeze()
    talk.send(json.dumps({"lacking": lacking}).encode())
    server.Server(talk, connection, execute.Limits.of(limits), place).serve()
    os._exit(0)  # what the libraries would say of their own ends is nobody's business


if __name__ == "__main__":
    main(*sys.argv[1:])
