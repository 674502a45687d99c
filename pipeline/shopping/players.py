"""Who plays a shopping task without a model: the solver, who knows the goal, and cheap ones, who do not look closely."""

from collections.abc import Callable, Iterator
from random import Random

from shopwright.pipeline.evaluate.situation import SOLVER, add_try_number
from shopwright.pipeline.languages import LANGUAGES
from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.shopping.facts import normalize_attribute_name
from shopwright.pipeline.shopping.lexical_baselines import play_lexical
from shopwright.pipeline.shopping.play import Observation, Play, TurnGenerator, format_turn
from shopwright.pipeline.shopping.wording import draw_wording, phrase_fact_name
from shopwright.schemas.shopping import Profile

BUY = "click[buy now]"


def play_solver(play: Play) -> TurnGenerator:
    """Asks for all that it is not told, looks for it by what is needed, reads the product's page and buys the right variant."""
    return ShoppingSolver(play).plays()


class ShoppingSolver:
    def __init__(self, play: Play) -> None:
        self.play, self.task, self.language = play, play.task, play.task.language
        self.random = Random(f"{play.task.id}/{play.scenario}/solver")

    def plays(self) -> TurnGenerator:
        task = self.task
        if self.play.multi:
            yield from self.asks()
        sight = self.play.sight()
        for query in dict.fromkeys(self.queries()):
            if not sight.can_search:
                sight = yield self.turn("starts_again", "click[back to search]")
            sight = yield self.turn("looks", f"search[{query}]", query)
            while task.product_id.lower() not in sight.clickables and "next >" in sight.clickables:
                sight = yield self.turn("turns", "click[next >]")
            if task.product_id.lower() in sight.clickables:
                break
        if task.product_id.lower() not in sight.clickables:
            yield from give_up(self.play)
        sight = yield self.turn("opens", f"click[{task.product_id.lower()}]")
        for tab in ("description", "features"):
            if tab in sight.clickables:
                yield self.turn("reads", f"click[{tab}]", tab)
                sight = yield self.turn("returns", "click[< prev]")
        for name, value in self.choices(sight):
            sight = yield self.turn(
                "chooses", f"click[{value.lower()}]", value, LANGUAGES[self.language].pages.name(name)
            )
        if self.play.multi:
            yield self.turn("proposes", f"ask[{self.words('may_i_buy')}]")
        yield self.turn("buys", BUY)
        yield from give_up(self.play)

    def asks(self) -> TurnGenerator:
        """About each need by its name, then in general until nothing is left."""
        for need in [need for need in self.task.needs if need.known == "stated"]:
            name = phrase_fact_name(self.task.category, need.fact, self.language)
            if any(slot.name == need.fact for slot in self.play.buyer.untold):
                yield self.turn("asks", f"ask[{self.words('asks_for', name)}]", name)
        # Some of the actions are for searching and buying.
        while self.play.buyer.untold and len(self.play.steps) < 20:
            yield self.turn("asks_more", f"ask[{self.words('anything_else')}]")

    def queries(self) -> Iterator[str]:
        """The kind of thing with what is needed of it, then with less, then the shop's own words for it."""
        task = self.task
        facts = [need.value for need in task.needs if need.op == "is" and need.kind == "attribute"]
        options = [need.value for need in task.needs if need.kind == "option"]
        yield " ".join([*facts, task.category.lower()])
        yield " ".join([*facts, *options, task.category.lower()])
        yield " ".join([*facts[:2], task.category.lower()])
        row = self.play.shop.store.row(task.product_id)
        assert row is not None
        yield self.play.shop.store.item(row).title

    def choices(self, sight: Observation) -> list[tuple[str, str]]:
        """The values of the target's variant that have to be chosen."""
        option = self.play.shop.store.option_of(self.task.variant_id) if self.task.variant_id else None
        if option is None:
            return []
        values: dict[str, set[str]] = {}
        for each in self.play.shop.store.options(self.play.browser.view.row):
            for choice in each.choices:
                values.setdefault(choice.name, set()).add(choice.value)
        return [
            (normalize_attribute_name(each.name), each.value) for each in option.choices if len(values[each.name]) > 1
        ]

    def words(self, how: str, *facts: str) -> str:
        return draw_wording(render_phrases("shopping_episodes", how, *facts, self.language), self.random)

    def turn(self, why: str, action: str, *facts: str) -> str:
        return format_turn(
            draw_wording(render_phrases("shopping_episodes", f"thinks_{why}", *facts, self.language), self.random),
            action,
            self.play.multi,
        )


# Cheap ones


def format_bare_turn(play: Play, action: str) -> str:
    return format_turn("", action, play.multi)


def buy_first_result(play: Play, query: str) -> TurnGenerator:
    """The first result of a search, with the first value of each option that can be had."""
    sight = yield format_bare_turn(play, f"search[{query}]")
    yield from take_first_result(play, sight)


def take_first_result(play: Play, sight: Observation) -> TurnGenerator:
    ids = play.shop.store
    found = [each for each in sight.clickables if ids.row(each.upper()) is not None or ids.row(each) is not None]
    if not found:
        yield from give_up(play)
        return
    yield format_bare_turn(play, f"click[{found[0]}]")
    offered = [option for option in ids.options(play.browser.view.row) if option.stock > 0]
    for choice in offered[0].choices if offered else ():
        yield format_bare_turn(play, f"click[{choice.value.lower()}]")
    yield format_bare_turn(play, BUY)
    yield from give_up(play)


def give_up(play: Play) -> TurnGenerator:
    while True:
        yield format_bare_turn(play, "click[back to search]")


def play_first_result(play: Play) -> TurnGenerator:
    """Searches what it was told first, word for word."""
    return buy_first_result(play, play.opening)


def play_profile_copier(play: Play) -> TurnGenerator:
    """Searches what the profile likes best, and hears nothing."""
    return buy_first_result(play, " ".join(list_top_likes(play.profile)) if play.profile else "")


def list_top_likes(profile: Profile | None) -> list[str]:
    found = profile.interests if profile else None
    groups = (found.brands, found.colors, found.categories) if found else ()
    return [group[0].name for group in groups if group]


def play_question_asker(play: Play) -> TurnGenerator:
    """Asks until nothing is left, and then buys the first result for all that it heard."""
    heard = [play.opening]
    sight = play.sight()
    if play.multi:
        for question in ("Is there anything else?", "What else?") * 8:
            if not play.buyer.untold:
                break
            sight = yield format_bare_turn(
                play, f"ask[{question if play.task.language == 'en' else '还有其他要求吗？'}]"
            )
            heard.append(sight.text)
    sight = yield format_bare_turn(play, f"search[{' '.join(heard)}]")
    yield from take_first_result(play, sight)


def play_at_random(play: Play) -> TurnGenerator:
    """Any action that the page offers."""
    random = Random(add_try_number(f"{play.task.id}/{play.scenario}/random", play.try_number))
    sight = play.sight()
    while True:
        clicks = [f"click[{each}]" for each in sight.clickables]
        searches = [f"search[{play.opening}]"] * (3 if sight.can_search else 0)
        found = [*clicks, *searches]
        sight = yield format_bare_turn(play, found[int(random.random() * len(found))])


def play_nothing(play: Play) -> TurnGenerator:
    while True:
        yield ""


# By name, but for the one that needs the training tasks (`lexical_baselines.play_by_phrase_book`). `never asks` is `first-result` in the scenarios of a conversation.
PLAYERS: dict[str, Callable[[Play], TurnGenerator]] = {
    SOLVER: play_solver,
    "first-result": play_first_result,
    "copies-the-profile": play_profile_copier,
    "asks-everything": play_question_asker,
    "lexical": play_lexical,
    "random": play_at_random,
    "nothing": play_nothing,
}
