"""One visitor's guesses at what a customer did next, page by page through a session, each with its reward (Shop-R1)."""

import json
from dataclasses import dataclass, field

from shopwright.pipeline.behaviors.evaluate import list_clickable_names
from shopwright.pipeline.behaviors.steps import places_to_predict
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render.pages import SEARCH_INPUT
from shopwright.pipeline.rewards.hierarchical import (
    TABLE,
    Action,
    PredictionReward,
    parse_true_action,
    read_true_action,
    reward_prediction,
)
from shopwright.schemas.behaviors import Behavior, BehaviorStep

NOT_BEGUN = "Begin a session first: press Begin."
OVER = "The session is over. Begin another."
UNSAID = "No reason given."


@dataclass(frozen=True)
class ScoredGuess:
    """What was said of a step, and what it earned."""

    said: Action
    truth: Action
    earned: PredictionReward
    step: BehaviorStep


@dataclass(repr=False)
class Guess:
    """One visitor's way through a session."""

    place: PlaygroundShop
    session: Behavior | None = None
    at: int = 1
    """The step that is to be predicted; the first move is shown, as nobody could guess it."""
    made: list[ScoredGuess] = field(default_factory=list)
    fault: str = ""

    @property
    def playing(self) -> Behavior:
        if self.session is None:
            raise Problem(NOT_BEGUN)
        return self.session

    @property
    def over(self) -> bool:
        return self.session is not None and len(self.made) == len(places_to_predict(self.session.steps))

    @property
    def is_solved(self) -> bool:
        """Whether the true action of this page is to be seen."""
        return len(self.made) >= self.at

    @property
    def step(self) -> BehaviorStep:
        return self.playing.steps[self.at]

    @property
    def before(self) -> list[tuple[Action, str]]:
        """What the customer did until now, and why."""
        return [(parse_true_action(each.action), each.rationale) for each in self.playing.steps[: self.at]]

    @property
    def names(self) -> list[str]:
        """What can be clicked on the page."""
        return list(dict.fromkeys(list_clickable_names(self.step.html)))

    @property
    def right(self) -> int:
        return sum(each.earned.exact for each in self.made)

    @property
    def total(self) -> float:
        return sum(each.earned.total for each in self.made)

    def reset(self, number: int) -> str:
        """The session of this number, which begin again after the last; gives why there is none, and then the one before goes on."""
        try:
            self.session = self.place.session(number)
        except Problem as problem:
            self.fault = str(problem)
            return self.fault
        self.at, self.made, self.fault = 1, [], ""
        return ""

    def predict(self, kind: str, name: str = "", text: str = "", rationale: str = "") -> str:
        """What the customer did on this page; gives what was wrong with it, empty where nothing was."""
        self.fault = self.score_guess(kind, *(" ".join(str(each or "").split()) for each in (name, text, rationale)))
        return self.fault

    def score_guess(self, kind: str, name: str, text: str, rationale: str) -> str:
        if self.session is None or self.over:
            return OVER if self.over else NOT_BEGUN
        if self.is_solved:
            return "This step is guessed. Go on to the next page."
        fields = {"name": SEARCH_INPUT if kind == "type_and_submit" else name, "text": text}
        action = read_true_action({"type": kind, **{key: fields[key] for key in TABLE.get(kind, {}) if fields[key]}})  # type: ignore[call-overload]
        if isinstance(action, str):
            return "Say what the customer did: a click, a search, or leaving."
        if action.lacks:
            return "Say what was clicked." if kind == "click" else "Say what was typed."
        fields = {name: getattr(action, name) for name in TABLE[action.type]}
        said = {"rationale": rationale or UNSAID, "action": {"type": action.type} | fields}
        truth = parse_true_action(self.step.action)
        self.made.append(
            ScoredGuess(action, truth, reward_prediction(json.dumps(said, ensure_ascii=False), truth), self.step)
        )
        return ""

    def forward(self) -> str:
        """To the next page, once this one is guessed."""
        if self.session is None or self.over:
            self.fault = OVER if self.over else NOT_BEGUN
        elif not self.is_solved:
            self.fault = "Guess this step first."
        else:
            self.at, self.fault = self.at + 1, ""
        return self.fault


def describe_action(action: Action) -> str:
    """
    >>> describe_action(Action("click", "cart.buy_now")), describe_action(Action("type_and_submit", "search_input", "red mug"))
    ('clicks cart.buy_now', 'searches for "red mug"')
    """
    if action.type == "terminate":
        return "leaves the shop"
    return f"clicks {action.name}" if action.type == "click" else f'searches for "{action.text}"'
