"""An instruction in a few words, as people type them: the thing by an everyday noun, what it must be before and behind it.

The words are the phrase bank's (`data/reference/phrases/shopping/`), those of held-out tasks its held-out ones.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import NamedTuple

from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank, tidy_sentence
from shopwright.pipeline.shopping.effects import find_effect
from shopwright.pipeline.shopping.facts import MEASURE, UNITS, VariantTable, parse_measurement
from shopwright.schemas.phrases import Use
from shopwright.schemas.shopping import Need

# Words that a trait begins with which stands behind the thing.
BEHIND = re.compile(
    r"(?:with|in|for|made|by|from|of|that|suitable|good for|meant|as|at|up|so|under|below|less|lower|no|cheaper|costing|priced|around|about"
    r"|roughly|somewhere|having)\b|\$|\d+(?:\.\d+)? (?:dollars|bucks)|.* (?:at most|tall|high|wide|long|across|deep|or so)$|\d.* in \w+$"
)
CLAUSE = re.compile(r"(?:that|so) ")
# Traits before the thing, at most, and their words.
MOST_BEFORE, MOST_WORDS_BEFORE = 3, 6
# Words that are tried for a trait until they have room.
DRAWS = 12
# Traits behind the thing in the first sentence, at most.
MOST_BEHIND = 3
# How often a bound is said by its effect, and what is much for one sentence in a second one.
EFFECT, SECOND_SENTENCE = 0.9, 0.35
HEAD = re.compile(r"(?P<start>(?:an?|some|the) (?:\w+ of )?)?(?P<noun>.+)")
# "a pair of", "a pack of": what is there in numbers or in bulk is named without in some texts, and always where it is what a pack holds.
MEASURE_WORD = re.compile(r"an? (?:pair|pack|set|box|bag|bottle|jar|can|tube|roll|tin|sheet) of ")
BARE = 0.6
# Letters of a size that is said as one: "XL", "women's 9".
LONGEST_SIZE = 10
# A clause about one thing, and about several.
SEVERAL = (
    ("that has ", "that have "),
    ("that is ", "that are "),
    ("that comes ", "that come "),
    ("that costs ", "that cost "),
)
SIDES = ("height", "width", "length", "depth", "diameter")
SIDE_UNITS = ("in", "ft", "cm", "yd", "mm", "m")
FOR = frozenset(
    "skin type|hair type|players|guests|pets|garment|learner|age|language|recipient|occasion|gender|department|age range|target audience"
    .split("|")
)  # fmt: skip
MATERIALS = frozenset("material fabric wood yarn fiber upholstery leather upper shell".split())
# Measures of the whole thing, which need no name beside them.
WHOLE = frozenset(
    "size weight capacity volume power pack count pieces storage memory decade resolution output duration quantity".split()
)
# Said by their effect alone: nobody wants a tent with at least 3 person.
PEOPLE = frozenset({"sleeps", "guests"})
STATE = re.compile(r".*(?:free|ed|ing|able|less|grade|style|proof|only)")
# A unit that counts things of its own: "6 presets", "4 jars"; what is sold in packs is a "6 pack".
COUNTED = re.compile(r"[a-z][a-z ]+s")
MEASURED = re.compile(r"\s*-?\d+(?:\.\d+)? ?(?:[a-zA-Z%°].*)")


class ShortText(NamedTuple):
    """An instruction, the needs with their own words in it, and the templates that it is made of."""

    text: str
    opening: str
    needs: list[Need]
    phrases: list[str]


@dataclass
class ShortWriter:
    """Writes one instruction: everything that is drawn for it comes from its own dice."""

    counter: VariantTable
    title: str
    use: Use
    random: Random
    phrases: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    """The words of each fact that is stated."""

    @cached_property
    def bank(self) -> PhraseBank:
        return load_grammar_bank("shopping")

    def say(self, meaning: str, facts: Mapping[str, str], family: PhraseBank | None = None) -> str:
        said = (family or self.bank).say(meaning, facts, self.random, use=self.use)
        self.phrases += said.templates
        return said.text

    def write(self, needs: Sequence[Need], *, usual: bool) -> ShortText | None:
        """None where the words that were drawn have no room. usual: there is more, which the shop knows from the profile."""
        noun, stated = self.name_thing(), [need for need in needs if need.known == "stated"]
        placed = self.word_traits(stated)
        if placed is None:
            return None
        if not HEAD.fullmatch(noun)["start"]:  # type: ignore[index]
            self.say_of_several(placed.clause)
        first, second = self.part_sentences(placed.behind)
        thing = compose_thing(noun, [self.said[each] for each in placed.before], self.join([*first, *placed.clause]))
        rest = self.join(second)
        if placed.denied:
            denial = " and ".join(self.said[each] for each in placed.denied)
            whole = self.say("ends with", {"thing": rest or thing, "denial": denial})
            thing, rest = (thing, whole) if rest else (whole, rest)
        frame = "instruction" if not rest else f"instruction and {'more' if re.search('with', rest) else 'be'}"
        text = self.say(frame, {"thing": thing, "traits": rest})
        if usual:
            text = f"{text.rstrip('.')}. {self.say('usual', {})}"
        opening = tidy_sentence(self.say("opening", {"thing": noun}))
        phrases = sorted(set(self.phrases))
        said = {need.fact: self.said.get(need.fact) or self.phrase_trait(need) for need in needs}
        worded = [need.model_copy(update={"said": tidy_sentence(said[need.fact])}) for need in needs]
        return ShortText(tidy_sentence(text), opening, worded, phrases)

    # The thing

    def name_thing(self) -> str:
        """With an article: the everyday noun of the bank, else the category's own name."""
        things, meaning = load_grammar_bank("envs"), f"thing {self.counter.leaf}"
        if meaning not in things.templates:
            return re.sub(r"[^\w\s'-]+", " and ", self.counter.leaf).lower()
        # All splits share a thing's few names.
        name = things.say(meaning, {}, self.random).text
        several = MEASURE_WORD.match(name)
        return name[several.end() :] if several and self.random.random() < BARE else name

    # Traits

    def phrase_trait(self, need: Need) -> str:
        if need.fact == "price":
            dollars = need.value.removesuffix(".00")
            return self.say(f"price {need.op}", {"dollars": dollars})
        if need.op == "is not":
            return self.say("not by" if need.fact == "brand" else "not", {"value": self.name_value(need)})
        if need.op in ("at most", "at least"):
            return self.phrase_bound(need)
        return self.phrase_value(need)

    def phrase_bound(self, need: Need) -> str:
        measure = parse_measurement(need.value)
        effect = find_effect(self.counter.group, self.counter.leaf, need.fact, need.op, measure[1] if measure else "")
        if effect and (need.fact in PEOPLE or self.random.random() < EFFECT):
            return self.say(f"effect {effect.name}", {})
        meaning, facts = self.measure_meaning(need)
        how = "" if meaning == "counted" else " along" if meaning == "measure along" else " of"
        return self.say(f"{need.op}{how}", facts)

    def phrase_value(self, need: Need) -> str:
        fact, value = need.fact, need.value
        if fact in ("brand", "color", "condition", "flavor"):
            return self.say(fact, {"value": value if fact == "brand" else value.lower()})
        if fact.endswith("size") and len(value) <= LONGEST_SIZE and not MEASURE.match(value):
            return self.say("size", {"value": value.removeprefix("size ")})
        if MEASURED.fullmatch(value) and parse_measurement(value):
            meaning, facts = self.measure_meaning(need)
            return self.say(meaning, facts)
        named = self.name_value(need)
        if fact in FOR:
            return self.say("for somebody", {"value": named})
        if fact in MATERIALS and named == value:
            return self.say("material", {"value": named})
        part = named.split()[-1].lower().rstrip("s") == fact.split()[-1].rstrip("s") or (
            len(named.split()) > 1 and not STATE.fullmatch(named.lower())
        )
        how = ("parts" if named.endswith("s") else "part") if part else "bare" if len(named.split()) == 1 else "state"
        return self.say(f"value {how}", {"value": named, "a value": add_article(named, fact)})

    def name_value(self, need: Need) -> str:
        """A value, with the name of its fact where the title names it too or where it could be another fact's."""
        value, last = need.value, need.fact.split()[-1]
        behind = re.search(rf"{re.escape(value)} (\w+)", self.title, re.IGNORECASE)
        titled = behind and behind[1].lower().rstrip("s") == last.rstrip("s") and last not in ("color", "size")
        shared = sum(value.lower() in map(str.lower, values) for values in self.counter.values.values()) > 1
        named = last.rstrip("s") in value.lower().split()[-1]
        if named or need.fact in ("brand", "color") or not (titled or shared):
            return value
        return f"{value} {last}" if titled else f"{value} {need.fact}"

    def measure_meaning(self, need: Need) -> tuple[str, dict[str, str]]:
        """How a measure is said: by itself, along a side, or with what it measures; and its facts."""
        found = MEASURE.match(need.value)
        unit = (found["unit"] or "").strip() if found else ""
        number = found["number"] if found else need.value
        known = f"unit {unit}" in self.bank.templates
        one, several = (
            f"{number} {self.say(f'{how} {unit}', {})}" if known else need.value for how in ("unit", "units")
        )
        facts = {"fact": need.fact.removeprefix("max "), "measure": one, "measures": one if number == "1" else several}
        if need.fact in SIDES and unit in SIDE_UNITS:
            return "measure along", {**facts, "along": self.say(f"along {need.fact}", {})}
        if COUNTED.fullmatch(unit) and unit not in UNITS and unit not in ("ounces", "years", "months"):
            return "counted", facts
        if need.fact.split()[-1].rstrip("s") in need.value.lower():
            return "counted", facts
        return ("measure" if need.fact in WHOLE and self.is_only_one_in(unit) else "measure of"), facts

    def is_only_one_in(self, unit: str) -> bool:
        """Whether one fact alone of the category is measured so."""
        base = UNITS.get(unit, (unit, 1.0))[0]
        bases = Counter(
            name
            for name, values in self.counter.values.items()
            if any((found := parse_measurement(value)) and found[1] == base for value in values)
        )
        return len(bases) == 1 and bool(unit)

    # Where they stand

    def word_traits(self, needs: Sequence[Need]) -> "Placed | None":
        """The words of all needs and where they stand; None where a trait found no words that have room. One is a clause, at most."""
        placed = Placed([], [], [], [])
        for need in sorted(needs, key=lambda _: self.random.random()):
            for _ in range(DRAWS):
                self.said[need.fact] = self.phrase_trait(need)
                if placed.add(need, self.said):
                    break
            else:
                return None
        placed.behind.sort(key=lambda fact: fact == "price")
        return placed

    def say_of_several(self, facts: Iterable[str]) -> None:
        for fact in facts:
            for one, several in SEVERAL:
                self.said[fact] = self.said[fact].replace(one, several)

    def part_sentences(self, behind: list[str]) -> tuple[list[str], list[str]]:
        """What stands behind the thing, and what is for a second sentence."""
        many = len(behind) > MOST_BEHIND or (len(behind) > 2 and self.random.random() < SECOND_SENTENCE)
        return (behind[:2], behind[2:]) if many else (behind, [])

    def join(self, facts: Sequence[str]) -> str:
        """One after the other; of two with the same first word the second is said without it."""
        text = ""
        for place, fact in enumerate(facts):
            part, last = self.said[fact], self.said[facts[place - 1]] if place else ""
            if not text:
                text = part
            elif last.startswith("with ") and part.startswith("with "):
                self.said[fact] = part.removeprefix("with ")
                text = f"{text} {self.say('between', {})} {self.said[fact]}"
            elif needs_no_link(last, part):
                text = f"{text} {part}"
            else:
                text = f"{text} {self.say('between', {})} {part}"
        return text


class Placed(NamedTuple):
    """Facts by where their words stand: before the thing, behind it, in a clause behind that, and at the end what it is not."""

    before: list[str]
    behind: list[str]
    clause: list[str]
    denied: list[str]

    def add(self, need: Need, said: Mapping[str, str]) -> bool:
        """Puts a need where its words belong; False where there is no room."""
        text = said[need.fact]
        words = sum(len(said[fact].split()) for fact in self.before) + len(text.split())
        if need.op == "is not":
            self.denied.append(need.fact)
        elif CLAUSE.match(text):
            if self.clause:
                return False
            self.clause.append(need.fact)
        elif stands_behind(text):
            self.behind.append(need.fact)
        elif len(self.before) < MOST_BEFORE and words <= MOST_WORDS_BEFORE:
            self.before.append(need.fact)
        else:
            return False
        return True


def stands_behind(text: str) -> bool:
    """
    >>> [stands_behind(text) for text in ("in black", "lightweight", "with two slots", "$40 at most", "12 inches tall")]
    [True, False, True, True, True]
    """
    return bool(BEHIND.match(text))


def needs_no_link(first: str, second: str) -> bool:
    """Whether two traits stand side by side without a word between them: those that begin with the same word do not.

    >>> needs_no_link("in black", "with a lid"), needs_no_link("in black", "in size M")
    (True, False)
    """
    return first.split()[0] != second.split()[0]


def add_article(named: str, fact: str) -> str:
    """A value with "a" where it ends with the one thing that its fact names."""
    last = named.split()[-1].lower()
    return f"a {named}" if last == fact.split()[-1] and not last.endswith("s") else named


def compose_thing(noun: str, before: Iterable[str], behind: str) -> str:
    """
    >>> compose_thing("a pair of jeans", ["black", "slim"], "under $40")
    'a pair of black slim jeans under $40'
    """
    found = HEAD.fullmatch(noun)
    assert found
    start = re.sub(r"^an ", "a ", found["start"] or "")
    parts = [start, *before, found["noun"], behind]
    return tidy_sentence(" ".join(part.strip() for part in parts if part.strip()))
