"""What went wrong in an episode that failed: the errors of ShopSimulator's table (arXiv 2601.18225, appendix A), by rule.

The paper has a model name them; here each is a rule over what was done, what was known by then and what the shop holds, so the
same episode is always labelled the same. A rule sees words and facts, not reasons: what is wrong in another way is no error
here, and the table's four "others" are never given. An error is given once, at the step that shows it first.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

from shopwright.pipeline.rewards.shopsimulator import split_han_pairs
from shopwright.pipeline.shop.store import Option
from shopwright.pipeline.shopping.facts import (
    ProductVariant,
    find_variant_fact,
    is_need_met,
    is_same_value,
    normalize_attribute_name,
    parse_measurement,
)
from shopwright.pipeline.words import content_words, split_words
from shopwright.schemas.shop import Choice
from shopwright.schemas.shopping import ErrorLabel, Match, Need, Profile, Scenario, ShoppingTask, Step

# Two searches are the same when they share so much of their words.
SAME_QUERY_SIMILARITY = 0.8
# To look around with; a later one has to use what is known.
FIRST_SEARCHES = 2
# How the fault of a click on what is not there begins.
NO_BUTTON = "There is no button"
ACTION = re.compile(r"\s*(search|click|ask)\s*\[(.*)\]\s*", re.DOTALL | re.IGNORECASE)
# Facts that the page of a product shows beside its title and options.
STARS = ("rating", "review count")
# An amount of money, and any number.
AMOUNT = re.compile(r"\$\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*(?:dollars|bucks|[元块])", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
# An answer that denies something, in the two languages of the tasks.
NO = re.compile(r"\b(?:no|not|nor|never|without|\w+n['’]t)\b|[不没别]", re.IGNORECASE)
Area = Literal["search", "click", "buy", "ask", "personalisation", "shopper"]
# The variants of a product, by its id (`shopwright.pipeline.shopping.score.list_product_variants`).
VariantLookup = Callable[[str], Sequence[ProductVariant]]


@dataclass(frozen=True)
class StepEffect:
    """What a step led to, in the shop's own terms, which the page's words do not tell without a doubt."""

    shown: tuple[str, ...] = ()
    """Ids of the products listed, where the step led to a page of results."""
    product: str = ""
    """Id of the product whose page is open after the step, or whose description, features or reviews are."""
    details: bool = False
    """It is one of those three."""
    chosen: tuple[Choice, ...] = ()
    """Option values that are selected there."""
    asked: tuple[str, ...] = ()
    """Facts that an `ask` was about, in the words of `Need.fact`."""
    told: tuple[str, ...] = ()
    """Facts of the needs that the shopper told in answer, those it had told before as well."""
    verdict: str = ""
    """What the shopper said to buying, where the agent proposed it: `agreed` or `refused`."""
    rejected: tuple[str, ...] = ()
    """What the shopper turned down in as many words: ids of products and values of options, as they are clicked."""
    farewell: bool = False
    """The shopper said goodbye."""


@dataclass(frozen=True)
class EpisodeTrace:
    """An episode as the rules look at it."""

    task: ShoppingTask
    scenario: Scenario
    steps: Sequence[Step]
    seen: Sequence[StepEffect]
    """One for each step."""
    match: Match
    look: VariantLookup
    bought: ProductVariant | None
    """By the last step, if at all."""
    profile: Profile | None = None

    @property
    def is_multi(self) -> bool:
        return self.scenario.startswith("multi")

    @property
    def is_personal(self) -> bool:
        return self.scenario.endswith("personal")

    @property
    def last(self) -> int:
        return len(self.steps) - 1

    @cached_property
    def gold(self) -> Sequence[ProductVariant]:
        return self.look(self.task.product_id)

    @cached_property
    def facts(self) -> dict[str, set[tuple[str, str]]]:
        """Facts and their values, of every product listed or opened."""
        found = {}
        for product in list_seen_products(self.seen):
            values = map(list_variant_values, self.look(product))
            found[product] = set(chain.from_iterable(values))
        return found

    def does(self, kind: str) -> Iterator[tuple[int, str]]:
        """The steps that search, click or ask, and what for."""
        for place, step in enumerate(self.steps):
            found = ACTION.fullmatch(step.action)
            if found and found[1].lower() == kind:
                yield place, found[2].strip()

    def works(self, kind: str) -> Iterator[tuple[int, str]]:
        """Those that did something."""
        return ((place, what) for place, what in self.does(kind) if not self.steps[place].fault)

    def told(self, before: int) -> set[str]:
        """The facts that the shopper has told before a step."""
        return set(chain.from_iterable(seen.told for seen in self.seen[:before]))

    def known(self, before: int) -> list[Need]:
        """The needs that the agent could know before a step: stated at once or told by then, or in the profile."""
        told = self.told(before)
        return [need for need in self.task.needs if self.is_given(need) or need.fact in told]

    def is_given(self, need: Need) -> bool:
        """Whether the agent has it from the start."""
        if need.known == "profile":
            return self.is_personal
        return not self.is_multi or need.fact in self.task.opening_facts

    def open_before(self, place: int) -> StepEffect:
        return self.seen[place - 1] if place else StepEffect()

    def opened(self) -> Iterator[tuple[int, str]]:
        """The steps that opened a product's page from elsewhere, and its id."""
        for place, seen in enumerate(self.seen):
            if seen.product and seen.product != self.open_before(place).product:
                yield place, seen.product

    def picked(self) -> Iterator[tuple[int, str, Choice]]:
        """The steps that chose an option value, the product and the choice."""
        for place, seen in enumerate(self.seen):
            before = self.open_before(place)
            for choice in seen.chosen:
                if seen.product == before.product and choice not in before.chosen:
                    yield place, seen.product, choice


def label_errors(
    task: ShoppingTask,
    scenario: Scenario,
    steps: Sequence[Step],
    match: Match,
    seen: Sequence[StepEffect],
    *,
    look: VariantLookup,
    bought: ProductVariant | None,
    profile: Profile | None = None,
) -> list[ErrorLabel]:
    """The errors of a failed episode in the order of the table, each with the place in `steps` that shows it first.

    None for a success. `match` is the typed one; `profile` the one that the agent had.
    Raises ValueError where steps and what they led to are not equally many.
    """
    if len(steps) != len(seen):
        raise ValueError(f"{len(steps)} steps, but {len(seen)} of what they led to. Give one for each.")
    if match.success or not steps:
        return []
    episode = EpisodeTrace(task, scenario, steps, seen, match, look, bought, profile)
    found = [(area, name, next(rule(episode), None)) for (area, name), rule in ERRORS.items()]
    return [ErrorLabel(area=area, name=name, step=place) for area, name, place in found if place is not None]


# Words.


def split_into_words(text: str) -> list[str]:
    """Its words; of Chinese ones, pairs of characters.

    >>> split_into_words("Glass carafe, 玻璃壶")
    ['glass', 'carafe', '玻璃', '壶']
    """
    return list(chain.from_iterable(map(split_han_pairs, split_words(text))))


def mentions_need(text: str, need: Need) -> bool:
    """Whether it has any word of a need, as the catalog writes it or as the shopper says it."""
    own = " ".join(content_words(f"{need.value} {need.said}"))
    return bool(set(split_into_words(text)) & set(split_into_words(own or need.value)))


def contains_value(text: str, value: str) -> bool:
    """Whether a value is in a text, word by word.

    >>> contains_value("Norrvik kettle, 10 cups", "10 cup"), contains_value("Norrvik kettle, 10 in, 4 cups", "10 cup"), contains_value("+", "+")
    (True, False, False)
    """
    wanted = split_into_words(value)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(split_into_words(text))} "


# Search.


def ignored_key_attribute(episode: EpisodeTrace) -> Iterator[int]:
    """A search, other than the first two, without a word of any attribute or option known by then, while no product listed so far
    has all of them."""
    for place, query in list(episode.works("search"))[FIRST_SEARCHES:]:
        known = [need for need in episode.known(place) if need.kind != "price"]
        if (
            known
            and not any(mentions_need(query, need) for need in known)
            and not has_listed_match(episode, place, known)
        ):
            yield place


def has_listed_match(episode: EpisodeTrace, before: int, needs: Sequence[Need]) -> bool:
    listed = chain.from_iterable(seen.shown for seen in episode.seen[:before])
    return any(has_fitting_variant(episode, each, needs) for each in listed)


def has_fitting_variant(episode: EpisodeTrace, product_id: str, needs: Sequence[Need]) -> bool:
    """Whether a product is of the right kind and some variant of it, in stock, meets all these needs."""
    return any(
        thing.item.category == episode.task.category and meets_needs(thing, needs)
        for thing in episode.look(product_id)
        if thing.option is None or thing.option.stock > 0
    )


def meets_needs(thing: ProductVariant, needs: Sequence[Need]) -> bool:
    return all(is_need_met(need, thing.item, thing.option) for need in needs)


def abandoned_high_match_result(episode: EpisodeTrace) -> Iterator[int]:
    """A search after results that listed the right product, or one with all required attributes, which was never opened."""
    attributes = [need for need in episode.task.needs if need.kind == "attribute"]
    right = list_right_products(episode.task)
    searches = [place for place, _ in episode.works("search")]
    for earlier, later in pairwise(searches):
        opened = {product for place, product in episode.opened() if place < later}
        listed = set(chain.from_iterable(seen.shown for seen in episode.seen[earlier:later])) - opened
        if right & listed or (attributes and any(has_fitting_variant(episode, each, attributes) for each in listed)):
            yield later


def list_right_products(task: ShoppingTask) -> set[str]:
    """Those of its certificate, of which there are several where few words fit several products."""
    ends = json.loads(task.acceptable or "{}").get("ends", ())
    return {task.product_id, *(each["product_id"] for end in ends for each in end["bought"])}


def repeated_similar_query(episode: EpisodeTrace) -> Iterator[int]:
    """A search with nearly the words of an earlier one, while the shopper told nothing new in between."""
    searches = list(episode.works("search"))
    for number, (place, query) in enumerate(searches):
        for earlier, other in searches[:number]:
            if (
                episode.told(earlier) == episode.told(place)
                and measure_query_similarity(query, other) >= SAME_QUERY_SIMILARITY
            ):
                yield place


def measure_query_similarity(one: str, other: str) -> float:
    """Share of the words of two texts that are in both.

    >>> measure_query_similarity("red glass kettle", "Glass kettle red"), measure_query_similarity("red kettle", "blue kettle"), measure_query_similarity("", "")
    (1.0, 0.3333333333333333, 1.0)
    """
    some, others = set(split_into_words(one)), set(split_into_words(other))
    return len(some & others) / len(some | others) if some | others else 1.0


# Click.


def violated_hard_requirement(episode: EpisodeTrace) -> Iterator[int]:
    """A product was opened that is of another kind or above the known limit in every variant; or an option value was chosen that
    is not the one known to be needed."""
    wrong = [place for place, product in episode.opened() if is_ruled_out(episode, place, product)]
    wrong += [place for place, product, choice in episode.picked() if is_wrong_choice(episode, place, product, choice)]
    yield from sorted(wrong)


def is_ruled_out(episode: EpisodeTrace, place: int, product: str) -> bool:
    limits = [need for need in episode.known(place) if need.kind == "price"]
    things = episode.look(product)
    return bool(things) and not any(
        thing.item.category == episode.task.category and meets_needs(thing, limits) for thing in things
    )


def is_wrong_choice(episode: EpisodeTrace, place: int, product: str, choice: Choice) -> bool:
    needs = [need for need in episode.known(place) if need.fact == normalize_attribute_name(choice.name)]
    return any(not meets_needs(choose_only(thing, choice), needs) for thing in episode.look(product)[:1])


def choose_only(thing: ProductVariant, choice: Choice) -> ProductVariant:
    """A product with just this chosen."""
    return ProductVariant(thing.item, Option("", thing.item.id, (choice,), thing.cents, stock=1, is_title=False))


def unconfirmed_key_attribute(episode: EpisodeTrace) -> Iterator[int]:
    """An option of a product was chosen, or it was bought, while what it has of an attribute known to be needed is not on its page
    and its description, features and reviews had not been opened."""
    chosen = [(place, product) for place, product, _ in episode.picked()]
    if episode.bought:
        chosen.append((episode.last, episode.bought.item.id))
    for place, product in chosen:
        needs = [need for need in episode.known(place) if need.kind == "attribute"]
        hidden = any(not is_on_page(episode.look(product), need) for need in needs)
        if hidden and not is_confirmed(episode, place, product):
            yield place


def is_on_page(things: Sequence[ProductVariant], need: Need) -> bool:
    """Whether a product's page shows what is needed, or what the product has instead: its title, its options or its stars do.

    True where there is no such product.
    """
    if not things or need.fact in STARS:
        return True
    item = things[0].item  # the variants of a product share it
    values = (need.value, find_variant_fact(need.fact, item, None))
    names = {normalize_attribute_name(each.name) for thing in things for each in thing.choices}
    return need.fact in names or any(value and contains_value(item.title, value) for value in values)


def is_confirmed(episode: EpisodeTrace, before: int, product: str) -> bool:
    """Whether its description, features or reviews were opened by then."""
    return any(seen.details and seen.product == product for seen in episode.seen[:before])


def nonexistent_button(episode: EpisodeTrace) -> Iterator[int]:
    """A click on what is not on the page."""
    return (place for place, _ in episode.does("click") if episode.steps[place].fault.startswith(NO_BUTTON))


def retried_rejected_attribute(episode: EpisodeTrace) -> Iterator[int]:
    """A click on a product or an option value that the shopper had turned down.

    Asked whether a value will do, a shopper that tells another one has turned it down.
    """
    rejected: set[str] = set()
    for place, (step, seen) in enumerate(zip(episode.steps, episode.seen, strict=True)):
        found = ACTION.fullmatch(step.action)
        if found and found[1].lower() == "click" and found[2].strip().lower() in rejected:
            yield place
        if found and found[1].lower() == "ask":
            rejected |= {*(each.lower() for each in seen.rejected), *list_corrected_values(episode, place, found[2])}


def list_corrected_values(episode: EpisodeTrace, place: int, question: str) -> set[str]:
    """The values in a question which are not those that the shopper then told."""
    needs = [need for need in episode.task.needs if need.op == "is" and need.fact in episode.seen[place].told]
    corrected = set()
    for fact, value in list_visible_values(episode, place):
        if contains_value(question, value) and any(is_wrong_guess(fact, value, need) for need in needs):
            corrected.add(value)
    return corrected


def is_wrong_guess(fact: str, value: str, need: Need) -> bool:
    return need.fact == fact and not contains_value(need.value, value) and not is_same_value(value, need.value)


# Buy.


def no_detail_confirmation(episode: EpisodeTrace) -> Iterator[int]:
    """Bought without having opened the product's description, features or reviews, or without having asked for what was not told."""
    if episode.bought and (
        not is_confirmed(episode, episode.last, episode.bought.item.id) or list_unasked_needs(episode)
    ):
        yield episode.last


def list_unasked_needs(episode: EpisodeTrace) -> list[Need]:
    """Needs of a conversation that the shopper never told and was never asked for."""
    asked = set(chain.from_iterable(seen.asked for seen in episode.seen))
    known = episode.known(len(episode.seen))
    return [n for n in episode.task.needs if n.known == "stated" and n not in known and n.fact not in asked]


def purchase_after_rejection(episode: EpisodeTrace) -> Iterator[int]:
    """Bought although the shopper's last verdict was a refusal, and since then it told nothing new and nothing else was chosen."""
    verdicts = [place for place, seen in enumerate(episode.seen) if seen.verdict]
    if not episode.bought or not verdicts or episode.seen[verdicts[-1]].verdict == "agreed":
        return
    refused, now = episode.seen[verdicts[-1]], episode.open_before(episode.last)
    nothing_new = episode.told(verdicts[-1] + 1) == episode.told(episode.last)
    if nothing_new and (refused.product, set(refused.chosen)) == (now.product, set(now.chosen)):
        yield episode.last


# Ask.


def did_not_ask(episode: EpisodeTrace) -> Iterator[int]:
    """Bought, or came to an end, while the shopper had not told something that is needed and had not been asked for it."""
    if list_unasked_needs(episode):
        yield episode.last


def over_confirmed_known_info(episode: EpisodeTrace) -> Iterator[int]:
    """Asked only about what was known already; proposing to buy is not asking about it."""
    for place, _ in episode.works("ask"):
        asked, known = episode.seen[place].asked, {need.fact for need in episode.known(place)}
        if asked and set(asked) <= known and not episode.seen[place].verdict:
            yield place


def asked_after_farewell(episode: EpisodeTrace) -> Iterator[int]:
    """Asked although the shopper had said goodbye."""
    goodbye = next((place for place, seen in enumerate(episode.seen) if seen.farewell), len(episode.seen))
    return (place for place, _ in episode.does("ask") if place > goodbye)


# Personalisation.


def ignored_personal_info(episode: EpisodeTrace) -> Iterator[int]:
    """What was bought does not meet a need that is in the profile."""
    if episode.is_personal and episode.bought and not meets_needs(episode.bought, filter_needs(episode, "profile")):
        yield episode.last


def filter_needs(episode: EpisodeTrace, known: Literal["stated", "profile"]) -> list[Need]:
    return [need for need in episode.task.needs if need.known == known]


def over_interpreted_personal_info(episode: EpisodeTrace) -> Iterator[int]:
    """A search names something that the profile says is liked, which the task does not need and the right product has not."""
    if not episode.is_personal or not episode.profile:
        return
    needless = [value for value in list_liked_values(episode.profile) if not is_value_needed(episode, value)]
    for place, query in episode.works("search"):
        if any(contains_value(query, value) for value in needless):
            yield place


def list_liked_values(profile: Profile) -> list[str]:
    """Brands, colors, materials, styles, functions and sizes, bare numbers aside; a category is the task's own."""
    interests = profile.interests
    lists = (interests.brands, interests.colors, interests.materials, interests.styles, interests.functions)
    names = [each.name for each in chain.from_iterable(lists)]
    names += [size.value.rpartition(": ")[2] for size in interests.sizes]
    return [name for name in names if not is_bare_number(name)]


def is_value_needed(episode: EpisodeTrace, value: str) -> bool:
    """Whether a value is in the task's words, or the right product has it."""
    texts = list_task_texts(episode.task)
    for thing in episode.gold:
        texts.append(thing.item.title)
        texts += [text for _, text in list_variant_values(thing)]
    return any(contains_value(text, value) for text in texts)


def list_task_texts(task: ShoppingTask) -> list[str]:
    needs = chain.from_iterable((need.value, need.said) for need in task.needs)
    return [task.category, task.instruction, task.simple_instruction, *needs]


def mixed_priorities(episode: EpisodeTrace) -> Iterator[int]:
    """What was bought is all that the profile says, but not what was stated."""
    usual = filter_needs(episode, "profile")
    if not episode.is_personal or not episode.bought or not usual or not meets_needs(episode.bought, usual):
        return
    if not episode.match.type or not meets_needs(episode.bought, filter_needs(episode, "stated")):
        yield episode.last


# The shopper, which a script never gets wrong.


def added_extra_intent(episode: EpisodeTrace) -> Iterator[int]:
    """The shopper named a value of something that the task says nothing about."""
    needed = {need.fact for need in episode.task.needs}
    return (place for place, found in find_shopper_claims(episode) if found - needed)


def distorted_target_intent(episode: EpisodeTrace) -> Iterator[int]:
    """The shopper named another value of something than the one that is needed."""
    needed = {need.fact for need in episode.task.needs}
    return (place for place, found in find_shopper_claims(episode) if found & needed)


def find_shopper_claims(episode: EpisodeTrace) -> Iterator[tuple[int, set[str]]]:
    """The answers of the shopper, and the facts that they name a value of which the task has not: as products seen by then write it,
    or as an amount of money.

    Where an answer says no to something, the values that the question offered are not its own. Of facts with the same value
    those that are needed are meant.
    """
    needed = {need.fact for need in episode.task.needs}
    for place, question in episode.works("ask"):
        answer = episode.steps[place].observation
        own = [*list_task_texts(episode.task), *([question] if NO.search(answer) else [])]
        found = list_visible_values(episode, place)
        found = {(fact, value) for fact, value in found if contains_value(answer, value)}
        for text in own:
            found = {(fact, value) for fact, value in found if not contains_value(text, value)}
        meant = {value for fact, value in found if fact in needed}
        facts = {fact for fact, value in found if fact in needed or value not in meant}
        yield place, facts | ({"price"} if names_other_amount(answer, own) else set())


def names_other_amount(answer: str, own: Iterable[str]) -> bool:
    """Whether an answer has an amount of money that is no number of these texts.

    >>> names_other_amount("up to 50 dollars", ["under $40"]), names_other_amount("below $1,400", ["1400.00"])
    (True, False)
    """
    numbers = {float(each) for text in own for each in NUMBER.findall(THOUSANDS.sub("", text))}
    amounts = AMOUNT.findall(THOUSANDS.sub("", answer))
    return any(float(before or after) not in numbers for before, after in amounts)


def list_seen_products(pages: Iterable[StepEffect]) -> set[str]:
    """The products that these pages list or show."""
    shown = chain.from_iterable((*page.shown, page.product) for page in pages)
    return {product for product in shown if product}


def list_visible_values(episode: EpisodeTrace, before: int) -> set[tuple[str, str]]:
    """Facts and the values that products listed or opened by then have of them."""
    products = list_seen_products(episode.seen[:before])
    return set(chain.from_iterable(episode.facts[product] for product in products))


def list_variant_values(thing: ProductVariant) -> Iterator[tuple[str, str]]:
    """Facts and their values in lower case; bare numbers are none, for they can be of anything."""
    named = [("brand", thing.item.brand or ""), ("color", thing.item.color or "")]
    named += [(each.name, each.value) for each in thing.item.attributes]
    named += [(each.name, each.value) for each in thing.choices]
    return (
        (normalize_attribute_name(name), value.lower()) for name, value in named if value and not is_bare_number(value)
    )


def is_bare_number(value: str) -> bool:
    """
    >>> is_bare_number("9"), is_bare_number("9 in"), is_bare_number("wide")
    (True, False, False)
    """
    found = parse_measurement(value)
    return found is not None and not found[1]


def silent_on_key_goal(episode: EpisodeTrace) -> Iterator[int]:
    """Asked about something that is needed and was not told yet, the shopper did not tell it."""
    for place, _ in episode.works("ask"):
        known = episode.known(place + 1)
        silent = [n for n in filter_needs(episode, "stated") if n not in known and n.fact in episode.seen[place].asked]
        if silent:
            yield place


# The table's names, in its order, and the rule of each: the steps that show it.
ERRORS: dict[tuple[Area, str], Callable[[EpisodeTrace], Iterator[int]]] = {
    ("search", "ignored key attribute"): ignored_key_attribute,
    ("search", "abandoned high-match result"): abandoned_high_match_result,
    ("search", "repeated similar query"): repeated_similar_query,
    ("click", "violated hard requirement"): violated_hard_requirement,
    ("click", "unconfirmed key attribute"): unconfirmed_key_attribute,
    ("click", "nonexistent button"): nonexistent_button,
    ("click", "retried rejected attribute"): retried_rejected_attribute,
    ("buy", "no detail confirmation"): no_detail_confirmation,
    ("buy", "purchase after rejection"): purchase_after_rejection,
    ("ask", "do not ask when info missing"): did_not_ask,
    ("ask", "over-confirmed known info"): over_confirmed_known_info,
    ("ask", "asked after farewell"): asked_after_farewell,
    ("personalisation", "ignore personal info"): ignored_personal_info,
    ("personalisation", "overinterpret personal info"): over_interpreted_personal_info,
    ("personalisation", "mix short- and long-term priorities"): mixed_priorities,
    ("shopper", "adding extra intent"): added_extra_intent,
    ("shopper", "distorting target intent"): distorted_target_intent,
    ("shopper", "silent on key goal"): silent_on_key_goal,
}
