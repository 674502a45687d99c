"""How well an agent predicts what shoppers do next: the figures of Shop-R1's Tables 2 and 3 (arXiv 2507.17842).

Each step is asked once. The intervals take steps for independent; a customer's are alike, so they are rather too narrow. What
an agent was paid for its rationale is alpha times the least that its self-certainty can be, and 0 where nothing is known of it.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import unescape
from itertools import chain
from math import fsum
from random import Random
from typing import Any, NamedTuple

import numpy as np

from shopwright.pipeline.behaviors.predictors import PREDICTORS, Moment, learn_predictors, read_moments
from shopwright.pipeline.behaviors.steps import places_to_predict
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate import situation
from shopwright.pipeline.evaluate.audit import AuditCell, judge_cells
from shopwright.pipeline.evaluate.selection import digest_text, limit_evenly, read_split, read_with_ids
from shopwright.pipeline.evaluate.situation import SOLVER, Trace
from shopwright.pipeline.evaluate.statistics import estimate_mean
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.verdict import AuditVerdict
from shopwright.pipeline.models.base import Chances, Prompt, Reply, Sampling
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards import hierarchical
from shopwright.pipeline.rewards.hierarchical import (
    TABLE,
    TYPES,
    Action,
    ActionPrediction,
    ActionType,
    Bounds,
    Context,
    Payoff,
    Policy,
    PredictionReward,
    Rule,
    Scores,
    compute_self_certainty,
    find_rationale,
    parse_prediction,
    parse_true_action,
    reward_prediction,
    tally_predictions,
)
from shopwright.pipeline.words import drop_surrogates
from shopwright.schemas.behaviors import Behavior, NextAction
from shopwright.schemas.record import Record

# The paper's temperature; a rationale is a sentence, and a model that thinks needs more.
ANSWER_SAMPLING = Sampling(temperature=0.6, max_tokens=1_024)
# Agents that do not look, as they are called here and among the pay-offs.
POLICIES = {
    "terminate": "always terminate",
    "frequent-click": "most frequent click",
    "echo": "echo the last query",
    "random-click": "random clickable",
}
# Training sessions, at most, that cheap predictors learn from: more say little more, and would take longer than seconds.
SESSIONS_LEARNT = 1_500
COLUMNS = ["id", "steps"]
# As many as chat servers tell of a token.
LIKELIEST = 20
# Letters that are kept of what was said.
LONGEST = 4_000
PARTS = ("format", "type", "presence", "value", "rationale")
# Draws for the interval of the macro F1.
ROUNDS = 1_000
FAULTS = 8
NAMED = re.compile(r'<(?!input\b)\w+\b[^<>]*?\sname="([^"]+)"')


class StepPrediction(Record):
    """What an agent predicted of a step, and what that earned."""

    step_id: str
    behavior_id: str
    persona_id: str
    step: int
    policy: str
    true: str
    """The true action, as JSON."""
    true_type: ActionType
    said: str
    """As it came, cut where it is very long."""
    type: str
    """Of the action in it; empty where it is no answer, and so are name and text."""
    name: str
    text: str
    exact: bool
    type_right: bool
    reward: float
    for_format: float
    for_type: float
    for_presence: float
    for_value: float
    for_rationale: float
    gated: float
    """The reward where being there is paid only to fields that are right."""
    sure_low: float | None
    """Self-certainty in nats, at least; none where it is not known."""
    sure_high: float | None
    session_tokens: int
    page_tokens: int
    prompt_tokens: int
    """As the server counts them."""
    tokens: int
    seconds: float
    fault: str
    """Why it is not more; empty for the true action."""

    @property
    def action_type(self) -> ActionType | None:
        """None where it is no answer."""
        return next((kind for kind in TYPES if kind == self.type), None)

    @property
    def sure(self) -> Bounds | None:
        return None if self.sure_low is None or self.sure_high is None else Bounds(self.sure_low, self.sure_high)


@dataclass(frozen=True)
class Plan:
    """Which steps are asked, and how answers are paid."""

    split: str = "test"
    limit: int | None = None
    """So many steps by chance; a larger number holds the smaller one's."""
    rule: Rule = field(default_factory=Rule)
    vocabulary: int = 0
    """So many tokens the model knows; 0: how sure it is is not asked."""
    likeliest: int = LIKELIEST
    """Tokens of each place that it is measured by."""


# Which steps


class Step(NamedTuple):
    """A step without its prompt, which can hold a whole session."""

    id: str
    behavior_id: str
    step: int
    action: str


class SessionName(NamedTuple):
    id: str


# By a step's id: what policies that do not look use of it, and the true action.
PageContexts = Mapping[str, tuple[Context, Action]]


def select_prediction_steps(steps: Dataset[NextAction], split: str, limit: int | None = None) -> list[Step]:
    """The split's steps, in their order. Raises Problem where there are none."""
    rows = read_split(steps, split, [*Step._fields, "split"])
    found = [Step(*map(row.__getitem__, Step._fields)) for row in rows]
    if not found:
        raise Problem(f"There are no steps of the split {split} here.")
    return list(limit_evenly(found, limit))


def collect_page_contexts(behaviors: Dataset[Behavior], steps: Sequence[Step]) -> PageContexts:
    """What was on the page of each step. Raises Problem where a session is not there."""
    wanted = {(each.behavior_id, each.step) for each in steps}
    found: dict[tuple[str, int], Context] = {}
    for row in read_with_ids(behaviors, {each.behavior_id for each in steps}, ["id", "steps"]):
        places = zip(places_to_predict(row["steps"]), read_contexts_and_actions(row["steps"]), strict=True)
        found |= {(row["id"], place): seen for place, (seen, _) in places if (row["id"], place) in wanted}
    if lost := wanted - found.keys():
        raise Problem(
            f"Step {min(lost)[1]} of {min(lost)[0]} has no page here. Build both again: shopwright build behavior_steps"
        )
    return {each.id: (found[each.behavior_id, each.step], parse_true_action(each.action)) for each in steps}


def predict_steps(behaviors: Dataset[Behavior], steps: Sequence[Step]) -> dict[str, dict[str, Action]]:
    """By predictor and step; each learns from training sessions of other customers, so many by chance."""
    names = [SessionName(row["id"]) for row in read_split(behaviors, "train", ["id", "split"])]
    sessions = {each.id for each in limit_evenly(names, SESSIONS_LEARNT)}
    examples = list(
        chain.from_iterable(read_moments(row["steps"]) for row in read_with_ids(behaviors, sessions, COLUMNS))
    )
    wanted = {(each.behavior_id, each.step): each.id for each in steps}
    moments: dict[str, Moment] = {}
    for row in read_with_ids(behaviors, {each.behavior_id for each in steps}, COLUMNS):
        for place, (moment, _) in zip(places_to_predict(row["steps"]), read_moments(row["steps"]), strict=True):
            if id := wanted.get((row["id"], place)):
                moments[id] = moment
    return {
        name: dict(zip(moments, map(predict, moments.values()), strict=True))
        for name, predict in learn_predictors(examples).items()
    }


def read_contexts_and_actions(session: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Context, Action]]:
    """Of a session's steps but the first, each with its `html` and `action`: what policies use that do not look, and the true action."""
    last = Context()
    for place, each in enumerate(session):
        action = parse_true_action(each["action"])
        if place:  # nobody is asked for the first move (`places_to_predict`)
            yield Context(list_clickable_names(each["html"]), last.query, last.box), action
        if action.type == "type_and_submit":
            last = Context((), action.text, action.name)


def list_clickable_names(html: str) -> tuple[str, ...]:
    """All that has a name on a page of ours and nothing can be typed into.

    >>> list_clickable_names('<input name="search_input"><p>a name="x"</p><button name="cart.buy_now">Buy Now</button>')
    ('cart.buy_now',)
    """
    return tuple(unescape(name) for name in NAMED.findall(html))


# Asking


class StepEpisode(situation.Episode):
    """A step that is predicted in one turn."""

    def __init__(self, row: NextAction, plan: Plan, context: Context) -> None:
        self.row, self.plan, self.context = row, plan, context
        self.reset()

    @property
    def task_id(self) -> str:
        return self.row.id

    def reset(self) -> str:
        self.reply = Reply("")
        return self.row.prompt[-1].content

    def prompt(self) -> Prompt:
        return Prompt(
            "behavior_steps",
            tuple(message.model_dump() for message in self.row.prompt),
            seed=int.from_bytes(digest_text(self.row.id)[:4]) >> 1,
            likeliest=self.plan.likeliest if self.plan.vocabulary else 0,
        )

    def step(self, action: str | Reply) -> situation.Step:
        self.reply = Reply(action) if isinstance(action, str) else action
        return situation.Step("", self.score().parts["reward"], True, {})

    @property
    def sure(self) -> Bounds | None:
        return measure_self_certainty(self.reply, self.plan)

    def reward(self, rule: Rule) -> PredictionReward:
        """A reply with a fault says nothing."""
        text = "" if self.reply.fault else self.reply.text
        return reward_prediction(text, self.row.action, self.sure.low if self.sure else 0.0, rule=rule)

    def score(self) -> situation.Score:
        earned = self.reward(self.plan.rule)
        parts = {"reward": earned.total, **{part: float(getattr(earned, part)) for part in PARTS}}
        return situation.Score(parts, earned.exact, earned.fault)


@dataclass(frozen=True)
class NextActions(situation.Situation[NextAction, StepEpisode, StepPrediction]):
    """Each of some steps, in the dataset's order."""

    name = "behaviors"
    makes = StepPrediction
    steps: Dataset[NextAction]
    chosen: Sequence[Step]
    contexts: PageContexts
    plan: Plan
    behaviors: Dataset[Behavior] | None = None
    """The sessions that cheap predictors learn from; there are none of them without."""

    @cached_property
    def players(self) -> Mapping[str, situation.Player]:  # type: ignore[override]
        draws = hierarchical.make_constant_policies(list(self.contexts.values()))
        blind = {name: BlindPlayer(name, draws[POLICIES[name]]) for name in POLICIES}
        learnt = {name: self.say_predicted(name) for name in PREDICTORS} if self.behaviors else {}
        return {SOLVER: say_truth, **blind, **learnt}

    def say_predicted(self, name: str) -> situation.Player:
        def play(episode: StepEpisode) -> Generator[str, Any, None]:
            yield format_predicted_answer(name, self.predictions[name][episode.row.id])

        return play

    @cached_property
    def predictions(self) -> dict[str, dict[str, Action]]:
        """What each cheap predictor says of each step, by its id, after it has learnt from training sessions."""
        return predict_steps(self.behaviors, self.chosen) if self.behaviors else {}

    @property
    def asked(self) -> int:
        return len(self.chosen)

    def tasks(self) -> Iterator[NextAction]:
        return map(NextAction.model_validate, read_with_ids(self.steps, {each.id for each in self.chosen}))

    def begin(self, task: NextAction) -> StepEpisode:
        return StepEpisode(task, self.plan, self.contexts[task.id][0])

    def keep(self, trace: Trace[StepEpisode]) -> StepPrediction:
        return make_prediction(trace)

    @cached_property
    def payoffs(self) -> list[Payoff]:
        """What those earn that do not look, and cheap predictors."""
        found = hierarchical.measure_policy_payoffs(list(self.contexts.values()), rule=self.plan.rule)
        for name, said in self.predictions.items():
            drawn = [([said[id]], true) for id, (_, true) in self.contexts.items()]
            found.append(hierarchical.measure_drawn_payoff(name, drawn, self.plan.rule))
        return found

    def tables(self, rows: Sequence[StepPrediction]) -> list[Table]:
        return tabulate_predictions(summarize_predictions(rows), self.payoffs)

    def figures(self, rows: Sequence[StepPrediction]) -> dict[str, Any]:
        return {
            "rows": [asdict(each) for each in summarize_predictions(rows)],
            "payoffs": [asdict(each) for each in self.payoffs],
            "rule": asdict(self.plan.rule),
            "self_certainty": describe_self_certainty(self.plan),
        }

    def facts(self) -> dict[str, str]:
        return {"rule": json.dumps(asdict(self.plan.rule)), "self_certainty": describe_self_certainty(self.plan)}

    def notes(self, rows: Sequence[StepPrediction]) -> list[str]:
        return [
            f"{len(self.chosen):,} steps of the split {self.plan.split}",
            f"self-certainty {describe_self_certainty(self.plan)}",
        ]

    def group(self, task: NextAction) -> Mapping[str, Any]:
        return {"split": task.split}

    def judge(self, cells: Sequence[AuditCell]) -> AuditVerdict:
        return judge_cells(cells)


def say_truth(episode: StepEpisode) -> Generator[str, Any, None]:
    """Does and says what the shopper did and said."""
    row = episode.row
    yield format_predicted_answer(row.rationale, parse_true_action(row.action))


@dataclass(frozen=True)
class BlindPlayer:
    """Answers without having looked; where it draws, it draws by the step."""

    name: str
    draws: Policy

    def __call__(self, episode: StepEpisode) -> Generator[str, Any, None]:
        action = Random(episode.row.id).choice(self.draws(episode.context))
        yield format_predicted_answer(self.name, action)


def format_predicted_answer(rationale: str, action: Action) -> str:
    """
    >>> format_predicted_answer("I want it.", Action("click", "buy_now"))
    '{"rationale": "I want it.", "action": {"type": "click", "name": "buy_now"}}'
    """
    parts = {name: getattr(action, name) for name in ("type", *TABLE[action.type])}
    return json.dumps({"rationale": rationale, "action": parts}, ensure_ascii=False)


# What it was worth


def make_prediction(trace: Trace[StepEpisode]) -> StepPrediction:
    """Whatever was said."""
    row, reply, plan, sure = trace.episode.row, trace.episode.reply, trace.episode.plan, trace.episode.sure
    answer = parse_prediction("" if reply.fault else reply.text, thinking=plan.rule.thinking)
    said = answer.action if isinstance(answer, ActionPrediction) and isinstance(answer.action, Action) else None
    earned = trace.score.parts
    return StepPrediction(
        id=f"{row.id}-{trace.policy}",
        step_id=row.id,
        behavior_id=row.behavior_id,
        persona_id=row.persona_id,
        step=row.step,
        policy=trace.policy,
        true=row.action,
        true_type=row.action_type,
        said=drop_surrogates(reply.text)[:LONGEST],
        type=said.type if said else "",
        name=drop_surrogates(said.name) if said else "",
        text=drop_surrogates(said.text) if said else "",
        exact=trace.score.success,
        type_right=said is not None and said.type == row.action_type,
        reward=earned["reward"],
        **{f"for_{part}": earned[part] for part in PARTS},
        gated=trace.episode.reward(replace(plan.rule, gated=True)).total,
        sure_low=sure.low if sure else None,
        sure_high=sure.high if sure else None,
        session_tokens=row.session_tokens,
        page_tokens=row.page_tokens,
        prompt_tokens=reply.prompt_tokens,
        tokens=reply.tokens,
        seconds=reply.seconds,
        fault=drop_surrogates(reply.fault or trace.score.fault),
    )


def measure_self_certainty(reply: Reply, plan: Plan) -> Bounds | None:
    """The self-certainty of a reply's rationale; None where it has none, or the server did not say what it takes."""
    place = find_rationale(reply.text, thinking=plan.rule.thinking)
    rows = [Chances(*each) for each in reply.chances]
    if not rows or place is None or reply.fault:
        return None
    ends = [*(each.place for each in rows[1:]), len(reply.text)]
    inside = [row for row, end in zip(rows, ends, strict=True) if row.place < place.stop and end > place.start]
    try:
        found = [compute_self_certainty([row.logs], plan.vocabulary, top=row.top) for row in inside]
    except Problem:  # a server may say anything; that is no reason to stop
        return None
    return Bounds(*(fsum(side) / len(found) for side in zip(*found, strict=True)))


# Figures


@dataclass(frozen=True)
class Figures:
    """How an agent did."""

    policy: str
    steps: int
    scores: Scores
    f1_low: float
    f1_high: float
    reward: float
    """The mean."""
    half: float
    """Half the width of its 95 % interval."""
    parts: dict[str, float]
    """The mean of each part of the reward."""
    gated: float
    """The mean where being there is paid only to fields that are right."""
    said: dict[ActionType, dict[str, float]]
    """By the true type: the share of each type that was said; `none` is no answer."""
    sure: Bounds | None
    """Self-certainty, the mean of what it is at least and at most; None where nothing is known of it."""
    sure_of: int
    """Steps that it is known of."""
    prompt_tokens: float
    tokens: float
    seconds: float
    faults: dict[str, int]
    """Why it was not the true action, the commonest first."""


def summarize_predictions(found: Iterable[StepPrediction]) -> list[Figures]:
    """For each agent, in the order in which they come."""
    by: dict[str, list[StepPrediction]] = defaultdict(list)
    for each in found:
        by[each.policy].append(each)
    return [summarize_agent_predictions(policy, rows) for policy, rows in by.items()]


def summarize_agent_predictions(policy: str, rows: Sequence[StepPrediction]) -> Figures:
    tally = [(each.action_type, each.true_type, float(each.exact)) for each in rows]
    low, high = f1_interval(tally)
    reward, half = estimate_mean([each.reward for each in rows])
    known = [each.sure for each in rows if each.sure is not None]
    sure = Bounds(*(estimate_mean(ends)[0] for ends in zip(*known, strict=True))) if known else None
    return Figures(
        policy=policy,
        steps=len(rows),
        scores=tally_predictions(tally),
        f1_low=low,
        f1_high=high,
        reward=reward,
        half=half,
        parts={part: estimate_mean([getattr(each, f"for_{part}") for each in rows])[0] for part in PARTS},
        gated=estimate_mean([each.gated for each in rows])[0],
        said=compute_type_confusion(tally),
        sure=sure,
        sure_of=len(known),
        prompt_tokens=estimate_mean([each.prompt_tokens for each in rows])[0],
        tokens=estimate_mean([each.tokens for each in rows])[0],
        seconds=estimate_mean([each.seconds for each in rows])[0],
        faults=dict(Counter(classify_prediction_fault(each) for each in rows if not each.exact).most_common()),
    )


def compute_type_confusion(tally: hierarchical.Tally) -> dict[ActionType, dict[str, float]]:
    """
    >>> compute_type_confusion([("click", "click", 1.0), (None, "click", 0.0)])
    {'click': {'type_and_submit': 0.0, 'click': 0.5, 'terminate': 0.0, 'none': 0.5}}
    """
    counts = Counter[tuple[ActionType, str]]((true, said or "none") for said, true, _ in tally)
    totals = Counter(true for _, true, _ in tally)
    found: dict[ActionType, dict[str, float]] = {}
    for true in TYPES:
        if totals[true]:
            found[true] = {said: counts[true, said] / totals[true] for said in (*TYPES, "none")}
    return found


def f1_interval(tally: hierarchical.Tally, *, rounds: int = ROUNDS) -> tuple[float, float]:
    """Where the macro F1 of as many steps lies in 95 % of draws from these; one point where none of them is wrong.

    >>> [round(each, 2) for each in f1_interval([("click", "click", 1.0), ("click", "terminate", 0.0)] * 50)]
    [0.29, 0.38]
    """
    kinds = [*TYPES, None]
    counts = np.zeros((len(kinds), len(TYPES)))
    for said, true, _ in tally:
        counts[kinds.index(said), TYPES.index(true)] += 1
    # A multinomial draw of the whole table is a draw of as many steps, and takes no loop.
    drawn = np.random.default_rng(0).multinomial(len(tally), counts.ravel() / len(tally), rounds)
    drawn = drawn.reshape(rounds, *counts.shape)
    met = drawn[:, range(len(TYPES)), range(len(TYPES))]
    there = drawn.sum(axis=1) + drawn[:, : len(TYPES)].sum(axis=2)
    # F1 of a type: twice what is right, over what was said and what was true.
    macro = (2 * met / np.maximum(there, 1)).sum(axis=1) / (there > 0).sum(axis=1)
    low, high = np.quantile(macro, [0.025, 0.975])
    return float(low), float(high)


def classify_prediction_fault(each: StepPrediction) -> str:
    """The fault of a prediction without what was said in it."""
    if each.type:
        return f"another {each.fault.partition(' ')[0]}"
    return re.sub("'.*'", "'…'", each.fault.partition(":")[0])[:80]


# Tables


def tabulate_predictions(found: Sequence[Figures], payoffs: Sequence[Payoff]) -> list[Table]:
    """All of them, to be printed."""
    return [
        tabulate_prediction_scores(found, payoffs),
        tabulate_type_scores(found, payoffs),
        tabulate_step_rewards(found, payoffs),
        *tabulate_type_confusion(found),
    ]


def tabulate_prediction_scores(found: Iterable[Figures], payoffs: Iterable[Payoff]) -> Table:
    """Table 2, with the reward; below the agents what those earn that do not look."""
    lines = []
    for each in found:
        f1 = f"{100 * each.scores.macro_f1:.1f} ({100 * each.f1_low:.1f} - {100 * each.f1_high:.1f})"
        shares = [each.scores.exact.format_interval(), each.scores.type.format_interval()]
        lines.append([each.policy, f"{each.steps:,}", *shares, f1, f"{each.reward:.2f} ±{each.half:.2f}"])
    for one in payoffs:
        shares = [one.scores.exact.format_interval(), one.scores.type.format_interval()]
        count, f1 = f"{one.scores.exact.count:,}", f"{100 * one.scores.macro_f1:.1f}"
        lines.append([one.policy, count, *shares, f1, f"{one.reward:.2f} ±{one.half:.2f}"])
    return Table(["agent", "steps", "exact, %", "type, %", "macro F1, %", "reward"], lines)


def tabulate_type_scores(found: Iterable[Figures], payoffs: Iterable[Payoff]) -> Table:
    """Table 3: by the true type."""
    rows = [(each.policy, each.scores) for each in found] + [(one.policy, one.scores) for one in payoffs]
    lines = []
    for policy, got in rows:
        shares = [*map(got.exact_by_type.__getitem__, TYPES), *map(got.type_by_type.__getitem__, TYPES)]
        lines.append([policy, *(share.format_interval() if share.count else "–" for share in shares)])
    exact = [f"{kind}, exact %" for kind in TYPES]
    type_only = [f"{kind}, type %" for kind in TYPES]
    return Table(["agent", *exact, *type_only], lines)


def tabulate_step_rewards(found: Iterable[Figures], payoffs: Iterable[Payoff]) -> Table:
    """What the parts of the reward were on average, and what is left where being there is paid only to what is right."""
    lines = []
    for each in found:
        parts = [f"{each.parts[part]:.3f}" for part in PARTS]
        lines.append([each.policy, *parts, f"{each.reward:.2f}", f"{each.gated:.2f}", format_self_certainty(each)])
    for one in payoffs:
        lines.append([one.policy, *("" for _ in PARTS), f"{one.reward:.2f}", f"{one.gated:.2f}", ""])
    return Table(["agent", *PARTS, "reward", "gated", "self-certainty, nats"], lines)


def format_self_certainty(each: Figures) -> str:
    """At least and at most, and of how many steps where not of all."""
    if each.sure is None:
        return "not known"
    low, high = (f"{end:.2f}" for end in each.sure)
    some = f", of {each.sure_of:,} steps" if each.sure_of < each.steps else ""
    return (low if low == high else f"{low} - {high}") + some


def tabulate_type_confusion(found: Iterable[Figures]) -> Iterator[Table]:
    """For each agent what it said by what was true, and what its mistakes were."""
    for each in found:
        lines = []
        for true, said in each.said.items():
            lines.append([true, *(f"{100 * share:.1f}" for share in said.values())])
        yield Table([f"{each.policy}: true", *(f"said {kind}, %" for kind in (*TYPES, "none"))], lines)
        few = list(each.faults.items())[:FAULTS]
        yield Table(["steps", f"{each.policy}: why it is not the true action"], [[f"{n:,}", fault] for fault, n in few])


def describe_self_certainty(plan: Plan) -> str:
    """In which form self-certainty was computed.

    >>> describe_self_certainty(Plan(vocabulary=151_936)), describe_self_certainty(Plan(vocabulary=10)), describe_self_certainty(Plan())
    ('at least and at most, from the 20 likeliest of 151,936 tokens', 'over all 10 tokens', 'not measured, so it pays 0')
    """
    if not plan.vocabulary:
        return "not measured, so it pays 0"
    if plan.likeliest >= plan.vocabulary:
        return f"over all {plan.vocabulary:,} tokens"
    return f"at least and at most, from the {plan.likeliest} likeliest of {plan.vocabulary:,} tokens"
