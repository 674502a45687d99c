"""How often Python looks for objects that hold only each other, which it does every 700 objects by itself: millions of rows make hardly any."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def look_rarely() -> None:
    """For the rest of this process: of a build it saves a tenth of the time."""
    gc.set_threshold(100_000, 20, 20)


@contextmanager
def rarely_looked_for() -> Iterator[None]:
    """The same for a while, in a process that is somebody else's."""
    before = gc.get_threshold()
    look_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
