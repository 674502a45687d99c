"""What verl needs beside the classes: an agent loop for all of them, and its SFT dataset for rows that hold JSON.

`AgentLoop` and `JsonSFTDataset` are made when they are asked for, so that nothing else needs verl:

    - name: shopwright                    # agent_loops.yaml, of actor_rollout_ref.rollout.agent.agent_loop_config_path
      _target_: shopwright.pipeline.trainers.verl.AgentLoop
      folder: data/runs/mine

    data.custom_cls.path=pkg://shopwright.pipeline.trainers.verl data.custom_cls.name=JsonSFTDataset
"""
# mypy: disable-error-code="import-not-found"

import json
from typing import Any

from shopwright.pipeline.trainers.env import ENVIRONMENTS, list_env_tools, list_tool_schemas, refuse_unknown_tool


def __getattr__(name: str) -> Any:
    makers = {"AgentLoop": make_agent_loop, "JsonSFTDataset": make_sft_dataset}
    if name not in makers:
        raise AttributeError(name)
    made = makers[name]()
    made.__module__, made.__qualname__ = __name__, name  # workers find it by these
    globals()[name] = made
    return made


def make_agent_loop() -> type:
    """A loop that plays a row in the environment which its column `environment` names."""
    import asyncio

    from verl.experimental.agent_loop.tool_agent_loop import AgentState, ToolAgentLoop
    from verl.tools.function_tool import FunctionTool
    from verl.tools.schemas import OpenAIFunctionToolSchema

    class AgentLoop(ToolAgentLoop):  # type: ignore[misc]
        def __init__(self, *given: Any, folder: str | None = None, **named: Any) -> None:
            super().__init__(*given, **named)
            self.folder = folder

        async def run(self, sampling_params: dict[str, Any], **row: Any) -> Any:
            self.env = ENVIRONMENTS[row["environment"]](self.folder)
            await asyncio.to_thread(self.env.reset, extra_info=row["extra_info"])
            self.tool_schemas = list_tool_schemas(type(self.env))
            schemas = map(OpenAIFunctionToolSchema.model_validate, self.tool_schemas)
            self.tools = {
                name: FunctionTool(name, tool, each)
                for (name, tool), each in zip(list_env_tools(self.env).items(), schemas, strict=True)
            }
            # The same as the row's, but where a curriculum has just drawn the task.
            output = await super().run(sampling_params, **{**row, "raw_prompt": self.env._prompt})
            output.reward_score = await asyncio.to_thread(self.env.get_reward)
            # verl drops groups in which it is the same for all, if `algorithm.filter_groups.metric` names it.
            output.extra_fields["reward_extra_info"] = {"acc": float(self.env._succeeds())}
            return output

        async def _handle_processing_tools_state(self, agent_data: Any) -> Any:
            for call in agent_data.tool_calls:
                refuse_unknown_tool(self.env, call.name)  # which verl answers itself
            state = await super()._handle_processing_tools_state(agent_data)
            return AgentState.TERMINATED if self.env._done else state

        def _build_assistant_message(self, content: str, agent_data: Any) -> Any:
            if not agent_data.tool_calls:
                self.env._hear(content or "")
            return super()._build_assistant_message(content, agent_data)

    return AgentLoop


def make_sft_dataset() -> type:
    """verl's dataset of conversations, which reads JSON columns as text, with that text read."""
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
    from verl.utils.py_functional import convert_nested_value_to_list_recursive as plain

    class JsonSFTDataset(MultiTurnSFTDataset):  # type: ignore[misc]
        def _read_files_and_process(self) -> None:
            super()._read_files_and_process()
            found = getattr(self, "tools", None)
            self.tools = (
                None
                if found is None
                else [[parse_json_column(tool) for tool in parse_json_column(each)] for each in found]
            )

        def _build_messages(self, example: dict[str, Any]) -> Any:
            found = [parse_json_column(message) for message in plain(example[self.messages_key])]
            return super()._build_messages({**example, self.messages_key: found})

    return JsonSFTDataset


def parse_json_column(value: Any) -> Any:
    """
    >>> parse_json_column('{"role": "user"}'), parse_json_column(["a"])
    ({'role': 'user'}, ['a'])
    """
    return json.loads(value) if isinstance(value, str) else value
