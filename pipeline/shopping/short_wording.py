"""An instruction in a few words, as people type them: the thing by an everyday noun, what it must be before and behind it.

The words are the phrase bank's (`data/reference/phrases/shopping/`), those of held-out tasks its held-out ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import NamedTuple

from shopwright.pipeline.catalog.grouping import is_department
from shopwright.pipeline.phrases.bank import load_grammar_bank, tidy_sentence
from shopwright.pipeline.shopping.trait_words import (
    LONGEST_SIZE,
    WHOSE_SIZE,
    TraitWriter,
    draw_place,
    form_singular,
    is_adjective,
    is_of_stuff,
    stands_behind,
)
from shopwright.schemas.shopping import Need

CLAUSE = re.compile(r"(?:that|so|which|whose) ")
# A clause whose verb is the thing's own, and those verbs that are put in the plural here.
OWN_VERB = re.compile(r"(?:that|which) (?!i |he |nobody |even )(\w+(?:'t)?)")
SEVERAL = {"is": "are", "has": "have", "isn't": "aren't", "doesn't": "don't", "comes": "come", "costs": "cost", "won't": "won't", "can": "can", "should": "should", "must": "must"}  # fmt: skip
# What nobody puts "and" before where it stands behind something else: a clause, who makes it, what it costs, what somebody has.
NEVER_LINKED = re.compile(
    rf"{OWN_VERB.pattern}|(?:by|from|under|less|for (?:under|around|about|roughly|less|\$|\d)|around|about|like|\w+ than) "
)
# Traits before the thing, at most, and their words; clauses behind it.
MOST_BEFORE, MOST_WORDS_BEFORE, MOST_CLAUSES = 3, 5, 2
# Words that are tried for a trait until they have room.
DRAWS = 12
# Of these, so many in which a compound before a thing of several words is not taken: "cotton bag wooden block set".
CHOOSY_DRAWS = 9
# Traits behind the thing in the first sentence, at most.
MOST_BEHIND = 3
# How often something is left for a sentence of its own, by the number of needs that it does not deny.
OWN_SENTENCE = {0: 0.0, 1: 0.0, 2: 0.08, 3: 0.15, 4: 0.3, 5: 0.45}
HEAD = re.compile(r"(?P<start>(?:an?|some|the) (?:\w+ of )?)?(?P<noun>.+)")
# "a pair of", "a jar of": what is there in numbers or in bulk is named without in some texts, and always where it is what a pack holds.
MEASURE_WORD = re.compile(r"an? (?P<measure>pair|pack|set|box|bag|bottle|jar|can|tube|roll|tin|sheet) of ")
BARE, SOME = {"pair": 0.4, "pack": 0.5, "set": 0.5}, 0.25
BARE_BULK = 0.8
# One thing is asked for as several, without its article ("i need red desk lamp"), and begins as most people begin; shares of texts.
PLURAL, NO_ARTICLE, PLAIN_BEGINNING = 0.3, 0.08, 0.95
# How often a purpose is told that narrows nothing, how often else that it is to be good of its kind, and where their words are kept.
PURPOSE, QUALITY, PURPOSE_KEY = 0.07, 0.27, "for what"
# How often such a wish stands before the thing, has a sentence of its own, and else stands behind.
QUALITY_PLACES = (0.55, 0.1, 0.35)
# How often a conversation begins with one of the needs; else with the thing alone.
TELLS_FIRST = 0.35
# Shares of texts with a slip: of a letter in a word of the frame, of an article.
MISTYPED, WRONG_ARTICLE = 0.06, 0.06
# Between words that many people type apart: "over-ear".
HYPHEN = re.compile(r"(?<=[A-Za-z]{2})-(?=[A-Za-z]{2})")
# Words of the frame that are long enough to be mistyped; no fact is among them.
MISTYPABLE = re.compile(r"\b(?:looking|would|interested|searching|should|please|choose|prefer|buying|trying)\b")
# What stands between two adjectives before a thing, and in what shares: behind a wish more often something.
BETWEEN_TWO = (" ", ", ", " and ")
PARTED, WISH_PARTED = (0.65, 0.2, 0.15), (0.35, 0.4, 0.25)
# How often an adjective is the one that gets its own sentence, where there is one.
ADJECTIVE_ALONE = 0.6
# Color and size are said in one sentence so often where either has its own.
TOGETHER = 0.5
# How often a category's plural is asked for as one thing.
ONE_OF_SEVERAL = 0.75
NUMBERLESS = re.compile(r"(?:ing|wear|s)$|\bof\b")
FOR_ONE = {"it": "it", "them": "it", "one": "one", "is": "is", "has": "has", "needs": "needs"}
FOR_SEVERAL = {"it": "they", "them": "them", "one": "ones", "is": "are", "has": "have", "needs": "need"}


class ShortText(NamedTuple):
    """An instruction, what it is for, the needs with their own words in it, and the templates that it is made of."""

    text: str
    opening: str
    purpose: str
    needs: list[Need]
    phrases: list[str]
    opening_facts: list[str]
    """Facts of the needs that the opening tells."""


@dataclass
class ShortWriter(TraitWriter):
    """Writes one instruction: everything that is drawn for it comes from its own dice."""

    said: dict[str, str] = field(default_factory=dict)
    """The words of each fact that is stated."""
    wish: str = ""
    """What it is to be like that no fact tells."""
    in_packs: bool = False
    """Whether a pack of them is needed: nobody asks for "a marker pack of 12"."""

    def write(self, needs: Sequence[Need], *, usual: bool) -> ShortText | None:
        """None where the words that were drawn have no room. usual: there is more, which the shop knows from the profile."""
        stated = [need for need in needs if need.known == "stated"]
        self.in_packs = any(need.unit == "pack" and need.op == "is" and (need.number or 0) > 1 for need in stated)
        noun = self.noun
        placed = self.place_traits(stated)
        if placed is None:
            return None
        first = self.draw_first(placed, len(stated))
        before, after = ([fact for fact in first if (fact in placed.before) == early] for early in (True, False))
        opening = self.say("opening", {"thing": self.compose_thing(noun, before, after)})
        behind, alone = self.spare_sentence(placed, stated)
        behind = self.add_purpose(behind, len(stated))
        behind, sentence = self.add_quality(placed.before, behind, len(stated), may_stand_alone=not alone)
        text = self.compose_thing(noun, placed.before, behind + placed.clause)
        if placed.denied:
            head, *rest = (self.said[each] for each in placed.denied)
            denial = " and ".join([head, *(each.removeprefix("please ").removesuffix(" please") for each in rest)])
            text = self.say("ends with", {"thing": text, "denial": denial})
        text = self.begin(text)
        if alone:
            sentence = self.say_together(alone) if len(alone) == 2 else self.say_alone(alone[0])
        if sentence:
            text = self.say("between sentences", {"thing": text.rstrip(".?"), "sentence": sentence})
        if usual:
            text = f"{text.rstrip('.')}. {self.say('usual', {})}"
        phrases = sorted(set(self.phrases))
        said = {need.fact: self.said.get(need.fact) or self.phrase_trait(need) for need in needs}
        worded = [need.model_copy(update={"said": self.type(said[need.fact])}) for need in needs]
        purpose = self.type(self.wish or self.said.get(PURPOSE_KEY, ""))
        return ShortText(self.slip(self.type(text)), self.type(opening), purpose, worded, phrases, first)

    def draw_first(self, placed: "Placed", needs: int) -> list[str]:
        """What a conversation begins with beside the thing: nothing, or one of several needs."""
        able = [fact for fact in (*placed.before, *placed.behind) if fact != "price"]
        if needs < 2 or not able or self.random.random() >= TELLS_FIRST:
            return []
        return [able[int(self.random.random() * len(able))]]

    def begin(self, thing: str) -> str:
        """No held-out text begins as most do."""
        plain = self.use == "train" and self.random.random() < PLAIN_BEGINNING
        return self.say("instruction plain" if plain else "instruction", {"thing": thing})

    def type(self, text: str) -> str:
        """As this person types."""
        text = tidy_sentence(text)
        text = text.lower() if self.hand.lower_case else text
        text = text if self.hand.hyphens else HYPHEN.sub(" ", text)
        return text if self.hand.apostrophes else text.replace("'", "")

    def slip(self, text: str) -> str:
        """With a mistake that people make, or none: "an" for "a", two letters swapped or one left out."""
        point = self.random.random()
        pattern = MISTYPABLE if point < MISTYPED else re.compile(r"\ban?(?= \w)")
        places = list(pattern.finditer(text)) if point < MISTYPED + WRONG_ARTICLE else []
        if not places:
            return text
        found = places[int(self.random.random() * len(places))]
        wrong = mistype(found[0], self.random) if pattern is MISTYPABLE else "a"
        return text[: found.start()] + wrong + text[found.end() :]

    # The thing

    @cached_property
    def noun(self) -> str:
        """What the thing is called, with an article, or as several."""
        name = self.draw_noun()
        one = re.fullmatch(r"an? (\w[\w -]*)", name)
        return form_plural(one[1]) if self.in_packs and one and not NUMBERLESS.search(one[1]) else name

    def draw_noun(self) -> str:
        """The everyday noun of the bank, else the category's own name."""
        things, meaning = load_grammar_bank("envs"), f"thing {self.counter.leaf}"
        if meaning not in things.templates:
            return name_own_category(self.counter.leaf, self.random)
        # All splits share a thing's few names.
        said = things.say(meaning, {}, self.random)
        self.phrases += said.templates
        several, point = MEASURE_WORD.match(said.text), self.random.random()
        if several and point < BARE.get(several["measure"], BARE_BULK):
            return f"{'some ' if point < SOME else ''}{said.text[several.end() :]}"
        article = re.match(r"an? ", said.text)
        if not article or several:
            return said.text
        name = said.text[article.end() :]
        if point < PLURAL and not NUMBERLESS.search(name):
            return f"{'some ' if point < PLURAL * SOME else ''}{form_plural(name)}"
        return name if point > 1 - NO_ARTICLE else said.text

    @cached_property
    def is_several(self) -> bool:
        found = HEAD.fullmatch(self.noun)
        assert found
        return not re.match(r"an? ", found["start"] or "") and bool(re.search(r"[^s]s$", found["noun"]))

    @property
    def numbers(self) -> Mapping[str, str]:
        return FOR_SEVERAL if self.is_several else FOR_ONE

    def compose_thing(self, noun: str, before: Sequence[str], behind: Sequence[str]) -> str:
        found = HEAD.fullmatch(noun)
        assert found
        start = re.sub(r"^an ", "a ", found["start"] or "")
        parts = [start, self.list_before(before), found["noun"], self.join(behind)]
        return tidy_sentence(" ".join(part.strip() for part in parts if part.strip()))

    def list_before(self, facts: Sequence[str]) -> str:
        """What stands before the thing, the first two of it parted by a sign or a word where both say how it is."""
        words = [self.said[fact] for fact in facts]
        able = len(words) > 1 and all(
            fact in ("color", PURPOSE_KEY) or is_adjective(text)
            for fact, text in zip(facts[:2], words[:2], strict=True)
        )
        if not able:
            return " ".join(words)
        ways = WISH_PARTED if facts[0] == PURPOSE_KEY else PARTED
        return words[0] + BETWEEN_TWO[draw_place(ways, self.random)] + " ".join(words[1:])

    # Where traits stand

    def place_traits(self, needs: Sequence[Need]) -> "Placed | None":
        """The words of all needs and where they stand; None where a trait found no words that have room."""
        placed = Placed([], [], [], [])
        for need in sorted(needs, key=lambda _: self.random.random()):
            for turn in range(DRAWS):
                text = self.phrase_trait(need)
                agrees = agree_in_number(text) if self.is_several and self.hand.agrees else text
                if turn < CHOOSY_DRAWS and agrees and self.is_clumsy(need, agrees):
                    continue
                if agrees and not self.repeats_noun(agrees) and placed.add(need, agrees, self.said):
                    self.said[need.fact] = agrees
                    break
            else:
                return None
        placed.behind.sort(key=lambda fact: fact == "price")
        placed.before.sort(key=lambda fact: rank_before(fact, self.said[fact]))
        return placed

    def is_clumsy(self, need: Need, trait: str) -> bool:
        """Whether a compound would stand before a thing that is one itself."""
        found = HEAD.fullmatch(self.noun)
        assert found
        before = need.op != "is not" and not stands_behind(trait) and not CLAUSE.match(trait)
        return before and len(found["noun"].split()) > 2 and is_compound(need.fact, trait)

    def repeats_noun(self, trait: str) -> bool:
        """Whether it would stand before the thing with its word twice: "hardly used used skis"."""
        found = HEAD.fullmatch(self.noun)
        assert found
        return not stands_behind(trait) and trait.split()[-1].lower() == found["noun"].split()[0].lower()

    def spare_sentence(self, placed: "Placed", stated: Sequence[Need]) -> tuple[list[str], list[Need]]:
        """What stays behind the thing, and what gets a sentence of its own: one need, or color and size."""
        behind = placed.behind
        count = len(placed.before) + len(behind) + len(placed.clause)
        adjectives = [fact for fact in placed.before if fact in ("color", "size") or is_adjective(self.said[fact])]
        able = [
            fact
            for fact in (*adjectives, *behind)
            if fact != "price" and not self.said[fact].startswith(("by ", "from ", "just "))
        ]
        wanted = self.random.random() < OWN_SENTENCE[min(count, 5)] or len(behind) + len(placed.clause) > MOST_BEHIND
        if not able or not wanted:
            return behind, []
        able = adjectives if adjectives and self.random.random() < ADJECTIVE_ALONE else able
        fact = able[int(self.random.random() * len(able))]
        facts = [fact]
        plain = {need.fact for need in stated if need.fact == "color" and need.op == "is"}
        sized = {need.fact for need in stated if need.fact == "size" and self.is_named_size(need)}
        pair = (plain | sized) & {*adjectives, *behind}
        if fact in pair and len(pair) == 2 and self.random.random() < TOGETHER:
            facts = sorted(pair)
        placed.before[:] = [each for each in placed.before if each not in facts]
        alone = [need for each in facts for need in stated if need.fact == each]
        return [each for each in behind if each not in facts], alone

    def is_named_size(self, need: Need) -> bool:
        """Whether it is said as a size, not by other words."""
        plain = self.said[need.fact].startswith(("size", "in size", "in a size")) and not WHOSE_SIZE.match(need.value)
        return need.op == "is" and len(need.value) <= LONGEST_SIZE and plain

    def say_together(self, needs: Sequence[Need]) -> str:
        """Color and size in one sentence."""
        color, size = needs[0].value.lower(), needs[1].value.removeprefix("size ")
        self.said["color"], self.said["size"] = color, size
        return self.say("sentence color and size", {"color": color, "size": size, **self.numbers})

    def add_purpose(self, behind: list[str], needs: int) -> list[str]:
        """With a purpose that narrows nothing, where there is room for one."""
        meaning = f"purpose {self.counter.group}"
        if (
            meaning not in self.bank.templates
            or self.random.random() >= PURPOSE
            or len(behind) > 1
            or needs > MOST_BEHIND
        ):
            return behind
        self.said[PURPOSE_KEY] = self.say(meaning, {})
        return [PURPOSE_KEY, *behind] if self.random.random() < 0.5 else [*behind, PURPOSE_KEY]

    def add_quality(
        self, before: list[str], behind: list[str], needs: int, *, may_stand_alone: bool
    ) -> tuple[list[str], str]:
        """With a wish that the thing is good of its kind: before it, behind it, or in a sentence of its own, which is given."""
        meanings = (f"quality {each}" for each in (self.counter.leaf, self.counter.group))
        meaning = next((each for each in meanings if each in self.bank.templates), "")
        if not meaning or PURPOSE_KEY in self.said or needs > MOST_BEHIND or self.random.random() >= QUALITY:
            return behind, ""
        self.wish = self.said[PURPOSE_KEY] = self.say(meaning, {})
        place = draw_place(QUALITY_PLACES, self.random)
        if place == 1 and may_stand_alone:
            return behind, self.say("sentence be", {"traits": self.wish, **self.numbers})
        if place == 0 and sum(len(self.said[fact].split()) for fact in before) < MOST_WORDS_BEFORE - 2:
            before.insert(0, PURPOSE_KEY)
            return behind, ""
        self.said[PURPOSE_KEY] = f"that {self.numbers['is']} {self.wish}"
        return [*behind, PURPOSE_KEY], ""

    def say_alone(self, need: Need) -> str:
        """A need in a sentence of its own."""
        text, numbers = self.said[need.fact], self.numbers
        if need.fact == "color" and need.op == "is":
            value = need.value.lower()
            self.said[need.fact] = value
            return self.say("sentence color", {"value": value, **numbers})
        if need.fact == "size" and self.is_named_size(need):
            value = need.value.removeprefix("size ")
            self.said[need.fact] = f"size {value}"
            sentence = self.say("sentence size", {"value": value, **numbers})
            self.said[need.fact] = value if f"size {value}" not in sentence else f"size {value}"
            return sentence
        if had := re.match(r"(?:with|having) ", text):
            self.said[need.fact] = text[had.end() :]
            return self.say("sentence have", {"traits": self.said[need.fact], **numbers})
        text = f"in a {text}" if text.startswith("pack of") else text
        return self.say("sentence go" if stands_behind(text) else "sentence be", {"traits": text, **numbers})

    def join(self, facts: Sequence[str]) -> str:
        """One after the other; of two with the same first words the second is said without them."""
        text = last = ""
        for fact in facts:
            part = self.said[fact]
            if text and OWN_VERB.match(part.lower()) and OWN_VERB.match(last.lower()):
                self.said[fact] = drop_shared_verb(last, part)
                text = f"{text} and {self.said[fact]}"
            elif last.startswith("with ") and part.startswith("with ") and fact != "price":
                self.said[fact] = part.removeprefix("with ")
                text = f"{text} {self.say('between', {})} {self.said[fact]}"
            elif not text or NEVER_LINKED.match(part) or needs_no_link(last, part):
                text = f"{text} {part}".strip()
            else:
                text = f"{text} {self.say('between', {})} {part}"
            last = part
        return text


class Placed(NamedTuple):
    """Facts by where their words stand: before the thing, behind it, in a clause behind that, and at the end what it is not."""

    before: list[str]
    behind: list[str]
    clause: list[str]
    denied: list[str]

    def add(self, need: Need, text: str, said: Mapping[str, str]) -> bool:
        """Puts a need where its words belong; False where there is no room."""
        words = sum(len(said[fact].split()) for fact in self.before) + len(text.split())
        crowded = is_compound(need.fact, text) and any(is_compound(fact, said[fact]) for fact in self.before)
        if need.op == "is not":
            self.denied.append(need.fact)
        elif CLAUSE.match(text):
            if len(self.clause) >= MOST_CLAUSES:
                return False
            self.clause.append(need.fact)
        elif stands_behind(text):
            self.behind.append(need.fact)
        elif len(self.before) < MOST_BEFORE and words <= MOST_WORDS_BEFORE and not crowded:
            self.before.append(need.fact)
        else:
            return False
        return True


def is_compound(fact: str, text: str) -> bool:
    """Whether it is read as a noun of its own before a thing, of which two make a riddle: "2.9 ounce swappable battery headlamps".

    >>> [is_compound("battery", text) for text in ("black", "sugar free", "faux leather", "2.9 ounce", "swappable battery")]
    [False, False, False, True, True]
    """
    plain = is_adjective(text) or is_of_stuff(text, fact) or fact in ("color", "brand", "size")
    return len(text.split()) > 1 and not plain


def rank_before(fact: str, text: str) -> int:
    """Where it stands among what stands before a thing: who makes it, how it is, how large, its color, what it is made of.

    >>> sorted([("material", "oak"), ("color", "white"), ("height", "tall"), ("brand", "Osko")], key=lambda pair: rank_before(*pair))
    [('brand', 'Osko'), ('height', 'tall'), ('color', 'white'), ('material', 'oak')]
    """
    if fact in ("brand", "condition"):
        return 0
    if is_adjective(text):
        return 1
    return {"size": 2, "color": 3}.get(fact, 2 if text[0].isdigit() else 4)


def agree_in_number(text: str) -> str | None:
    """A clause about several things; None where its verb is one that is not put in the plural here.

    >>> agree_in_number("that has a lid"), agree_in_number("in black"), agree_in_number("that goes up"), agree_in_number("that I can fold")
    ('that have a lid', 'in black', None, 'that I can fold')
    """
    found = OWN_VERB.match(text.lower())
    if not found:
        return text
    return f"{text[: found.start(1)]}{SEVERAL[found[1]]}{text[found.end(1) :]}" if found[1] in SEVERAL else None


def name_own_category(leaf: str, random: Random) -> str:
    """A thing of a category that the bank has no noun for: one of several things, or an item of what is no thing but a department.

    >>> [name_own_category(leaf, Random(1)) for leaf in ("Mice", "USB Cables", "Board Games", "Garden - General")]
    ['a mouse', 'a usb cable', 'a board game', 'an item from garden']
    """
    name = " ".join(re.sub(r"[^\w\s'-]+", " and ", re.sub(r" - General$", "", leaf)).lower().split())
    *others, last = name.split()
    if name != leaf.lower() or is_department(leaf):
        point = random.random()
        return f"an item from {name}" if point < 0.5 else f"a product from {name}"
    single = form_singular(last)
    # "chargers adapters" are two kinds of things
    several = any(form_singular(word) != word for word in others)
    if single == last or several or random.random() >= ONE_OF_SEVERAL:
        return name
    return f"a {name.removesuffix(last)}{single}"


def mistype(word: str, random: Random) -> str:
    """With one letter left out or two swapped, not the first.

    >>> mistype("looking", Random(2)), mistype("looking", Random(4))
    ('lookig', 'lokoing')
    """
    place = 1 + int(random.random() * (len(word) - 2))
    if random.random() < 0.5 and word[place] != word[place + 1]:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + word[place + 1 :]


def form_plural(noun: str) -> str:
    """
    >>> [form_plural(noun) for noun in ("tote bag", "winter scarf", "paint brush", "battery")]
    ['tote bags', 'winter scarves', 'paint brushes', 'batteries']
    """
    for end, plural in (("scarf", "scarves"), ("shelf", "shelves"), ("knife", "knives"), ("mouse", "mice")):
        if noun.endswith(end):
            return noun.removesuffix(end) + plural
    if re.search(r"(?:s|x|z|ch|sh)$", noun):
        return f"{noun}es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", noun) + "s"


def drop_shared_verb(first: str, second: str) -> str:
    """The second of two clauses about one thing.

    >>> drop_shared_verb("that is red", "which is round"), drop_shared_verb("that is red", "that has a lid")
    ('round', 'has a lid')
    """
    _, verb, rest = second.split(" ", 2)
    return rest if verb == first.split()[1] and verb in ("is", "are") else f"{verb} {rest}"


def needs_no_link(first: str, second: str) -> bool:
    """Whether two traits stand side by side without a word between them: those that begin with the same word do not.

    >>> needs_no_link("in black", "with a lid"), needs_no_link("in black", "in size M")
    (True, False)
    """
    return first.split()[0] != second.split()[0]
