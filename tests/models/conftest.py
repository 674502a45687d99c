"""A vLLM engine for all tests that want one: it takes twenty seconds to start."""

import asyncio
import importlib.util
import os
import threading

import pytest

from shopwright.pipeline.models.base import Sampling, parse_spec
from shopwright.pipeline.models.vllm import Vllm
from tests.models.server import Server

FOLDER = os.environ.get("SHOPWRIGHT_TEST_VLLM", "")
"""A small model that vLLM can load here, as `python -m tests.models.tiny` makes one."""
OPTIONS = {
    "enforce_eager": True,
    "max_model_len": 2_048,
    "gpu_memory_utilization": 0.2,
    "kv_cache_memory_bytes": 256 << 20,
    # vLLM 0.32 on a CPU ends when it reads a prompt with a seed in parts: the random generator there cannot be set back
    "enable_chunked_prefill": False,
    "max_num_batched_tokens": 4_096,
}


class Lent:
    """A model that lives in a thread of its own, for those who open and close theirs in each test."""

    def __init__(self, model):
        self.model, self.name = model, model.name
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def there(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def reply(self, prompt):
        return await asyncio.wrap_future(self.there(self.model.reply(prompt)))

    async def close(self):
        pass

    def end(self):
        self.there(self.model.close()).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def vllm(**options):
    return Vllm(parse_spec(f"vllm:{FOLDER}"), Sampling(max_tokens=256), **OPTIONS, **options)


@pytest.fixture(scope="session")
def tiny():
    """The folder of the model."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here")
    if not FOLDER:
        pytest.skip("SHOPWRIGHT_TEST_VLLM names no model")
    return FOLDER


@pytest.fixture(scope="session")
def engine(tiny):
    lent = Lent(vllm())
    yield lent
    lent.end()


@pytest.fixture
def server():
    with Server() as started:
        yield started
