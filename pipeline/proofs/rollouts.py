"""What a thought about a table says: filled with facts of a real log, and read back as the remark that it is, with the same facts."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain, islice, pairwise
from random import Random
from typing import Any, NamedTuple

from shopwright.pipeline.phrases.bank import Ref, Said
from shopwright.pipeline.phrases.grammar import SLOT, Template
from shopwright.pipeline.proofs.family import Claim, Example, Family, Filled, Sources, Unproved, replace_meaning
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.reading.thoughts import Facts, Reading, fold_fact, list_log_names, read_thought
from shopwright.pipeline.rollouts.thoughts import Slots, hide_facts, show_facts

# What no thought has: markup, addresses, what speaks to a machine. Names of columns and comparisons are at home here.
STRANGE = re.compile(
    r"</?\w|[*#|\\\n]|https?:|www\.|\b(?:ignore|disregard) (?:\w+ ){0,3}(?:instructions?|rules?)\b|\bsystem prompt\b",
    re.IGNORECASE,
)
HOSTS = {
    "rows": ("mind every row", "rows"),
    "row": ("mind too few", "row"),
    "thing": ("mind once", "thing"),
    "things": ("look repeats", "things"),
    "condition": ("look relaxed", "condition"),
    "goal": ("open sql", "goal"),
}
"""Of a meaning that is a part of a sentence, by its first word: the remark that it is said in, and in which slot."""
NOUNS = {"start": "row search", "end": "row purchase", "one": "rows click", "other": "rows purchase"}
"""In remarks on two groups of events, and on a wait, which of them."""
TWO_GROUPS = ("mind ratio", "mind minus", "mind both", "mind wait")
LOOKED_AT = 12
"""Trajectories in which facts are looked for."""
HALF_HOUR = 1_800


class Log(NamedTuple):
    """A trajectory whose facts are said."""

    id: str
    last: date
    facts: Mapping[str, str]
    """By slot, and by meaning and slot where a meaning says something else there than others do."""

    def find(self, meaning: str, slot: str) -> str:
        kind = meaning.split()[0]
        names = (f"{meaning}/{slot}", f"{kind}/{slot}", slot)
        return next(self.facts[name] for name in names if name in self.facts)


@dataclass(frozen=True)
class ThoughtExample(Example):
    """Facts of a log for the slots of a remark."""

    facts: Slots


class Rollouts(Family[ThoughtExample]):
    name = "rollouts"
    strange = STRANGE

    def list_units(self) -> list[str]:
        """The first words of its meanings, such as `mind` and `saw`."""
        return list(dict.fromkeys(meaning.split()[0] for meaning in self.bank.templates))

    def find_examples(self, unit: str, sources: Sources, random: Random) -> dict[str, list[ThoughtExample]]:
        """One for each meaning, all of one trajectory."""
        log = pick_log(sources)
        found: dict[str, list[ThoughtExample]] = {}
        for meaning in self.bank.templates:
            if meaning.split()[0] != unit:
                continue
            host, slot = HOSTS.get(unit, (meaning, ""))
            facts = self.draw_facts(host, log, random)
            own = self.draw_facts(meaning, log, random)
            if slot:
                facts |= {slot: Ref(meaning, own)}
            about = f"{meaning}: {json.dumps(pack_slots(facts), ensure_ascii=False)}"
            found[meaning] = [ThoughtExample(about, log.id, log.last, sorted(own), facts)]
        return found

    def draw_facts(self, meaning: str, log: Log, random: Random) -> dict[str, str | Ref]:
        slots = set(chain.from_iterable(template.slots for template in self.bank.templates[meaning]))
        return {slot: self.draw_fact(slot, meaning, log, random) for slot in sorted(slots)}

    def draw_fact(self, slot: str, meaning: str, log: Log, random: Random) -> str | Ref:
        """A fact of the log, or a noun that the bank says."""
        if slot == "goal":
            return Ref("goal count", self.draw_facts("goal count", log, random))
        if slot in NOUNS and meaning in TWO_GROUPS:
            return Ref(NOUNS[slot], {})
        if slot in HOSTS:
            nouns = [each for each in self.bank.templates if each.split()[0] == slot]
            if slot in ("thing", "things") and meaning.endswith("missing"):
                nouns = [f"{slot} brand", f"{slot} color"]
            return Ref(nouns[int(random.random() * len(nouns))], {})
        return log.find(meaning, slot)

    def fill(self, template: Template, frame: str, example: ThoughtExample, random: Random) -> Filled:
        facts: dict[str, str] = {}
        said = self.say(template, frame, hide_facts(example.facts, facts), random)
        text = show_facts(said.text, facts, template.register)
        return Filled(text, json.dumps(pack_slots(example.facts), ensure_ascii=False))

    def say(self, template: Template, frame: str, slots: Slots, random: Random) -> Said:
        """The frame; a part of a sentence within a remark that has such a part."""
        use, register = template.use, template.register
        host, slot = HOSTS.get(template.meaning.split()[0], ("", ""))
        if not host:
            return self.bank.fill(template, frame, slots, random, use=use, register=register)
        bank = replace_meaning(self.bank, template, frame)
        around = next(each for each in bank.of(host, use) if slot in each.slots)
        return bank.fill(around, around.frame(random), slots, random, use=use)

    def read(self, claim: Claim, sources: Sources) -> str:
        engines = sources.trajectories.once(Engines)
        if claim.of not in engines:
            raise Unproved("its trajectory is not there")
        facts = parse_facts(claim)
        found = read_thought(claim.text, list_log_names(engines.events(claim.of)))
        if not found:
            raise Unproved(f"the reader does not understand it: {claim.text}")
        host, slot = HOSTS.get(claim.meaning.split()[0], (claim.meaning, ""))
        if others := sorted({each.meaning for each in found} - {host}):
            means = "can also mean" if any(each.meaning == host for each in found) else "means"
            raise Unproved(f"it {means} something else ({' or '.join(others)}): {claim.text}")
        faults = [find_other_fact(each, facts) or find_lost_fact(each, claim, slot) for each in found]
        if None not in faults:
            raise Unproved(f"it is read with other facts ({faults[0]}): {claim.text}")
        right = found[faults.index(None)]
        packed: dict[str, Any] = {"meaning": right.meaning, "facts": dict(right.facts)}
        if right.goals:
            packed["goals"] = {goal: dict(facts) for goal, facts in right.goals}
        return json.dumps(packed, ensure_ascii=False)


def parse_facts(claim: Claim) -> dict[str, Any]:
    try:
        facts = json.loads(claim.facts)
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise Unproved("its facts are no facts of slots")
    return facts


def pack_slots(slots: Slots) -> dict[str, Any]:
    """Facts as JSON; of a noun its meaning and the facts in it."""
    return {
        name: value if isinstance(value, str) else {"meaning": value.meaning, "facts": pack_slots(value.slots)}
        for name, value in slots.items()
    }


def find_other_fact(reading: Reading, facts: Mapping[str, Any]) -> str | None:
    """What was read that is not the fact of its slot."""
    if fault := find_wrong_slot(reading.facts, facts):
        return fault
    if not reading.goals:
        return None
    goal = facts.get("goal")
    names = [name for name, _ in reading.goals]
    if not isinstance(goal, dict) or names != [goal.get("meaning")]:
        return f"it asks for {' or '.join(names)}"
    return find_wrong_slot(reading.goals[0][1], goal.get("facts", {}))


def find_wrong_slot(read: Facts, facts: Mapping[str, Any]) -> str | None:
    for slot, values in read:
        fact = facts.get(slot)
        if isinstance(fact, dict):
            same = fact.get("meaning") in values
        else:
            same = isinstance(fact, str) and fold_fact(fact) == fold_fact(values[0])
        if not same:
            return f"{slot} is {' or '.join(values)}"
    return None


def find_lost_fact(reading: Reading, claim: Claim, slot: str) -> str | None:
    """A slot of the words in which nothing was read; of a part of a sentence, whether it is read as this part."""
    nouns = dict(reading.facts)
    if slot == "goal":
        read = {each for _, facts in reading.goals for each, _ in facts}
        named = claim.meaning in [goal for goal, _ in reading.goals]
    elif slot:
        read, named = set(SLOT.findall(claim.words)), claim.meaning in nouns.get(slot, ())
    else:
        read, named = {*nouns, *(["goal"] if reading.goals else [])}, True
    if not named:
        return f"it does not name {claim.meaning}"
    lost = sorted(set(SLOT.findall(claim.words)) - read)
    return f"nothing is {lost[0]}" if lost else None


# Facts of a log


def pick_log(sources: Sources) -> Log:
    """Of the first trajectories the one with the most events."""
    engines = sources.trajectories.once(Engines)
    ids = islice(sources.trajectories.table(["id"])["id"].to_pylist(), LOOKED_AT)
    return collect_facts(max(ids, key=lambda id: (len(engines.events(id)), id)), engines)


@lru_cache(2)
def collect_facts(id: str, engines: Engines) -> Log:
    rows = engines.events(id).to_pylist()
    times = [row["timestamp"] for row in rows]
    first, last = times[0].date(), times[-1].date()
    prices = sorted({row["price"] for row in rows if row["price"] is not None})
    title = next(row["product_name"] for row in rows if row["product_name"] and "," in row["product_name"])
    words, _, detail = title.lower().rpartition(",")
    one, other = islice(list_values(rows, "brand"), 2)
    query = max(list_values(rows, "search_query"), key=lambda text: (len(text.split()), text))
    gaps = sorted(int((later - earlier).total_seconds()) for earlier, later in pairwise(times))
    counts = {action: sum(row["action_type"] == action for row in rows) for action in ("click", "search", "purchase")}
    facts = {
        "first": str(first), "last": f"{last:%B} {last.day}, {last.year}", "next": f"{last.day} {last:%B} {last.year}", "day": str(first),
        "latest": str(times[-2]), "saw/first": str(times[0]), "saw/second": str(times[1]), "mind weekday/day": f"{first:%A}",
        "n": str(counts["click"]), "m": str(counts["search"]), "k": str(max(2, counts["purchase"])), "place": "third", "goal nth/place": "second",
        "low": str(prices[0]), "high": str(prices[-1]), "amount": str(prices[-1] * 3), "price": f"${prices[0]}", "saw clear price/other": f"${prices[1]}",
        "one": one, "other": other, "name": title, "words": words.strip(), "detail": detail.strip(), "begin": "10:00", "end": "12:00",
        "value": one, "column": "brand", "wrong": "add_to_cart", "right": "add to Cart", "error": "KeyError", "error state/name": "clicks",
        "error/wrong": "brand_name", "error/right": "brand", "why column/right": "brand", "odd case/value": one.lower(), "why no brand/value": one.lower(),
        "why case/right": one, "why case/wrong": one.lower(), "why timestamp/type": "datetime64[us]", "why price/type": "decimal128(10, 2)[pyarrow]",
        "why dates/type": "date", "mind split/first": f"{last + timedelta(days=1)}",
        "say number/said": str(len(rows)), "say share/said": "12.5", "say money/said": f"${prices[-1]}", "say time/said": str(times[0]),
        "say duration/said": f"{gaps[-1] // 3600}:{gaps[-1] // 60 % 60:02d}:{gaps[-1] % 60:02d}", "say duration/all": str(gaps[-1]),
        "say text/said": one, "say one name/said": title, "say names/said": f"{one}; {other}", "say answers/said": "yes; no",
    }  # fmt: skip
    facts |= dict.fromkeys(("mind color/value",), next(list_values(rows, "color")))
    kinds = ("mind category", "odd category in titles", "odd category not in titles", "odd no category")
    facts |= {f"{kind}/value": next(list_values(rows, "product_types")) for kind in kinds}
    facts["mind query/value"] = query
    facts |= {
        f"{kind}/value": query.split()[-1]
        for kind in ("mind word", "odd word alone", "odd word never alone", "odd no word")
    }
    for meaning, seconds in (
        ("saw long gap", next((gap for gap in gaps if gap > HALF_HOUR), HALF_HOUR + 1)),
        ("saw short gap", next((gap for gap in reversed(gaps) if gap < HALF_HOUR), HALF_HOUR - 1)),
        ("saw exact gap", HALF_HOUR),
    ):
        spans = {"all": seconds, "minutes": seconds // 60, "seconds": seconds % 60}
        facts |= {f"{meaning}/{name}": str(value) for name, value in spans.items()}
    return Log(id, last, facts)


def list_values(rows: Iterable[Mapping[str, Any]], column: str) -> Iterator[str]:
    return iter(sorted({row[column] for row in rows if row[column]}))
