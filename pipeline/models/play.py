"""Many conversations at once, each going on as soon as its own reply is there.

A conversation is a generator: it yields a prompt, is sent the reply, and returns what came of it. It may also yield a future,
for work that is done elsewhere meanwhile, and is sent its result.
"""

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from itertools import islice
from typing import Any, TypeVar

from shopwright.pipeline.models.base import Model, Prompt, Reply, UnansweredRequest

T = TypeVar("T")
# So many times `at_once` results may wait for one before them.
AHEAD = 64
Conversation = Generator[Prompt, Reply, T]
# A conversation that waits for other work too. Every `Conversation` is one.
Working = Generator[Prompt | Future[Any], Any, T]


async def play(conversations: Iterable[Working[T]], model: Model, *, at_once: int = 64) -> AsyncGenerator[T, None]:
    """What came of each conversation, in their order; `at_once` of them are held at a time.

    Where one waits to ask again what the server could not answer, another is begun in its place, up to as many more.
    Raises what a conversation raises, after the others have been let go.
    """
    numbered = enumerate(conversations)
    ready: asyncio.Queue[tuple[int, T] | None] = asyncio.Queue()
    room = asyncio.Semaphore(AHEAD * at_once)

    crew: set[asyncio.Task[None]] = set()
    failed: list[BaseException] = []
    over = False

    async def work(most: int | None = None) -> None:
        for number, conversation in islice(numbered, most):
            await room.acquire()
            ready.put_nowait((number, await talk(conversation, model)))

    def begin(most: int | None = None) -> None:
        if len(crew) < 2 * at_once and not over:
            crew.add(task := asyncio.create_task(work(most)))
            task.add_done_callback(ended)

    def ended(task: asyncio.Task[None]) -> None:
        crew.discard(task)
        if not task.cancelled() and (error := task.exception()):
            failed.append(error)
        if failed or not crew:
            ready.put_nowait(None)

    if resting := getattr(model, "resting", None):
        resting(lambda: begin(1))
    for _ in range(at_once):
        begin()
    done: dict[int, T] = {}
    place = 0
    try:
        while (found := await ready.get()) is not None:
            done[found[0]] = found[1]
            while place in done:
                yield done.pop(place)
                room.release()
                place += 1
        if failed:
            raise failed[0]
    finally:
        over = True  # what still waits to be asked again would begin others, whose replies nobody waits for
        left = list(crew)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def talk(conversation: Working[T], model: Model) -> T:
    """One conversation to its end. Raises UnansweredRequest where a request was not answered and the conversation does not catch it."""
    try:
        asked = next(conversation)
        while True:
            waits = asyncio.wrap_future(asked) if isinstance(asked, Future) else model.reply(asked)
            found = await waits
            lost = isinstance(found, Reply) and found.finish == "unanswered"
            asked = conversation.throw(UnansweredRequest(found.fault)) if lost else conversation.send(found)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        conversation.close()


def play_blocking(
    conversations: Iterable[Working[T]], opened: Callable[[], Model], *, at_once: int = 64
) -> Iterator[T]:
    """`play` for those who do not await: it goes on beside them, in a thread of its own, some results ahead."""
    results: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=4 * at_once)
    stopped = threading.Event()
    at_work: list[Callable[[], object]] = []

    async def run() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        at_work.append(lambda: loop.call_soon_threadsafe(task.cancel))
        if stopped.is_set():
            return
        model = opened()
        try:
            async with aclosing(play(conversations, model, at_once=at_once)) as found:
                async for result in found:
                    while True:
                        try:
                            results.put_nowait(("result", result))
                            break
                        except queue.Full:
                            await asyncio.sleep(0.005)
        finally:
            await model.close()

    def thread() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001 - told to whoever reads the results
            results.put(("error", error))
        else:
            results.put(("end", None))

    worker = threading.Thread(target=thread, daemon=True)
    worker.start()
    try:
        while True:
            kind, value = results.get()
            if kind == "error":
                raise value
            if kind == "end":
                return
            yield value
    finally:
        stopped.set()
        with suppress(RuntimeError):  # its loop may have ended already
            for stop in at_work:
                stop()
        while worker.is_alive():
            try:
                results.get_nowait()
            except queue.Empty:
                worker.join(0.01)
