"""Who plays a shopping task without a model: the solver, who knows the goal, and cheap ones, who do not look closely."""

from collections.abc import Callable, Iterator
from random import Random

from pipeline.prompts import phrases
from pipeline.shopping.facts import plain
from pipeline.shopping.play import Play, Player, Sight, written
from pipeline.shopping.wording import name_of, one_of
from schemas.shopping import Profile

BUY = "click[buy now]"


def solver(play: Play) -> Player:
    """Asks for all that it is not told, looks for it by what is needed, reads the product's page and buys the right variant."""
    return Solver(play).plays()


class Solver:
    def __init__(self, play: Play) -> None:
        self.play, self.task, self.language = play, play.task, play.task.language
        self.random = Random(f"{play.task.id}/{play.scenario}/solver")

    def plays(self) -> Player:
        task = self.task
        if self.play.multi:
            yield from self.asks()
        for query in self.queries():
            sight = yield self.turn("looks", f"search[{query}]", query)
            while task.product_id.lower() not in sight.clickables and "next >" in sight.clickables:
                sight = yield self.turn("turns", "click[next >]")
            if task.product_id.lower() in sight.clickables:
                break
        if task.product_id.lower() not in sight.clickables:
            yield from gives_up(self.play)
        sight = yield self.turn("opens", f"click[{task.product_id.lower()}]")
        for tab in ("description", "features"):
            if tab in sight.clickables:
                yield self.turn("reads", f"click[{tab}]", tab)
                sight = yield self.turn("returns", "click[< prev]")
        for name, value in self.choices(sight):
            sight = yield self.turn("chooses", f"click[{value.lower()}]", value, name)
        if self.play.multi:
            yield self.turn("proposes", f"ask[{self.words('may_i_buy')}]")
        yield self.turn("buys", BUY)
        yield from gives_up(self.play)

    def asks(self) -> Player:
        """About each need by its name, then in general until nothing is left."""
        for need in [need for need in self.task.needs if need.known == "stated"]:
            name = name_of(self.task.category, need.fact, self.language)
            if need in self.play.buyer.untold:
                yield self.turn("asks", f"ask[{self.words('asks_for', name)}]", name)
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

    def choices(self, sight: Sight) -> list[tuple[str, str]]:
        """The values of the target's variant that have to be chosen."""
        option = self.play.shop.store.option_of(self.task.variant_id) if self.task.variant_id else None
        if option is None:
            return []
        values: dict[str, set[str]] = {}
        for each in self.play.shop.store.options(self.play.browser.view.row):
            for choice in each.choices:
                values.setdefault(choice.name, set()).add(choice.value)
        return [(plain(each.name), each.value) for each in option.choices if len(values[each.name]) > 1]

    def words(self, how: str, *facts: str) -> str:
        return one_of(phrases("shopping_episodes", how, *facts, self.language), self.random)

    def turn(self, why: str, action: str, *facts: str) -> str:
        return written(
            one_of(phrases("shopping_episodes", f"thinks_{why}", *facts), self.random), action, self.play.multi
        )


# Cheap ones


def said(play: Play, action: str) -> str:
    return written("", action, play.multi)


def buys_first(play: Play, query: str) -> Player:
    """The first result of a search, with the first value of each option that can be had."""
    sight = yield said(play, f"search[{query}]")
    yield from takes_first(play, sight)


def takes_first(play: Play, sight: Sight) -> Player:
    ids = play.shop.store
    found = [each for each in sight.clickables if ids.row(each.upper()) is not None or ids.row(each) is not None]
    if not found:
        yield from gives_up(play)
        return
    yield said(play, f"click[{found[0]}]")
    offered = [option for option in ids.options(play.browser.view.row) if option.stock > 0]
    for choice in offered[0].choices if offered else ():
        yield said(play, f"click[{choice.value.lower()}]")
    yield said(play, BUY)
    yield from gives_up(play)


def gives_up(play: Play) -> Player:
    while True:
        yield said(play, "click[back to search]")


def first_result(play: Play) -> Player:
    """Searches what it was told first, word for word."""
    return buys_first(play, play.opening)


def copies_the_profile(play: Play) -> Player:
    """Searches what the profile likes best, and hears nothing."""
    return buys_first(play, " ".join(likes(play.profile)) if play.profile else "")


def likes(profile: Profile | None) -> list[str]:
    found = profile.interests if profile else None
    groups = (found.brands, found.colors, found.categories) if found else ()
    return [group[0].name for group in groups if group]


def asks_everything(play: Play) -> Player:
    """Asks until nothing is left, and then buys the first result for all that it heard."""
    heard = [play.opening]
    sight = play.sight()
    if play.multi:
        for question in ("Is there anything else?", "What else?") * 8:
            if not play.buyer.untold:
                break
            sight = yield said(play, f"ask[{question if play.task.language == 'en' else '还有其他要求吗？'}]")
            heard.append(sight.text)
    sight = yield said(play, f"search[{' '.join(heard)}]")
    yield from takes_first(play, sight)


def at_random(play: Play) -> Player:
    """Any action that the page offers."""
    random = Random(f"{play.task.id}/{play.scenario}/random")
    sight = play.sight()
    while True:
        clicks = [f"click[{each}]" for each in sight.clickables]
        searches = [f"search[{play.opening}]"] * (3 if sight.can_search else 0)
        found = [*clicks, *searches]
        sight = yield said(play, found[int(random.random() * len(found))])


def does_nothing(play: Play) -> Player:
    while True:
        yield ""


PLAYERS: dict[str, Callable[[Play], Player]] = {
    "solver": solver,
    "first result": first_result,
    "copies the profile": copies_the_profile,
    "asks everything": asks_everything,
    "random": at_random,
    "nothing": does_nothing,
}
"""By name. `never asks` is `first result` in the scenarios of a conversation."""
