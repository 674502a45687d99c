"""Conversations to learn from, with calls as calls: one a turn, and what came back as a message of its own, which no loss sees.

Each function reads datasets of a run and yields the rows of one split. The heads are those of the prompts to learn on by trying (`exporters.rl`), and what
tools say is to the letter what the environments say, so that a model goes on where it was trained.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.behaviors.steps import CustomerFacts, build_session_messages
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.situation import SOLVER
from shopwright.pipeline.publish.exporters.rl import (
    LEVELS,
    Side,
    customer_of,
    owner,
    page_head,
    question_head,
    side,
)
from shopwright.pipeline.publish.exporters.rows import (
    Message,
    Row,
    build_conversation_row,
    make_call_message,
    make_message,
    make_tool_message,
)
from shopwright.pipeline.rollouts.conversation import OPEN
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.play import ACTIONS, Observation, format_observation
from shopwright.pipeline.trainers.env import (
    BoxedEnv,
    ShopEnv,
    ShoppingEnv,
    TalkEnv,
    list_env_calls,
    list_env_thoughts,
    list_tool_schemas,
    make_talk_call,
    write_env_messages,
)
from shopwright.schemas.behaviors import Behavior, NextAction
from shopwright.schemas.rollouts import Rollout
from shopwright.schemas.shopping import Profile, ShoppingEpisode, ShoppingTask
from shopwright.schemas.tasks import EnvEpisode, Task

VERBS = ("search[", "click[", "ask[")


def sft_rollouts(rollouts: Dataset[Rollout], split: Side) -> Iterator[Row]:
    """Questions answered with a code interpreter, call by call, with the answer in a box."""
    for rollout in rollouts:
        if side(rollout.split) == split:
            yield build_sft_rollout_row(rollout)


def build_sft_rollout_row(rollout: Rollout) -> Row:
    asked = json.loads(rollout.messages[1].content)
    messages = question_head(asked["trajectory"], asked["question"], asked["asked on"])
    turns = rollout.messages[2:]
    # The last turn is the answer: it has no call, and nothing came back.
    for call, turn, heard in zip(rollout.calls, turns[::2], turns[1::2], strict=False):
        messages.append(
            make_call_message(turn.content.partition(OPEN)[0].rstrip(), "code_interpreter", {"code": call.code})
        )
        messages.append(make_tool_message("code_interpreter", strip_interpreter_tags(heard.content)))
    return build_conversation_row(
        rollout.id,
        [*messages, make_message("assistant", turns[-1].content)],
        list_tool_schemas(BoxedEnv),
        group=customer_of(rollout.trajectory_id),
        source=rollout.question_id,
        kind=rollout.kind,
        policy=rollout.policy,
        difficulty=LEVELS[rollout.difficulty],
        reward=rollout.reward,
        errors=sum(not call.ok for call in rollout.calls),
    )


def strip_interpreter_tags(heard: str) -> str:
    """What a block printed, as the agent was told it.

    >>> strip_interpreter_tags("<interpreter>\\n3\\n</interpreter>")
    '3'
    """
    return heard.removeprefix("<interpreter>\n").removesuffix("\n</interpreter>")


def sft_envs(run: Run, env_tasks: Dataset[Task], env_episodes: Dataset[EnvEpisode], split: Side) -> Iterator[Row]:
    """Shoppers served with the shop's tools, by the expert or a model, where it was a full success of one who did not know the goal."""
    env = ShopEnv(run.folder)
    for episode, task in pair_with_tasks(env_episodes, env_tasks, lambda task: task.split == split):
        if episode.policy != SOLVER and episode.reward.success:
            yield from build_sft_env_rows(env, task, episode)


def build_sft_env_rows(env: ShopEnv, task: Task, episode: EnvEpisode) -> Iterator[Row]:
    """The episode call by call, as the environment plays it; nothing where that is no success any more."""
    facts = task.model_dump(mode="json")
    actions = [json.loads(turn.action) for turn in episode.turns]
    env.reset(extra_info={"task": facts})
    messages = write_env_messages(env, list_env_calls(actions), list_env_thoughts(actions))
    # Played now it may earn less: an env may have changed since the episode was made.
    earned = env._episode.reward
    if earned is not None and earned.success:
        yield build_conversation_row(
            episode.id,
            messages,
            list_tool_schemas(ShopEnv),
            group=owner(task),
            source=task.id,
            kind=task.env,
            policy=episode.policy,
            difficulty=task.difficulty,
            reward=earned.total,
            errors=sum(message["role"] == "tool" and is_error(message["content"]) for message in messages),
        )


def pair_with_tasks(
    episodes: Dataset[Any], tasks: Dataset[Any], wanted: Callable[[Any], bool]
) -> Iterator[tuple[Any, Any]]:
    """Each episode of such a task with it; one whose task is not there any more is left out."""
    for batch in episodes.batches():
        known = {task.id: task for task in read_by_ids(tasks, pc.unique(batch["task_id"])) if wanted(task)}
        batch = batch.filter(pc.is_in(batch["task_id"], value_set=pa.array(list(known), pa.string())))
        for row in batch.to_pylist():
            yield episodes.makes.model_validate(row), known[row["task_id"]]


def read_by_ids(dataset: Dataset[Any], ids: pa.Array) -> Iterator[Any]:
    """The records of these ids; few reads where they stand together."""
    places = dataset.once(index_ids)
    found = [places[id] for id in ids.to_pylist() if id in places]
    # Rows of one batch are of tasks that stand near one another.
    for batch in dataset.slices(range(min(found), max(found) + 1)) if found else ():
        for row in batch.filter(pc.is_in(batch["id"], value_set=ids)).to_pylist():
            yield dataset.makes.model_validate(row)


def index_ids(dataset: Dataset[Any]) -> dict[str, int]:
    return {id: place for place, id in enumerate(dataset.table(["id"])["id"].to_pylist())}


def is_error(heard: str) -> bool:
    """What was too long is cut, and no JSON any more; an error is never so long.

    >>> is_error('{"error": "There is no product B1."}'), is_error('{"title": "a very long...'), is_error('{"title": "error"}')
    (True, False, False)
    """
    try:
        return "error" in json.loads(heard)
    except ValueError:
        return False


def sft_shopping(
    shopping_tasks: Dataset[ShoppingTask],
    shopping_episodes: Dataset[ShoppingEpisode],
    profiles: Dataset[Profile],
    split: Side,
) -> Iterator[Row]:
    """Products found page by page, with the thought before every action, where the right one was bought by one who did not know it."""
    known = {one.id: one for one in profiles}
    for episode, task in pair_with_tasks(shopping_episodes, shopping_tasks, lambda task: task.split == split):
        if (
            episode.policy != SOLVER
            and episode.typed.success
            and all(step.action.startswith(VERBS) for step in episode.steps)
        ):
            profile = known.get(task.profile_id)
            yield build_sft_shopping_row(
                page_head(episode.opening, episode.scenario, task.language, profile), task, episode
            )


def build_sft_shopping_row(head: list[Message], task: ShoppingTask, episode: ShoppingEpisode) -> Row:
    multi, limit, messages = episode.scenario.startswith("multi"), ACTIONS[episode.scenario], [*head]
    for place, step in enumerate(episode.steps, 1):
        sight = Observation(step.observation, tuple(step.clickables), step.can_search, limit - place)
        name, arguments = make_talk_call(step.action)
        messages += [
            make_call_message(step.thought, name, arguments),
            make_tool_message(name, format_observation(sight)),
        ]
    return build_conversation_row(
        episode.id,
        # The last observation came when all was over: no turn follows it.
        messages[:-1],
        list_tool_schemas(TalkEnv) if multi else list_tool_schemas(ShoppingEnv),
        group=task.product_id,
        source=task.id,
        kind=episode.scenario,
        policy=episode.policy,
        difficulty=len(task.needs),
        reward=episode.typed.strict,
        errors=sum(bool(step.fault) for step in episode.steps),
    )


def sft_behaviors(behaviors: Dataset[Behavior], behavior_steps: Dataset[NextAction], split: Side) -> Iterator[Row]:
    """Shoppers' sessions: page after page as it was seen, and to each the reason and the action as JSON."""
    made = behavior_steps.manifest
    known: CustomerFacts = made.recipe.settings["customer_facts"] if made else "nothing"
    for behavior in behaviors:
        if behavior.split == split:
            yield build_sft_behavior_row(behavior, known)


def build_sft_behavior_row(behavior: Behavior, known: CustomerFacts) -> Row:
    return build_conversation_row(
        behavior.id,
        [message.model_dump() for message in build_session_messages(behavior, known)],
        [],
        group=behavior.persona_id,
        source=behavior.trajectory_id,
        kind=behavior.outcome,
        policy="shopper",
        difficulty=None,
        reward=None,
    )
