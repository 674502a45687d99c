"""One episode: an agent, a shopper and the shop, turn by turn, until something is handed in or the shopper leaves."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from pipeline.envs.base import Aside, Drawn, Env, Goal, Score, Undrawable, World, as_json
from pipeline.envs.difficulty import Axes, axes
from pipeline.problem import Problem
from pipeline.rewards.three_part import broken, efficiency, hallucination, three_part
from pipeline.shop.policies import quick_question
from pipeline.shop.shopper import Shopper, opened
from pipeline.shop.tools import Illegal, Shop, call
from schemas.tasks import Action, Answer, Reward, Task, Turn

LONGEST_ACTION = 100_000
"""Characters; more is no action."""
ASIDE = Fraction(1, 10)
"""Weight of what the shopper asked in between, where it did."""
TRIES = 40
"""Draws of a task until one can be made."""


def draw(env: Env, world: World, difficulty: int, seed: int, *, at: Axes | None = None) -> Task:
    """The task of this number: the same in any process. Raises Problem where the store is too small for the level."""
    found = at or axes(difficulty)
    why = ""
    for attempt in range(TRIES):
        random = Random(f"{env.name}/{difficulty}/{seed}/{attempt}")
        try:
            return told(env, env.draw(world, found, random), found, seed, random)
        except Undrawable as error:
            why = str(error)
    raise Problem(
        f"{env.name} has no task of difficulty {difficulty} in this shop: {why}. {supported(env, world, difficulty)}"
    )


def supported(env: Env, world: World, difficulty: int) -> str:
    """Which level the shop is large enough for, in words."""
    for lower in range(difficulty - 1, -1, -1):
        for attempt in range(TRIES):
            try:
                env.draw(world, axes(lower), Random(f"{env.name}/{lower}/0/{attempt}"))
            except Undrawable:
                continue
            return f"The hardest that it supports is {lower}."
    return "It supports none: use a larger catalog, or one with customers and orders."


def told(env: Env, drawn: Drawn, at: Axes, seed: int, random: Random) -> Task:
    goal = drawn.goal
    if env.takes_asides and random.random() < at.switch:
        question, answers = quick_question(random)
        goal = goal.model_copy(update={"aside": Aside(after=random.randint(1, 2), question=question, answers=answers)})
    return Task(
        id=f"{env.name}-d{at.difficulty:02d}-{seed:07d}",
        env=env.name,
        difficulty=at.difficulty,
        seed=seed,
        persona_id=goal.persona_id,
        opening=opened(env.name, goal.wishes, drawn.facts, noise=at.noise, random=random),
        wishes=goal.wishes,
        goal=goal.model_dump_json(),
        feasible=goal.feasible,
        acceptable=as_json(drawn.acceptable),
        nearest_miss=as_json(drawn.nearest_miss),
        solution="",
    )


class Episode:
    """
    env = Episode(CartBuilding(), world, task)
    observation = env.reset()
    observation, reward, done, info = env.step('{"tool_calls": [{"name": "datetime_now"}]}')

    A reward is 0 until the end; `info["reward"]` then has its parts. Pickles: the world is made again in the other process.
    """

    def __init__(self, env: Env, world: World, task: Task, *, at: Axes | None = None) -> None:
        self.env, self.world = env, world
        self.given = at
        self.take(task)

    def take(self, task: Task) -> None:
        """Another task of the same env: what `reset` begins from then on."""
        self.task = task
        self.axes = self.given or axes(task.difficulty)
        self.goal: Goal = self.env.Goal.model_validate_json(task.goal)
        self.most = self.env.turns(self.goal, self.axes)
        self.reward: Reward | None = None
        self.turns: list[Turn] = []
        self.shop: Shop | None = None

    def reset(self) -> dict[str, Any]:
        """Everything as it was at the beginning; returns the first observation."""
        self.shop = self.env.shop(self.world, self.goal, self.axes, self.task.id)
        aside = self.goal.aside
        self.shopper = Shopper(
            self.goal.wishes,
            seed=self.task.id,
            noise=self.axes.noise,
            aside=(aside.after, aside.question) if aside else None,
        )
        self.shop.ask = self.shopper.answer
        self.turns, self.reward = [], None
        self.caused = 0
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

    def step(self, action: Action | dict[str, Any] | str) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        """One turn of the agent: what came back, the reward (0 until the end), whether it is over, and more."""
        if self.shop is None:
            raise Problem("Call reset() before step().")
        if self.reward is not None:
            return self.observation([], "", "over"), 0.0, True, {"reward": self.reward}
        said = (
            action
            if isinstance(action, str)
            else action.model_dump_json(exclude_defaults=True)
            if isinstance(action, Action)
            else json.dumps(action, default=str)
        )
        try:
            meant = action if isinstance(action, Action) else parsed(said)
            results = self.run(meant)
        except Illegal as error:
            self.turns.append(Turn(action=said[:LONGEST_ACTION], results="[]", user="", user_act=""))
            return self.over(broken(str(error)), [], "", "")
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
        return self.observation(results, user, act), 0.0, False, {}

    def run(self, action: Action) -> list[dict[str, Any]]:
        """The tools' results, in order. Raises Illegal for a call that no tool takes, or one too many."""
        if len(action.tool_calls) > self.axes.tool_calls:
            raise Illegal(f"{len(action.tool_calls)} tool calls in one turn, of {self.axes.tool_calls}")
        assert self.shop is not None
        return [call(self.shop, each.name, each.args) for each in action.tool_calls]

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
        score = self.env.score(self.goal, self.shop, answer) if answer else Score(Fraction(-1), False, fault)
        score = self.with_aside(score, answer)
        named = self.shop.carted | recommended(answer)
        turns = max(1, len(self.turns) - self.caused)
        made_up = hallucination(named, self.shop.seen)
        return three_part(
            score.task, efficiency(turns, self.most), made_up, success=score.success, fault=fault or score.fault
        )

    def with_aside(self, score: Score, answer: Answer | None) -> Score:
        """The question in between counts where the shopper came to ask it."""
        aside = self.goal.aside
        if aside is None or answer is None or aside.after >= len(self.turns):
            return score
        right = answer.policy_answer.strip().lower() in {each.lower() for each in aside.answers}
        task = (1 - ASIDE) * score.task + (ASIDE if right else -ASIDE)
        fault = score.fault or ("" if right else "the question in between is not answered")
        return replace(score, task=task, success=score.success and right, fault=fault)

    def over(
        self, reward: Reward, results: list[Any], user: str, act: str
    ) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        self.reward = reward
        return self.observation(results, user, act), reward.total, True, {"reward": reward}


def recommended(answer: Answer | None) -> set[str]:
    if answer is None:
        return set()
    return set(answer.recommended_product_ids).union(*(recommended(part) for part in answer.parts))


def parsed(text: str) -> Action:
    """What an agent said, as an action. Raises Illegal where it is none: no JSON, a field too many, a wrong type."""
    if len(text) > LONGEST_ACTION:
        raise Illegal(f"an action of more than {LONGEST_ACTION} characters")
    try:
        return Action.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Illegal(f"malformed action: {'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:120]}") from None


Player = Callable[[Episode], Generator[Action, dict[str, Any], None]]
"""Plays an episode that was just reset: yields actions and is sent observations."""


def played(episode: Episode, player: Player) -> Reward:
    """The episode from its beginning to its end; who has no more to say says nothing."""
    episode.reset()
    agent = player(episode)
    action = next(agent, Action())
    while True:
        observation, _, done, info = episode.step(action)
        if done:
            agent.close()
            reward: Reward = info["reward"]
            return reward
        try:
            action = agent.send(observation)
        except StopIteration:
            action = Action()


def solver(episode: Episode) -> Generator[Action, dict[str, Any], None]:
    """The env's own solution, which also answers what the shopper asked in between."""
    assert episode.shop is not None
    agent = episode.env.solve(episode.goal, episode.shop, episode.axes)
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
