"""How well an agent predicts what shoppers do next: the figures of Shop-R1's Tables 2 and 3 (arXiv 2507.17842).

Each step is asked once. The intervals take steps for independent; a customer's are alike, so they are rather too narrow. What
an agent was paid for its rationale is alpha times the least that its self-certainty can be, and 0 where nothing is known of it.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import unescape
from math import fsum
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from pipeline.dataset import Dataset
from pipeline.models.base import Chances, Prompt, Reply, Sampling
from pipeline.models.play import Conversation
from pipeline.models.role import Role, alone
from pipeline.problem import Problem
from pipeline.rewards import hierarchical
from pipeline.rewards.figures import mean
from pipeline.rewards.hierarchical import (
    TABLE,
    TYPES,
    Action,
    ActionType,
    Answer,
    Bounds,
    Context,
    Payoff,
    Policy,
    Rule,
    Scores,
    Share,
    answer_of,
    earned,
    rationale_at,
    self_certainty,
    tallied,
    truth_of,
)
from pipeline.rollouts import scores
from pipeline.rollouts.evaluate import writable
from pipeline.rollouts.scores import Lines, hashed
from schemas.behaviors import Behavior, NextAction
from schemas.record import Record

DRAWN = Sampling(temperature=0.6, max_tokens=1_024)
"""The paper's temperature; a rationale is a sentence, and a model that thinks needs more."""
TRUTH = "scripted"
"""The agent that does and says what the shopper did and said."""
POLICIES = {
    "terminate": "always terminate",
    "frequent-click": "most frequent click",
    "echo": "echo the last query",
    "random-click": "random clickable",
}
"""Agents that do not look, as they are called here and among the pay-offs."""
LIKELIEST = 20
"""As many as chat servers tell of a token."""
LONGEST = 4_000
"""Letters that are kept of what was said."""
PARTS = ("format", "type", "presence", "value", "rationale")
ROUNDS = 1_000
"""Draws for the interval of the macro F1."""
FAULTS = 8
NAMED = re.compile(r'<(?!input\b)\w+\b[^<>]*?\sname="([^"]+)"')


class Predicted(Record):
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


Seen = Mapping[str, tuple[Context, Action]]
"""By a step's id: what policies that do not look use of it, and the true action."""


def chosen(steps: Dataset[NextAction], split: str, limit: int | None = None) -> list[Step]:
    """The split's steps, in their order. Raises Problem where there are none."""
    import pyarrow.compute as pc

    found: list[Step] = []
    for batch in steps.batches([*Step._fields, "split"]):
        rows = batch.filter(pc.equal(batch["split"], split)).to_pylist()
        found += [Step(**{name: row[name] for name in Step._fields}) for row in rows]
    if not found:
        raise Problem(f"There are no steps of the split {split} here.")
    taken = {each.id for each in sorted(found, key=lambda each: hashed(each.id))[:limit]}
    return [each for each in found if each.id in taken]


def seen(behaviors: Dataset[Behavior], steps: Sequence[Step]) -> Seen:
    """What was on the page of each step. Raises Problem where a session is not there."""
    wanted = {(each.behavior_id, each.step) for each in steps}
    found = {place: context for place, context in contexts(behaviors, {id for id, _ in wanted}) if place in wanted}
    if lost := wanted - found.keys():
        raise Problem(
            f"Step {min(lost)[1]} of {min(lost)[0]} has no page here. Build both again: shopwright build behavior_steps"
        )
    return {each.id: (found[each.behavior_id, each.step], truth_of(each.action)) for each in steps}


def contexts(behaviors: Dataset[Behavior], ids: set[str]) -> Iterator[tuple[tuple[str, int], Context]]:
    """Of each step of these sessions, by session and place."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(sorted(ids), pa.string())
    for batch in behaviors.batches(["id", "steps"]):
        for row in batch.filter(pc.is_in(batch["id"], value_set=known)).to_pylist():
            yield from (((row["id"], number), context) for number, (context, _) in enumerate(steps_of(row["steps"])))


def steps_of(session: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Context, Action]]:
    """Of a session's steps, each with its `html` and `action`: what policies use that do not look, and the true action."""
    last = Context()
    for each in session:
        action = truth_of(each["action"])
        yield Context(clickable(each["html"]), last.query, last.box), action
        if action.type == "type_and_submit":
            last = Context((), action.text, action.name)


def clickable(html: str) -> tuple[str, ...]:
    """All that has a name on a page of ours and nothing can be typed into.

    >>> clickable('<input name="search_input"><p>a name="x"</p><button name="cart.buy_now">Buy Now</button>')
    ('cart.buy_now',)
    """
    return tuple(unescape(name) for name in NAMED.findall(html))


# Asking


def predictions(
    steps: Dataset[NextAction], asked: Sequence[Step], found: Seen, agent: Role | str, plan: Plan
) -> Iterator[Predicted]:
    """Of each of these steps, in the dataset's order, by a model's role, `scripted` or a policy. Raises Spent, Away."""
    rows = whole(steps, {each.id for each in asked})
    if isinstance(agent, Role):
        yield from agent.play(by_model(row, agent.spec.name, plan) for row in rows)
        return
    policy = None if agent == TRUTH else policy_of(agent, found)
    for row in rows:
        action = policy(row) if policy else truth_of(row.action)
        rationale = agent if policy else row.rationale
        yield alone(by_model(row, agent, plan, offline=written(rationale, action)))


def whole(steps: Dataset[NextAction], ids: set[str]) -> Iterator[NextAction]:
    """One after the other: all prompts at once may be more than memory holds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(sorted(ids), pa.string())
    for batch in steps.batches():
        for row in batch.filter(pc.is_in(batch["id"], value_set=known)).to_pylist():
            yield NextAction.model_validate(row)


def by_model(row: NextAction, policy: str, plan: Plan, *, offline: str = "") -> Conversation[Predicted]:
    reply = yield Prompt(
        "behavior_steps",
        tuple(message.model_dump() for message in row.prompt),
        offline=offline,
        seed=int.from_bytes(hashed(row.id)[:4]) >> 1,
        likeliest=plan.likeliest if plan.vocabulary else 0,
    )
    return predicted(row, reply, policy, plan)


def policy_of(agent: str, found: Seen) -> "Answering":
    """Raises Problem for what is none."""
    if agent not in POLICIES:
        raise Problem(f"There is no agent {agent}. There are: {', '.join([TRUTH, *POLICIES])}, and models.")
    draws: Policy = hierarchical.policies(list(found.values()))[POLICIES[agent]]
    return Answering(draws, found)


@dataclass(frozen=True)
class Answering:
    """A policy that does not look, answering; one that draws draws by the step."""

    draws: Policy
    found: Seen

    def __call__(self, row: NextAction) -> Action:
        return Random(row.id).choice(self.draws(self.found[row.id][0]))


def written(rationale: str, action: Action) -> str:
    """
    >>> written("I want it.", Action("click", "buy_now"))
    '{"rationale": "I want it.", "action": {"type": "click", "name": "buy_now"}}'
    """
    parts = {name: getattr(action, name) for name in ("type", *TABLE[action.type])}
    return json.dumps({"rationale": rationale, "action": parts}, ensure_ascii=False)


# What it was worth


def predicted(row: NextAction, reply: Reply, policy: str, plan: Plan) -> Predicted:
    """Whatever was said; a reply with a fault says nothing."""
    text = "" if reply.fault else reply.text
    sure = sureness(reply, plan)
    got, gated = (
        earned(text, row.action, sure.low if sure else 0.0, rule=rule)
        for rule in (plan.rule, replace(plan.rule, gated=True))
    )
    answer = answer_of(text, thinking=plan.rule.thinking)
    said = answer.action if isinstance(answer, Answer) else None
    return Predicted(
        id=f"{row.id}-{policy}",
        step_id=row.id,
        behavior_id=row.behavior_id,
        persona_id=row.persona_id,
        step=row.step,
        policy=policy,
        true=row.action,
        true_type=row.action_type,
        said=writable(reply.text)[:LONGEST],
        type=said.type if said else "",
        name=said.name if said else "",
        text=said.text if said else "",
        exact=got.exact,
        type_right=said is not None and said.type == row.action_type,
        reward=got.total,
        **{f"for_{part}": getattr(got, part) for part in PARTS},
        gated=gated.total,
        sure_low=sure.low if sure else None,
        sure_high=sure.high if sure else None,
        session_tokens=row.session_tokens,
        page_tokens=row.page_tokens,
        prompt_tokens=reply.prompt_tokens,
        tokens=reply.tokens,
        seconds=reply.seconds,
        fault=writable(reply.fault or got.fault),
    )


def sureness(reply: Reply, plan: Plan) -> Bounds | None:
    """The self-certainty of a reply's rationale; None where it has none, or the server did not say what it takes."""
    place = rationale_at(reply.text, thinking=plan.rule.thinking)
    rows = [Chances(*each) for each in reply.chances]
    if not rows or place is None or reply.fault:
        return None
    ends = [*(each.place for each in rows[1:]), len(reply.text)]
    inside = [row for row, end in zip(rows, ends, strict=True) if row.place < place.stop and end > place.start]
    try:
        found = [self_certainty([row.logs], plan.vocabulary, top=row.top) for row in inside]
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


def figures(found: Iterable[Predicted]) -> list[Figures]:
    """For each agent, in the order in which they come."""
    by: dict[str, list[Predicted]] = defaultdict(list)
    for each in found:
        by[each.policy].append(each)
    return [figure(policy, rows) for policy, rows in by.items()]


def figure(policy: str, rows: Sequence[Predicted]) -> Figures:
    tally = [(each.action_type, each.true_type, float(each.exact)) for each in rows]
    low, high = f1_interval(tally)
    reward, half = mean([each.reward for each in rows])
    known = [each.sure for each in rows if each.sure is not None]
    sure = Bounds(*(mean(ends)[0] for ends in zip(*known, strict=True))) if known else None
    return Figures(
        policy=policy,
        steps=len(rows),
        scores=tallied(tally),
        f1_low=low,
        f1_high=high,
        reward=reward,
        half=half,
        parts={part: mean([getattr(each, f"for_{part}") for each in rows])[0] for part in PARTS},
        gated=mean([each.gated for each in rows])[0],
        said=said_of(tally),
        sure=sure,
        sure_of=len(known),
        prompt_tokens=mean([each.prompt_tokens for each in rows])[0],
        tokens=mean([each.tokens for each in rows])[0],
        seconds=mean([each.seconds for each in rows])[0],
        faults=dict(Counter(kind_of(each) for each in rows if not each.exact).most_common()),
    )


def said_of(tally: hierarchical.Tally) -> dict[ActionType, dict[str, float]]:
    """
    >>> said_of([("click", "click", 1.0), (None, "click", 0.0)])
    {'click': {'type_and_submit': 0.0, 'click': 0.5, 'terminate': 0.0, 'none': 0.5}}
    """
    counts = Counter[tuple[ActionType, str]]((true, said or "none") for said, true, _ in tally)
    totals = Counter(true for _, true, _ in tally)
    return {
        true: {said: counts[true, said] / totals[true] for said in (*TYPES, "none")} for true in TYPES if totals[true]
    }


def f1_interval(tally: hierarchical.Tally, *, rounds: int = ROUNDS) -> tuple[float, float]:
    """Where the macro F1 of as many steps lies in 95 % of draws from these; one point where none of them is wrong.

    >>> [round(each, 2) for each in f1_interval([("click", "click", 1.0), ("click", "terminate", 0.0)] * 50)]
    [0.29, 0.38]
    """
    kinds = [*TYPES, None]
    counts = np.zeros((len(kinds), len(TYPES)))
    for said, true, _ in tally:
        counts[kinds.index(said), TYPES.index(true)] += 1
    drawn = np.random.default_rng(0).multinomial(len(tally), counts.ravel() / len(tally), rounds)
    drawn = drawn.reshape(rounds, *counts.shape)
    met = drawn[:, range(len(TYPES)), range(len(TYPES))]
    there = drawn.sum(axis=1) + drawn[:, : len(TYPES)].sum(axis=2)
    macro = (2 * met / np.maximum(there, 1)).sum(axis=1) / (there > 0).sum(axis=1)
    low, high = np.quantile(macro, [0.025, 0.975])
    return float(low), float(high)


def kind_of(each: Predicted) -> str:
    """The fault of a prediction without what was said in it."""
    if each.type:
        return f"another {each.fault.partition(' ')[0]}"
    return re.sub("'.*'", "'…'", each.fault.partition(":")[0])[:80]


# Tables


def tables(found: Sequence[Figures], payoffs: Sequence[Payoff]) -> list[Lines]:
    """All of them, to be printed."""
    return [score_table(found, payoffs), type_table(found, payoffs), reward_table(found, payoffs), *said_tables(found)]


def score_table(found: Iterable[Figures], payoffs: Iterable[Payoff]) -> Lines:
    """Table 2, with the reward; below the agents what those earn that do not look."""
    lines = [["agent", "steps", "exact, %", "type, %", "macro F1, %", "reward"]]
    for each in found:
        f1 = f"{100 * each.scores.macro_f1:.1f} ({100 * each.f1_low:.1f} - {100 * each.f1_high:.1f})"
        shares = [between(each.scores.exact), between(each.scores.type)]
        lines.append([each.policy, f"{each.steps:,}", *shares, f1, f"{each.reward:.2f} ±{each.half:.2f}"])
    for one in payoffs:
        shares = [between(one.scores.exact), between(one.scores.type)]
        count, f1 = f"{one.scores.exact.count:,}", f"{100 * one.scores.macro_f1:.1f}"
        lines.append([one.policy, count, *shares, f1, f"{one.reward:.2f} ±{one.half:.2f}"])
    return lines


def type_table(found: Iterable[Figures], payoffs: Iterable[Payoff]) -> Lines:
    """Table 3: by the true type."""
    rows = [(each.policy, each.scores) for each in found] + [(one.policy, one.scores) for one in payoffs]
    lines = [["agent", *(f"{kind}, {what} %" for what in ("exact", "type") for kind in TYPES)]]
    for policy, got in rows:
        both = (got.exact_by_type, got.type_by_type)
        lines.append([policy, *(between(by[kind]) if by[kind].count else "–" for by in both for kind in TYPES)])
    return lines


def reward_table(found: Iterable[Figures], payoffs: Iterable[Payoff]) -> Lines:
    """What the parts of the reward were on average, and what is left where being there is paid only to what is right."""
    lines = [["agent", *PARTS, "reward", "gated", "self-certainty, nats"]]
    for each in found:
        parts = [f"{each.parts[part]:.3f}" for part in PARTS]
        lines.append([each.policy, *parts, f"{each.reward:.2f}", f"{each.gated:.2f}", sure_shown(each)])
    for one in payoffs:
        lines.append([one.policy, *("" for _ in PARTS), f"{one.reward:.2f}", f"{one.gated:.2f}", ""])
    return lines


def sure_shown(each: Figures) -> str:
    """At least and at most, and of how many steps where not of all."""
    if each.sure is None:
        return "not known"
    low, high = (f"{end:.2f}" for end in each.sure)
    some = f", of {each.sure_of:,} steps" if each.sure_of < each.steps else ""
    return (low if low == high else f"{low} - {high}") + some


def said_tables(found: Iterable[Figures]) -> Iterator[Lines]:
    """For each agent what it said by what was true, and what its mistakes were."""
    for each in found:
        lines = [[f"{each.policy}: true", *(f"said {kind}, %" for kind in (*TYPES, "none"))]]
        lines += [[true, *(f"{100 * share:.1f}" for share in said.values())] for true, said in each.said.items()]
        yield lines
        few = list(each.faults.items())[:FAULTS]
        yield [["steps", f"{each.policy}: why it is not the true action"], *([f"{n:,}", fault] for fault, n in few)]


def between(share: Share) -> str:
    """
    >>> between(Share(0.5, 0.4, 0.6, 10))
    '50.0 (40.0 - 60.0)'
    """
    return f"{100 * share.share:.1f} ({100 * share.low:.1f} - {100 * share.high:.1f})"


def form_of(plan: Plan) -> str:
    """In which form self-certainty was computed.

    >>> form_of(Plan(vocabulary=151_936)), form_of(Plan(vocabulary=10)), form_of(Plan())
    ('at least and at most, from the 20 likeliest of 151,936 tokens', 'over all 10 tokens', 'not measured, so it pays 0')
    """
    if not plan.vocabulary:
        return "not measured, so it pays 0"
    if plan.likeliest >= plan.vocabulary:
        return f"over all {plan.vocabulary:,} tokens"
    return f"at least and at most, from the {plan.likeliest} likeliest of {plan.vocabulary:,} tokens"


def as_json(found: Sequence[Figures], payoffs: Sequence[Payoff], plan: Plan) -> dict[str, Any]:
    """The figures for scripts."""
    return {
        "rows": [asdict(each) for each in found],
        "payoffs": [asdict(each) for each in payoffs],
        "rule": asdict(plan.rule),
        "self_certainty": form_of(plan),
    }


# Files


def file_of(run: Path, policy: str) -> Path:
    """
    >>> file_of(Path("run"), "terminate").as_posix()
    'run/evaluations/behaviors-terminate.parquet'
    """
    return scores.file_of(run, policy, what="behaviors")


def write(found: Iterable[Predicted], path: Path, plan: Plan, made: str) -> None:
    """made: the fingerprint of the steps."""
    facts = {"split": plan.split, "made": made, "rule": json.dumps(asdict(plan.rule)), "self_certainty": form_of(plan)}
    scores.write_rows(Predicted, found, path, facts)


def read(path: Path) -> tuple[list[Predicted], dict[str, str]] | None:
    return scores.read_rows(Predicted, path)
