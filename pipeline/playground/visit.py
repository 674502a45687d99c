"""One visitor's shopping task, page by page: search, click, ask the shopper, buy, and see both rewards (ShopSimulator)."""

from dataclasses import dataclass, field

from shopwright.pipeline.evaluate.situation import play_offline
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render import pages
from shopwright.pipeline.shopping.play import Play, format_turn, list_scenarios
from shopwright.pipeline.shopping.players import play_solver
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.schemas.shopping import ShoppingEpisode

NOT_BEGUN = "Begin a task first: press Begin."
OVER = "The task is over. Begin another."
PERSON = "person"


@dataclass(frozen=True)
class ShopperExchange:
    """A question to the shopper, and the answer."""

    question: str
    answer: str


@dataclass(repr=False)
class Visit:
    """One visitor's task."""

    place: PlaygroundShop
    play: Play | None = None
    said: list[ShopperExchange] = field(default_factory=list)
    fault: str = ""
    way: list[str] = field(default_factory=list)

    @property
    def playing(self) -> Play:
        if self.play is None:
            raise Problem(NOT_BEGUN)
        return self.play

    @property
    def over(self) -> bool:
        return self.play is not None and self.play.done

    @property
    def actions_left(self) -> int:
        return self.playing.limit - len(self.playing.steps)

    @property
    def html(self) -> str:
        """The page that is seen, as simplified HTML."""
        return pages.render_page_html(self.playing.browser.page)

    @property
    def profile(self) -> str:
        """What is known of the customer, in words; empty where nothing is."""
        profile = self.playing.profile
        return describe_profile(profile, self.playing.task.language) if profile else ""

    def reset(self, number: int, *, talk: bool, personal: bool) -> str:
        """The task of this number among those with a profile or without, which begin again after the last.

        Gives why there is none; then the one before goes on.
        """
        try:
            task, profile = self.place.task(number, personal)
            self.play = Play(self.place.pages(), task, list_scenarios(task)[talk], profile)
        except Problem as problem:
            return self.wrong(str(problem))
        self.said, self.way = [], []
        return self.wrong("")

    def search(self, words: str) -> str:
        return self.act(f"search[{' '.join(words.split())}]")

    def ask(self, question: str) -> str:
        """The shopper answers at once, in tasks that are talked about."""
        question = " ".join(question.split())
        if self.play is not None and not self.play.multi:
            return self.wrong("In this task the shopper has said everything, and is not there to be asked.")
        if not question:
            return self.wrong("Write a question first. Nothing was asked.")
        fault = self.act(f"ask[{question}]")
        if not fault:
            self.said.append(ShopperExchange(question, self.playing.steps[-1].observation))
        return fault

    def press(self, name: str, words: str = "") -> str:
        """What is done with the element of this name on the page: typed into, or clicked."""
        if not self.ready():
            return self.fault
        if name == pages.SEARCH_INPUT:
            return self.search(words)
        thing = pages.map_names_to_labels(self.playing.browser.page).get(name)
        return self.act(f"click[{thing}]") if thing else self.wrong("That is not on this page any more.")

    def act(self, action: str) -> str:
        if not self.ready():
            return self.fault
        self.playing.step(format_turn("", action, self.playing.multi))
        return self.wrong(self.playing.steps[-1].fault)

    def ready(self) -> bool:
        if self.play is not None and not self.over:
            return True
        self.wrong(OVER if self.over else NOT_BEGUN)
        return False

    def wrong(self, why: str) -> str:
        self.fault = why
        return why

    def ending(self) -> ShoppingEpisode | None:
        """What it earned; None until it is over."""
        if not self.over:
            return None
        self.way = self.way or self.list_solver_actions()
        return self.playing.episode(PERSON)

    def list_solver_actions(self) -> list[str]:
        """The actions of the solver, who knows what is wanted."""
        mine = self.playing
        play = Play(mine.shop, mine.task, mine.scenario, mine.profile)
        return [step.action for step in play_offline(play, play_solver).episode.steps]
