"""No model at all: each reply is what the prompt's offline form says. The default, and what tests use."""

from shopwright.pipeline.models.base import Prompt, Reply


class Scripted:
    name = "scripted"

    async def ready(self) -> None:
        """There is nothing to start."""

    async def reply(self, prompt: Prompt) -> Reply:
        return Reply(prompt.offline)

    async def close(self) -> None:
        """There is nothing to close."""
