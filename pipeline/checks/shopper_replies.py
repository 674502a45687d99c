"""Whether each reply of a simulated shopper is right: read back from the words alone, by a reader that shares nothing with the writer.

What a reply says must be one of the slots' values, or what the shopper can see; what it does not mind must be no slot's; what
was asked for by its name must be told. A reader cannot see all: an answer to a question in words of its own may be missing.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from shopwright.pipeline.checks.openings import expect_wishes, find_category, find_misreading, find_today, list_texts
from shopwright.pipeline.checks.openings import make_vocabulary as make_shop_vocabulary
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.unseen import list_calls
from shopwright.pipeline.reading.wishes import ShopVocabulary, Wish
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.tasks import Slot, Task, Turn

# Topics that a shopper takes up in one turn of the agent's.
TOPICS = 2
# Where a question goes on to something else.
CLAUSE = re.compile(r"[,;:?!.]|\b(?:and|or)\b")
# What does not matter to somebody, as a sentence says it.
UNMINDED = re.compile(
    r"no (?:particular )?preference|not preference|doesn't matter|no difference|all the same|(?:don't|never) mind(?:ed)?\b|don't care"
    r"|dont care|\bidc\b|open on|easy on|flexible on|anything (?:goes|is fine)|whatever|up to you|indifferent|not (?:fussy|particular)"
    r"|no wish|not important|for me is same|no pref\b|surprise me|leave (?:it|that|the)|not mind|equal for me"
)
# That there is nothing more to say.
ALL_SAID = re.compile(
    r"that(?:'s| is| was) (?:all|everything)|thats all|nothing (?:else|more|further)|no more wishes|told (?:you|u) everything"
    r"|told you the whole|you have it all|know everything"
)
ANYTHING_ELSE = re.compile(r"anything else\W*$|(?:is|are) there (?:any )?(?:other|more|further) \w+\W*$")
# A part of a sentence that denies.
SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Exchange(NamedTuple):
    """What the shopper said, and what it was asked or told before."""

    asked: str
    heard: str
    own: bool = False
    """It answers no question of a tool, so it may be about what the shopper sees, or what comes to its mind."""


def list_exchanges(turn: Turn) -> Iterator[Exchange]:
    """
    >>> action = '{"tool_calls": [{"name": "ask_user", "args": {"question": "Which color?"}}], "assistant_message": "Well?"}'
    >>> turn = Turn(action=action, results='[{"answer": "Red."}]', user="Red, I said.", user_act="clarify")
    >>> [each.heard for each in list_exchanges(turn)]
    ['Red.', 'Red, I said.']
    """
    try:
        action = json.loads(turn.action)
        results = json.loads(turn.results)
    except ValueError:
        return
    if not isinstance(action, dict):
        return
    for call, result in zip(action.get("tool_calls") or (), results, strict=False):
        if call.get("name") == "ask_user" and result.get("answer"):
            yield Exchange(str(call.get("args", {}).get("question", "")), result["answer"])
    if turn.user:
        yield Exchange(str(action.get("assistant_message") or ""), turn.user, own=True)


@dataclass
class ReplyReader:
    """Reads one shopper's replies, one after the other."""

    task: Task
    store: Store
    shop: ShopVocabulary
    told: set[str] = field(default_factory=set)
    """Names of slots that a reply has said."""
    cart: dict[str, int] = field(default_factory=dict)
    """Pieces of each variant that the agent put in, as far as its calls say."""

    def __post_init__(self) -> None:
        self.today = find_today(self.task)
        self.goal = json.loads(self.task.goal)
        texts = chain.from_iterable(map(list_texts, self.task.slots))
        self.context = list(dict.fromkeys(filter(None, (find_category(self.shop, text) for text in texts))))

    def list_errors(self, turns: Iterable[Turn]) -> Iterator[str]:
        for number, turn in enumerate(turns, 1):
            self.fill_cart(turn.action)
            exchanges = list(list_exchanges(turn))
            topics = sum(len(list_clauses(each.asked)) for each in exchanges)
            for each in exchanges:
                if wrong := self.find_error(each, patient=topics <= TOPICS):
                    yield f"turn {number}: {wrong}: {each.heard!r}"

    def find_error(self, said: Exchange, *, patient: bool) -> str | None:
        asked = self.list_asked(said.asked) if patient else []
        untold = self.untold
        rest = self.strip_own_matters(said.heard) if said.own else said.heard
        wrong = self.find_invented(rest) or self.find_denied(rest, said.asked, untold)
        # Who asks again what was told may be answered by a shopper that leaves.
        missing = [slot for slot in asked if slot.name not in self.told and not self.says(said.heard, slot)]
        self.told |= {slot.name for slot in self.task.slots if self.says(said.heard, slot)}
        return wrong or (f"it was asked for the {missing[0].name}, and does not tell" if missing else None)

    @property
    def untold(self) -> list[Slot]:
        return [slot for slot in self.task.slots if slot.known == "asked" and slot.name not in self.told]

    def list_asked(self, question: str) -> list[Slot]:
        """The slots that a question calls by their names; not a thing of which other slots are, as "item 2": that asks for anything about it."""
        things = {slot.name.rpartition(" of ")[2] for slot in self.task.slots if " of " in slot.name}
        asked = question.lower()
        # In "the use of single-origin coffee" no origin is asked for.
        alone = re.sub("|".join(re.escape(thing.lower()) for thing in things) or "$^", " ", asked)
        named = [slot for slot in self.task.slots if has_words(asked if " of " in slot.name else alone, slot.name)]
        return [
            slot
            for slot in named
            if slot.form != "question"
            and not any(slot.name != other.name and slot.name in other.name for other in named)
        ]

    def says(self, text: str, slot: Slot) -> bool:
        """Whether a text says all that a slot does."""
        if has_words(text.lower(), slot.said.rstrip(".").lower()):
            return True
        return self.read(text, [slot]) is None if slot.meaning else False

    def read(self, text: str, slots: Sequence[Slot]) -> str | None:
        others = [slot for slot in self.task.slots if slot not in slots]
        return find_misreading(
            text, slots, self.shop, self.today, others=others, may=self.list_seen(), context=self.context
        )

    def find_invented(self, text: str) -> str | None:
        return self.read(text, [])

    def find_denied(self, text: str, question: str, untold: Sequence[Slot]) -> str | None:
        """What the shopper says not to mind, or not to have, and does."""
        for sentence in SENTENCE.split(text.lower()):
            if UNMINDED.search(sentence):
                minded = [slot for slot in self.task.slots if has_words(sentence, slot.name)]
                # "I don't mind which shop" may be what a slot says.
                if minded and not any(has_words(sentence, slot.said.rstrip(".").lower()) for slot in minded):
                    return f"it minds the {minded[0].name}"
            if ALL_SAID.search(sentence) and ANYTHING_ELSE.search(question.lower()) and untold:
                return f"it has not told the {untold[0].name}"
        return None

    # What a shopper may say beside its slots

    def strip_own_matters(self, text: str) -> str:
        """Without the titles that it sees, and what comes to its mind."""
        parts = [self.goal, *(json.loads(part["goal"]) for part in self.goal.get("parts", ()))]
        own = [self.goal.get("later") or "", *((part.get("aside") or {}).get("question", "") for part in parts)]
        gone = chain.from_iterable((part.get("event") or {}).get("variants", ()) for part in parts)
        own += [title for variant in (*gone, *self.cart) if (title := self.find_title(variant))]
        for each in sorted(filter(None, own), key=len, reverse=True):
            text = re.sub(re.escape(each), " . ", text, flags=re.IGNORECASE)
        return text

    def find_title(self, variant: str) -> str:
        option = self.store.option_of(variant)
        row = self.store.row(option.product_id) if option else None
        return " ".join(self.store.item(row).title.split()) if row is not None else ""

    def list_seen(self) -> list[Wish]:
        """What the cart has and should have, by which a shopper says what is wrong with it."""
        pieces = Counter[str]()
        wanted = chain.from_iterable(map(expect_wishes, self.task.slots))
        found = [Wish("number", wish.value) for wish in wanted if wish.kind == "pieces"]
        for variant, count in self.cart.items():
            if option := self.store.option_of(variant):
                pieces[option.product_id] += count
                found += [Wish("value", each.value.lower()) for each in option.choices]
        for count in pieces.values():
            found += [Wish("number", f"{count}"), Wish("pieces", f"{count}")]
        return found

    def fill_cart(self, action: str) -> None:
        for name, given, _ in list_calls(action):
            variant = str(given.get("variant_id", ""))
            if name in ("cart_add", "cart_set_quantity"):
                before = self.cart.get(variant, 0) if name == "cart_add" else 0
                self.cart[variant] = before + int(given.get("quantity", 1))
            elif name == "cart_remove":
                self.cart[variant] = 0


def has_words(text: str, words: str) -> bool:
    """
    >>> has_words("what pack size?", "size"), has_words("what sizes?", "size")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(words.lower())}(?!\w)", text) is not None


def list_clauses(question: str) -> list[str]:
    """
    >>> list_clauses("Which color, size and brand?")
    ['Which color', 'size', 'brand']
    """
    return [each.strip() for each in CLAUSE.split(question) if each.strip()]


@lru_cache(maxsize=4)
def make_vocabulary(store: Store) -> ShopVocabulary:
    return make_shop_vocabulary(store)


def list_shopper_errors(world: World, task: Task, turns: Iterable[Turn]) -> list[str]:
    """What the shopper of an episode said wrongly; empty where it said all as it is."""
    return list(ReplyReader(task, world.store, make_vocabulary(world.store)).list_errors(turns))
