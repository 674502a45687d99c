"""The vLLM engine in this process: it batches whatever is asked at the time, and keeps what prompts begin with."""

import json
from typing import Any
from uuid import uuid4

from pipeline.models.base import Prompt, Reply, Sampling, Spec
from pipeline.models.openai import heard
from pipeline.problem import Problem


class Vllm:
    """Needs the extra `vllm` in an environment of its own, and a GPU (or a build of vLLM for this CPU)."""

    def __init__(self, spec: Spec, sampling: Sampling, **engine: Any) -> None:
        self.spec, self.sampling, self.options = spec, sampling, engine
        self.engine: Any = None

    @property
    def name(self) -> str:
        return self.spec.name

    async def start(self) -> Any:
        try:
            from vllm import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError:
            raise Problem(
                "vLLM is not installed here. Install the extra shopwright[vllm] in an environment of its own, or serve the model "
                "and say --model openai:NAME@URL."
            ) from None
        self.engine = AsyncLLM.from_engine_args(AsyncEngineArgs(model=self.spec.model, **self.options))
        return self.engine

    async def reply(self, prompt: Prompt) -> Reply:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        engine = self.engine or await self.start()
        drawn = prompt.sampling or self.sampling
        structured = StructuredOutputsParams(json=json.dumps(prompt.schema, default=dict)) if prompt.schema else None
        params = SamplingParams(
            temperature=drawn.temperature,
            top_p=drawn.top_p,
            max_tokens=drawn.max_tokens,
            seed=prompt.seed,
            structured_outputs=structured,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        tokenizer = await told(engine.get_tokenizer())
        tools = [{"type": "function", "function": dict(tool)} for tool in prompt.tools] or None
        tokens = tokenizer.apply_chat_template(
            [dict(message) for message in prompt.messages], tools=tools, add_generation_prompt=True, return_dict=False
        )
        most = engine.model_config.max_model_len
        if len(tokens) + drawn.max_tokens > most:
            return Reply("", fault=f"the prompt has {len(tokens)} tokens, and the model takes {most}", finish="refused")
        (last,) = [each async for each in engine.generate({"prompt_token_ids": tokens}, params, uuid4().hex)]
        said = last.outputs[0]
        return heard(said.text, said.finish_reason or "stop", len(tokens), len(said.token_ids))

    async def close(self) -> None:
        if self.engine is not None:
            self.engine.shutdown()


async def told(value: Any) -> Any:
    """What some versions give at once, and others when awaited."""
    return await value if hasattr(value, "__await__") else value
