"""Threads of a block: each waits for a leave before it begins, so that a block has no more of them than it may.

By notifications of seccomp (kernel 5.5, `userspace-api/seccomp_filter`): the block's process has a filter that holds up `clone`, and the
process that it is a copy of has the filter's listener, and answers. A resource limit would not do: it counts a user's processes, and not root's.
"""

import errno
import os
import select
import socket
import struct
from contextlib import suppress
from fcntl import ioctl

from shopwright.pipeline.sandbox import kernel

RECEIVE, SEND = 0xC0502100, 0xC0182101
# struct seccomp_notif and struct seccomp_notif_resp.
QUESTION, ANSWER = 80, "<QqiI"
GO_ON = 1


def announce_threads(talk: socket.socket) -> None:
    """In the block's process: from here on new threads wait for a leave, or are refused where there is a listener already.

    `talk` receives the listener.
    """
    number = kernel.GUARDED["clone"][kernel.get_machine_codes()[1]]

    def build_filter(verdict: int) -> bytes:
        lines = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, verdict), (0x06, 0, 0, kernel.ALLOW)]
        return b"".join(struct.pack("<HBBI", *line) for line in lines)

    try:
        listener = kernel.install_filter(build_filter(kernel.NOTIFY), kernel.WITH_LISTENER)
    except kernel.MeansMissing:  # a container's own, of which there can be one only
        kernel.install_filter(build_filter(kernel.ERRNO | errno.EAGAIN), 0)
        return
    try:
        socket.send_fds(talk, [b"."], [listener])
    finally:
        os.close(listener)


def has_question(listener: int) -> bool:
    """Whether a thread waits. Only then may it be answered: in the first kernels that have this, receiving what is not there never ends."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))


def answer_thread(listener: int, leave: bool) -> None:
    """Lets the thread that waits begin, or refuses it as a kernel does that has no room for more."""
    question = bytearray(QUESTION)
    with suppress(OSError):  # who asked may have been ended
        ioctl(listener, RECEIVE, question)
        (id,) = struct.unpack_from("<Q", question)
        ioctl(listener, SEND, struct.pack(ANSWER, id, 0, 0 if leave else -errno.EAGAIN, GO_ON if leave else 0))
