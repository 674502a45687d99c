r"""What a prediction of a shopper's next action earned, as Shop-R1 publishes it (arXiv 2507.17842, Table 1).

    R = R_format + R_action + alpha * s(rationale)          alpha = 0.005

R_format is 0.5 where the answer is a valid JSON object with the keys `rationale` and `action`, whatever these hold and whatever else
stands in it. Of R_action a wrong type earns nothing; the right one, per field of the action:

| type | the type | a field that is there | a field that is like the true one |
| --- | --- | --- | --- |
| terminate | 0.3 | | |
| click | 0.3 | name 0.2 | name DARS * ROUGE-L |
| type_and_submit | 0.3 | name 0.1, text 0.1 | name 0.1 * ROUGE-L, text DARS * ROUGE-L |

DARS is 1000, and a ROUGE-L that is not above the threshold counts as 0. As published, a field that is there is paid
whatever it says; a gated rule pays it where it is right. The names of a page share words, so a click on a neighbour
can be like the true one: one word of five that differs is a ROUGE-L of 0.8, and earns 800.

What the paper leaves open and is fixed here: the threshold's value (its example, 0.75); ROUGE-L's form (`compute_rouge_l`);
when the texts of two searches mean the same (`is_same_text`); that an answer which does not parse earns 0, its rationale
too; that a field is there unless it is null or holds nothing, and that one which is no text is like no other; that a key
which stands twice counts as it stands last; that JSON nests 100 deep at most (RFC 8259, section 9, asks for such a limit to be set).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial, update_wrapper
from itertools import chain
from math import fsum, isfinite, log
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from shopwright.pipeline.evaluate.statistics import Share, estimate_mean, measure_share
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.tool_use import Completion, flatten_completion

ActionType = Literal["type_and_submit", "click", "terminate"]
Form = Literal["f", "precision", "recall"]
FORMAT, TYPE = 0.5, 0.3
# Of each field: what being there earns, and what its likeness is multiplied with; None is DARS.
TABLE: dict[ActionType, dict[str, tuple[float, float | None]]] = {
    "type_and_submit": {"name": (0.1, 0.1), "text": (0.1, None)},
    "click": {"name": (0.2, None)},
    "terminate": {},
}
TYPES = tuple(TABLE)
HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
TOKEN = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
BLANK = re.compile(r"[ \t\n\r]*")
# Or a text, in which brackets do not count.
BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[][{}]', re.DOTALL)
DEEPEST = 100
DECODER = json.JSONDecoder(parse_int=float)
# That the chances of a token may be off by: trainers round them to two bytes.
SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Action:
    """What the shopper does next; a field that its type has and that is empty was left out."""

    type: ActionType
    name: str = ""
    text: str = ""
    not_text: tuple[str, ...] = ()
    """Fields that a prediction has and that are no text: they are there, and like nothing."""

    @property
    def lacks(self) -> list[str]:
        """
        >>> Action("type_and_submit", "search_input").lacks, Action("terminate").lacks
        (['text'], [])
        """
        return [each for each in TABLE[self.type] if not getattr(self, each) and each not in self.not_text]


@dataclass(frozen=True, slots=True)
class ActionPrediction:
    """What parses."""

    rationale: str
    """Empty where it is no text."""
    action: Action | str
    """Or why it is none of the three."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is paid, and for what."""

    dars: float = 1000.0
    threshold: float = 0.75
    """ROUGE-L counts above it."""
    alpha: float = 0.005
    gated: bool = False
    """Being there is paid only to fields that are right."""
    form: Form = "f"
    thinking: bool = False
    """Reasoning may stand before the answer and end with `</think>`."""


@dataclass(frozen=True, slots=True)
class PredictionReward:
    """A reward by its parts."""

    format: float = 0.0
    type: float = 0.0
    presence: float = 0.0
    """For the fields that are there."""
    value: float = 0.0
    """For how like the true ones they are."""
    rationale: float = 0.0
    """alpha * s."""
    exact: bool = False
    fault: str = ""
    """Why it is not more; empty for the true action."""

    @property
    def action(self) -> float:
        return fsum((self.type, self.presence, self.value))

    @property
    def total(self) -> float:
        return fsum((self.format, self.type, self.presence, self.value, self.rationale))


# What was said.


def parse_prediction(text: str, *, thinking: bool = False) -> ActionPrediction | str:
    """The answer, or why the text is none.

    It is one JSON object with nothing but white space around it, and it has `rationale` and `action`: no more is asked of it (the
    paper's format reward). What is missing or wrong in the action is paid less by R_action.

    thinking: everything up to the first `</think>` is left out, unless the text begins with `{`; chat templates write
    `<think>` into the prompt, so it may be missing.

    >>> parse_prediction('{"rationale": "I want it.", "action": {"type": "click", "name": "buy_now"}}').action
    Action(type='click', name='buy_now', text='', not_text=())
    >>> parse_prediction('{"rationale": "", "action": {"type": "scroll"}, "sure": 1}').action
    "there is no action 'scroll'"
    """
    if thinking and not text.lstrip().startswith("{"):
        text = text.partition("</think>")[2]
    if measure_json_depth(text) > DEEPEST:
        return f"it is not one JSON object: it nests more than {DEEPEST} deep"
    try:
        found = json.loads(
            text, parse_int=float, parse_constant=refuse_json_constant
        )  # int gives up on thousands of digits
    except ValueError as error:
        return f"it is not one JSON object: {error}"
    if not isinstance(found, dict) or not {"rationale", "action"} <= found.keys():
        return "it is not an object with a rationale and an action"
    rationale = found["rationale"]
    return ActionPrediction(rationale if isinstance(rationale, str) else "", read_predicted_action(found["action"]))


def measure_json_depth(text: str) -> int:
    """How deep lists and objects nest; so the reward of an answer depends neither on Python's version nor on its caller.

    >>> measure_json_depth('{"a": [{}, "[[["]}')
    3
    """
    deep = deepest = 0
    for found in BRACKET.finditer(text):
        deep += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        deepest = max(deep, deepest)
    return deepest


def read_predicted_action(value: object) -> Action | str:
    """What a prediction says of the fields of its type; more fields are no fault. Or why it is none of the three actions.

    >>> read_predicted_action({"type": "terminate", "name": "x"}), read_predicted_action({"type": "click", "name": 7}).not_text
    (Action(type='terminate', name='', text='', not_text=()), ('name',))
    """
    if not isinstance(value, dict):
        return "the action is no object"
    said = value.get("type")
    if said not in TYPES:
        return f"there is no action {shorten_value(said)}"
    kind = cast(ActionType, said)
    given = {each: value.get(each) for each in TABLE[kind]}
    texts = {each: content for each, content in given.items() if isinstance(content, str)}
    no_text = [each for each, content in given.items() if each not in texts and content not in (None, [], {})]
    return Action(kind, **texts, not_text=tuple(no_text))


def read_true_action(value: object) -> Action | str:
    """A true action: the fields of its type and no other, all of them texts. Or why the value is none.

    >>> read_true_action({"type": "terminate", "name": "x"}), read_true_action({"type": "click"}).lacks
    ("terminate has no 'name'", ['name'])
    """
    if not isinstance(value, Mapping):
        return "the action is no object"
    said = value.get("type")
    if said not in TYPES:
        return f"there is no action {shorten_value(said)}"
    kind = cast(ActionType, said)
    for name, content in value.items():
        if name != "type" and name not in TABLE[kind]:
            return f"{kind} has no {shorten_value(name)}"
        if not isinstance(content, str) or re.search("[\ud800-\udfff]", content):  # halves of characters
            return f"{shorten_value(name)} is no text"
    return Action(**value)


def refuse_json_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def shorten_value(value: object) -> str:
    """
    >>> shorten_value("buy_now"), shorten_value("x" * 100), shorten_value([])
    ("'buy_now'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'", 'a list')
    """
    if not isinstance(value, str):
        return f"a {type(value).__name__}"
    return repr(value if len(value) <= 30 else f"{value[:30]}…")


def find_rationale(text: str, *, thinking: bool = False) -> slice | None:
    r"""Where the rationale's letters stand in an answer that parses: the tokens there are those that s is the mean of.

    None where the text is no answer, or its rationale no text.

    >>> text = '{"rationale": "I \\"want\\" it.", "action": {"type": "terminate"}}'
    >>> text[find_rationale(text)]
    'I \\"want\\" it.'
    """
    if isinstance(parse_prediction(text, thinking=thinking), str):
        return None
    at = text.index("{", 0 if text.lstrip().startswith("{") else text.find("</think>"))
    place = None
    while text[at] != "}":  # member by member: a key of that name may stand deeper, or in a text, or twice
        key, at = DECODER.raw_decode(text, text.index('"', at))
        begins = BLANK.match(text, text.index(":", at) + 1).end()  # type: ignore[union-attr]
        value, at = DECODER.raw_decode(text, begins)
        if key == "rationale":
            place = slice(begins + 1, at - 1) if isinstance(value, str) else None
        at = BLANK.match(text, at).end()  # type: ignore[union-attr]
    return place


def parse_true_action(value: Action | Mapping[str, Any] | str) -> Action:
    """The true action, from its JSON or an object; nulls are left out. Raises Problem for what is not a whole action.

    >>> parse_true_action('{"type": "click", "name": "buy_now"}'), parse_true_action({"type": "terminate", "name": None})
    (Action(type='click', name='buy_now', text='', not_text=()), Action(type='terminate', name='', text='', not_text=()))
    """
    if isinstance(value, Action):
        action: Action | str = value
    else:
        action = read_true_action(drop_nulls(value))
    lacks = (
        [] if isinstance(action, str) else [each for each in TABLE[action.type] if not getattr(action, each).strip()]
    )
    if isinstance(action, str) or lacks:
        reason = action if isinstance(action, str) else f"it lacks {lacks[0]}"
        raise Problem(f"The true action cannot be {shorten_value(value)}: {reason}. Pass its JSON.")
    return action


def drop_nulls(value: Mapping[str, Any] | str) -> object:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return {key: each for key, each in found.items() if each is not None} if isinstance(found, Mapping) else found


# How like the truth it is.


def tokenize_prediction(text: str) -> tuple[str, ...]:
    """Lower-case words without signs; of Chinese and Japanese, each character.

    >>> tokenize_prediction("refinements.customer_reviews"), tokenize_prediction("Café 12-Pack"), tokenize_prediction("电饭煲 4L")
    (('refinements', 'customer', 'reviews'), ('café', '12', 'pack'), ('电', '饭', '煲', '4l'))
    """
    return tuple(TOKEN.findall(text.lower()))


def compute_rouge_l(said: str, truth: str, *, form: Form = "f") -> float:
    """The longest common subsequence of their words (Lin 2004): by those said, by the true ones, or the F1 of both.

    For ASCII it is `rougeL` of Google's rouge_score without its stemmer; that one drops the letters of other scripts. 0
    where either has no word. The cost is a step for each word said, on an integer of a bit for each true one.

    >>> compute_rouge_l("red steel lamp", "steel lamp"), compute_rouge_l("steel", "steel lamp", form="precision")
    (0.8, 1.0)
    """
    some, others = tokenize_prediction(said), tokenize_prediction(truth)
    shared = measure_common_subsequence(some, others)
    by = {"f": (len(some) + len(others)) / 2, "precision": len(some), "recall": len(others)}[form]
    return shared / by if shared else 0.0


def measure_common_subsequence(some: Sequence[str], others: Sequence[str]) -> int:
    """The length of the longest common subsequence, by Hyyrö's bits (2004): those of `others` in it turn to 0.

    >>> measure_common_subsequence("abcbdab", "bdcaba")
    4
    """
    places: dict[str, int] = {}
    for place, word in enumerate(others):
        places[word] = places.get(word, 0) | 1 << place
    full = left = (1 << len(others)) - 1
    for word in some:
        met = left & places.get(word, 0)
        left = (left + met | left - met) & full
    return len(others) - left.bit_count()


def is_same_text(said: str, truth: str) -> bool:
    """The same words in the same order; where there are none, the same signs. The paper asks for the same meaning.

    >>> is_same_text("Steel lamp!", "steel  lamp"), is_same_text("lamp", "lamps"), is_same_text("?", "!")
    (True, False, False)
    """
    return tokenize_prediction(said) == tokenize_prediction(truth) and (
        bool(tokenize_prediction(truth)) or said == truth
    )


def is_right_field(part: str, said: Action, truth: Action) -> bool:
    """Names are unique on a page, so a name is right to the letter."""
    return said.name == truth.name if part == "name" else is_same_text(said.text, truth.text)


def is_exact_action(said: Action, truth: Action) -> bool:
    return said.type == truth.type and all(is_right_field(each, said, truth) for each in TABLE[truth.type])


# What it earns.


def reward_action_parts(said: Action, truth: Action, rule: Rule = Rule()) -> tuple[float, float, float]:
    """R_action as (type, presence, value).

    >>> buy = Action("click", "buy_now")
    >>> reward_action_parts(buy, buy), reward_action_parts(Action("terminate"), buy)
    ((0.3, 0.2, 1000.0), (0.0, 0.0, 0.0))
    """
    if said.type != truth.type:
        return 0.0, 0.0, 0.0
    presence, value = [], []
    for each, (there, weight) in TABLE[truth.type].items():
        paid = is_right_field(each, said, truth) if rule.gated else each not in said.lacks
        like = compute_rouge_l(getattr(said, each), getattr(truth, each), form=rule.form)
        presence.append(there * paid)
        value.append((rule.dars if weight is None else weight) * like * (like > rule.threshold))
    return TYPE, fsum(presence), fsum(value)


def reward_prediction(
    completion: Completion,
    truth: Action | Mapping[str, Any] | str,
    self_certainty: float = 0.0,
    *,
    rule: Rule | Mapping[str, Any] = Rule(),
) -> PredictionReward:
    """The reward of one answer by its parts. Raises Problem for a malformed truth, rule or self-certainty.

    >>> reward_prediction('{"rationale": "Nothing here.", "action": {"type": "terminate"}}', {"type": "terminate"}, 10).total
    0.85
    >>> reward_prediction("I leave.", {"type": "terminate"}, 10).total
    0.0
    """
    rule, true = parse_reward_rule(rule), parse_true_action(truth)
    if not isfinite(self_certainty):
        raise Problem(f"The self-certainty is {self_certainty}. Pass a number, or 0 where it is not known.")
    answer = parse_prediction(flatten_completion(completion), thinking=rule.thinking)
    if isinstance(answer, str):
        return PredictionReward(fault=answer)
    said, rationale = answer.action, rule.alpha * self_certainty
    if isinstance(said, str):
        return PredictionReward(FORMAT, rationale=rationale, fault=said)
    return PredictionReward(
        FORMAT,
        *reward_action_parts(said, true, rule),
        rationale,
        is_exact_action(said, true),
        describe_misprediction(said, true),
    )


def describe_misprediction(said: Action, truth: Action) -> str:
    """
    >>> describe_misprediction(Action("click"), Action("click", "buy_now"))
    "name is '', not 'buy_now'"
    """
    for each in ("type", *TABLE[truth.type]):
        is_right = said.type == truth.type if each == "type" else is_right_field(each, said, truth)
        if not is_right:
            return f"{each} is {shorten_value(getattr(said, each))}, not {shorten_value(getattr(truth, each))}"
    return ""


def parse_reward_rule(given: Rule | Mapping[str, Any]) -> Rule:
    """
    >>> parse_reward_rule({"gated": True}).gated
    True
    """
    if isinstance(given, Rule):
        return given
    known = [each.name for each in fields(Rule)]
    if strange := [name for name in given if name not in known]:
        raise Problem(f"A rule has no {strange[0]!r}. It has: {', '.join(known)}.")
    return Rule(**given)


def score_action_prediction(
    completion: Completion,
    truth: Action | Mapping[str, Any] | str,
    self_certainty: float = 0.0,
    *,
    rule: Rule | Mapping[str, Any] = Rule(),
) -> float:
    """`reward_prediction` as one number.

    >>> buy = '{"type": "click", "name": "buy_now"}'
    >>> score_action_prediction('{"rationale": "I want it.", "action": %s}' % buy, buy)
    1001.0
    """
    return reward_prediction(completion, truth, self_certainty, rule=rule).total


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    rule: Rule | Mapping[str, Any] = Rule(),
    **kwargs: Any,
) -> dict[str, float]:
    """For verl: `ground_truth` is the true action's JSON; extra_info may have self_certainty. Always the same keys.

    >>> compute_score("behaviors", '{"rationale": "No.", "action": {"type": "terminate"}}', '{"type": "terminate"}')
    {'score': 0.8, 'format': 0.5, 'type': 0.3, 'presence': 0.0, 'value': 0.0, 'rationale': 0.0, 'exact': 1.0}
    """
    known = (extra_info or {}).get("self_certainty")
    got = reward_prediction(solution_str, ground_truth, 0.0 if known is None else known, rule=rule)
    parts = ("format", "type", "presence", "value", "rationale", "exact")
    return {"score": got.total} | {each: float(getattr(got, each)) for each in parts}


def hierarchical_reward(
    prompts: Any = None,
    completions: Sequence[Completion] = (),
    *,
    action: Sequence[Action | Mapping[str, Any] | str],
    self_certainty: Sequence[float | None] | None = None,
    rule: Rule | Mapping[str, Any] = Rule(),
    **kwargs: Any,
) -> list[float]:
    """For TRL: one reward for each completion, from columns of the same length; `action` is the true one.

    >>> leave = '{"type": "terminate"}'
    >>> hierarchical_reward(completions=['{"rationale": "No.", "action": %s}' % leave, "No."], action=[leave, leave])
    [0.8, 0.0]
    """
    known = self_certainty if self_certainty is not None else [None] * len(completions)
    rows = zip(completions, action, known, strict=True)
    return [score_action_prediction(text, truth, 0.0 if s is None else s, rule=rule) for text, truth, s in rows]


def bind_reward_rule(rule: Rule, function: Callable[..., Any] = hierarchical_reward) -> Callable[..., Any]:
    """`hierarchical_reward` or `compute_score` with another rule, and with the name that TRL asks for."""
    return update_wrapper(partial(function, rule=rule), function)


# How sure the model was of its rationale.


class Bounds(NamedTuple):
    low: float
    high: float


def compute_self_certainty(
    rows: Sequence[Sequence[float]] | np.ndarray, vocabulary: int, *, top: int | None = None
) -> Bounds:
    """s, in nats: the mean over the rationale's tokens of KL(p || uniform) = sum p log(p V) = log V - entropy of p.

    So 0 for a uniform p, and log V for a sure one. The paper prints 1/(N V) before both sums, one 1/V too many: with
    the 151,936 tokens of Qwen2.5 s would be at most 0.00008, which does not fit the paper's own figure, and alpha s
    0.0000004. (The 1/V belongs to KL(uniform || p), as self-certainty is in arXiv 2502.18581; the likeliest tokens do
    not bound that.)

    rows: for each token of the rationale the natural logarithms of p, before temperature and cuts (vLLM's default). A
    row of `vocabulary` numbers gives s itself, twice; a shorter one what s is at least and at most, whatever the
    others are.
    top: so many of each row are the likeliest; all, unless it says otherwise. vLLM adds the token that was drawn to
    the k that were asked for: pass k. Pass 0 where a row is only the token that was drawn.

    Nothing is sure of nothing: 0 without rows. Raises Problem for rows that are no such logarithms.

    >>> compute_self_certainty([[log(1 / 4)] * 4], 4)
    Bounds(low=0.0, high=0.0)
    >>> [round(each, 3) for each in compute_self_certainty([[log(0.7), log(0.2)]], 4)]
    [0.515, 0.584]
    """
    if not len(rows):
        return Bounds(0.0, 0.0)
    found = [bound_divergence(np.asarray(row, dtype=np.float64), vocabulary, top) for row in rows]
    return Bounds(*(fsum(ends) / len(found) for ends in zip(*found, strict=True)))


def bound_divergence(logs: np.ndarray, vocabulary: int, top: int | None = None) -> Bounds:
    """Of one token. The rest is spread evenly at the low end, over as few tokens as `top` allows at the high one."""
    top = len(logs) if top is None else top
    others = vocabulary - len(logs)
    if others < 0 or not 0 <= top <= len(logs) or not (logs <= SLACK).all():
        raise Problem(
            f"A row of {len(logs)} is not of log-probabilities, {top} the likeliest, for {vocabulary} tokens."
        )
    chances = np.exp(logs)
    mass = float(chances.sum())
    most = float(np.partition(chances, -top)[-top]) if top and others else 1.0
    if not 1 - others * most - SLACK <= mass <= 1 + SLACK:
        raise Problem(
            f"{len(logs)} tokens of {vocabulary} have the chance {mass:.4g}. Pass log-probabilities, all or k."
        )
    if mass > 1 or not others:
        chances, mass = chances / mass, 1.0
    rest = min(1 - mass, others * most)
    whole, part = divmod(rest, most) if rest else (0.0, 0.0)
    known = log(vocabulary) + sum_p_log_p(chances)
    low = known + others * sum_p_log_p(rest / others) if rest else known
    high = known + whole * sum_p_log_p(most) + sum_p_log_p(part)
    return Bounds(max(0.0, low), max(0.0, low, high))


def sum_p_log_p(chances: np.ndarray | float) -> float:
    """The sum of p log p."""
    some = np.atleast_1d(chances)
    some = some[some > 0]
    return float(some @ np.log(some))


# How well many of them did.


@dataclass(frozen=True, slots=True)
class Scores:
    exact: Share
    type: Share
    macro_f1: float
    """Of the type: the mean over the types that were true or said; an answer that does not parse is none."""
    exact_by_type: dict[ActionType, Share] = field(default_factory=dict)
    """By the true type, as in the paper's Table 3."""
    type_by_type: dict[ActionType, Share] = field(default_factory=dict)


# Of each step: the type said, the true type, and how exact it was: 1, 0, or a chance of 1.
Tally = Sequence[tuple[ActionType | None, ActionType, float]]


def score_predictions(said: Iterable[Action | None], truth: Iterable[Action]) -> Scores:
    """Of predictions, None where an answer did not parse. Raises Problem for a truth that is no whole action.

    >>> score_predictions([Action("terminate"), None], [Action("terminate"), Action("click", "buy_now")]).exact.share
    0.5
    """
    pairs = zip(said, map(parse_true_action, truth), strict=True)
    return tally_predictions(
        [(a.type if a else None, b.type, float(a is not None and is_exact_action(a, b))) for a, b in pairs]
    )


def tally_predictions(rows: Tally) -> Scores:
    of: dict[ActionType, list[tuple[ActionType | None, ActionType, float]]] = {kind: [] for kind in TYPES}
    for row in rows:
        of[row[1]].append(row)
    return Scores(
        exact=measure_exact_share(rows),
        type=measure_type_share(rows),
        macro_f1=compute_macro_f1(rows),
        exact_by_type={kind: measure_exact_share(each) for kind, each in of.items()},
        type_by_type={kind: measure_type_share(each) for kind, each in of.items()},
    )


def measure_exact_share(rows: Tally) -> Share:
    return measure_share(fsum(value for _, _, value in rows), len(rows))


def measure_type_share(rows: Tally) -> Share:
    return measure_share(sum(said == true for said, true, _ in rows), len(rows))


def compute_macro_f1(rows: Tally) -> float:
    """
    >>> compute_macro_f1([("terminate", "terminate", 1), ("terminate", "click", 0)])  # 2/3 and 0
    0.3333333333333333
    """
    met = Counter(true for said, true, _ in rows if said == true)
    seen = Counter(said for said, _, _ in rows if said) + Counter(true for _, true, _ in rows)
    return fsum(2 * met[kind] / seen[kind] for kind in seen) / len(seen) if seen else 0.0


# What policies earn that do not look.


@dataclass(frozen=True, slots=True)
class Context:
    """What constant policies use of what the shopper has seen."""

    clickable: tuple[str, ...] = ()
    """The names on the latest page that can be clicked."""
    query: str = ""
    """What was typed last; empty where nothing was."""
    box: str = "search_input"
    """The name of the field that it was typed into."""


@dataclass(frozen=True, slots=True)
class Payoff:
    policy: str
    reward: float
    """The mean, without the rationale's part."""
    half: float
    """Half the width of its 95 % interval."""
    gated: float
    """The mean where being there is paid only to fields that are right."""
    scores: Scores


Steps = Sequence[tuple[Context, Action]]
# The actions that it draws from, each with the same chance, all of one type.
Policy = Callable[[Context], Sequence[Action]]


def measure_policy_payoffs(steps: Steps, *, rule: Rule = Rule()) -> list[Payoff]:
    """What policies earn that answer in the right form and do not look, over (context, true action).

    By the paper's Tables 2 and 3 about 27.2 % of its steps are `terminate`, so the first policy would be nearly as
    exact there as its best model (27.72 %).
    Nothing is drawn: the figures of a policy that draws are expected ones. The most frequent click is that of these
    very steps. Raises Problem without steps, and for a truth that is no whole action.

    >>> steps = [(Context(("buy_now", "back")), Action("click", "back")), (Context(), Action("terminate"))]
    >>> for each in measure_policy_payoffs(steps):
    ...     print(each.policy, each.reward, each.scores.exact.share)
    always terminate 0.65 0.5
    most frequent click 500.75 0.5
    echo the last query 0.5 0.0
    random clickable 250.75 0.25
    """
    if not steps:
        raise Problem("There are no steps that policies could be paid for.")
    steps = [(seen, parse_true_action(true)) for seen, true in steps]
    return [
        measure_drawn_payoff(name, [(policy(seen), true) for seen, true in steps], rule)
        for name, policy in make_constant_policies(steps).items()
    ]


def make_constant_policies(steps: Steps) -> dict[str, Policy]:
    clicks = Counter(true.name for _, true in steps if true.type == "click")
    often = min(clicks, key=lambda name: (-clicks[name], name), default="")
    return {
        "always terminate": lambda seen: [Action("terminate")],
        "most frequent click": lambda seen: [Action("click", often)],
        "echo the last query": lambda seen: [Action("type_and_submit", seen.box, seen.query)],
        "random clickable": lambda seen: [Action("click", name) for name in seen.clickable or ("",)],
    }


def measure_drawn_payoff(name: str, drawn: Sequence[tuple[Sequence[Action], Action]], rule: Rule = Rule()) -> Payoff:
    """drawn: of each step the actions of which one is said, each with the same chance, and the true one."""
    reward, half = estimate_mean([compute_expected_reward(actions, true, rule) for actions, true in drawn])
    gated, _ = estimate_mean(
        [compute_expected_reward(actions, true, replace(rule, gated=True)) for actions, true in drawn]
    )
    rows = []
    for actions, true in drawn:
        exact = sum(is_exact_action(one, true) for one in actions)
        rows.append((actions[0].type, true.type, exact / len(actions)))
    return Payoff(name, reward, half, gated, tally_predictions(rows))


def compute_expected_reward(actions: Sequence[Action], truth: Action, rule: Rule) -> float:
    parts = chain.from_iterable(reward_action_parts(each, truth, rule) for each in actions)
    return FORMAT + fsum(parts) / len(actions)
