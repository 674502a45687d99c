"""From facts to words: what each slot says as a meaning of the phrase bank, and the opening that the stated ones make."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from random import Random
from typing import NamedTuple

from shopwright.pipeline.catalog.fits import OTHER_NAMES
from shopwright.pipeline.phrases.speaker import (
    Speaker,
    append_sentence,
    drop_article,
    order_parts,
    phrase_contrast,
    spell_dollars,
)
from shopwright.pipeline.questions.product_nouns import singularize_title_word
from shopwright.pipeline.shop.mistype_words import add_typos
from shopwright.pipeline.shopping.trait_words import PARTS
from shopwright.schemas.certificates import Constraint
from shopwright.schemas.shop import Choice
from shopwright.schemas.tasks import Slot

# "900 W", "12 in", "0.5 L", "65%": a number with its unit, which says nothing without what it measures.
MEASURE = re.compile(
    r"[\d./,x-]+ ?(?:[a-zµ°\"%/.]{1,4}|[A-Z][A-Za-z]{0,2}|°[CF]|sq (?:ft|in|m)|fl oz|mAh|degrees?|cup)?"
)
COUNT = re.compile(r"\d[\d.,]* (?:[a-z-]+ )*[a-z-]{3,}s?")
MONTHS = "January February March April May June July August September October November December".split()
SIZES = re.compile(r"[XSML]{1,4}|\d?XL")
# Within which no sentence may end that a reader has to find the end of.
SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
UNFILLED = re.compile(r"[{}]|<[a-z_]+>|\bNone\b|\bUndefined\b|\[\]|[\ue000-\uf8ff]")


def make_slot(name: str, meaning: str, facts: Mapping[str, str], form: str, value: str = "") -> Slot:
    """A slot that has a meaning, and no words yet."""
    listed = [Choice(name=each, value=" ".join(text.split())) for each, text in facts.items()]
    return Slot.model_validate(
        {"name": name, "said": "", "known": "asked", "form": form, "meaning": meaning, "facts": listed, "value": value}
    )


def make_plain_slot(name: str, said: str, form: str = "plain") -> Slot:
    """A slot that is said as it is: a title, a question."""
    return Slot.model_validate({"name": name, "said": " ".join(said.split()), "known": "asked", "form": form})


# Meanings


def slot_of_constraint(constraint: Constraint, name: str = "", *, exact: bool = True) -> Slot:
    """What is wanted of a product. `exact`: something may cost just the limit, so that nobody says "under".

    >>> slot_of_constraint(Constraint(fact="price", op="at most", value="$40", number=4000)).meaning
    'price at most'
    """
    meaning, facts, value = mean_constraint(constraint, exact=exact)
    return make_slot(name or constraint.fact, meaning, facts, "trait", value)


def mean_constraint(constraint: Constraint, *, exact: bool) -> tuple[str, dict[str, str], str]:
    """The meaning, its facts, and the value by which one may ask for it."""
    fact, value, number = constraint.fact.partition(" (")[0], constraint.value, constraint.number or 0
    if fact == "price":
        return ("price at most" if exact else "price under"), spell_dollars(round(number)), f"{value}"
    if fact == "rating" and constraint.op != "is":
        return "rating at least", {"least": value}, value
    if fact == "shipping days":
        days = round(number)
        return "shipping at most", {"days": f"{days} day{'' if days == 1 else 's'}"}, f"{days}"
    if constraint.op == "fits":
        return mean_fit(fact, value)
    if constraint.op != "is":
        counted = " counted" if COUNT.fullmatch(value) and not MEASURE.fullmatch(value) else ""
        return (
            constraint.op + counted,
            {"fact": fact, "value": value, "be": "are" if fact.endswith("s") else "is"},
            value,
        )
    return mean_value(fact, value)


def mean_fit(kind: str, value: str) -> tuple[str, dict[str, str], str]:
    said = phrase_fit(kind, value)
    if kind in ("device", "vehicle"):
        return "fits", {"value": said}, said
    if kind == "screen":
        return "fits screen", {"value": said}, said
    if kind == "year":
        return ("fits years" if " to " in said else "fits year"), {"value": said}, said
    return "fits other", {"kind": kind, "value": said}, said


def phrase_fit(kind: str, value: str) -> str:
    """
    >>> phrase_fit("device", "iphone 7 and iphone 8"), phrase_fit("screen", "0-17.3"), phrase_fit("year", "1995-1997")
    ('iphone 7 and iphone 8', 'up to 17.3 in', '1995 to 1997')
    """
    if kind == "screen":
        return phrase_screen_sizes(value)
    if kind == "year":
        first, _, last = value.partition("-")
        return first if first == last else f"{first} to {last}"
    return value.replace(" and ", " or ") if kind in OTHER_NAMES else value  # names of one thing: any of them will do


def phrase_screen_sizes(value: str) -> str:
    """
    >>> phrase_screen_sizes("32-55"), phrase_screen_sizes("15-15"), phrase_screen_sizes("0-17.3")
    ('32 to 55 in', '15 in', 'up to 17.3 in')
    """
    low, _, high = value.partition("-")
    return f"up to {high} in" if low == "0" else f"{high} in" if low == high else f"{low} to {high} in"


def mean_value(fact: str, value: str) -> tuple[str, dict[str, str], str]:
    """
    >>> mean_value("carafe", "thermal carafe")[:2]
    ('value named', {'fact': 'carafe', 'value': 'thermal carafe', 'be': 'is', 'a value': 'a thermal carafe'})
    >>> mean_value("power", "900 W")[0], mean_value("presets", "6 presets")[0], mean_value("motif", "harbor at dawn")[0]
    ('value measured', 'value counted', 'value other')
    >>> mean_value("ply", "3 ply")[0], mean_value("case", "bamboo box")[1]["a value"]
    ('value counted', 'a bamboo box')
    """
    facts = {"fact": fact, "value": value, "be": "are" if fact.endswith("s") else "is"}
    words = value.lower().split()
    named, counted = words[-1] == fact.split()[-1] and len(words) > 1, words[0][0].isdigit()
    if (named or is_kind_of_part(words)) and not counted:
        single = not words[-1].endswith("s")
        article = "an" if words[0][0] in "aeio" else "a"
        return "value named", {**facts, "a value": f"{article} {value}" if single else value}, value
    odd_size = fact == "size" and not (SIZES.fullmatch(value) or MEASURE.fullmatch(value))
    several = fact.startswith(("pack", "piece")) and words[-1].endswith("s")  # "a 3 pack", but no "a 6 pairs"
    if Speaker().knows(f"value {fact}") and not (odd_size or several):
        return f"value {fact}", facts, value
    if MEASURE.fullmatch(value) and not named:  # "3 ply" says of itself what it is
        return "value measured", facts, value
    return ("value counted" if named or COUNT.fullmatch(value) else "value other"), facts, value


def is_kind_of_part(words: Sequence[str]) -> bool:
    """Whether a value is a part that a thing has, whatever its fact is called: nobody says that the case is a bamboo box.

    >>> is_kind_of_part(["bamboo", "box"]), is_kind_of_part(["goose", "down"])
    (True, False)
    """
    return len(words) > 1 and bool({words[-1], words[-1].removesuffix("s")} & PARTS)


def name_thing(category: str, speaker: Speaker) -> str:
    """A category in everyday words, with an article: the bank's name, else the category's own in the singular."""
    meaning = f"thing {category}"
    if speaker.knows(meaning):  # by one name throughout, else it would be taken for two things
        return speaker.phrase(meaning, {}, Random(f"{speaker.key}/{category}"))
    return name_any_thing(category)


def name_any_thing(category: str) -> str:
    """
    >>> name_any_thing("Desk Lamps"), name_any_thing("Covers & Skins"), name_any_thing("inkjet printer ink")
    ('a desk lamp', 'something from Covers & Skins', 'something from inkjet printer ink')
    """
    words = category.split()
    last = singularize_title_word(words[-1].lower()) if words else ""
    plain = all(re.fullmatch(r"[A-Za-z-]+", word) for word in words) and last != (words or [""])[-1].lower()
    if not plain:
        return f"something from {category}"
    thing = " ".join([*(word if word.isupper() else word.lower() for word in words[:-1]), last])
    return f"{'an' if thing[0].lower() in 'aeio' else 'a'} {thing}"


def name_things(facts: Mapping[str, str], speaker: Speaker) -> dict[str, str]:
    """The facts of a meaning, in which a category becomes a thing: with its article, and bare."""
    category = facts.get("category")
    if not category:
        return dict(facts)
    thing = name_thing(category, speaker)
    return {**facts, "thing": thing, "bare": drop_article(thing)}


def phrase_date(day: date, today: date) -> str:
    """
    >>> phrase_date(date(2024, 5, 14), date(2024, 6, 3)), phrase_date(date(2023, 12, 1), date(2024, 1, 3))
    ('May 14', 'December 1, 2023')
    """
    return f"{MONTHS[day.month - 1]} {day.day}" + (f", {day.year}" if day.year != today.year else "")


# Slots in words


def word_slots(slots: Iterable[Slot], speaker: Speaker, random: Random) -> list[Slot]:
    """The slots as this person says them; those without a meaning stay as they are."""
    return [word_slot(slot, speaker, random) for slot in slots]


def word_slot(slot: Slot, speaker: Speaker, random: Random) -> Slot:
    if not slot.meaning:
        return slot
    facts = {each.name: each.value for each in slot.facts}
    return slot.model_copy(update={"said": phrase_meaning(slot.meaning, facts, speaker, random)})


def phrase_meaning(meaning: str, facts: Mapping[str, str], speaker: Speaker, random: Random) -> str:
    """A meaning with its facts, of which some are put into words first: a category, a span of days, a wish, what is liked."""
    if meaning == "things":
        return speaker.list([name_thing(each, speaker) for each in facts.values()], random)
    if meaning == "choices":
        return speaker.list([phrase_value(*each, speaker, random) for each in facts.items()], random)
    known = word_facts(facts, speaker, random)
    return known["thing"] if meaning == "thing" else speaker.phrase(meaning, known, random)


def word_facts(facts: Mapping[str, str], speaker: Speaker, random: Random) -> dict[str, str]:
    """The facts of a meaning with all that can stand in its slots."""
    known = name_things(facts, speaker)
    if "day" in known:
        known["date"] = phrase_date(date.fromisoformat(known["day"]), date.fromisoformat(known["asked"]))
    if "span" in known:
        known["when"] = speaker.phrase(f"when {known['span']}", known, random)
    if "wish" in known:
        known["trait"] = speaker.phrase(known["wish"], known, random)
    if "likes" in known:
        liked = [speaker.phrase(f"likes {each}", known, random) for each in known["likes"].split()]
        known |= {"first": liked[0], "rest": ", then ".join(liked[1:])}
    return known


def phrase_value(fact: str, value: str, speaker: Speaker, random: Random) -> str:
    meaning, facts, _ = mean_value(fact, value)
    return speaker.phrase(meaning, facts, random)


def pick_stated(slots: Iterable[Slot]) -> dict[str, Slot]:
    """The slots that the opening states, by name."""
    return {slot.name: slot for slot in slots if slot.known == "stated"}


def list_said(slots: Iterable[Slot], speaker: Speaker, random: Random) -> str:
    """What some slots say, in an order of its own, as this person strings it together."""
    return speaker.list(order_parts([slot.said.rstrip(".") for slot in slots], random), random)


# The opening


class Opening(NamedTuple):
    """A meaning of the bank that begins a conversation, and what it is said with."""

    meaning: str
    facts: Mapping[str, str]
    """What its slots say; an empty one is said by nothing."""
    parts: Mapping[str, str] = {}
    """Meanings that slots are said by."""


def phrase_opening(
    opening: Opening,
    slots: Iterable[Slot],
    speaker: Speaker,
    *,
    noise: float,
    random: Random,
    greets: bool = True,
    avoid: Callable[[str], bool] | None = None,
) -> str:
    """The shopper's first words. All that is stated is said word for word, which is asserted: what the disclosure calls stated was said.

    `noise` is the chance of a letter to be mistyped; facts are typed as the opening has them. `avoid` says what no other word may become. A
    part of a longer opening neither greets nor ends.
    """
    silent = {} if greets else {"hi": "", "bye": ""}
    said = speaker.sentence(opening.meaning, opening.facts, random, parts={**opening.parts, **silent})
    text = said.fill(add_typos(said.text, noise=noise, random=random, avoid=avoid))
    for slot in pick_stated(slots).values():
        assert slot.said.rstrip(".").lower() in text.lower(), (
            f"the opening of {opening.meaning} does not say {slot.name!r} as {slot.said!r}: {text}"
        )
    return text


def word_contrast(contrast: Iterable[Slot], speaker: Speaker, random: Random) -> list[Slot]:
    """What is said of something that is not meant, without what a sentence would end in."""
    said = word_slots(contrast, speaker, random)
    return [each for each in said if not SENTENCE_END.search(each.said.rstrip("."))]


def add_contrast(opening: str, contrast: Sequence[Slot], speaker: Speaker, random: Random) -> str:
    """First words and then a sentence of something that is not meant: before them it would be unclear what "the other one" is, and they greet. Its facts are
    typed as they are.
    """
    if not contrast:
        return opening
    return append_sentence(opening, phrase_contrast([slot.said for slot in contrast], speaker, random))
