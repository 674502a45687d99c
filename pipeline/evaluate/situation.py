"""One spine for all that is played or answered: tasks, an episode of each, the loop that plays it, and what came of it.

An evaluation, an audit, a server, a trainer or a program that looks for holes drives every situation in the same way:

    episode = situation.begin(task)
    observation = episode.reset()
    while not done:
        observation, reward, done, info = episode.step(action)
    score = episode.score()
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from shopwright.pipeline.evaluate.progress import AnsweredRows, collect_answered
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.verdict import AuditVerdict
from shopwright.pipeline.models.base import REFUSED, UNHEARD, Prompt, UnansweredRequest, plain_reason
from shopwright.pipeline.models.play import Working, play_blocking
from shopwright.pipeline.models.role import Role, run_offline
from shopwright.pipeline.models.scripted import Scripted
from shopwright.pipeline.models.valid_replies import catch_unanswered, reject_if_unanswered
from shopwright.pipeline.problem import Problem
from shopwright.schemas.record import Record, Rejected

if TYPE_CHECKING:
    from shopwright.pipeline.evaluate.audit import AuditCell

# The player that knows the goal, in every situation.
SOLVER = "solver"
# Offline episodes at a time: while the code of one runs, the next is played.
AT_ONCE = 8
# Between the seeds of a prompt in two tries at a task.
TRY_APART = 10_007
T = TypeVar("T")
TaskT = TypeVar("TaskT")
EpisodeT = TypeVar("EpisodeT", bound="Episode")
RowT = TypeVar("RowT", bound=Record)
# Who acts without a model: given an episode that was just reset, it yields actions and is sent observations.
Player = Callable[[Any], Generator[Any, Any, None]]


class NothingToDraw(Problem):
    """The shop has nothing to make such a task from."""


class Step(NamedTuple):
    """What came of an action."""

    observation: Any
    reward: float
    """0 until the end."""
    done: bool
    info: dict[str, Any]


@dataclass(frozen=True)
class Score:
    """What an episode earned."""

    parts: Mapping[str, float]
    """By name; `reward` is the whole."""
    success: bool
    fault: str = ""
    """What lost the point, or ended it early."""


class Episode(ABC):
    """A task that is played: `reset` begins it, `step` is a turn of the agent's."""

    silence: ClassVar[Any] = ""
    """The action of a player that has no more to say."""
    try_number: int = 0
    """Of this try at its task, on which a model's seed and a player's chance depend."""

    @property
    @abstractmethod
    def task_id(self) -> str: ...

    @abstractmethod
    def reset(self) -> Any:
        """Everything as it was at the beginning; the first observation."""

    @abstractmethod
    def score(self) -> Score:
        """What it earned, as it stands."""

    @abstractmethod
    def prompt(self) -> Prompt:
        """What a model is asked at this moment. Its reply is an action, too."""

    def take(self, action: Any) -> Working[Step]:
        """A turn that may ask a model or wait for other work on the way."""
        yield from ()  # a generator, as those that wait are
        return self.step(action)

    def step(self, action: Any) -> Step:
        """The same at once."""
        return run_offline(self.take(action))


class TraceTurn(NamedTuple):
    """What an agent saw, and what it did then."""

    seen: Any
    action: Any


@dataclass(frozen=True)
class Trace(Generic[EpisodeT]):
    """What an episode showed, did, said and earned."""

    policy: str
    """Who played."""
    turns: Sequence[TraceTurn]
    score: Score
    episode: EpisodeT
    """As it is at its end: what a row needs beyond the turns."""


def play_through(episode: EpisodeT, player: Player | None = None, policy: str = SOLVER) -> Working[Trace[EpisodeT]]:
    """The loop that plays everything: the episode from its beginning to its end, by a player, or by a model where there is none."""
    seen, turns, done = episode.reset(), list[TraceTurn](), False
    agent = player(episode) if player else None
    while not done:
        if agent is None:
            action = yield episode.prompt()
        else:
            # A generator that is not begun takes None alone.
            try:
                action = agent.send(seen if turns else None)
            except StopIteration:
                action = episode.silence
        step = yield from episode.take(action)
        turns.append(TraceTurn(seen, action))
        seen, done = step.observation, step.done
    if agent is not None:
        agent.close()  # it may be in the midst of a plan
    return Trace(policy, turns, episode.score(), episode)


def play_or_reject(
    episode: EpisodeT,
    player: Player | None,
    policy: str,
    keep: Callable[[Trace[EpisodeT]], RowT],
    *,
    id: str,
    facts: Mapping[str, Any],
) -> Working[RowT | Rejected]:
    """The row of an episode; one for quarantine, with these facts, where a server did not answer, or refused a prompt."""
    found = yield from reject_if_unanswered(id, {**facts, "policy": policy}, play_through(episode, player, policy))
    if isinstance(found, Rejected):
        return found
    row, fault = keep(found), found.score.fault
    if not fault.startswith(UNHEARD):
        return row
    why = plain_reason(fault.removeprefix(UNHEARD))  # what stands there is no act of the agent's
    return Rejected(id=id, reasons=[REFUSED + why], record=row.model_dump_json())


def play_offline(episode: EpisodeT, player: Player, policy: str = SOLVER) -> Trace[EpisodeT]:
    """An episode played by a player."""
    return run_offline(play_through(episode, player, policy))


class Situation(ABC, Generic[TaskT, EpisodeT, RowT]):
    """What can be played or answered, with all that is to be known for evaluating agents on it and for auditing it."""

    name: ClassVar[str]
    """Of its files and progress lines."""
    makes: ClassVar[type[Record]]
    """What is kept of an episode."""
    audited: ClassVar[Sequence[str]] = ("reward",)
    """Parts of the score that an audit shows."""
    players: Mapping[str, Player]
    """Who plays without a model, by name, the solver first."""
    tries: int = 1
    """Episodes of each task."""

    @property
    @abstractmethod
    def asked(self) -> int:
        """Tasks that there will be."""

    @abstractmethod
    def tasks(self) -> Iterator[TaskT]:
        """In the order in which rows are kept."""

    @abstractmethod
    def begin(self, task: TaskT) -> EpisodeT:
        """An episode of a task."""

    @abstractmethod
    def keep(self, trace: Trace[EpisodeT]) -> RowT:
        """What is kept of an episode."""

    @abstractmethod
    def tables(self, rows: Sequence[RowT]) -> list[Table]:
        """All that is printed of these rows."""

    @abstractmethod
    def figures(self, rows: Sequence[RowT]) -> Any:
        """The same for scripts."""

    @abstractmethod
    def group(self, task: TaskT) -> Mapping[str, Any]:
        """By what an audit counts tasks together, as env and level."""

    @abstractmethod
    def judge(self, cells: "Sequence[AuditCell]") -> AuditVerdict:
        """What is wrong with an audit."""

    def converse(self, conversations: Iterable[Working[T]], agent: Role | None) -> Iterator[T]:
        """What came of each conversation, in their order; agent: the model that plays, where one does."""
        return agent.play(conversations) if agent else play_blocking(conversations, Scripted, at_once=AT_ONCE)

    def facts(self) -> dict[str, str]:
        """Facts that are kept with the rows."""
        return {}

    def notes(self, rows: Sequence[RowT]) -> list[str]:
        """Lines that are printed below the tables."""
        return []

    def for_audit(self) -> "Situation[TaskT, EpisodeT, RowT]":
        """The same as an audit plays it."""
        return self

    def pieces(self) -> "Sequence[Situation[TaskT, EpisodeT, RowT]]":
        """The same in pieces, for several processes."""
        return [self]

    def review(self, rows: Sequence[RowT], say: Callable[[str], None]) -> Sequence[RowT]:
        """The rows with what another model says of them."""
        return rows


def evaluate(
    situation: Situation[TaskT, EpisodeT, RowT], agent: Role | str, say: Callable[[str], None] = lambda line: None
) -> AnsweredRows[RowT]:
    """An agent, which is a model's role or the name of a player, on all tasks of a situation.

    Raises Problem for a player that there is not, and where nothing was answered.
    """
    found = collect_answered(play_tasks(situation, agent), situation.asked * situation.tries, say, situation.name)
    return replace(found, rows=list(situation.review(found.rows, say)))


def play_tasks(situation: Situation[TaskT, EpisodeT, RowT], agent: Role | str) -> Iterator[RowT | UnansweredRequest]:
    """What is kept of each try, in the order of tasks and tries."""
    model = agent if isinstance(agent, Role) and agent.asks else None
    if model:
        name, player = model.spec.name, None
    else:
        name, player = find_player(SOLVER if isinstance(agent, Role) else agent, situation.players)
    tried = product(situation.tasks(), range(situation.tries))
    return situation.converse((catch_unanswered(play_task(situation, *each, player, name)) for each in tried), model)


def play_task(
    situation: Situation[TaskT, EpisodeT, RowT], task: TaskT, number: int, player: Player | None, policy: str
) -> Working[RowT]:
    episode = situation.begin(task)
    episode.try_number = number
    return situation.keep((yield from play_through(episode, player, policy)))


def add_try_number(id: str, number: int) -> str:
    """The id of a row, which no other try at the task has.

    >>> add_try_number("one-solver", 0), add_try_number("one-solver", 2)
    ('one-solver', 'one-solver-2')
    """
    return f"{id}-{number}" if number else id


def find_player(name: str, players: Mapping[str, Player]) -> tuple[str, Player]:
    """The player of this name, whatever its words are joined by. Raises Problem with the names that there are.

    >>> find_player("first result", {"solver": print, "first-result": len})[0]
    'first-result'
    """
    found = name.replace(" ", "-").replace("_", "-")
    if found not in players:
        raise Problem(f"There is no player {name[:60]}. There are: {', '.join(players)}, and models (openai:NAME@URL).")
    return found, players[found]
