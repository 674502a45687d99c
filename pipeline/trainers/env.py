"""The situations as environments of a trainer: plain classes whose public methods are the tools that a model can call.

    env = ShopEnv(run="data/runs/mine")
    env.reset(extra_info={"task": {"env": "cart_building", "difficulty": 3, "seed": 7}})
    env.catalog_search(query="desk lamp")       # text; wrong calls too are answered, and nothing is ever raised
    env.submit(refusal="sold_out")              # ends it
    env.get_reward()

This is TRL's `environment_factory` contract; other trainers have adapters beside this file, which find the tools by looking. A row is
reset by `extra_info["task"]` alone, and the same calls give the same texts. One call a turn: an episode of the envs has as many as all of its
turns together would hold, so its efficiency is counted in calls. Tools have no return annotation, which would reach some prompts and not others.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, lru_cache, wraps
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, cast, get_type_hints

from shopwright.pipeline.checks.shopping import index_profile_records, shop_of
from shopwright.pipeline.checks.tasks import earns_everything
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import World, drop_said, dump_compact_json
from shopwright.pipeline.envs.difficulty import compute_axes, scale_limits_to_calls
from shopwright.pipeline.envs.episode import Episode, draw_task, render_call_result, solve_and_ask, split_ids
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.gym import world
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.rewards.ecomrlve import RULES, penalize_illegal_action
from shopwright.pipeline.rewards.matching import extract_boxed_answer
from shopwright.pipeline.rewards.tool_use import reward_answer
from shopwright.pipeline.rollouts.baselines import open_trajectory_sandbox
from shopwright.pipeline.rollouts.conversation import CALLS, TAG, TURNS
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.data_loader import describe_events_table
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.sandbox.interpreter import Sandbox
from shopwright.pipeline.shop.tools import KINDS, TOOLS, is_of_type
from shopwright.pipeline.shop.tools import Shop as Tools
from shopwright.pipeline.shopping import play
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.pipeline.stage import resolve_reference
from shopwright.pipeline.stages import all_stages, views_in_place
from shopwright.pipeline.trainers.curriculum_state import Rollout, Training
from shopwright.schemas.record import Record
from shopwright.schemas.shopping import ShoppingTask
from shopwright.schemas.tasks import Answer, Task

# The variable that names the run's folder where the code does not.
RUN = "SHOPWRIGHT_RUN"
# The variable that names the reward of the envs, one of `RULES`; the first where it is not set.
REWARD = "SHOPWRIGHT_REWARD"
NAME_THE_RUN = f"Give the folder of its run: ShopEnv(run=FOLDER), or {RUN}=FOLDER."
OVER = "The episode is over."
NO_TOOLS = ("reset", "get_reward")
# Of each class, found once: a server looks for them at each call.
TOOL_NAMES: dict[type, list[str]] = {}
# A tool's name and its arguments.
Call = tuple[str, dict[str, Any]]
# Tasks of which an episode is kept as it begins: a group plays the same one, and a server many at once.
PREPARED = 1_024
# Sessions of a server begin in threads: what all share is made by one of them.
LOCK = RLock()
RecordT = TypeVar("RecordT", bound=Record)


def tool(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method as a tool: a call after the end, or one that does not fit its signature, is answered by an error."""

    @wraps(method)
    def answered(self, /, *given, **named):
        arguments = {**dict(zip(read_tool_signature(method), given, strict=False)), **named}
        if self._done:
            return make_error_result(OVER)
        fault = explain_misfit(method, arguments)
        return self._refused(fault) if fault else method(self, **arguments)

    return answered


@cache
def read_tool_signature(method: Callable[..., Any]) -> dict[str, tuple[type, bool]]:
    """Of each argument its type, and whether it must be given."""
    hints = get_type_hints(method)
    found = list(inspect.signature(method).parameters.items())[1:]
    return {name: (hints[name], each.default is inspect.Parameter.empty) for name, each in found}


def explain_misfit(method: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Why a tool does not take these arguments; empty where it does."""
    wanted = read_tool_signature(method)
    if strange := arguments.keys() - wanted.keys():
        return f"{method.__name__} takes no {min(strange)[:60]}"
    if missing := [name for name, (_, needed) in wanted.items() if needed and name not in arguments]:
        return f"{method.__name__} needs {missing[0]}"
    wrong = [name for name, value in arguments.items() if not is_of_type(value, wanted[name][0])]
    return f"{wrong[0]} of {method.__name__} is no {KINDS[wanted[wrong[0]][0]]}" if wrong else ""


def make_error_result(why: str) -> str:
    return dump_compact_json({"error": why})


class TaskEnvironment:
    """What all have in common; `run` is the folder with the datasets, else the variable SHOPWRIGHT_RUN names it.

    Of names that begin with an underscore the adapters read `_prompt`, `_done`, `_succeeds`, `_rollout`, and `_hear` for words without a call.
    """

    _waits = False
    """Whether a call waits for another process, so that a server makes it in a thread."""

    def __init__(self, run: str | Path | None = None) -> None:
        self._run = str(run or os.environ.get(RUN, ""))
        self._done = True
        self._prompt: list[dict[str, str]] = []
        self._rollout: Rollout | None = None

    def reset(self, extra_info: Any = None, **row: Any) -> str | None:
        """Begins the episode of a row; gives the user's words where the row cannot have them, as its task was just drawn.

        Raises Problem where the row has no task, or the shop is not the task's.
        """
        known = json.loads(extra_info) if isinstance(extra_info, str) else extra_info or {}
        if not known.get("task"):
            raise Problem('The row has no task. An environment is reset by extra_info["task"] of an rl_* dataset.')
        self._done = True
        self._begin(known["task"])
        self._done = False
        return self._prompt[-1]["content"] if self._rollout else None

    def get_reward(self) -> float:
        """What the episode earned; of one that was broken off, what it earns as it stands."""
        return self._earned()

    def _begin(self, task: str | Mapping[str, Any]) -> None:
        """task: as a row has it, an object or its JSON."""
        raise NotImplementedError

    def _earned(self) -> float:
        raise NotImplementedError

    def _succeeds(self) -> bool:
        """Whether all that was asked for is done, whatever it earned."""
        raise NotImplementedError

    def _labels(self, name: str) -> tuple[str, str]:
        """Under which environment and level a server counts its episode; name: in `ENVIRONMENTS`."""
        return name, ""

    def _refused(self, why: str) -> str:
        """The answer to a call that no tool takes."""
        return make_error_result(why)

    def _hear(self, text: str) -> None:
        """The model's last words, in a turn in which it calls nothing."""


class ShopEnv(TaskEnvironment):
    """The envs: the tools of the shop, and `submit`. The reward has three parts, as EcomRLVE adds them up.

    task: a row of `env_tasks`, or env, difficulty and seed; the latter need no run, and then play in a shop made in memory. Or `training`, the
    name of a training run, perhaps with `number`: a task at the level that its results call for (`pipeline/trainers/curriculum_state.py`), to which
    the first `get_reward` after it adds.
    """

    _recorded = True

    def _begin(self, task: str | Mapping[str, Any]) -> None:
        self._rollout, self._recorded = None, False
        text = task if isinstance(task, str) else json.dumps(task)
        asked = json.loads(text) if '"training"' in text else {}
        if "training" in asked:
            rollout = Training(self._run, asked["training"]).take(get_run_world(self._run), asked.get("number"))
            text, self._rollout = json.dumps(rollout.task), rollout
        prepared = prepare_episode(self._run, text, read_reward_rule())
        self._episode = copy(prepared.episode)
        self._episode.reset()
        self._parts: list[Answer] = []
        self._prompt = [dict(message) for message in prepared.prompt]

    def _earned(self) -> float:
        if self._rollout and not self._recorded:
            self._rollout.record(self._succeeds())
            self._recorded = True
        return self._episode.score().parts["reward"]

    def _succeeds(self) -> bool:
        return self._episode.score().success

    def _labels(self, name: str) -> tuple[str, str]:
        return self._episode.task.env, str(self._episode.task.difficulty)

    def _refused(self, why: str) -> str:
        self._episode.over(penalize_illegal_action(why), [], "", "")
        self._done = True
        return make_error_result(why)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """One turn of the episode: what the tool said, and the shopper of itself."""
        if self._done:
            return make_error_result(OVER)
        seen, _, self._done, _ = self._episode.step({"tool_calls": [{"name": name, "args": arguments}]})
        if not seen["results"]:
            return make_error_result(self._episode.reward.fault if self._episode.reward else "")
        return render_call_result(seen)

    @tool
    def submit(
        self,
        recommended_product_ids: str = "",
        selected_order_id: str = "",
        selected_line_id: str = "",
        order_status: str = "",
        arrival_date: str = "",
        policy_answer: str = "",
        refusal: str = "",
        more: bool = False,
    ):
        """Hand in the answer, which ends the conversation. Give what the request needs.

        Args:
            recommended_product_ids: Product ids, separated by commas, the best first.
            selected_order_id: The order that the shopper means.
            selected_line_id: The line of it, also where it may not be returned.
            order_status: processing, shipped, delivered or cancelled.
            arrival_date: YYYY-MM-DD.
            policy_answer: The answer to a question about the shop's policies, also to one in between: a number, one word, or yes or no.
            refusal: Where it cannot be done, why: not_found, sold_out, not_eligible, contradiction, over_budget or not_covered.
            more: True where the shopper asked for several things and the next call answers the next of them, in the order asked.
        """
        answer = Answer(
            recommended_product_ids=split_ids(recommended_product_ids),
            selected_order_id=selected_order_id,
            selected_line_id=selected_line_id,
            order_status=order_status,
            arrival_date=arrival_date,
            policy_answer=policy_answer,
            refusal=refusal,
        )
        if more:
            self._parts.append(answer)
            return dump_compact_json({"noted": len(self._parts)})
        last = Answer(parts=[*self._parts, answer]) if self._parts else answer
        self._episode.step({"answer": last.model_dump(exclude_defaults=True)})
        self._done = True
        return dump_compact_json({"handed_in": True})


def borrow_shop_tool(name: str) -> Callable[..., Any]:
    """A tool of the shop's, with its signature and its manual."""
    method = getattr(Tools, name)

    @wraps(method)
    def answered(self, /, *given, **named):
        return self._call(name, {**dict(zip(read_tool_signature(method), given, strict=False)), **named})

    return answered


# Trainers find tools as methods of the class, with a signature and a docstring.
for name in TOOLS:
    setattr(ShopEnv, name, borrow_shop_tool(name))


class ShoppingEnv(TaskEnvironment):
    """A shopping task page by page, everything said at once. The reward is the strict one of what was bought.

    task: a row of `shopping_tasks`; with `scenario` (else the first that the row is for).
    """

    _talks = False

    def _begin(self, task: str | Mapping[str, Any]) -> None:
        row = read_task(task)
        scenario = row.pop("scenario", None)
        known = parse_task_record(ShoppingTask, row)
        one = play.list_scenarios(known)[self._talks] if scenario is None else scenario
        if one not in play.list_scenarios(known) or one.startswith("multi") != self._talks:
            raise Problem(f"{known.id} is not played as {one} in this environment. See its column `environment`.")
        with LOCK:
            shop = get_run_dataset(self._run, "catalog").once(shop_of)
            people = get_run_dataset(self._run, "profiles").once(index_profile_records) if known.profile_id else {}
            profile = people[known.profile_id] if known.profile_id else None
        if shop.store.row(known.product_id) is None:
            raise Problem(f"{known.id} is a task of another shop. {NAME_THE_RUN}")
        self._play = ToolPlay(shop, known, one, profile)
        self._prompt = self._play.told()

    def _earned(self) -> float:
        return self._play.score().parts["reward"]

    def _succeeds(self) -> bool:
        return self._play.score().success

    def _act(self, action: str) -> str:
        seen, _, self._done, _ = self._play.step(play.format_turn("", " ".join(action.split()), self._play.multi))
        return play.format_observation(seen)

    @tool
    def search(self, words: str):
        """Search the shop. Only on a page that has a search box.

        Args:
            words: What to look for.
        """
        return self._act(f"search[{words}]")

    @tool
    def click(self, thing: str):
        """Click on something that the page offers.

        Args:
            thing: As the page lists it.
        """
        return self._act(f"click[{thing}]")


class TalkEnv(ShoppingEnv):
    """The same where the shopper says little at first, and has to be asked."""

    _talks = True

    @tool
    def ask_user(self, question: str):
        """Say something to the shopper; the answer comes at once.

        Args:
            question: One question, in plain words.
        """
        return self._act(f"ask[{question}]")


class ToolPlay(play.Play):
    """A task whose agent is told of tools instead of lines to write."""

    def told(self) -> list[dict[str, str]]:
        language, profile = self.task.language, self.profile
        return render_messages(
            "trainers/shopping",
            multi=self.multi,
            personal=profile is not None,
            limit=self.limit,
            language=language,
            opening=self.opening,
            profile=describe_profile(profile, language) if profile else "",
            page=play.format_observation(self.sight()),
        )


class BoxedEnv(TaskEnvironment):
    r"""A question about a customer's months, with a code interpreter; the answer stands in \boxed{} in a turn without a call.

    The reward is Customer-Agent's. task: trajectory_id, question, asked_on, answer and answer_type, as rows of `rl_prompts` and `questions` have them.
    """

    _boxed = True
    _waits = True

    def _begin(self, task: str | Mapping[str, Any]) -> None:
        self._task = task = read_task(task)
        self._sandbox = open_run_sandbox(self._run, task["trajectory_id"])
        self._called = self._executed = 0
        self._said: str | None = None
        self._prompt = render_messages(
            "trainers/questions",
            trajectory=task["trajectory_id"],
            question=task["question"],
            asked_on=str(task["asked_on"]),
            schema=describe_events_table(),
            seconds=f"{Limits().wall:g}",
            calls=CALLS,
            turns=TURNS,
            boxed=self._boxed,
        )

    def _earned(self) -> float:
        return reward_answer(self._said, self._task["answer"], self._task["answer_type"], self._executed)

    def _succeeds(self) -> bool:
        return self._earned() == 1

    def _hear(self, text: str) -> None:
        if not self._done:
            self._said, self._done = extract_boxed_answer(text), True

    @tool
    def code_interpreter(self, code: str):
        """Run Python over the customer's actions, and get what it prints.

        Args:
            code: A whole program: nothing is kept from one call to the next.
        """
        if self._called == CALLS:
            return make_error_result(f"{CALLS} blocks have been run, and no more may be. Answer now.")
        self._called += 1
        output = self._sandbox.run(self._task["trajectory_id"], code)
        self._executed += output.ok
        return TAG.sub("&lt;", output.text)  # what is printed could else look like a turn of the conversation


class QuestionsEnv(BoxedEnv):
    """The same with the answer handed in by a tool."""

    _boxed = False

    @tool
    def submit(self, answer: str):
        """Hand in the answer, which ends it.

        Args:
            answer: The answer alone, in the form asked for.
        """
        self._said, self._done = answer, True
        return dump_compact_json({"handed_in": True})


# By the name in a row's column `environment`, as TRL takes several at once: each dataset says who plays its tasks.
ENVIRONMENTS: dict[str, type[TaskEnvironment]] = {}
for views in views_in_place().values():
    ENVIRONMENTS |= {name: cast(Any, resolve_reference(kind)) for name, kind in views.environments.items()}


def find_environment_name(env: TaskEnvironment) -> str:
    return next(name for name, kind in ENVIRONMENTS.items() if kind is type(env))


# What the instances of a process share


@cache
def get_run_dataset(run: str, name: str) -> Any:
    """A dataset of the run. Raises Problem where it is not there."""
    if not run:
        raise Problem(f"There is no shop. {NAME_THE_RUN}")
    found = Run(run).read(name)
    if found.manifest is None:
        raise Problem(f"{run} has no {name}. Build it: shopwright build {name} --run {run}")
    return found


def read_reward_rule() -> str:
    """Which reward the episodes of this process are given. Raises Problem for one that there is not."""
    found = os.environ.get(REWARD, RULES[0])
    if found not in RULES:
        raise Problem(f"There is no reward {found[:60]!r}. {REWARD} is one of: {', '.join(RULES)}.")
    return found


def get_run_world(run: str) -> World:
    with LOCK:
        return open_run_world(run)


@cache
def open_run_world(run: str) -> World:
    return load_world_beside(get_run_dataset(run, "catalog")) if run and get_run_dataset(run, "orders") else world()


def open_run_sandbox(run: str, trajectory: str) -> Sandbox:
    """Raises Problem where there is no such trajectory, or this machine cannot keep code in."""
    with LOCK:
        found: Sandbox = get_run_dataset(run, "trajectories").once(open_trajectory_sandbox)
    # A trajectory that is not there shows here, not in the midst of training.
    found.run(trajectory, "1")
    return found


@lru_cache(4_096)
def is_task_of_shop(run: str, env: str, difficulty: int, seed: int, goal: str, reworded: bool) -> bool:
    """reworded: its words are from another bank than the package's."""
    found = draw_task(get_env(env), get_run_world(run), difficulty, seed).goal
    return drop_said(found) == drop_said(goal) if reworded else found == goal


@dataclass(frozen=True)
class Prepared:
    """An episode as it stands before its reset, and what an agent is told first."""

    episode: Episode
    prompt: list[dict[str, str]]


@lru_cache(PREPARED)
def prepare_episode(run: str, text: str, rule: str) -> Prepared:
    """Of a task of the envs, as JSON. Raises Problem where it is a task of another shop."""
    task, shop = json.loads(text), get_run_world(run)
    env = get_env(task["env"])
    known = parse_task_record(Task, task) if "goal" in task else draw_task(env, shop, task["difficulty"], task["seed"])
    if not is_task_of_shop(run, known.env, known.difficulty, known.seed, known.goal, bool(known.bank)):
        raise Problem(f"{known.id} is a task of another shop. {NAME_THE_RUN}")
    episode = Episode(env, shop, known, at=scale_limits_to_calls(compute_axes(known.difficulty)), rule=rule)
    # Turns are calls here (`scale_limits_to_calls`).
    return Prepared(episode, render_messages("trainers/envs", opening=known.opening, calls=episode.most))


def read_task(task: str | Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(task) if isinstance(task, str) else dict(task)


def parse_task_record(kind: type[RecordT], task: Mapping[str, Any]) -> RecordT:
    return kind.model_validate_json(json.dumps({name: task[name] for name in kind.model_fields if name in task}))


# Rows


def find_task_dataset(environment: str) -> str:
    """The dataset that holds an environment's tasks.

    >>> find_task_dataset("envs"), find_task_dataset("questions_boxed")
    ('env_tasks', 'rl_prompts')
    """
    return next(name for name, stage in all_stages().items() if environment in stage.views.environments)


def count_env_tasks(run: str, environment: str) -> int:
    """How many tasks a run has for an environment; 0 where their dataset is not there."""
    found = Run(run).read(find_task_dataset(environment))
    return len(found) if found.manifest else 0


class NoTask(Problem, IndexError):
    """An environment has no task of this number."""


def get_env_task(run: str, environment: str, number: int) -> dict[str, Any]:
    """What `reset` takes of the task of this number. Raises NoTask where there is none."""
    return json.loads(read_env_task(run, environment, number))


@lru_cache(4_096)
def read_env_task(run: str, environment: str, number: int) -> str:
    """The same as JSON, which `reset` takes as well."""
    dataset = get_run_dataset(run, find_task_dataset(environment))
    with LOCK:
        size = dataset.once(len)
    if not 0 <= number < size:
        raise NoTask(f"There is no task {number} of {environment}. There are {size:,}, from 0.")
    (row,) = dataset.rows(range(number, number + 1))
    found: dict[str, Any] = row.model_dump(mode="json")
    return json.dumps({**found, "answer": found["ground_truth"]} if "ground_truth" in found else found)


def list_env_calls(actions: Iterable[Mapping[str, Any]]) -> Iterator[Call]:
    """Actions of the envs, as `solution` of a row of `env_tasks` holds them, as calls of `ShopEnv`.

    >>> ask, look = {"assistant_message": "Which?"}, {"tool_calls": [{"name": "cart_view"}], "answer": {"refusal": "sold_out"}}
    >>> list(list_env_calls([ask, look]))
    [('ask_user', {'question': 'Which?'}), ('cart_view', {}), ('submit', {'refusal': 'sold_out'})]
    """
    for action in actions:
        answer = action.get("answer")
        if action.get("assistant_message") and answer is None:
            yield "ask_user", {"question": action["assistant_message"]}
        yield from ((each["name"], dict(each.get("args", {}))) for each in action.get("tool_calls", ()))
        if answer is not None:
            parts = answer.get("parts") or [answer]
            taken = read_tool_signature(ShopEnv.submit)
            for place, part in enumerate(parts, 1):
                given = {name: value for name, value in part.items() if name in taken}
                joined = {name: ",".join(value) if isinstance(value, list) else value for name, value in given.items()}
                yield "submit", joined | ({"more": True} if place < len(parts) else {})


def list_env_thoughts(actions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The thought before each call of `list_env_calls`; empty where none was noted.

    >>> list(list_env_thoughts([{"tool_calls": [{"name": "cart_view"}], "thoughts": ["Is it there?"]}, {"answer": {}}]))
    ['Is it there?', '']
    """
    for action in actions:
        count = len(list(list_env_calls([action])))
        noted = action.get("thoughts", ())
        yield from noted if len(noted) == count else [""] * count


def solve_env_task(env: ShopEnv, task: Mapping[str, Any]) -> list[Call]:
    """Calls that earn everything of a task of the envs, from its reset to its end; none where its solver finds none.

    They are not those of the stored solution, which has several calls a turn: here something may be asked or sold out before the same call.
    """
    env.reset(extra_info={"task": task})
    found = list(play_env_solution(env))
    done = env._episode.reward
    return found if done and earns_everything(done) else []


def play_env_solution(env: ShopEnv) -> Iterator[Call]:
    """By the env's own solver, which sees what comes of each call, and answers what it was asked in between."""
    episode, shop, turns = env._episode, env._episode.shop, env._episode.turns
    assert shop is not None
    at = replace(compute_axes(episode.task.difficulty), tool_calls=1)  # with the turns of before: it wastes what it has
    agent = solve_and_ask(episode.env, episode.goal, shop, at)
    action = next(agent)
    while True:
        first = len(turns)
        for name, arguments in list_env_calls([action.model_dump(exclude_defaults=True)]):
            aside = episode.goal.aside
            # The shopper asked something in between: its answer goes with this one.
            if name == "submit" and aside and any(turn.user_act == "switch" for turn in turns):
                arguments["policy_answer"] = aside.answers[0]
            call_env_tool(env, name, arguments)
            yield name, arguments
        if env._done:
            return
        results = [json.loads(turn.results)[0] for turn in turns[first:] if '"name": "ask_user"' not in turn.action]
        heard = " ".join(f"{turn.user} {turn.results}" for turn in turns[first:])
        action = agent.send({"results": results, "user": heard})


def make_talk_call(action: str) -> Call:
    """An action of a shopping episode as a call of `TalkEnv`.

    >>> make_talk_call("search[red mug]"), make_talk_call("ask[Which color?]")
    (('search', {'words': 'red mug'}), ('ask_user', {'question': 'Which color?'}))
    """
    verb, _, words = action.partition("[")
    name, argument = {"search": ("search", "words"), "click": ("click", "thing"), "ask": ("ask_user", "question")}[verb]
    return name, {argument: words.removesuffix("]")}


# What adapters read


def list_env_tools(env: TaskEnvironment) -> dict[str, Callable[..., str]]:
    """The tools by name, as TRL finds them."""
    return {name: getattr(env, name) for name in list_tool_names(type(env))}


def list_tool_names(kind: type[TaskEnvironment]) -> list[str]:
    if kind not in TOOL_NAMES:
        names = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name not in NO_TOOLS]
        TOOL_NAMES[kind] = [name for name in names if not name.startswith("_")]
    return TOOL_NAMES[kind]


def call_env_tool(env: TaskEnvironment, name: str, arguments: Mapping[str, Any]) -> str:
    """What a tool says, where there is such a tool."""
    if name not in list_tool_names(type(env)):
        return make_error_result(OVER) if env._done else refuse_unknown_tool(env, name)
    return getattr(env, name)(**arguments)


def refuse_unknown_tool(env: TaskEnvironment, name: str) -> str:
    """What a call of a tool that there is not comes to, the same in every trainer; nothing is said where there is such a tool."""
    return "" if name in list_tool_names(type(env)) else env._refused(f"there is no tool {name[:60]}")


def list_tool_schemas(kind: type[TaskEnvironment]) -> list[dict[str, Any]]:
    """The tools as trainers tell models of them: the same as `transformers.utils.get_json_schema` makes."""
    return [{"type": "function", "function": make_tool_schema(each)} for each in list_env_tools(kind()).values()]


def make_tool_schema(method: Callable[..., Any]) -> dict[str, Any]:
    about, _, rest = (inspect.getdoc(method) or "").partition("\n\nArgs:\n")
    meant = dict(line.strip().split(": ", 1) for line in rest.splitlines())
    wanted = read_tool_signature(method.__func__)  # type: ignore[attr-defined]
    properties = {name: {"type": KINDS[kind], "description": meant[name]} for name, (kind, _) in wanted.items()}
    taken: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [name for name, (_, needed) in wanted.items() if needed]:
        taken["required"] = required
    return {"name": method.__name__, "description": about, "parameters": taken}


def write_env_messages(
    env: TaskEnvironment, calls: Iterable[Call], thoughts: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """The messages of an episode that these calls play, as a trainer's own loop writes them; it ends with the last call."""
    found: list[dict[str, Any]] = [*env._prompt]
    said = iter(thoughts)
    for name, arguments in calls:
        call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": dict(arguments)}}
        found.append({"role": "assistant", "content": next(said, ""), "tool_calls": [call]})
        found.append({"role": "tool", "name": name, "content": call_env_tool(env, name, arguments)})
    return found[:-1]
