"""Two models in one conversation: the agent's, and the shopper's where a model puts the shopper's words."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from shopwright.pipeline.models.base import Model, Prompt, Reply
from shopwright.pipeline.models.play import Working, play_blocking
from shopwright.pipeline.models.role import Role, open_model, record_conversations

T = TypeVar("T")


def run_env_conversations(conversations: Iterable[Working[T]], agent: Role, shopper: Role) -> Iterator[T]:
    """What became of each, in their order: the model of `agent` plays, and `shopper` puts the shopper's words where it is a model."""
    if not shopper.asks:
        return agent.play(conversations)
    if agent.heard is not None:
        conversations = record_conversations(conversations, agent.heard)
    return play_blocking(
        conversations, lambda: AgentWithShopper(open_model(agent), open_model(shopper)), at_once=agent.models.at_once
    )


class AgentWithShopper:
    """Two models as one: the shopper's prompts go to the shopper's."""

    def __init__(self, agent: Model, shopper: Model) -> None:
        self.agent, self.shopper = agent, shopper

    @property
    def name(self) -> str:
        return self.agent.name

    def resting(self, tell: Callable[[], None]) -> None:
        for model in (self.agent, self.shopper):
            if found := getattr(model, "resting", None):
                found(tell)

    async def ready(self) -> None:
        await self.agent.ready()
        await self.shopper.ready()

    async def reply(self, prompt: Prompt) -> Reply:
        return await (self.shopper if prompt.name == "shopper" else self.agent).reply(prompt)

    async def close(self) -> None:
        try:
            await self.agent.close()
        finally:
            await self.shopper.close()
