"""Replies a second from vLLM: its own batch, ours in this process, and ours through its server.

    python -m tests.models.tiny tiny-model
    python -m benchmarks.vllm batch tiny-model
    python -m benchmarks.vllm process tiny-model
    python -m benchmarks.vllm server tiny@http://127.0.0.1:8000/v1      # of `vllm serve tiny-model --served-model-name tiny`

All ask the same, with the same seeds, and so get the same number of tokens; the engine's start and a first round are not counted.
"""

import argparse
import asyncio
import os
from time import perf_counter, process_time
from typing import Any

from shopwright.pipeline.models.base import Model, Prompt, Reply, Sampling, parse_spec
from shopwright.pipeline.models.openai import OpenAI
from shopwright.pipeline.models.play import Conversation, play
from shopwright.pipeline.models.vllm import Vllm

REQUESTS = 1_000
SAMPLING = Sampling(max_tokens=64)
ON_CPU = {
    "enforce_eager": True,
    "max_model_len": 2_048,
    "gpu_memory_utilization": 0.2,
    "kv_cache_memory_bytes": 256 << 20,
    "enable_chunked_prefill": False,
    "max_num_batched_tokens": 4_096,
}
RULES = " ".join(["Write a short, plain description of the shopper below, in the first person."] * 3)


def prompts(count: int) -> list[Prompt]:
    heads = ({"role": "system", "content": RULES}, {"role": "user", "content": "shopper "})
    return [Prompt("toy", (heads[0], {**heads[1], "content": f"shopper {n}"}), seed=n) for n in range(count)]


def once(prompt: Prompt) -> Conversation[Reply]:
    return (yield prompt)


async def ours(model: Model, at_once: int) -> tuple[float, float, int, int]:
    """Seconds, seconds of this process's CPU, tokens and faults other than being cut short."""
    try:
        for asked in (prompts(at_once), prompts(REQUESTS)):
            begun, cpu = perf_counter(), process_time()
            replies = [reply async for reply in play(map(once, asked), model, at_once=at_once)]
        seconds, cpu = perf_counter() - begun, process_time() - cpu
    finally:
        await model.close()
    bad = sum(bool(reply.fault) and reply.finish != "length" for reply in replies)
    return seconds, cpu, sum(reply.tokens for reply in replies), bad


def batch(folder: str, at_once: int) -> tuple[float, float, int, int]:
    from vllm import LLM

    engine = Vllm(parse_spec(f"vllm:{folder}"), SAMPLING)
    engine.engine = llm = LLM(model=folder, max_num_seqs=at_once, disable_log_stats=True, **ON_CPU)
    llm.model_config = llm.llm_engine.model_config
    for asked in (prompts(at_once), prompts(REQUESTS)):
        messages: list[Any] = [list(prompt.messages) for prompt in asked]
        params = [engine.params(prompt) for prompt in asked]
        begun, cpu = perf_counter(), process_time()
        outputs = llm.chat(messages, params, use_tqdm=False)
    seconds, cpu = perf_counter() - begun, process_time() - cpu
    return seconds, cpu, sum(len(output.outputs[0].token_ids) for output in outputs), 0


def main() -> None:
    options = argparse.ArgumentParser(description="Replies a second from vLLM.")
    options.add_argument("way", choices=("batch", "process", "server"))
    options.add_argument("model", help="the model's folder, or NAME@URL")
    options.add_argument("--at-once", type=int, default=64)
    given = options.parse_args()
    if given.way == "batch":
        os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
        found = batch(given.model, given.at_once)
    elif given.way == "process":
        spec = parse_spec(f"vllm:{given.model}")
        found = asyncio.run(ours(Vllm(spec, SAMPLING, max_num_seqs=given.at_once, **ON_CPU), given.at_once))
    else:
        found = asyncio.run(
            ours(OpenAI(parse_spec(f"openai:{given.model}"), SAMPLING, at_once=given.at_once), given.at_once)
        )
    seconds, cpu, tokens, bad = found
    print(
        f"{given.way}, {given.at_once} at once: {REQUESTS / seconds:.0f} replies/s, {tokens / seconds:,.0f} tokens/s, ",
        end="",
    )
    print(f"{1000 * cpu / REQUESTS:.2f} ms CPU of this process a reply, {tokens} tokens, {bad} faults")


if __name__ == "__main__":
    main()
