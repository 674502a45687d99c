"""A question in English: a template of its meaning from the phrase bank, with the tree's facts in its slots."""

from collections.abc import Mapping
from datetime import date
from random import Random
from typing import Any, NamedTuple

from shopwright.pipeline.phrases.bank import PhraseBank, Ref, Slot, tidy_sentence
from shopwright.pipeline.phrases.grammar import Template
from shopwright.pipeline.phrases.synonyms import load_synonyms
from shopwright.pipeline.prompts import name_ordinal
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.questions.nouns import is_plain_kind, name_kind
from shopwright.pipeline.questions.times import DAY, STYLES, WITH_YEAR, YEAR, Style, name_day, phrase_days
from shopwright.schemas.phrases import Use
from shopwright.schemas.questions import Split

# What each split may draw from.
USE_OF: Mapping[Split, Use] = {"sft": "train", "rl": "train", "test": "test", "test_wording": "test_wording"}
# How customers talk, and how often each of these is; who asks about a customer instead of being one says "the customer".
REGISTERS = {
    "plain": 0.15, "terse": 0.51, "chatty": 0.05, "polite": 0.05, "hurried": 0.12, "teenager": 0.05, "elderly": 0.03, "non-native": 0.04,
}  # fmt: skip
# Who takes no time for whole sentences.
BRIEF = ("terse", "hurried")
FIRST_PERSON = 0.75
# Share of the questions that begin with their time; before a request it would be a deadline.
TIME_FIRST = 0.2
# Ways to fill a template of which the shortest is taken, and templates and times: people type no more than they have to, and do not all ask alike.
COMPARED, TEMPLATES = 12, 3
ASKING = frozenset("how what which when on in of at did where".split())
# Share of the questions that say what wins a tie, or how to write the answer, where they need not.
SAYS_MORE = 0.1
NUMBERS = "zero one two three four five six seven eight nine ten".split()
COLUMN_NOUNS = {
    "brand": "brand", "product_types": "category", "color": "color", "day": "day", "weekday": "weekday", "hour": "hour",
    "product_name": "product", "asin": "product", "search_query": "search", "timestamp": "time",
}  # fmt: skip
PEOPLE = {
    "first": {"I": "I", "my": "my", "me": "me", "mine": "mine", "have": "have", "am": "am", "do": "do"},
    "third": {
        "I": "the customer", "my": "the customer's", "me": "the customer", "mine": "the customer's", "have": "has", "am": "is", "do": "does",
    },
}  # fmt: skip


class Voice(NamedTuple):
    """How somebody asks."""

    register: str
    person: str
    style: Style


class Phrased(NamedTuple):
    question: str
    templates: list[str]


def draw_voice(random: Random) -> Voice:
    dice, register = random.random(), "plain"
    for name, share in REGISTERS.items():
        dice -= share
        if dice < 0:
            register = name
            break
    person = "first" if random.random() < FIRST_PERSON else "third"
    return Voice(register, person, STYLES[int(random.random() * len(STYLES))])


def phrase_question(
    shape: str,
    tree: Any,
    asked_on: date,
    split: Split,
    random: Random,
    notes: tuple[str, ...],
    bank: PhraseBank,
) -> Phrased:
    """One way to ask. notes: what must be said beside the question: `tie` where several tie, `none` where that is the answer."""
    use, voice = USE_OF[split], draw_voice(random)
    slots = list_all_slots(tree, asked_on, random, voice)
    if isinstance(when := slots["when"], Ref):
        times = [bank.say(when.meaning, when.slots, random, use=use) for _ in range(TEMPLATES)]
        slots["when"] = min(times, key=lambda time: len(time.text.split()))
    meaning = name_meaning(shape, tree)
    template = draw_short_template(bank, meaning, use, voice.register, random)
    frame = load_synonyms().exchange(template.frame(random), random)
    ways = [bank.fill(template, frame, slots, random, use=use, register=voice.register) for _ in range(COMPARED)]
    text, templates = min(ways, key=lambda way: len(way.text.split()))
    first_word = text.partition(" ")[0].lower()
    timed = bool(slots["when"]) and any(each.startswith("time/") for each in templates)
    if timed and first_word in ASKING and random.random() < TIME_FIRST:
        time = bank.say("when", slots, random, use=use)
        bare = bank.fill(template, frame, {**slots, "when": ""}, random, use=use, register=voice.register)
        names = [each.brand for each in t.list_tree_picks(tree) if each.brand]
        rest = bare.text if bare.text.startswith(tuple(names)) else lower_first(bare.text)
        text = f"{raise_first(time.text)}, {rest}"
        templates = (*bare.templates, *time.templates)
    for note in dict.fromkeys([*list_possible_notes(shape, tree), *notes]):
        if note in notes or random.random() < SAYS_MORE:
            added = bank.say(f"note/{note}", slots, random, use=use, register=voice.register)
            text = f"{raise_first(text)} {raise_first(added.text)}"
            templates += added.templates
    return Phrased(tidy_sentence(raise_first(text)), list(dict.fromkeys(templates)))


def draw_short_template(bank: PhraseBank, meaning: str, use: Use, register: str, random: Random) -> Template:
    """The shortest of some templates; who is brief says terse ones, and plain ones that are as short."""
    known = bank.of(meaning, use, register)
    if register in BRIEF:
        terse = bank.of(meaning, use, "terse")
        longest = max(map(count_words, terse))
        plain = [each for each in bank.of(meaning, use) if count_words(each) <= longest]
        known = list(dict.fromkeys([*known, *terse, *plain]))
    return min((known[int(random.random() * len(known))] for _ in range(TEMPLATES)), key=count_words)


def count_words(template: Template) -> int:
    return len(template.pattern.split())


def list_all_slots(tree: Any, asked_on: date, random: Random, voice: Voice) -> dict[str, Slot]:
    """What a template may name: the person who asks about whom, and what the tree says."""
    return {**PEOPLE[voice.person], **list_question_slots(tree, asked_on, random, voice.style)}


def raise_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """With a small letter, but for the word I."""
    return text if text.startswith(("I ", "I'")) else text[:1].lower() + text[1:]


def name_meaning(shape: str, tree: Any) -> str:
    """The shape, with what else decides how it is asked.

    >>> name_meaning("repeat_brands", t.Often(of=t.Pick(), by="brand", n=2, counted=True))
    'repeat_brands/counted'
    """
    if getattr(tree, "counted", None) is not None:
        return f"{shape}/{'counted' if tree.counted else 'named'}"
    if shape == "top_category_by_spending" and tree.rank == 1:
        return f"{shape}/most"
    if shape in ("fullest_session", "spending_reached"):
        return f"{shape}/{tree.what}"
    if shape in ("last_products_clicked", "nth_purchase", "last_left_in_cart") and tree.n < 0:
        return f"{shape}/from the end"
    return shape


def list_question_slots(tree: Any, asked_on: date, random: Random, style: Style) -> dict[str, Slot]:
    """What a template of this tree may name; a slot that the tree says nothing for is empty."""
    picks = t.list_tree_picks(tree)
    pick = picks[0]
    days = next(((each.first_day, each.last_day) for each in picks if each.first_day or each.last_day), (None, None))
    border = find_border(picks) if isinstance(tree, t.Difference | t.Sets) else None
    if border is not None:
        days = (border, border)
    found: dict[str, Slot] = {
        "when": phrase_days(*days, asked_on, random, style),
        "things": refer_to_things(pick, random),
        "query": next((each.query for each in picks if each.query), ""),
        "word": pick.word or "",
    }
    found |= list_action_slots("", pick.action)
    if isinstance(tree, t.Journey):
        found |= list_action_slots("2", tree.since)
    elif len(picks) > 1:
        found |= list_action_slots("2", picks[1].action)
    if border is not None:
        with_year = random.random() < WITH_YEAR or asked_on - border > YEAR
        found["day"] = name_day(border, style, with_year=with_year)
    if isinstance(tree, t.Share):
        found["part"] = refer_to_things(tree.part, random)
        found["weekday"] = Ref(f"weekday/{tree.part.weekday}", {}) if tree.part.weekday else ""
    if isinstance(tree, t.Amid):
        found["things"] = refer_to_things(tree.of, random)
    if isinstance(tree, t.Whether):
        brands = [each.brand or "" for each in tree.picks]
        found["brands"] = "; ".join(brands)
    mentions = [each.product for each in picks if each.product is not None]
    for name, mention in zip(("product", "product2"), dict.fromkeys(mentions), strict=False):
        found[name] = refer_to_product(mention, random)
    return found | list_number_slots(tree, pick)


def find_border(picks: list[t.Pick]) -> date | None:
    """The day before which one pick ends and on which the other begins, if they share one."""
    for one, other in (picks[:2], picks[1::-1]):
        if one.last_day is not None and one.first_day is None and other.first_day == one.last_day + DAY:
            return other.first_day
    return None


def list_action_slots(suffix: str, action: str | None) -> dict[str, Slot]:
    """Verbs and nouns of an action: did, do, doing, done, click, clicks, acts, with the thing that they are done to."""
    names = ("did", "do", "doing", "done", "click", "clicks", "acts")
    return {f"{name}{suffix}": Ref(f"{name}/{action or 'action'}", {"x": ""}) for name in names}


def list_number_slots(tree: Any, pick: t.Pick) -> dict[str, Slot]:
    found: dict[str, Slot] = {}
    for name in ("n", "k"):
        number = getattr(tree, name, None)
        if isinstance(number, int):
            found[name] = NUMBERS[abs(number)] if abs(number) < len(NUMBERS) else str(abs(number))
            found["times"] = "twice" if number == 2 else f"{found[name]} times"
    order = getattr(tree, "rank", None) or getattr(tree, "n", None)
    if isinstance(order, int) and not isinstance(tree, t.Often | t.Listed | t.SumOf):
        found["nth"] = Ref(f"nth/{name_ordinal(order)}", {}) if order in (-1, -2) else name_ordinal(order)
    if (moment := getattr(tree, "moment", None)) is not None:
        found["nth"] = Ref("nth/last", {}) if moment.n == -1 else name_ordinal(moment.n)
    if (how := getattr(tree, "how", None)) is not None:
        found["how"] = Ref(f"how/{how}", {})
    for name, column in (("group", getattr(tree, "by", None)), ("group", getattr(tree, "what", None))):
        if column in COLUMN_NOUNS:
            found[name] = COLUMN_NOUNS[column]
            found[f"{name}s"] = COLUMN_NOUNS[column].replace("category", "categorie") + (
                "es" if column == "search_query" else "s"
            )
    if (amount := getattr(tree, "amount", None)) is not None:
        found["amount"] = f"${amount}"
    if pick.hours is not None:
        first, last = pick.hours
        found |= {"from": f"{first:02d}:00", "to": f"{last:02d}:00" if last < 24 else "midnight"}
    return found


def list_possible_notes(shape: str, tree: Any) -> list[str]:
    """What may be said beside a question of this kind."""
    notes = [tie] if (tie := name_tie_note(tree)) else []
    kind = type_of(tree)
    if kind == "duration":
        notes.append("format/duration")
    elif isinstance(tree, t.Share):
        notes.append("format/percent")
    elif isinstance(tree, t.Ratio):
        notes.append("format/ratio")
    elif kind == "date-time":
        notes.append("format/time")
    elif getattr(tree, "what", getattr(tree, "by", None)) == "product_name" and kind != "integer":
        notes.append("format/name")
    # A total of nothing is zero, and so may a share be: to offer none beside it would make two answers right.
    total = getattr(tree.of if isinstance(tree, t.Difference) else tree, "how", "") == "sum"
    if kind not in ("integer", "yes/no") and not isinstance(tree, t.Share) and not total:
        notes.append("none")
    return notes


def name_tie_note(tree: Any) -> str:
    """How it is said which of several equals is meant; nothing where the tree chooses none."""
    if isinstance(tree, t.Top):
        return "tie/ranked" if tree.k > 1 or tree.rank > 1 else "tie/top"
    if isinstance(tree, t.Extreme) or (isinstance(tree, t.Journey) and tree.what == "product_name"):
        return "tie/first"
    return "tie/earliest" if isinstance(tree, t.Pause | t.Sessions) and tree.what == "start" else ""


def refer_to_things(pick: t.Pick, random: Random) -> "Ref":
    """Products by what is said of them: "red running shoes by Nike between $20 and $40"."""
    said: dict[str, str | Ref] = {}
    if pick.brand is not None:
        said["brand"] = pick.brand
    if pick.color is not None:
        said["color"] = pick.color.lower()
    titled = pick.category is not None and not is_plain_kind(pick.category)
    if pick.category is not None:
        said["kind"], said["kinds"] = name_kind(pick.category, random)
        said["category"] = f'"{pick.category}"'
    if pick.at_least is not None:
        said |= {"low": f"${pick.at_least}", "high": f"${pick.at_most}"}
    names = [name for name in ("brand", "category", "color", "low") if name in said]
    meaning = f"things/{' '.join(names) or 'any'}".replace("low", "price")
    return Ref(f"{meaning} as titled" if titled else meaning, said)


def refer_to_product(mention: t.Mention, random: Random) -> "Ref":
    """One product: what it is, whose, in which color, and what else tells it apart."""
    parts = list(mention.parts)
    kind = name_kind(mention.category, random)[0] if mention.category is not None else parts.pop(0)
    said = {
        "brand": mention.brand or "",
        "color": (mention.color or "").lower(),
        "kind": kind,
        "details": ", ".join(parts),
    }
    names = [name for name in ("brand", "color", "details") if said[name]]
    return Ref(f"product/{' '.join(names) or 'kind'}", said)
