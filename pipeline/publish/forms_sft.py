"""Conversations to learn from, with calls as calls: one a turn, and what came back as a message of its own, which no loss sees.

Each function reads a run and yields the rows of one split. The heads are those of the prompts to learn on by trying (`forms_rl`), and what
tools say is to the letter what the environments say, so that a model goes on where it was trained.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.behaviors.steps import Told, whole
from pipeline.dataset import Dataset
from pipeline.publish.forms_rl import LEVELS, SOLVER, Side, customer_of, owner, page_head, question_head, side, side_of
from pipeline.publish.forms_rows import Message, Row, called, returned, said, told
from pipeline.rollouts.conversation import OPEN
from pipeline.run import Run
from pipeline.shopping.play import ACTIONS, Sight, shown
from pipeline.trainers.env import (
    BoxedEnv,
    ShopEnv,
    ShoppingEnv,
    TalkEnv,
    call_of,
    calls_of,
    conversation,
    schemas_of,
    solution,
)
from schemas.behaviors import Behavior
from schemas.rollouts import Rollout
from schemas.shopping import ShoppingEpisode, ShoppingTask
from schemas.tasks import EnvEpisode, Task

VERBS = ("search[", "click[", "ask[")


def sft_rollouts(run: Run, split: Side) -> Iterator[Row]:
    """Questions answered with a code interpreter, call by call, with the answer in a box."""
    for rollout in run.read("rollouts"):
        if side(rollout.split) == split:
            yield rollout_row(rollout)


def rollout_row(rollout: Rollout) -> Row:
    asked = json.loads(rollout.messages[1].content)
    messages = question_head(asked["trajectory"], asked["question"])
    turns = rollout.messages[2:]
    for call, turn, heard in zip(rollout.calls, turns[::2], turns[1::2], strict=False):
        messages.append(called(turn.content.partition(OPEN)[0].rstrip(), "code_interpreter", {"code": call.code}))
        messages.append(returned("code_interpreter", printed(heard.content)))
    return told(
        rollout.id,
        [*messages, said("assistant", turns[-1].content)],
        schemas_of(BoxedEnv),
        group=customer_of(rollout.trajectory_id),
        source=rollout.question_id,
        kind=rollout.kind,
        policy=rollout.policy,
        difficulty=LEVELS[rollout.difficulty],
        reward=rollout.reward,
        errors=sum(not call.ok for call in rollout.calls),
    )


def printed(heard: str) -> str:
    """What a block printed, as the agent was told it.

    >>> printed("<interpreter>\\n3\\n</interpreter>")
    '3'
    """
    return heard.removeprefix("<interpreter>\n").removesuffix("\n</interpreter>")


def sft_envs(run: Run, split: Side) -> Iterator[Row]:
    """Shoppers served with the shop's tools, by the solver or a model, where it was a full success."""
    env = ShopEnv(run.folder)
    tasks = run.read("env_tasks")
    for episode, task in paired(run.read("env_episodes"), tasks, lambda task: side_of(owner(task)) == split):
        if episode.reward.success:
            yield from env_row(env, task, episode)


def env_row(env: ShopEnv, task: Task, episode: EnvEpisode) -> Iterator[Row]:
    """The episode call by call, as the environment plays it; nothing where that is no success any more."""
    facts = task.model_dump(mode="json")
    own = episode.policy == SOLVER
    calls = solution(env, facts) if own else list(calls_of(json.loads(turn.action) for turn in episode.turns))
    env.reset(extra_info={"task": facts})
    messages = conversation(env, calls)
    earned = env._episode.reward
    if earned is not None and earned.success:
        yield told(
            episode.id,
            messages,
            schemas_of(ShopEnv),
            group=owner(task),
            source=task.id,
            kind=task.env,
            policy=episode.policy,
            difficulty=task.difficulty,
            reward=earned.total,
            errors=failures(messages),
        )


def paired(episodes: Dataset[Any], tasks: Dataset[Any], wanted: Callable[[Any], bool]) -> Iterator[tuple[Any, Any]]:
    """Each episode of such a task with it; one whose task is not there any more is left out."""
    for batch in episodes.batches():
        known = {task.id: task for task in of_ids(tasks, pc.unique(batch["task_id"])) if wanted(task)}
        batch = batch.filter(pc.is_in(batch["task_id"], value_set=pa.array(list(known), pa.string())))
        for row in batch.to_pylist():
            yield episodes.makes.model_validate(row), known[row["task_id"]]


def of_ids(dataset: Dataset[Any], ids: pa.Array) -> Iterator[Any]:
    """The records of these ids; few reads where they stand together."""
    places = dataset.once(places_of)
    found = [places[id] for id in ids.to_pylist() if id in places]
    for batch in dataset.slices(range(min(found), max(found) + 1)) if found else ():
        for row in batch.filter(pc.is_in(batch["id"], value_set=ids)).to_pylist():
            yield dataset.makes.model_validate(row)


def places_of(dataset: Dataset[Any]) -> dict[str, int]:
    return {id: place for place, id in enumerate(dataset.table(["id"])["id"].to_pylist())}


def failures(messages: Sequence[Message]) -> int:
    """Calls of a shop's tools that were answered by an error."""
    return sum(message["role"] == "tool" and is_error(message["content"]) for message in messages)


def is_error(heard: str) -> bool:
    """What was too long is cut, and no JSON any more; an error is never so long.

    >>> is_error('{"error": "There is no product B1."}'), is_error('{"title": "a very long...'), is_error('{"title": "error"}')
    (True, False, False)
    """
    try:
        return "error" in json.loads(heard)
    except ValueError:
        return False


def sft_shopping(run: Run, split: Side) -> Iterator[Row]:
    """Products found page by page, with the thought before every action, where the right one was bought."""
    profiles = {one.id: one for one in run.read("profiles")}
    tasks = run.read("shopping_tasks")
    for episode, task in paired(run.read("shopping_episodes"), tasks, lambda task: task.split == split):
        if episode.typed.success and all(step.action.startswith(VERBS) for step in episode.steps):
            profile = profiles.get(task.profile_id)
            yield page_row(page_head(episode.opening, episode.scenario, task.language, profile), task, episode)


def page_row(head: list[Message], task: ShoppingTask, episode: ShoppingEpisode) -> Row:
    multi, limit, messages = episode.scenario.startswith("multi"), ACTIONS[episode.scenario], [*head]
    for place, step in enumerate(episode.steps, 1):
        sight = Sight(step.observation, tuple(step.clickables), step.can_search, limit - place)
        name, arguments = call_of(step.action)
        messages += [called(step.thought, name, arguments), returned(name, shown(sight))]
    return told(
        episode.id,
        messages[:-1],
        schemas_of(TalkEnv) if multi else schemas_of(ShoppingEnv),
        group=task.product_id,
        source=task.id,
        kind=episode.scenario,
        policy=episode.policy,
        difficulty=len(task.needs),
        reward=episode.typed.strict,
        errors=sum(bool(step.fault) for step in episode.steps),
    )


def sft_behaviors(run: Run, split: Side) -> Iterator[Row]:
    """Shoppers' sessions: page after page as it was seen, and to each the reason and the action as JSON."""
    made = run.read("behavior_steps").manifest
    told_of: Told = made.recipe.settings["told"] if made else "nothing"
    for behavior in run.read("behaviors"):
        if behavior.split == split:
            yield behavior_row(behavior, told_of)


def behavior_row(behavior: Behavior, told_of: Told) -> Row:
    return told(
        behavior.id,
        [message.model_dump() for message in whole(behavior, told_of)],
        [],
        group=behavior.persona_id,
        source=behavior.trajectory_id,
        kind=behavior.outcome,
        policy="shopper",
        difficulty=None,
        reward=None,
    )
