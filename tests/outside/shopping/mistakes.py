"""Episodes that make one error of ShopSimulator's table on purpose (arXiv 2601.18225, appendix A), and careful ones that make none.

Each fails, for a success has no errors. Where one deed is two errors by the table's words, both are written down: who picks a value
that the shopper has just turned down picks a value that is not wanted.
"""

from collections.abc import Callable, Generator
from typing import Any

from shopwright.pipeline.shop.user_simulator import SimulatorReply
from shopwright.pipeline.shopping.approving_user import ApprovingUser
from tests.outside.shopping.player import CannotMake, Player, Turns, has_words
from tests.outside.shopping.shop import Row, Variant, are_equal, read_quantity, write_name

SINGLE, SINGLE_PERSONAL, MULTI, MULTI_PERSONAL = SCENARIOS = ("single", "single personal", "multi", "multi personal")
TALKS = (MULTI, MULTI_PERSONAL)
WITHOUT_PROFILE = (SINGLE, MULTI)
WITH_PROFILE = (SINGLE_PERSONAL, MULTI_PERSONAL)
Mistake = Callable[[Player], Turns]
# Each with the scenarios that it can be made in.
MISTAKES: dict[Mistake, tuple[str, ...]] = {}
CONTROLS: dict[Mistake, tuple[str, ...]] = {}


def mistake(*scenarios: str) -> Callable[[Mistake], Mistake]:
    def add(make: Mistake) -> Mistake:
        MISTAKES[make] = scenarios or SCENARIOS
        return make

    return add


def control(*scenarios: str) -> Callable[[Mistake], Mistake]:
    def add(make: Mistake) -> Mistake:
        CONTROLS[make] = scenarios or SCENARIOS
        return make

    return add


def ends_carefully(player: Player) -> Turns:
    """Opens something, reads about it, picks its options, and buys what is not quite right; or buys nothing."""
    buys = not player.personal and player.random.random() < 0.5
    variant = player.find_any_flawed() if buys else find_right_variant(player)
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    yield from player.buys() if buys else player.stalls()


def find_right_variant(player: Player) -> Variant:
    return next(each for each in player.target.variants if each.stock > 0 and not player.unmet(each))


# None


@control()
def looks_closely_and_buys_nothing(player: Player) -> Turns:
    yield from player.begins()
    yield from player.finds(player.target)
    yield from player.reads()
    yield from player.picks(find_right_variant(player))
    yield from player.stalls()


@control(*WITHOUT_PROFILE)
def misses_an_attribute_that_it_has_read_about(player: Player) -> Turns:
    variant = player.find_flawed(kinds=("attribute",))
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    yield from player.buys()


@control(*WITHOUT_PROFILE)
def pays_too_much_for_a_variant(player: Player) -> Turns:
    variant = player.find_flawed(kinds=("price",))
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    yield from player.buys()


@control()
def picks_at_once_what_the_page_shows(player: Player) -> Turns:
    """Options before details, where title and options show all that is needed."""
    variant = find_right_variant(player)
    if player.list_hidden(player.target) or not player.list_choices(variant):
        raise CannotMake
    yield from player.begins()
    yield from player.finds(player.target)
    yield from player.picks(variant)
    yield from player.stalls()


@control(MULTI)
def looks_around_before_it_asks(player: Player) -> Turns:
    """Where the opening tells nothing that the searches could ignore."""
    if len(player.list_untold()) < len(player.stated):
        raise CannotMake
    for query in player.draw_unrelated_queries(4):
        yield from player.looks_for(query)
    yield from player.begins()
    yield from player.stalls()


@control()
def leaves_the_right_product_after_a_look(player: Player) -> Turns:
    yield from player.begins()
    yield from player.lists(player.target)
    if any(each is not player.target and player.is_high_match(each) for each in player.list_listed()):
        raise CannotMake
    yield from player.click(player.target.id)
    yield from player.looks_for(player.draw_unrelated_queries(1)[0])
    yield from player.stalls()


@control(MULTI)
def searches_again_with_what_it_has_been_told(player: Player) -> Turns:
    query = player.draw_unrelated_queries(1)[0]
    yield from player.looks_for(query)
    yield from player.begins()
    yield from player.looks_for(query)
    yield from player.stalls()


@control(MULTI)
def asks_for_the_rest_when_refused_and_buys(player: Player) -> Turns:
    variant = player.find_flawed(kinds=("attribute",))
    need = player.leaves_out()
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.ask("Shall I buy it?")
    yield from player.ask(f"What should it be like in terms of {need['fact']}?")
    if player.list_untold():
        raise CannotMake
    yield from player.picks(variant)
    yield from player.buys()


@control(*TALKS)
def proposes_a_purchase_and_thinks_better_of_it(player: Player) -> Turns:
    yield from player.begins()
    yield from player.finds(player.target)
    yield from player.reads()
    yield from player.picks(find_right_variant(player))
    yield from player.ask("Shall I buy it?")
    yield from player.stalls()


@control(*TALKS)
def takes_a_correction(player: Player) -> Turns:
    """Picks what the shopper named instead."""
    _, wanted = yield from asks_whether_a_value_will_do(player)
    yield from player.click(wanted)
    yield from player.stalls()


# Search


@mistake()
def ignores_what_is_needed(player: Player) -> Turns:
    """A third search that has nothing of it."""
    queries = player.draw_unrelated_queries(3)
    yield from player.begins()
    for query in queries[:2]:
        yield from player.looks_for(query)
    yield from player.goes_to_search()
    player.makes("search", "ignored key attribute")
    yield from player.looks_for(queries[2])
    yield from ends_carefully(player)


@mistake()
def turns_away_from_a_list_with_the_target(player: Player) -> Turns:
    query = player.draw_unrelated_queries(1)[0]
    yield from player.begins()
    yield from player.lists(player.target)
    yield from player.goes_to_search()
    player.makes("search", "abandoned high-match result")
    yield from player.looks_for(query)
    yield from player.stalls()


@mistake()
def searches_the_same_in_another_order(player: Player) -> Turns:
    query = player.draw_unrelated_queries(1)[0]
    yield from player.begins()
    yield from player.looks_for(query)
    yield from player.goes_to_search()
    player.makes("search", "repeated similar query")
    yield from player.looks_for(" ".join(reversed(query.split())).upper())
    yield from ends_carefully(player)


# Click


@mistake()
def opens_another_kind_of_thing(player: Player) -> Turns:
    yield from player.begins()
    yield from player.looks_for(player.draw_unrelated_queries(1)[0])
    other = player.choose(each for each in player.list_listed() if each.category != player.task["category"])
    player.makes("click", "violated hard requirement")
    yield from player.click(other.id)
    yield from ends_carefully(player)


@mistake()
def opens_what_is_too_dear(player: Player) -> Turns:
    dear = player.choose(each for each in player.category if not player.is_affordable(each))
    yield from player.begins()
    yield from player.lists(dear)
    player.makes("click", "violated hard requirement")
    yield from player.click(dear.id)
    yield from player.stalls()


@mistake()
def picks_a_value_that_is_not_wanted(player: Player) -> Turns:
    _, value, _ = find_wrong_value(player)
    yield from player.begins()
    yield from player.finds(player.target)
    yield from player.reads()
    player.makes("click", "violated hard requirement")
    yield from player.click(value)
    yield from player.stalls()


def find_wrong_value(player: Player) -> tuple[Row, str, str]:
    """A need that is met by picking a value on the target's page, a value that does not meet it, and the one that does."""
    needs = {need["fact"]: need for need in player.needs if need["op"] == "is" and need["known"] == "stated"}
    found = []
    for variant in player.target.variants:
        for name, value in player.list_choices(variant):
            need = needs.get(write_name(name))
            if need and not player.is_like(value, need):
                found.append((need, value))
    need, value = player.choose(sorted(found, key=str))
    right = next(
        value for name, value in find_right_variant(player).choices.items() if write_name(name) == need["fact"]
    )
    return need, value, right


@mistake()
def picks_before_it_reads(player: Player) -> Turns:
    """An option of something whose page does not show an attribute that is needed."""
    variant = player.choose(
        each
        for each in (find_right_variant(player), *player.list_siblings())
        if player.list_choices(each) and hides_an_attribute(player, each) and not breaks_by_an_option(player, each)
    )
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    player.makes("click", "unconfirmed key attribute")
    yield from player.picks(variant)
    yield from player.reads()
    yield from player.stalls()


def hides_an_attribute(player: Player, variant: Variant) -> bool:
    product = player.shop[variant.product]
    return any(not has_words(product.title, need["value"]) for need in player.list_hidden(product))


def breaks_by_an_option(player: Player, variant: Variant) -> bool:
    offered = set(map(write_name, variant.choices))
    broken = {need["fact"] for need in player.unmet(variant)}
    return not broken.isdisjoint(offered) or not player.is_affordable(player.shop[variant.product])


@mistake()
def clicks_what_is_not_there(player: Player) -> Turns:
    """At any place of the episode."""
    parts = [player.begins, lambda: player.lists(player.target), lambda: player.click(player.target.id), player.reads]
    at = player.choose(range(len(parts)))
    for place, part in enumerate(parts):
        if place == at:
            player.makes("click", "nonexistent button")
            yield player.say(
                f"click[{player.choose(('add to cart', 'see more', 'page 7', 'buy it', 'ask the seller'))}]"
            )
        yield from part()
    yield from player.stalls()


def asks_whether_a_value_will_do(player: Player) -> Generator[str, Any, tuple[str, str]]:
    """Of a need that it has not asked for: with a value that is not wanted, which the shopper corrects."""
    need, value, wanted = find_wrong_value(player)
    player.left_out.add(need["fact"])
    yield from player.begins()
    yield from player.finds(player.target)
    yield from player.reads()
    yield from player.ask(f"Would {value} be fine for the {need['fact']}?")
    if need["fact"] in player.list_untold():
        raise CannotMake
    return value, wanted


@mistake(*TALKS)
def picks_what_was_just_turned_down(player: Player) -> Turns:
    value, _ = yield from asks_whether_a_value_will_do(player)
    player.makes("click", "retried rejected attribute")
    player.makes("click", "violated hard requirement")
    yield from player.click(value)
    yield from player.stalls()


# Buy


@mistake(*WITHOUT_PROFILE)
def buys_without_reading(player: Player) -> Turns:
    variant = player.find_any_flawed(plain=True)
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.picks(variant)
    player.makes("buy", "no detail confirmation")
    yield from player.buys()


@mistake(*WITHOUT_PROFILE)
def buys_without_reading_what_the_page_does_not_show(player: Player) -> Turns:
    """Something without options: who picks one earlier makes the second error earlier."""
    variant = player.find_flawed(kinds=("attribute", "price"))
    if not hides_an_attribute(player, variant):
        raise CannotMake
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    player.makes("click", "unconfirmed key attribute")
    yield from player.picks(variant)
    player.makes("buy", "no detail confirmation")
    yield from player.buys()


@mistake(MULTI)
def buys_what_was_refused(player: Player) -> Turns:
    """Refused is what the shopper was not asked everything about, so that this is three errors at once."""
    player.leaves_out()
    variant = player.find_any_flawed()
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    yield from player.ask("I have found one. Shall I buy it?")
    player.makes("buy", "no detail confirmation")
    player.makes("buy", "purchase after rejection")
    player.makes("ask", "do not ask when info missing")
    yield from player.buys()


# Ask


@mistake(*TALKS)
def does_not_ask_for_a_need(player: Player) -> Turns:
    player.leaves_out()
    yield from player.begins()
    player.ends_with("ask", "do not ask when info missing")
    yield from player.finds(player.target)
    yield from player.reads()
    yield from player.stalls()


@mistake(MULTI)
def buys_without_asking_for_a_need(player: Player) -> Turns:
    player.leaves_out()
    variant = player.find_any_flawed()
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    player.makes("buy", "no detail confirmation")
    player.makes("ask", "do not ask when info missing")
    yield from player.buys()


@mistake(*TALKS)
def asks_again(player: Player) -> Turns:
    need = player.choose(player.stated)
    yield from player.begins()
    player.makes("ask", "over-confirmed known info")
    yield from player.ask(f"What should it be like in terms of {need['fact']}?")
    if need["said"].lower() not in player.play.steps[-1].observation.lower():
        raise CannotMake
    yield from ends_carefully(player)


@mistake(MULTI_PERSONAL)
def asks_what_the_profile_tells(player: Player) -> Turns:
    need = player.choose(player.carried)
    yield from player.begins()
    player.makes("ask", "over-confirmed known info")
    yield from player.ask(f"What should it be like in terms of {need['fact']}?")
    yield from ends_carefully(player)


@mistake(*TALKS)
def asks_who_has_gone(player: Player) -> Turns:
    player.play.buyer = LeavingShopper(player.play.task, player.play.scenario)
    yield from player.begins()
    yield from player.ask("Thank you, is there anything else?")
    player.makes("ask", "asked after farewell")
    yield from player.ask("Is there really nothing else?")
    yield from ends_carefully(player)


class LeavingShopper(ApprovingUser):
    """Says goodbye when all is told."""

    def reply(self, question: str) -> SimulatorReply:
        return super().reply(question) if self.untold else SimulatorReply("That is all. Goodbye!", "give up")


# Personalisation


@mistake(*WITH_PROFILE)
def buys_what_is_not_in_the_profile(player: Player) -> Turns:
    variant = player.find_flawed(kinds=("attribute", "price"), known="profile")
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    player.makes("personalisation", "ignore personal info")
    yield from player.buys()


@mistake(*WITH_PROFILE)
def picks_and_buys_what_is_not_in_the_profile(player: Player) -> Turns:
    """An option is a hard requirement as well."""
    for variant in player.list_siblings():
        broken = player.unmet(variant)
        offered = {write_name(name) for name, _ in player.list_choices(variant)}
        if len(broken) == 1 and broken[0]["known"] == "profile" and broken[0]["fact"] in offered:
            break
    else:
        raise CannotMake
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    for name, value in player.list_choices(variant):
        if write_name(name) == broken[0]["fact"]:
            player.makes("click", "violated hard requirement")
        yield from player.click(value)
    player.makes("personalisation", "ignore personal info")
    yield from player.buys()


@mistake(*WITH_PROFILE)
def searches_for_what_is_liked_and_not_wanted(player: Player) -> Turns:
    texts = [
        player.task["instruction"],
        player.task["simple_instruction"],
        player.task["category"],
        player.target.title,
    ]
    texts += [text for need in player.needs for text in (need["value"], need["said"])]
    texts += [value for each in player.target.variants for value in each.facts.values()]
    name = player.choose(
        each
        for each in player.list_likings()
        if not any(has_words(text, each) for text in texts) and not each.isdigit()
    )
    yield from player.begins()
    player.makes("personalisation", "overinterpret personal info")
    yield from player.search(f"{player.task['category']} {name}")
    yield from player.stalls()


@mistake(*WITH_PROFILE)
def buys_what_is_liked_and_not_what_is_wanted(player: Player) -> Turns:
    variant = player.find_flawed(kinds=("attribute",))
    yield from player.begins()
    yield from player.finds(player.shop[variant.product])
    yield from player.reads()
    yield from player.picks(variant)
    player.makes("personalisation", "mix short- and long-term priorities")
    yield from player.buys()


# The shopper


class UnreliableShopper(ApprovingUser):
    """Answers the next question with these words, whatever was asked."""

    instead: SimulatorReply | None = None

    def reply(self, question: str) -> SimulatorReply:
        if self.instead is None:
            return super().reply(question)
        reply, self.instead = self.instead, None
        return reply


def meets_an_unreliable_shopper(player: Player) -> UnreliableShopper:
    shopper = UnreliableShopper(player.play.task, player.play.scenario)
    player.play.buyer = shopper
    return shopper


@mistake(*TALKS)
def shopper_wants_something_else_as_well(player: Player) -> Turns:
    shopper = meets_an_unreliable_shopper(player)
    value = player.choose(list_needless_values(player))
    yield from player.begins()
    yield from player.finds(player.target)
    yield from player.reads()
    player.makes("shopper", "adding extra intent")
    shopper.instead = SimulatorReply(f"Oh, and I would like {value} too.", "clarify")
    yield from player.ask("Is there anything else?")
    yield from player.stalls()


def list_needless_values(player: Player) -> list[str]:
    """What the target's page says that no need, and no word of the task, is about."""
    facts = {need["fact"] for need in player.needs}
    texts = [player.task["instruction"], player.task["simple_instruction"], player.task["category"]]
    texts += [text for need in player.needs for text in (need["value"], need["said"])]
    counts = ("rating", "shipping days", "review count")
    return [
        value
        for fact, value in sorted(player.target.facts.items())
        if fact not in facts and fact not in counts and read_quantity(value) is None
        if not any(has_words(text, value) or has_words(value, text) for text in texts)
        if not any(are_equal(value, other) for name, other in player.target.facts.items() if name in facts)
    ]


@mistake(*TALKS)
def shopper_names_another_value(player: Player) -> Turns:
    shopper = meets_an_unreliable_shopper(player)
    need = player.choose(each for each in player.stated if each["op"] == "is")
    player.left_out.add(need["fact"])
    yield from player.begins()
    yield from player.finds(player.target)
    seen = player.target.variants
    others = {each.facts.get(need["fact"]) for each in seen} - {None}
    wrong = player.choose(sorted(value for value in others if not player.is_like(value, need) and not value.isdigit()))
    player.makes("shopper", "distorting target intent")
    shopper.instead = SimulatorReply(f"{wrong}, please.", "clarify", tells=(need["fact"],), asked=(need["fact"],))
    yield from player.ask(f"What should it be like in terms of {need['fact']}?")
    yield from player.stalls()


@mistake(*TALKS)
def shopper_names_another_price(player: Player) -> Turns:
    shopper = meets_an_unreliable_shopper(player)
    need = player.choose(each for each in player.stated if each["fact"] == "price")
    player.left_out.add("price")
    yield from player.begins()
    wrong = round(float(need["value"]) * 2) + 7
    player.makes("shopper", "distorting target intent")
    shopper.instead = SimulatorReply(f"Up to ${wrong} is fine.", "clarify", tells=("price",), asked=("price",))
    yield from player.ask("What is your budget?")
    yield from player.finds(player.target)
    yield from player.stalls()


@mistake(*TALKS)
def shopper_has_a_budget_that_is_not_its_own(player: Player) -> Turns:
    shopper = meets_an_unreliable_shopper(player)
    if any(need["fact"] == "price" for need in player.needs):
        raise CannotMake
    yield from player.begins()
    player.makes("shopper", "adding extra intent")
    shopper.instead = SimulatorReply("It must not cost more than 1234 dollars.", "clarify")
    yield from player.ask("Is there anything else?")
    yield from player.finds(player.target)
    yield from player.stalls()


@mistake(*TALKS)
def shopper_does_not_answer(player: Player) -> Turns:
    shopper = meets_an_unreliable_shopper(player)
    need = player.leaves_out()
    yield from player.begins()
    player.makes("shopper", "silent on key goal")
    shopper.instead = SimulatorReply("Good question.", "clarify", asked=(need["fact"],))
    yield from player.ask(f"What should it be like in terms of {need['fact']}?")
    yield from player.finds(player.target)
    yield from player.stalls()
