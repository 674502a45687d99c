"""The vLLM engine in this process: it batches whatever is asked at the time, and keeps what prompts begin with."""

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

from shopwright.pipeline.models.base import Chances, Prompt, Reply, Sampling, ServerUnreachable, Spec
from shopwright.pipeline.models.openai import build_reply, chances, summarize_server_error
from shopwright.pipeline.problem import Problem

# How vLLM behaves where the environment does not say otherwise.
QUIET = {
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # what we print to stdout may be JSON that somebody reads
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork of a process with threads may hang
}
ENDED = ("stop", "length")
# A process that waits until this one is gone, and then ends the engine's.
WATCH = """import os, sys
sys.stdin.read()
for process in map(int, sys.argv[1:]):
    try:
        os.kill(process, 15)
    except ProcessLookupError:
        pass
"""


class Vllm:
    """Needs the extra `vllm` in an environment of its own, and a GPU (or a build of vLLM for this CPU).

    `engine`: what `vllm serve` takes, with `_` for `-`, such as `max_model_len` or `data_parallel_size`; and `chat_template_kwargs`.
    """

    def __init__(
        self, spec: Spec, sampling: Sampling, pay: Callable[[Reply], None] = lambda reply: None, **engine: Any
    ) -> None:
        self.spec, self.sampling, self.pay = spec, sampling, pay
        self.template = engine.pop("chat_template_kwargs", {})
        self.options = engine
        self.engine: Any = None
        self.watch: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    def start(self) -> Any:
        """Raises Problem where vLLM is not there, does not take an option, or cannot load the model."""
        if find_spec("vllm") is None:
            raise Problem(
                "vLLM is not installed here. Install the extra shopwright[vllm] in an environment of its own, or serve the model "
                "and say --model openai:NAME@URL."
            )
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        before = multiprocessing.active_children()
        try:
            options = AsyncEngineArgs(**{"disable_log_stats": True, **self.options, "model": self.spec.model})
            engine = AsyncLLM.from_engine_args(options)
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            raise Problem(
                f"vLLM does not start with {self.spec.model}: {summarize_server_error(str(error))}. Look at the model's name and the engine's options."
            ) from error
        # An engine that outlives a killed process would keep the GPU's memory.
        children = [str(child.pid) for child in multiprocessing.active_children() if child not in before]
        watch = [sys.executable, "-c", WATCH, *children]
        self.watch = subprocess.Popen(watch, stdin=subprocess.PIPE, start_new_session=True)
        return engine

    async def ready(self) -> None:
        """Raises Problem where it does not start."""
        if self.engine is None:
            self.engine = self.start()

    async def reply(self, prompt: Prompt) -> Reply:
        """Raises Problem, Away. What vLLM refuses, and what it could not finish, is the reply's fault."""
        await self.ready()
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

        try:
            return await self.generate(prompt)
        except EngineDeadError:
            raise ServerUnreachable(
                "vLLM's engine has ended; what it said of it stands above. What is done is kept: run the same command again "
                "to go on."
            ) from None
        except (VLLMClientError, ValueError) as error:
            return Reply("", fault=f"vLLM: {summarize_server_error(str(error))}", finish="refused")
        except EngineGenerateError as error:
            return Reply("", fault=f"vLLM: {summarize_server_error(str(error.__cause__))}", finish="unanswered")

    async def generate(self, prompt: Prompt) -> Reply:
        from vllm.renderers import ChatParams

        tools = [{"type": "function", "function": dict(tool)} for tool in prompt.tools] or None
        form = ChatParams(chat_template_kwargs={"add_generation_prompt": True, "tools": tools, **self.template})
        messages = [dict(message) for message in prompt.messages]
        _, (asked,) = await self.engine.renderer.render_chat_async([messages], form)
        (last,) = [each async for each in self.engine.generate(asked, self.params(prompt), uuid4().hex)]
        output = last.outputs[0]
        if output.finish_reason not in ENDED:
            return Reply("", fault=f"vLLM ended it: {output.finish_reason}", finish="unanswered")
        reply = build_reply(output.text, output.finish_reason, len(last.prompt_token_ids), len(output.token_ids))
        self.pay(reply)
        return (
            replace(reply, chances=read_engine_logprobs(output, reply.text, prompt.likeliest))
            if prompt.likeliest
            else reply
        )

    def params(self, prompt: Prompt) -> Any:
        """The model's own way to be drawn from, as `vllm serve` has it, except for what the role says."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        drawn = prompt.sampling or self.sampling
        schema = None if prompt.schema is None else json.dumps(prompt.schema, default=dict)
        return SamplingParams(
            **{
                **self.engine.model_config.get_diff_sampling_param(),
                "temperature": drawn.temperature,
                "top_p": drawn.top_p,
                "max_tokens": drawn.max_tokens,
            },
            seed=prompt.seed,
            stop=list(prompt.stop),
            logprobs=prompt.likeliest or None,
            structured_outputs=StructuredOutputsParams(json=schema) if schema else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    async def close(self) -> None:
        if self.engine is not None:
            self.engine.shutdown()
            self.engine = None
        if self.watch is not None:
            self.watch.kill()
            self.watch.communicate()
            self.watch = None


def read_engine_logprobs(output: Any, text: str, likeliest: int) -> tuple[Chances, ...]:
    """As the engine tells them: of each place the likeliest, and the token that was drawn."""
    rows = [dict(each) for each in output.logprobs]
    pieces = [(row[id].decoded_token or "").encode() for row, id in zip(rows, output.token_ids, strict=True)]
    logs = []
    for row in rows:
        logs.append((min(likeliest, len(row)), [each.logprob for each in row.values()]))
    return chances(pieces, logs, text)
