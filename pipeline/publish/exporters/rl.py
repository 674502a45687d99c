"""Situations to learn on by trying: what an agent is told, how it is rewarded, and beside it what only the judge may know.

Each function reads datasets of a run and yields the rows of one split. What an environment needs to begin stands in `extra_info["task"]`; the goal, the
answer and every solution stand there and in `reward_model`, and never in a prompt. `pass_rate` is that of models that were tried; none
where only the solver played. One file serves TRL and verl.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from shopwright.pipeline.behaviors.sessions import assign_customer_split
from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.customers import NOBODY, VISITOR
from shopwright.pipeline.envs.difficulty import compute_axes, scale_limits_to_calls
from shopwright.pipeline.evaluate.situation import SOLVER, play_offline
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.publish.exporters.rows import Message, Row, dump_exact_json
from shopwright.pipeline.questions.rating import HELD_OUT
from shopwright.pipeline.render import pages
from shopwright.pipeline.rollouts.baselines import MAJORITY, RANDOM, SCRIPTED
from shopwright.pipeline.rollouts.conversation import CALLS, TURNS
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.data_loader import describe_events_table
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.shopping.expert import EXPERT
from shopwright.pipeline.shopping.play import (
    ACTIONS,
    Observation,
    Play,
    ShopResources,
    format_observation,
    list_scenarios,
)
from shopwright.pipeline.shopping.players import play_solver
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.pipeline.trainers.env import ShopEnv, make_talk_call, solve_env_task
from shopwright.schemas.behaviors import NextAction
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import PassRate, RlPrompt
from shopwright.schemas.shopping import Language, Profile, Scenario, ShoppingEpisode, ShoppingTask
from shopwright.schemas.tasks import EnvEpisode, Task

Side = Literal["train", "test"]
# verl's agent loops: ours, with an environment, and its own for a single reply.
AGENT, ALONE = "shopwright", "single_turn_agent"
WANTED = ("product_id", "variant_id", "category", "options", "attributes", "price_limit")
LEVELS = {"easy": 1, "medium": 2, "hard": 3}


# Heads.


def question_head(trajectory: str, question: str, asked_on: str) -> list[Message]:
    """What an agent with a code interpreter is told; the answer is to stand in a box."""
    facts = {
        "schema": describe_events_table(),
        "seconds": f"{Limits().wall:g}",
        "calls": CALLS,
        "turns": TURNS,
        "boxed": True,
    }
    return list(
        render_messages("trainers/questions", trajectory=trajectory, question=question, asked_on=asked_on, **facts)
    )


def env_head(task: Task) -> list[Message]:
    env = get_env(task.env)
    calls = env.turns(env.Goal.model_validate_json(task.goal), scale_limits_to_calls(compute_axes(task.difficulty)))
    return list(render_messages("trainers/envs", opening=task.opening, calls=calls))


def page_head(opening: str, scenario: Scenario, language: Language, profile: Profile | None) -> list[Message]:
    home = pages.build_shop_home_page()
    sight = Observation(
        pages.render_page_text(home), tuple(pages.list_clickables(home)), pages.can_search(home), ACTIONS[scenario]
    )
    known = describe_profile(profile, language) if profile else ""
    facts = {"multi": scenario.startswith("multi"), "personal": profile is not None, "limit": sight.left}
    page = format_observation(sight)
    return list(
        render_messages("trainers/shopping", opening=opening, profile=known, page=page, language=language, **facts)
    )


# Rows.


def rl_questions(rl_prompts: Dataset[RlPrompt], questions: Dataset[Question], split: Side) -> Iterator[Row]:
    """Questions about a customer's months, to be answered with a code interpreter; held out are those of other customers."""
    asked = set()
    for prompt in rl_prompts:
        asked.add(prompt.question_id)
        if side(prompt.split) == split:
            yield build_rl_question_row(prompt.question_id, prompt, prompt.ground_truth, split, prompt.pass_rates)
    # To test on there are all questions that are held out, asked for or not.
    for question in questions if split == "test" else ():
        if side(question.split) == split and question.id not in asked:
            yield build_rl_question_row(question.id, question, question.answer, split, [])


def build_rl_question_row(id: str, row: RlPrompt | Question, answer: str, split: Side, tried: list[PassRate]) -> Row:
    known = {
        "question_id": id,
        "trajectory_id": row.trajectory_id,
        "question": row.question,
        "asked_on": str(row.asked_on),
    }
    truth = {"answer": answer, "answer_type": row.answer_type}
    models = [rate for rate in tried if rate.policy not in (SCRIPTED, RANDOM, MAJORITY)]
    rates = [rate.model_dump() for rate in tried]
    return build_rl_row(
        f"{id}-rl",
        "shoptrajqa",
        "questions_boxed",
        question_head(row.trajectory_id, row.question, str(row.asked_on)),
        ability=row.kind,
        truth=truth,
        extra={"split": split, "task": known | truth, "pass_rates": rates, **truth, "trajectory_id": row.trajectory_id},
        difficulty=LEVELS[row.difficulty],
        pass_rate=sum(rate.right for rate in models) / sum(rate.tries for rate in models) if models else None,
        group=customer_of(row.trajectory_id),
    )


def rl_envs(run: Run, env_tasks: Dataset[Task], env_episodes: Dataset[EnvEpisode], split: Side) -> Iterator[Row]:
    """Tasks for an agent with the shop's tools, with calls that earn everything; held out are those of other customers."""
    rates, env = measure_pass_rates(env_episodes, "task_id", "reward.success"), ShopEnv(run.folder)
    for task in env_tasks:
        if task.split == split:
            yield build_rl_env_row(task, env, split, rates.get((task.id,)))


def build_rl_env_row(task: Task, env: ShopEnv, split: Side, pass_rate: float | None) -> Row:
    facts = task.model_dump(mode="json")
    reference = [make_call(*call) for call in solve_env_task(env, facts)]
    return build_rl_row(
        f"{task.id}-rl",
        "ecomrlve",
        "envs",
        env_head(task),
        ability=task.env,
        truth=json.loads(task.acceptable),
        extra={"split": split, "task": facts, "reference_calls": reference},
        difficulty=task.difficulty,
        pass_rate=pass_rate,
        group=owner(task),
    )


def rl_shopping(
    run: Run,
    shopping_tasks: Dataset[ShoppingTask],
    shopping_episodes: Dataset[ShoppingEpisode],
    profiles: Dataset[Profile],
    split: Side,
) -> Iterator[Row]:
    """Instructions that one product of the shop satisfies, to be found page by page; held out are other products."""
    people = {one.id: one for one in profiles}
    rates = measure_pass_rates(shopping_episodes, "task_id, scenario", "typed.success")
    shop = run.read("catalog").once(shop_of)
    for task in shopping_tasks:
        for scenario in list_scenarios(task) if task.split == split else ():
            profile, rate = people.get(task.profile_id), rates.get((task.id, scenario))
            way = list_page_solution(shop, task, scenario, profile)
            yield build_rl_shopping_row(task, scenario, profile, rate, way)


def build_rl_shopping_row(
    task: ShoppingTask, scenario: Scenario, profile: Profile | None, rate: float | None, way: list[Any]
) -> Row:
    multi, facts = scenario.startswith("multi"), task.model_dump(mode="json")
    opening = task.simple_instruction if multi else task.instruction
    return build_rl_row(
        f"{task.id}-{scenario.replace(' ', '-')}-rl",
        "shopsimulator",
        "shopping_talk" if multi else "shopping",
        page_head(opening, scenario, task.language, profile),
        ability=scenario,
        truth={name: facts[name] for name in WANTED},
        extra={"split": task.split, "task": facts | {"scenario": scenario}, "reference_calls": way},
        difficulty=len(task.needs),
        pass_rate=rate,
        group=task.product_id,
    )


def list_page_solution(
    shop: ShopResources, task: ShoppingTask, scenario: Scenario, profile: Profile | None
) -> list[Any]:
    """The calls of the solver, who knows the goal: they prove that the task can be solved."""
    play = Play(shop, task, scenario, profile)
    play_offline(play, play_solver)
    return [make_call(*make_talk_call(step.action)) for step in play.steps]


def rl_behaviors(behavior_steps: Dataset[NextAction], split: Side) -> Iterator[Row]:
    """Steps of shoppers to be predicted, with the reason for them; held out are all steps of other customers."""
    for step in behavior_steps:
        if step.split == split and (step.in_rl or split == "test"):
            yield build_rl_behavior_row(step, split)


def build_rl_behavior_row(step: NextAction, split: Side) -> Row:
    known = {"behavior_id": step.behavior_id, "step": step.step, "rationale": step.rationale}
    return build_rl_row(
        f"{step.id}-rl",
        "shop_r1",
        "",
        [message.model_dump() for message in step.prompt],
        ability=step.action_type,
        truth=json.loads(step.action),
        extra={"split": split, "task": known},
        difficulty=None,
        pass_rate=None,
        group=step.persona_id,
    )


# What they are made with.


def build_rl_row(
    id: str, source: str, environment: str, prompt: list[Message], *, truth: Any, extra: Mapping[str, Any], **known: Any
) -> Row:
    return {
        "id": id,
        "data_source": source,
        "agent_name": AGENT if environment else ALONE,
        "environment": environment,
        "prompt": prompt,
        "reward_model": {"style": "rule", "ground_truth": dump_exact_json(truth)},
        "extra_info": dict(extra),
        **known,
    }


def make_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": dict(arguments)}


def side(split: str) -> Side:
    """Trainers know two sides: what is for SFT and for RL is of different customers, and both is for training."""
    return "test" if split in HELD_OUT else "train"


def side_of(group: str) -> Side:
    """Where a dataset has no split: by customer, a tenth held out, the same ones as of `behaviors`."""
    return assign_customer_split(group)


def owner(task: Task) -> str:
    """Whose task it is: a customer's, or nobody's but its own."""
    return task.id if task.persona_id in (NOBODY, VISITOR) else task.persona_id


def customer_of(trajectory_id: str) -> str:
    """
    >>> customer_of("persona-0000001-16k")
    'persona-0000001'
    """
    return trajectory_id.rpartition("-")[0]


def measure_pass_rates(episodes: Dataset[Any], by: str, success: str) -> dict[tuple[str, ...], float]:
    """The share of successes of models, where any has played; solver and expert are none."""
    return {
        tuple(key): rate
        for *key, rate in episodes.sql(
            f"select {by}, avg({success}::int) from rows where policy not in ('{SOLVER}', '{EXPERT}') group by {by}"
        )
    }
