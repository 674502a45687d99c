"""One episode: an agent, a shopper and the shop, turn by turn, until something is handed in or the shopper leaves."""

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from shopwright.pipeline.envs.base import (
    CannotDraw,
    DrawnTask,
    Env,
    Goal,
    GoalScore,
    InvalidDraw,
    SideQuestion,
    Solution,
    World,
    ask_about,
    dump_compact_json,
    list_untold,
)
from shopwright.pipeline.envs.difficulty import Axes, compute_axes
from shopwright.pipeline.envs.kinds import is_of_held_out_kind
from shopwright.pipeline.envs.mistyped_facts import mistype_facts, say_as_typed
from shopwright.pipeline.envs.wording import add_contrast, name_any_thing, phrase_opening, word_contrast
from shopwright.pipeline.evaluate import situation
from shopwright.pipeline.evaluate.situation import TRY_APART, NothingToDraw, Score, Step, play_offline
from shopwright.pipeline.languages import check_offered
from shopwright.pipeline.models.base import UNHEARD, Prompt, Reply, plain_reason
from shopwright.pipeline.models.play import Working
from shopwright.pipeline.phrases.given import GivenBank
from shopwright.pipeline.phrases.grammar import Malformed
from shopwright.pipeline.phrases.speaker import Speaker, draw_speaker
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import render_messages, render_offline
from shopwright.pipeline.rewards.ecomrlve import (
    JOB,
    combine_reward_parts,
    penalize_illegal_action,
    score_efficiency,
    score_hallucination,
)
from shopwright.pipeline.sandbox.interpreter import truncate_output
from shopwright.pipeline.shop.fact_typos import would_be_taken_for_fact
from shopwright.pipeline.shop.policies import COUNT
from shopwright.pipeline.shop.policy_questions import draw_quick_question
from shopwright.pipeline.shop.rephrasing import rephrase_reply
from shopwright.pipeline.shop.tools import IllegalCall, Shop, build_tool_schemas, call_tool
from shopwright.pipeline.shop.user_simulator import TOPICS, UserSimulator
from shopwright.schemas.behaviors import Side
from shopwright.schemas.certificates import (
    KINDS,
    AnyOf,
    Infeasible,
    Miss,
    OneOfEach,
    Parts,
    certificate_to_text,
    describe,
)
from shopwright.schemas.tasks import Action, Answer, Reward, Task, Turn

LONGEST_ACTION = 100_000
"""Characters; more is no action."""
LONGEST_RESULT = 16_000
"""Characters of what a tool of the shop says; more is only what repeats a model's own words."""
SIDE_QUESTION_WEIGHT = Fraction(1, 10)
"""Weight of what the shopper asked in between, where it did."""
PARTS = ("task", "efficiency", "hallucination")
"""Of a reward."""
TRIES = 40
"""Draws of a task until one can be made."""


def draw_task(
    env: Env,
    world: World,
    difficulty: int,
    seed: int,
    *,
    at: Axes | None = None,
    bank: GivenBank | None = None,
    side: Side | None = None,
) -> Task:
    """The task of this number, in the package's words or a bank's: the same in any process.

    side: in the words, and under the policies, of this split, whoever its customer is.

    Raises NothingToDraw where the store is too small for the level.
    """
    check_offered(f"The environment {env.name}", ["en"], world.store.language)
    found = at or compute_axes(difficulty)
    id, why = f"{env.name}-d{found.difficulty:02d}-{seed:07d}", ""
    for attempt in range(TRIES):
        name = f"{env.name}/{difficulty}/{seed}/{attempt}"
        number = Random(f"{name}/policies").randrange(COUNT)
        random, here = Random(name), replace(world, task_id=id, policy_number=number, side=side)
        try:
            drawn = env.draw(here, found, random)
            if attempt < TRIES - 1 and asks_for_no_thing(drawn):
                continue  # the last try takes it: a shop may have departments alone
            return make_task(env, drawn, here, found, seed, random, bank)
        except CannotDraw as error:
            why = str(error)
    raise NothingToDraw(
        f"{env.name} has no task of difficulty {difficulty} in this shop: {why}. {describe_supported_level(env, world, difficulty)}"
    )


def asks_for_no_thing(drawn: DrawnTask) -> bool:
    """Whether it would ask for "something from" a department, as nobody does who knows what it is."""
    asked = {each.value for slot in drawn.goal.slots for each in slot.facts if each.name == "category"}
    speaker = Speaker()
    return any(
        name_any_thing(category).startswith("something from ") and not speaker.knows(f"thing {category}")
        for category in asked
    )


def describe_supported_level(env: Env, world: World, difficulty: int) -> str:
    """Which level the shop is large enough for, in words."""
    for lower in range(difficulty - 1, -1, -1):
        for attempt in range(TRIES):
            try:
                env.draw(world, compute_axes(lower), Random(f"{env.name}/{lower}/0/{attempt}"))
            except CannotDraw:
                continue
            return f"The hardest that it supports is {lower}."
    return "It supports none: use a larger catalog, or one with customers and orders."


def make_task(
    env: Env, drawn: DrawnTask, world: World, at: Axes, seed: int, random: Random, bank: GivenBank | None = None
) -> Task:
    check_drawn(env, drawn)
    id, persona = world.task_id, drawn.goal.persona_id
    policies, split = world.policies_for(persona), world.split_of(persona)
    if split != "test" and is_of_held_out_kind(drawn.goal, world.store):
        raise CannotDraw("it is of a kind that stands in tests alone")
    speaker, words = draw_speaker(id, use=split, bank=bank and bank.phrases), Random(f"{id}/words")
    try:
        drawn = env.word(drawn, speaker, words)
        if not env.mistypes_parts:
            drawn = mistype_facts(drawn, world.store, speaker, Random(f"{id}/typed facts"), noise=at.noise)
    except (AssertionError, Malformed) as error:
        raise InvalidDraw(f"{env.name}.word: {plain_reason(str(error))}") from None
    goal, typed = drawn.goal.model_copy(update={"policies": policies.id}), say_as_typed(drawn.goal)
    if env.takes_asides and random.random() < at.switch:
        question, answers = draw_quick_question(policies, random, speaker)
        goal = goal.model_copy(
            update={"aside": SideQuestion(after=random.randint(1, 2), question=question, answers=answers)}
        )
    try:
        begins = env.open(typed, drawn.facts, speaker, words)
        avoid = partial(would_be_taken_for_fact, world.store)
        opening = phrase_opening(begins, typed.slots, speaker, noise=at.noise, random=words, avoid=avoid)
        unlike = Random(f"{id}/contrast")
        goal = goal.model_copy(update={"contrast": word_contrast(goal.contrast, speaker, unlike)})
        opening = add_contrast(opening, goal.contrast, speaker, unlike)
    except (AssertionError, Malformed) as error:
        raise InvalidDraw(f"{env.name}.open: {plain_reason(str(error))}") from None
    return Task(
        id=id,
        env=env.name,
        difficulty=at.difficulty,
        seed=seed,
        persona_id=goal.persona_id,
        split=split,
        voice=speaker.register,
        bank=bank.digest if bank else "",
        opening=opening,
        slots=goal.slots,
        goal=goal.model_dump_json(),
        feasible=goal.feasible,
        acceptable=certificate_to_text(drawn.acceptable),
        nearest_miss=certificate_to_text(drawn.nearest_miss),
        solution="",
    )


def check_drawn(env: Env, drawn: Any) -> None:
    """Raises InvalidDraw where `draw` gave something else than it has to."""
    kinds = {"goal": (env.Goal,), "acceptable": (AnyOf, OneOfEach, Parts, Infeasible), "nearest_miss": (Miss,)}
    if not isinstance(drawn, DrawnTask):
        raise InvalidDraw(f"{env.name}.draw: expected DrawnTask, found {describe(drawn)}")
    for name, kind in kinds.items():
        if not isinstance(found := getattr(drawn, name), kind):
            wanted = KINDS if len(kind) > 1 else kind[0].__name__
            raise InvalidDraw(f"{env.name}.draw: {name} expected {wanted}, found {describe(found)}")
    refusal, right = drawn.goal.refusal, drawn.acceptable
    if refusal and refusal not in env.refusals:
        raise InvalidDraw(
            f"{env.name}.draw: refusal expected one of {list(env.refusals)}, its refusals, found {refusal!r}"
        )
    if (right.refusal if isinstance(right, Infeasible) else "") != refusal:
        wanted = f"Infeasible as {refusal!r}" if refusal else "what can be done"
        raise InvalidDraw(f"{env.name}.draw: acceptable expected {wanted}, as its goal has it, found {describe(right)}")


class Episode(situation.Episode):
    """
    env = Episode(CartBuilding(), world, task)
    observation = env.reset()
    observation, reward, done, info = env.step('{"tool_calls": [{"name": "datetime_now"}]}')

    A reward is 0 until the end; `info["reward"]` then has its parts. Pickles: the world is made again in the other process.

    words: the shopper's words are asked of a model too (prompts named `shopper`). native: the server is told of the tools, for models
    that call them natively; calls in a reply and JSON text are understood either way. rule: of the reward, one of RULES.
    """

    silence = Action()

    def __init__(
        self,
        env: Env,
        world: World,
        task: Task,
        *,
        at: Axes | None = None,
        words: bool = False,
        native: bool = False,
        rule: str = JOB,
    ) -> None:
        self.env, self.world = env, world
        self.given, self.words, self.native, self.rule = at, words, native, rule
        self.load(task)

    @property
    def task_id(self) -> str:
        return self.task.id

    @property
    def opening(self) -> str:
        return self.task.opening

    def load(self, task: Task) -> None:
        """Another task of the same env: what `reset` begins from then on."""
        self.task = task
        self.axes = self.given or compute_axes(task.difficulty)
        self.goal: Goal = self.env.Goal.model_validate_json(task.goal)
        self.most = self.env.turns(self.goal, self.axes)
        self.reward: Reward | None = None
        self.turns: list[Turn] = []
        self.shop: Shop | None = None

    def reset(self) -> dict[str, Any]:
        """Everything as it was at the beginning; returns the first observation."""
        self.shop = self.env.shop(self.world, self.goal, self.axes, self.task.id)
        aside, speaker = self.goal.aside, draw_speaker(self.task.id, use=self.task.split)
        self.shopper = UserSimulator(
            self.goal.slots,
            contrast=self.goal.contrast,
            seed=self.task.id,
            noise=self.axes.noise,
            avoid=partial(would_be_taken_for_fact, self.world.store),
            aside=(aside.after, aside.question) if aside else None,
            speaker=speaker,
        )
        self.shop.ask = self.shopper.answer
        self.turns, self.reward = [], None
        self.caused = 0
        self.history: list[dict[str, str]] = []
        return self.observation([], self.task.opening, "open")

    def observation(self, results: list[Any], user: str, act: str) -> dict[str, Any]:
        return {
            "results": results,
            "user": user,
            "act": act,
            "turn": len(self.turns),
            "turns_left": self.most - len(self.turns),
            "tool_calls_per_turn": self.axes.tool_calls,
            "done": self.reward is not None,
        }

    def prompt(self) -> Prompt:
        if not self.history:
            first = {"turns_left": self.most, "tool_calls": self.axes.tool_calls}
            tools = [dict(tool) for tool in build_tool_schemas()]
            self.history = render_messages("agent", tools=tools, opening=self.task.opening, **first)
        return Prompt(
            "agent",
            tuple(self.history),
            render_offline("agent", action="{}"),
            tools=build_tool_schemas() if self.native else (),
            seed=self.task.seed + TRY_APART * self.try_number,
        )

    def take(self, action: Action | dict[str, Any] | str | Reply) -> Working[Step]:
        if isinstance(action, Reply) and action.finish == "refused":
            return self.over(penalize_illegal_action(UNHEARD + action.fault), [], "", "")
        said = parse_agent_reply(action) if isinstance(action, Reply) else action
        step = self.act(said)
        seen = step.observation
        if self.words and seen["user"]:
            message = parse_user_message(self.turns[-1].action)
            text = yield from rephrase_reply(self.shopper, self.shopper.said[-1], message, number=len(self.turns))
            self.turns[-1] = self.turns[-1].model_copy(update={"user": text})
            seen["user"] = text
        if self.history:
            self.history += [
                {"role": "assistant", "content": self.turns[-1].action},
                {"role": "user", "content": render_observation(seen)},
            ]
        return step

    def act(self, action: Action | dict[str, Any] | str) -> Step:
        """One turn of the agent: what came back, the reward (0 until the end), whether it is over, and more."""
        if self.shop is None:
            raise Problem("Call reset() before step().")
        if self.reward is not None:
            return Step(self.observation([], "", "over"), 0.0, True, {"reward": self.reward})
        said = (
            action
            if isinstance(action, str)
            else action.model_dump_json(exclude_defaults=True)
            if isinstance(action, Action)
            else json.dumps(action, default=str)
        )
        try:
            meant = action if isinstance(action, Action) else parse_action(said)
            results = self.run(meant)
        except IllegalCall as error:
            self.turns.append(Turn(action=said[:LONGEST_ACTION], results="[]", user="", user_act=""))
            return self.over(penalize_illegal_action(str(error)), [], "", "")
        user, act = "", ""
        if not (meant.answer and meant.answer.done):
            self.happen(len(self.turns) + 1)
            notices = list(self.env.notices(self.goal, self.shop))
            heard = self.shopper.hear(
                meant.assistant_message, notices, turn=len(self.turns) + 1, worked=bool(meant.tool_calls)
            )
            user, act = heard.text, heard.act
            self.caused += heard.caused
        self.turns.append(Turn(action=said, results=to_json(results).decode(), user=user, user_act=act))
        if meant.answer and meant.answer.done:
            return self.over(self.judged(meant.answer), results, user, act)
        if act == "give up":
            return self.over(self.judged(None, "the shopper gave up"), results, user, act)
        if len(self.turns) >= self.most:
            return self.over(self.judged(None, "the shopper left before anything was handed in"), results, user, act)
        return Step(self.observation(results, user, act), 0.0, False, {})

    def run(self, action: Action) -> list[dict[str, Any]]:
        """The tools' results, in order. Raises IllegalCall for a call that no tool takes, or one too many."""
        if len(action.tool_calls) > self.axes.tool_calls:
            raise IllegalCall(f"{len(action.tool_calls)} tool calls in one turn, of {self.axes.tool_calls}")
        assert self.shop is not None
        return [call_tool(self.shop, each.name, each.args) for each in action.tool_calls]

    def happen(self, turn: int) -> None:
        """What the world does after a turn, whoever is at work."""
        event = self.goal.event
        if event is not None and event.after == turn and self.shop is not None:
            self.shop.gone |= set(event.variants)
            for variant in event.variants:
                self.shop.cart.pop(variant, None)

    def judged(self, answer: Answer | None, fault: str = "") -> Reward:
        assert self.shop is not None
        most = self.env.recommendations(self.goal, self.axes)
        if answer is not None and len(answer.recommended_product_ids) > most:
            answer, fault = None, f"more than {most} products recommended"
        score = self.env.score(self.goal, self.shop, answer) if answer else GoalScore(Fraction(-1), False, fault)
        score = self.score_with_aside(score, answer)
        named = self.shop.carted | list_recommended_ids(answer)
        turns = max(1, len(self.turns) - self.caused)
        made_up = score_hallucination(named, self.shop.seen)
        return combine_reward_parts(
            score.task,
            score_efficiency(turns, self.most),
            made_up,
            success=score.success,
            fault=fault or score.fault,
            rule=self.rule,
        )

    def score_with_aside(self, score: GoalScore, answer: Answer | None) -> GoalScore:
        """The question in between counts where the shopper came to ask it."""
        aside = self.goal.aside
        if aside is None or answer is None or aside.after >= len(self.turns):
            return score
        right = answer.policy_answer.strip().lower() in {each.lower() for each in aside.answers}
        task = (1 - SIDE_QUESTION_WEIGHT) * score.task + (SIDE_QUESTION_WEIGHT if right else -SIDE_QUESTION_WEIGHT)
        fault = score.fault or ("" if right else "the question in between is not answered")
        return replace(score, task=task, success=score.success and right, fault=fault)

    def over(self, reward: Reward, results: list[Any], user: str, act: str) -> Step:
        self.reward = reward
        return Step(self.observation(results, user, act), reward.total, True, {"reward": reward})

    def score(self) -> Score:
        reward = self.reward or self.judged(None, "nothing was handed in")
        parts = {"reward": reward.total, **{name: getattr(reward, name) for name in PARTS}}
        return Score(parts, reward.success, reward.fault)


def list_recommended_ids(answer: Answer | None) -> set[str]:
    if answer is None:
        return set()
    return set(answer.recommended_product_ids).union(*(list_recommended_ids(part) for part in answer.parts))


def parse_action(text: str) -> Action:
    """What an agent said, as an action. Raises IllegalCall where it is none: no JSON, a field too many, a wrong type."""
    if len(text) > LONGEST_ACTION:
        raise IllegalCall(f"an action of more than {LONGEST_ACTION} characters")
    try:
        return Action.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise IllegalCall(f"malformed action: {'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:120]}") from None


def parse_agent_reply(reply: Reply) -> str:
    """A reply as the action that it is: its text, or its native calls as such; of one that was cut short what was said."""
    if reply.fault or not reply.calls:
        return reply.text.strip()
    calls = [{"name": call["name"], "args": call["arguments"]} for call in reply.calls]
    return json.dumps({"assistant_message": reply.text.strip(), "tool_calls": calls}, ensure_ascii=False)


def parse_user_message(said: str) -> str:
    try:
        return Action.model_validate_json(said).assistant_message
    except ValueError:
        return ""


def render_observation(observation: dict[str, Any]) -> str:
    """What an agent is told after its turn."""
    return dump_compact_json(
        {"results": observation["results"], "shopper": observation["user"], "turns_left": observation["turns_left"]}
    )


def render_call_result(seen: Mapping[str, Any]) -> str:
    """What an agent with one call a turn is told after it."""
    words = {"shopper": seen["user"]} if seen["user"] else {}
    found = {**seen["results"][0], **words, "calls_left": seen["turns_left"]}
    return truncate_output(dump_compact_json(found), LONGEST_RESULT)


def split_ids(text: str) -> list[str]:
    """
    >>> split_ids("B01, B02,")
    ['B01', 'B02']
    """
    return [id.strip() for id in text.split(",") if id.strip()]


Player = Callable[[Episode], Generator[Action, dict[str, Any], None]]
"""Plays an episode that was just reset: yields actions and is sent observations."""


def play_episode(episode: Episode, player: Player) -> Reward:
    """What a player earns in the episode, from its beginning to its end."""
    play_offline(episode, player)
    assert episode.reward is not None
    return episode.reward


def solve_and_ask(env: Env, goal: Any, shop: Shop, axes: Axes) -> Solution:
    """The env's own solution, which asks before it acts, and not for what it was told with something else; the last question goes with its first action."""
    untold, asked = list_untold(goal.slots, getattr(goal, "later", "")), 0
    while len(untold) > TOPICS:
        seen = yield Action(assistant_message=ask_about(untold[:TOPICS]))
        untold = [slot for slot in untold[TOPICS:] if not is_said(slot.said, seen["user"])]
        asked += 1
    last = ask_about(untold)
    # A journey has the turns of all its parts, and each part as many as it would have alone.
    spent = asked if env.turns(goal, axes) == axes.turns else 0
    left = replace(axes, turns=axes.turns - spent)
    agent = env.solve(goal, shop, left)
    action = next(agent)
    if last and action.answer is not None:
        yield Action(assistant_message=last)
        agent.close()  # what it was about to hand in may hold no more
        agent, last = env.solve(goal, shop, left), ""
        action = next(agent)
    action = action.model_copy(update={"assistant_message": f"{last} {action.assistant_message}".strip()})
    while True:
        try:
            action = agent.send((yield action))
        except StopIteration:
            return


def is_said(fact: str, text: str) -> bool:
    """
    >>> is_said("Rated 4 or higher.", "I forgot: rated 4 or higher, in red"), is_said("in red", "in redwood")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(fact.rstrip('.').lower())}(?!\w)", text.lower()) is not None


def play_solution(episode: Episode) -> Generator[Action, dict[str, Any], None]:
    """The env's own solution, which asks for what was left out, and answers what the shopper asked in between."""
    assert episode.shop is not None
    agent = solve_and_ask(episode.env, episode.goal, episode.shop, episode.axes)
    action = next(agent)
    asked = False
    while True:
        aside = episode.goal.aside
        if action.answer is not None and asked and aside is not None:
            answer = action.answer.model_copy(update={"policy_answer": aside.answers[0]})
            action = action.model_copy(update={"answer": answer})
        observation = yield action
        asked = asked or observation["act"] == "switch"
        try:
            action = agent.send(observation)
        except StopIteration:
            return
