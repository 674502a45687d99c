"""What is asked of an agent in the shop, what it did, and what it earned."""

from typing import Literal

from pydantic import Field

from shopwright.schemas.phrases import Register
from shopwright.schemas.record import Part, Record
from shopwright.schemas.shop import Choice


class Slot(Part):
    """One thing that the shopper wants, and how an agent can learn it."""

    name: str
    """What it is about: `brand`, `color`, `price`, `quantity of item 2`."""
    said: str
    """As the shopper means it, and says it when asked: `under $40`."""
    typed: str = ""
    """As the opening has it where a fact of it was mistyped, abbreviated or cut: `in navvy`; empty where it has `said`."""
    known: Literal["stated", "asked", "inferable"]
    """Stated in the opening, told when asked, or to be read off what the agent can look up."""
    topics: list[str] = Field(default_factory=list)
    """Words of a question that is about it, beside its name: `colour`, `shade`."""
    form: Literal["plain", "trait", "thing", "clause", "question"] = "plain"
    """What `said` is in a sentence: `under $40` follows "something", `the red lamp` is named, `I bought it last week` stands alone."""
    meaning: str = ""
    """What it says, in the phrase bank: `price at most`; empty for a text that is said as it is."""
    facts: list[Choice] = Field(default_factory=list)
    """The facts that its meaning is said with."""
    value: str = ""
    """The value by which a question may name it, `Norrvik`; empty where that is what is said."""


class Call(Part):
    """One tool call."""

    name: str
    args: dict[str, str | bool | int | float] = Field(default_factory=dict)


class Answer(Part):
    """What an agent hands in; an env reads the fields that it scores."""

    env: str = ""
    recommended_product_ids: list[str] = Field(default_factory=list)
    selected_order_id: str = ""
    selected_line_id: str = ""
    order_status: str = ""
    arrival_date: str = ""
    policy_answer: str = ""
    """A number, a category, or yes or no; also to a question that the shopper put in between."""
    refusal: str = ""
    """Why it cannot be done: not_found, sold_out, not_eligible, contradiction, over_budget, not_covered."""
    parts: list["Answer"] = Field(default_factory=list)
    """Of a journey: one for each thing that was asked, in that order."""
    done: bool = True


class Action(Part):
    """One turn of an agent: words, tool calls, and in the end the answer."""

    assistant_message: str = ""
    thoughts: list[str] = Field(default_factory=list)
    """Why, of each call, then of each part of the answer; the shopper does not hear it."""
    tool_calls: list[Call] = Field(default_factory=list)
    answer: Answer | None = None


class Task(Record):
    """A situation that an agent can play. What only the shopper and the judge know stands in `goal`, never in a prompt."""

    env: str
    difficulty: int
    seed: int
    persona_id: str
    split: Literal["train", "test"]
    """The side of its customer, or of its own id where it has none; its words are of that side, too."""
    voice: Register
    """How the shopper speaks, from the first words to the last."""
    bank: str = ""
    """The phrase bank that its words are from, by a digest of its files; empty for the package's own."""
    opening: str
    """The shopper's first words."""
    slots: list[Slot]
    """Every constraint that is demanded, and how an agent can learn it."""
    goal: str
    """JSON of the env's goal: everything that its score reads."""
    feasible: bool
    """False: the right answer is to refuse, with the reason that `acceptable` names."""
    acceptable: str
    """JSON of the certificate (`shopwright.schemas.certificates`): every end state that earns everything, or the proof that there is none."""
    nearest_miss: str
    """JSON: an end state that breaks exactly one constraint, and which."""
    solution: str
    """JSON: the actions of the scripted solver that earned everything when the task was made."""


class Turn(Part):
    """One turn of an agent and what came back."""

    action: str
    """As it was said: JSON."""
    results: str
    """JSON list: what each tool returned."""
    user: str
    """What the shopper said to it; empty where nothing."""
    user_act: str


class Reward(Part):
    """The parts of a reward, each from -1 to 1, and their sum (EcomRLVE, section on rewards)."""

    task: float
    efficiency: float
    hallucination: float
    total: float
    success: bool
    fault: str = ""
    """What ended the episode with -1, or lost points."""


class EnvEpisode(Record):
    """A task played to its end."""

    task_id: str
    env: str
    difficulty: int
    policy: str
    """Who played: `expert`, or the model."""
    opening: str
    turns: list[Turn]
    reward: Reward
