"""What an opening, or an answer, says is what its slots hold: read back by a reader that shares nothing with the writer."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from shopwright.pipeline.catalog.fits import READERS
from shopwright.pipeline.checks.policy_texts import read_topic
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.phrases.speaker import draw_speaker
from shopwright.pipeline.reading.wishes import AMOUNTS, MONTHS, TENS, ShopVocabulary, Wish, read_wishes
from shopwright.pipeline.shop.policy_families import load_policy_facts
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.shop import Product
from shopwright.schemas.tasks import Slot, Task

CATALOG = Path(__file__).parents[2] / "data" / "reference" / "catalog"
# Of these files the reader takes no phrase, but which words are words.
SAID = Path(__file__).parents[2] / "data" / "reference" / "phrases" / "envs"
TYPED_WORD = re.compile(r"[\w$](?:[\w$.,'’/%-]*\w)?")
# Words of facts that no file has.
WORDS_OF_CODE = (*MONTHS, *TENS)
# What a product may be made for, but for screens, whose sizes are read as other sizes are.
FITS = frozenset(["device", *(kind for kind, _ in READERS)]) - {"screen"}
# How a used thing is called by its category, "Pre-Owned Wool Coats", and by people.
USED = ("Used", "Refurbished", "Vintage", "Pre-Owned")
# Kinds of wishes about money; a price that is a clue may be read as any of them.
MONEY = ("price", "price at most")


def make_shop(catalog: Dataset[Product]) -> ShopVocabulary:
    """What the words may be about, by the run's own shop."""
    return make_vocabulary(load_world_beside(catalog).store)


def make_vocabulary(store: Store) -> ShopVocabulary:
    @cache
    def values_of(leaf: str) -> Mapping[str, Sequence[str]]:
        place = store.place_of_leaf.get(leaf)
        if place is None:
            return {}
        shelf = store.shelf(place)
        found = {fact: list(filter(None, values)) for fact, values in shelf.values.items()}
        for fits in shelf.fits:
            for kind, made_for in fits.items():
                said = chain.from_iterable(spell_fit(kind, value) for value in sorted(made_for))
                found.setdefault(kind, []).extend(said)
        found |= {fact: [] for fact in shelf.numbers if fact not in found}
        return {fact: list(dict.fromkeys(values)) for fact, values in found.items()}

    titles = [" ".join(str(title).lower().split()) for title in store.titles.to_pylist()]
    categories = [store.leaves[leaf] for leaf in store.leaf_of.tolist()]
    brands = sorted({brand for brand in store.brands.to_pylist() if brand})
    return ShopVocabulary(
        things={leaf: list_nouns(leaf) for leaf in store.leaves},
        values=values_of,
        titles=dict(zip(titles, categories, strict=True)),
        brands=brands,
        groups=sorted({*store.groups, *load_policy_facts()["group"].values} - {""}),
        sellers=store.seller_names,
        fits=FITS,
        words=frozenset(list_right_words(store)),
    )


def list_right_words(store: Store) -> Iterator[str]:
    """All words that are rightly spelt in this shop: of its products, and of what its customers say in any case."""
    texts = chain(SAID.glob("*.txt"), [SAID.parents[1] / "slang.txt"])
    said = [file.read_text(encoding="utf-8") for file in sorted(texts)]
    columns = [store.titles, store.brands, store.colors, store.facts.values.dictionary]
    known = chain.from_iterable(column.unique().to_pylist() for column in columns)
    for text in chain(
        said, known, store.leaves, store.groups, chain.from_iterable(map(list_nouns, store.leaves)), WORDS_OF_CODE
    ):
        yield from re.findall(r"[a-z]+", (text or "").lower())


def spell_fit(kind: str, value: str) -> list[str]:
    """What is said of a value: `0-17.3` of screens is up to 17.3 in, `2005-2005` of years 2005."""
    low, dash, high = value.partition("-")
    if kind == "year" and dash:
        return [low if low == high else f"{low} to {high}"]
    if kind == "screen" and dash:
        return [f"up to {high} in"] if low == "0" else [f"{low} to {high} in", f"{high} in"]
    return [value]


@cache
def load_nouns() -> dict[str, list[str]]:
    """What the titles of the sample shop call their products."""
    files = sorted(CATALOG.glob("*.toml"))
    leaves = chain.from_iterable(tomllib.loads(file.read_text(encoding="utf-8"))["leaves"] for file in files)
    return {leaf["name"]: leaf["nouns"] for leaf in leaves}


def list_nouns(leaf: str) -> list[str]:
    """The nouns of a category: those of its titles, as they are said of used things, and its own name in the singular."""
    first, _, rest = leaf.partition(" ")
    nouns = load_nouns().get(leaf, [])
    used = [f"{first} {noun}" for noun in (*nouns, rest)] if first in USED else []
    # A sentence has no space before a colon, as some shops' names of categories have: "Electronics : Flat Panel TV".
    written = [re.sub(r" (?=[:;,.])", "", noun) for noun in (*used, *([] if used else nouns), leaf)]
    return list(dict.fromkeys(map(strip_plural, written)))


def strip_plural(noun: str) -> str:
    if noun.lower().endswith("mice"):
        return f"{noun[:-3]}ouse"
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith(("ches", "shes", "xes", "sses")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


# What is expected


def expect_wishes(slot: Slot) -> Iterator[Wish]:
    """What a slot says, as it must be read."""
    facts = {each.name: each.value for each in slot.facts}
    meaning = facts.pop("wish", slot.meaning)
    if slot.form == "question":
        return
    if not meaning:
        yield Wish("title" if slot.form == "thing" else "text", slot.said.lower().rstrip("."))
    if meaning == "things":
        yield from (Wish("thing", leaf) for leaf in facts.values())
    elif meaning == "choices":
        yield from (Wish("value", value.lower(), frozenset([fact])) for fact, value in facts.items())
    else:
        yield from expect_facts(meaning, facts)


def expect_facts(meaning: str, facts: Mapping[str, str]) -> Iterator[Wish]:
    about, _, what = meaning.partition(" ")
    if meaning == "priority":
        yield Wish("likes", facts["likes"])
    if "category" in facts:
        yield Wish("thing", facts["category"])
    if meaning == "price between":
        yield Wish(meaning, f"{cents(facts['low'])} {cents(facts['limit'])}")
    elif about == "price":
        yield Wish("price at most", f"{cents(facts['limit'])}")
    elif meaning == "one seller":
        yield Wish("one seller", "")
    elif about == "voucher":
        yield Wish("price", f"{cents(facts['limit'])}") if what == "budget" else Wish("voucher", expect_voucher(facts))
    elif about == "case":
        fact, _, value = what.partition(" ")
        counted = facts.get("years") or facts.get("pieces")
        yield Wish("case", f"{fact}={value or (counted.split()[0] if counted else facts['value'])}")
    elif about == "wants" or meaning == "cart rule":
        yield from (Wish("wants", each) for each in ("nothing", "variant", "arrival", "rule") if each in meaning)
    elif about in ("at", "value", "fits"):
        kind = meaning.removesuffix(" counted") if about == "at" else "value"
        yield Wish(kind, facts["value"].lower(), frozenset(filter(None, [facts.get("fact", "")])))
    else:
        yield from expect_plain_facts(meaning, facts)


def expect_voucher(facts: Mapping[str, str]) -> str:
    """The parts of its terms, by name: `least 6000 off 1200`."""
    parts = {name: f"{cents(facts[name])}" for name in ("least", "most", "off") if name in facts}
    if "percent" in facts:
        parts["off"] = f"{facts['percent']}%"
    if "seller" in facts:
        parts |= {"seller": facts["seller"].lower(), "two": ""}
    return " ".join(f"{name} {value}".strip() for name, value in sorted(parts.items()))


def cents(price: str) -> int:
    return round(float(price.removeprefix("$").replace(",", "")) * 100)


def expect_plain_facts(meaning: str, facts: Mapping[str, str]) -> Iterator[Wish]:
    """Of clues, limits and counts."""
    value, brand = facts.get("value", ""), facts.get("brand", "")
    kinds = {"number": "order", "title": "title", "products": "kinds", "pieces": "pieces", "brand": "value"}
    kind = kinds.get(meaning.rpartition(" ")[2], "")
    if value and kind:
        yield Wish(kind, value.lower(), frozenset(["brand"] if kind == "value" else []))
    if brand:
        yield Wish("value", brand.lower(), frozenset(["brand"]))
    if "price" in facts or meaning == "budget":
        yield Wish("price", f"{cents(facts.get('price', facts.get('limit', '')))}")
    if "least" in facts:
        yield Wish("rating", facts["least"])
    if "days" in facts:
        yield Wish("shipping days", facts["days"].split()[0])
    if "day" in facts:
        yield Wish("date", facts["day"])
    if "span" in facts:
        yield Wish("span", f"{facts['span']} {facts['number']}".strip())
    if "number" in facts and meaning == "pieces":
        yield Wish("pieces", facts["number"])


def is_same(read: Wish, expected: Wish) -> bool:
    fact, _, number = expected.value.partition("=")
    if expected.kind == "case" and fact in AMOUNTS and read.kind != "case":
        return read.value == (number if fact == "pieces" else f"{100 * int(number)}") and read.kind in (
            *MONEY,
            "pieces",
        )
    if read.kind != expected.kind and not (read.kind in MONEY and expected.kind == "price"):
        return False
    return read.value == expected.value and (not expected.facts or not read.facts or bool(read.facts & expected.facts))


def find_misreading(
    text: str,
    slots: Iterable[Slot],
    shop: ShopVocabulary,
    today: date,
    *,
    more: Sequence[Wish] = (),
    others: Sequence[Slot] = (),
    may: Sequence[Wish] = (),
    context: Iterable[str] = (),
) -> str | None:
    """What is said and not read, or read and not said. others, may: what may be said as well, and need not be."""
    said = list(slots)
    for slot in others:
        if slot.form == "question" or not slot.meaning:
            text = re.sub(re.escape(slot.said.rstrip(".")), " . ", text, flags=re.IGNORECASE)
    for question in [slot for slot in said if slot.form == "question"]:
        if question.said.lower() not in text.lower():
            return f"{question.said!r} is asked and was not read"
        text = re.sub(re.escape(question.said), " . ", text, count=1, flags=re.IGNORECASE)
        if read_topic(question.said) != question.meaning.removeprefix("asks "):
            return f"its question {question.said!r} is about the {read_topic(question.said)}"
    expected = [*chain.from_iterable(map(expect_wishes, said)), *more]
    allowed = [*chain.from_iterable(map(expect_wishes, others)), *may]
    for wish in expected:
        if wish.kind == "text":  # words that are no meaning of the bank say only themselves
            place = text.lower().find(wish.value)
            if place < 0:
                return f"{wish.value!r} is stated and was not read"
            text = text[:place] + text[place + len(wish.value) :]
    case = any(slot.meaning.startswith("case ") for slot in (*said, *others))
    mixed = any(slot.form != "question" and not slot.meaning.startswith("case ") for slot in (*said, *others))
    read = read_wishes(text, shop, today, case=case, mixed=mixed, categories=context)
    for wish in expected:
        if wish.kind == "text" or (wish.kind == "title" and wish.value in text.lower()):
            continue
        if not any(is_same(each, wish) for each in read):
            return f"{wish.kind} {wish.value!r} is stated and was not read"
    for each in read:
        if each.kind in ("wants",):
            continue
        if not any(is_same(each, wish) for wish in (*expected, *allowed)):
            return f"{each.kind} {each.value!r} was read and is not stated"
    return None


# The check


def find_misread_words(task: Task, catalog: Dataset[Product]) -> str | None:
    """The opening says all that is stated and nothing else, and each answer what it is asked for."""
    shop = catalog.once(make_shop)
    wrong = next(filter(None, (find_bad_typing(slot, task) for slot in task.slots)), None)
    wrong = wrong or find_misread_opening(task, shop)
    return f"its opening: {wrong}" if wrong else find_misread_answer(task, shop, find_today(task))


def find_misread_opening(task: Task, shop: ShopVocabulary) -> str | None:
    stated = [slot for slot in task.slots if slot.known == "stated"]
    more = list(expect_limits(task.env, json.loads(task.goal)))
    return find_misreading(task.opening, stated, shop, find_today(task), more=more)


def find_today(task: Task) -> date:
    return datetime.fromisoformat(json.loads(task.goal)["now"]).date()


def find_bad_typing(slot: Slot, task: Task) -> str | None:
    """What is wrong with how a fact was typed: numbers and the key of a refusal stay, and no more than one word differs, or the end is cut."""
    if not slot.typed:
        whole = rf"(?<!\w){re.escape(slot.said.rstrip('.'))}(?!\w)"
        silent = slot.known == "stated" and not re.search(whole, task.opening, re.IGNORECASE)
        return f"{slot.said!r} is mistyped, and no slot says how" if silent else None
    if slot.known != "stated" or slot.typed.lower() not in task.opening.lower():
        return f"{slot.typed!r} is how a fact was typed, and is not there"
    broken = json.loads(task.nearest_miss).get("breaks", ()) if not task.feasible else ()
    if slot.name in broken or slot.name.partition(" of ")[0] in broken:
        return f"{slot.typed!r} is what the refusal hangs on, and mistyped"
    typed, said = (TYPED_WORD.findall(text.lower()) for text in (slot.typed, slot.said))
    if len(typed) < len(said) and slot.form == "thing" and not slot.meaning:
        rest = iter(said)
        said = [word for word in typed if word in rest]  # of a title parts may be missing
    if len(typed) != len(said):
        return f"{slot.typed!r} has other words than {slot.said!r}"
    wrong = [meant for found, meant in zip(typed, said, strict=True) if found != meant]
    if len(wrong) > 1 or any(letter.isdigit() for letter in "".join(wrong)):
        return f"{slot.typed!r} has another number than {slot.said!r}, or more than one wrong word"
    return None


def expect_limits(env: str, goal: Mapping[str, Any]) -> Iterator[Wish]:
    """How many products may be shown, which an opening says beside its slots."""
    if env == "product_discovery":
        yield Wish("number", str(goal["most"]))
    for part in goal.get("parts", ())[: -1 if goal.get("later") else None]:
        yield from expect_limits(part["env"], json.loads(part["goal"]))


def find_misread_answer(task: Task, shop: ShopVocabulary, today: date) -> str | None:
    """Of each slot that is not stated, or was mistyped, what is answered to a question that names it: a question recovers it."""
    context = list(
        dict.fromkeys(filter(None, map(partial(find_category, shop), chain.from_iterable(map(list_texts, task.slots)))))
    )
    for slot in task.slots:
        if not slot.typed and (slot.known == "stated" or not slot.meaning):
            continue
        shopper = UserSimulator(task.slots, seed=task.id, speaker=draw_speaker(task.id, use=task.split))
        text = shopper.answer(f"What about the {slot.name}?")
        told = [task.slots[place] for place in sorted(shopper.answered)]
        if wrong := find_misreading(text, told, shop, today, context=context):
            return f"its answer on the {slot.name}: {wrong}"
    return None


def list_texts(slot: Slot) -> list[str]:
    return [slot.said, *(each.value for each in slot.facts)]


def find_category(shop: ShopVocabulary, text: str) -> str:
    """The category that a text names, or that of the title that it is."""
    return text if text in shop.things else shop.titles.get(text.lower(), "")
