"""An episode as a conversation with a model, and what any model or player earns in the envs, with its uncertainty."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.envs import env_of
from pipeline.envs.audit import aligned, player_of
from pipeline.envs.base import World, as_json
from pipeline.envs.episode import Episode, draw, played
from pipeline.models.base import Model, Prompt, Reply
from pipeline.models.play import Conversation, Working
from pipeline.models.play import played as talked
from pipeline.models.role import Role, listened, opened
from pipeline.problem import Problem
from pipeline.prompts import messages, say
from pipeline.rewards.figures import mean, wilson
from pipeline.shop.phrased import phrased
from pipeline.shop.tools import manual
from schemas.tasks import Action, EnvEpisode, Reward


def conversation(
    episode: Episode, policy: str, *, words: bool = False, native: bool = False, offline: Iterable[str] = ()
) -> Conversation[EnvEpisode]:
    """The episode from its beginning to its end: yields the agent's prompts, is sent replies, returns what became of it.

    words: the shopper's words are asked of a model too (prompts named `shopper`). native: the server is told of the tools, for models
    that call them natively; calls in a reply and JSON text are understood either way. offline: what to say turn by turn without a model.
    """
    observation = episode.reset()
    budget = {"turns_left": observation["turns_left"], "tool_calls": observation["tool_calls_per_turn"]}
    history = messages("agent", tools=[dict(tool) for tool in manual()], opening=observation["user"], **budget)
    actions = iter(offline)
    done = False
    while not done:
        prompt = Prompt(
            "agent",
            tuple(history),
            say("agent", action=next(actions, "{}")),
            tools=manual() if native else (),
            seed=episode.task.seed,
        )
        said = said_by((yield prompt))
        observation, _, done, _ = episode.step(said)
        if words and observation["user"]:
            message = message_of(said)
            text = yield from phrased(episode.shopper, episode.shopper.said[-1], message, number=len(episode.turns))
            episode.turns[-1] = episode.turns[-1].model_copy(update={"user": text})
            observation["user"] = text
        history += [{"role": "assistant", "content": said}, {"role": "user", "content": heard(observation)}]
    return as_record(episode, policy)


def said_by(reply: Reply) -> str:
    """A reply as the action that it is: its text, or its native calls as such. A fault is an action that nothing understands."""
    if reply.fault:
        return reply.fault
    if not reply.calls:
        return reply.text.strip()
    calls = [{"name": call["name"], "args": call["arguments"]} for call in reply.calls]
    return json.dumps({"assistant_message": reply.text.strip(), "tool_calls": calls}, ensure_ascii=False)


def message_of(said: str) -> str:
    try:
        return Action.model_validate_json(said).assistant_message
    except ValueError:
        return ""


def heard(observation: dict[str, Any]) -> str:
    """What an agent is told after its turn."""
    return as_json(
        {"results": observation["results"], "shopper": observation["user"], "turns_left": observation["turns_left"]}
    )


def as_record(episode: Episode, policy: str) -> EnvEpisode:
    """A finished episode as a row."""
    task, reward = episode.task, episode.reward
    assert reward is not None
    return EnvEpisode(
        id=f"{task.id}-{policy}",
        task_id=task.id,
        env=task.env,
        difficulty=task.difficulty,
        policy=policy,
        opening=task.opening,
        turns=episode.turns,
        reward=reward,
    )


def talks(
    conversations: Iterable[Working[EnvEpisode]], agent: Role, shopper: Role | None = None
) -> Iterator[EnvEpisode]:
    """What became of each, in their order: `agent` plays, and `shopper` puts the shopper's words where it is a model."""
    if shopper is None or not shopper.asks:
        return agent.play(conversations)
    if not agent.asks:
        return shopper.play(map(partial(by_itself, "agent"), conversations))
    if agent.heard is not None:
        conversations = listened(conversations, agent.heard)
    return talked(conversations, lambda: Both(opened(agent), opened(shopper)), at_once=agent.models.at_once)


def by_itself(name: str, conversation: Working[EnvEpisode]) -> Working[EnvEpisode]:
    """The same with the prompts of this name answered by their offline form."""
    try:
        asked = next(conversation)
        while True:
            known = Reply(asked.offline) if isinstance(asked, Prompt) and asked.name == name else None
            asked = conversation.send(known or (yield asked))
    except StopIteration as end:
        result: EnvEpisode = end.value
        return result


class Both:
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


@dataclass(frozen=True)
class Row:
    """How a policy did in one env at one level, with 95 % confidence intervals: Wilson's of the success, normal ones of means."""

    policy: str
    env: str
    level: int
    episodes: int
    success: float
    success_low: float
    success_high: float
    reward: float
    reward_margin: float
    """Half the width of the interval; 0 for a single episode, of which nothing is known."""
    task: float
    task_margin: float
    efficiency: float
    efficiency_margin: float
    hallucination: float
    hallucination_margin: float
    turns: float
    turns_margin: float
    illegal: float
    """Share of episodes that malformed JSON or an illegal call ended."""


def evaluate(
    world: World, envs: Sequence[str], levels: Iterable[int], episodes: int, policy: str | Role, *, native: bool = False
) -> list[Row]:
    """Plays tasks 0, 1, ... of every env and level: by a player of `pipeline.envs.players`, or by the model of a role.

    Raises Problem for an env, a level or a player that there is not, or for which the shop is too small.
    """
    cells = [(env_of(env).name, level) for env in envs for level in levels]
    if not cells or episodes < 1:
        raise Problem("There is nothing to evaluate. Give envs, levels and at least one episode.")
    tasks = (
        Episode(env_of(env), world, draw(env_of(env), world, level, seed))
        for env, level in cells
        for seed in range(episodes)
    )
    if isinstance(policy, Role):
        if not policy.asks:
            raise Problem(
                "Evaluating takes a model or a player. Say --agent openai:NAME@http://HOST:PORT/v1, or --player solver."
            )
        name = policy.spec.name
        found = talks((conversation(episode, name, native=native) for episode in tasks), policy)
    else:
        name, player = policy, player_of(policy)
        found = (finished(episode, lambda episode: played(episode, player), name) for episode in tasks)
    by_cell: dict[tuple[str, int], list[EnvEpisode]] = {cell: [] for cell in cells}
    for each in found:
        by_cell[each.env, each.difficulty].append(each)
    return [row(name, *cell, played) for cell, played in by_cell.items()]


def finished(episode: Episode, play: Callable[[Episode], Reward], policy: str) -> EnvEpisode:
    play(episode)
    return as_record(episode, policy)


def row(policy: str, env: str, level: int, episodes: Sequence[EnvEpisode]) -> Row:
    rewards = [each.reward for each in episodes]
    successes = sum(reward.success for reward in rewards)
    low, high = wilson(successes, len(episodes))
    parts: dict[str, float] = {}
    for name, values in {
        "reward": [reward.total for reward in rewards],
        "task": [reward.task for reward in rewards],
        "efficiency": [reward.efficiency for reward in rewards],
        "hallucination": [reward.hallucination for reward in rewards],
        "turns": [float(len(each.turns)) for each in episodes],
    }.items():
        parts[name], parts[f"{name}_margin"] = mean(values)
    return Row(
        policy=policy,
        env=env,
        level=level,
        episodes=len(episodes),
        success=successes / len(episodes),
        success_low=low,
        success_high=high,
        illegal=sum(map(is_broken, rewards)) / len(episodes),
        **parts,
    )


def is_broken(reward: Reward) -> bool:
    """Whether an illegal action ended it: who only fails loses nothing for hallucination there, and keeps above -1."""
    return reward.total == -1.0 and reward.hallucination == 0.0


def evaluated(rows: Iterable[Row]) -> str:
    """The rows as text in columns."""
    lines = [
        [
            "policy",
            "env",
            "level",
            "episodes",
            "success (95 %)",
            "reward",
            "task",
            "efficiency",
            "hallucination",
            "turns",
            "illegal",
        ]
    ]
    for each in rows:
        found = asdict(each)
        parts = [
            f"{found[name]:+.2f} ±{found[f'{name}_margin']:.2f}"
            for name in ("reward", "task", "efficiency", "hallucination")
        ]
        success = f"{each.success:.1%} ({each.success_low:.1%} - {each.success_high:.1%})"
        head = [each.policy, each.env, str(each.level), str(each.episodes), success]
        lines.append([*head, *parts, f"{each.turns:.1f} ±{each.turns_margin:.1f}", f"{each.illegal:.1%}"])
    return aligned(lines)


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """The rows as Parquet. Raises Problem where the file cannot be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([asdict(each) for each in rows]), path)
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror}. Choose another file.") from None
