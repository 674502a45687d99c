"""What people type: a few parts in the order in which they come to mind, refined by changing one, now and then mistyped.

    words = SearchWords(kinds of the catalog, category terms, rows of the dataset `queries`)
    text = words.first(need, random)        # "coffee maker for small kitchen"
    text = words.refine(need, random)       # "coffee maker with timer for small kitchen"

How often each form comes is fitted to what people typed (ESCI's queries, WebShop's): lengths, small words, typing errors; no text of
theirs is in here.
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.languages import ENGLISH, ShopLanguage
from shopwright.pipeline.shop.mistype_words import mistype_word
from shopwright.pipeline.words import STOP
from shopwright.pipeline.world.catalog_columns import MODEL, CatalogColumns, load_reference_nouns
from shopwright.pipeline.world.category_terms import CategoryTermIndex
from shopwright.pipeline.world.household import Need
from shopwright.pipeline.world.kinds import Kinds
from shopwright.schemas.shop import Query

# Dollars that people say as a limit.
CAPS = (10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000)
# Of a search: how often it is mistyped, and how often a word of it is cut.
MISTYPED, CUT = 0.062, 0.014
# Of the first searches of a need; the rest is the name of the thing with some parts.
ONE_WORD, BRAND, USUAL, MODEL_NUMBER, PASTED = 0.12, 0.03, 0.2, 0.05, 0.015
SHAPED = 0.17
# Where the catalog has searches that people really typed for a product.
REAL = 0.7
# Words of a title that is pasted.
TITLE_WORDS = (4, 11)
# How often what the thing in mind is made for is said of it, rather than what its kind is for.
OWN_USE = 0.3
# Parts, of those that stand before the name and behind it.
BEFORE, BEHIND = ("brand", "size", "color", "detail"), ("with", "without", "for", "in", "cap")
SHAPES = ("question", "wish", "set", "negation", "both", "plain", "plain")
LONGEST = 120
SPACES = re.compile(r"\s+")
# Words of how it is put are not mistyped.
SMALL = STOP | {"for", "with", "without", "not", "no", "under", "pack", "set"}


class SearchWords:
    """The words of a catalog's categories."""

    def __init__(
        self,
        stock: CatalogColumns,
        kinds: Kinds,
        terms: CategoryTermIndex,
        rows: Mapping[str, Query],
        language: ShopLanguage = ENGLISH,
    ) -> None:
        self.stock, self.kinds, self.terms, self.rows = stock, kinds, terms, rows
        # How searches are put in the shop's language.
        self.reference = language.load("searches.toml")
        self.joins: dict[str, Any] = self.reference["joins"]
        self.known: dict[int, tuple[str, ...]] = {}

    def names(self, leaf: int) -> tuple[str, ...]:
        """What things of a category are called: different words for one thing."""
        found = self.known.get(leaf)
        if found is None:
            name = self.stock.leaves[leaf]
            nouns = [" ".join(noun) for noun in load_reference_nouns().get(name, [])]
            found = self.known[leaf] = tuple(dict.fromkeys([*self.terms.of(name).heads, *nouns]))
        return found

    # A need's searches

    def first(self, need: Need, random: Random) -> str:
        """What is typed when nothing was typed for this need before."""
        words, dice = need.words, random.random()
        need.parts = {"name": self.pick_name(need, random)}
        if need.whom:
            return self.as_gift(need, random)
        if (real := self.stock.queries.get(need.ideal)) and random.random() < REAL:
            return random.choice(real)  # what people typed for it
        if need.brand and random.random() < 0.75:
            need.parts["brand"] = need.brand
        if dice < ONE_WORD:
            return (
                need.parts["name"].split()[-1]
                if random.random() < 0.6
                else self.stock.leaves[need.leaf].lower().split()[0]
            )
        dice -= ONE_WORD
        if dice < BRAND and words.brand:
            need.brand = need.brand or words.brand
            return need.brand
        dice -= BRAND
        if dice < USUAL:
            return self.usual(need, random)
        dice -= USUAL
        if dice < MODEL_NUMBER and (text := self.model_number(need)):
            return text
        dice -= MODEL_NUMBER
        if dice < PASTED:
            return self.paste(need.ideal, random)
        dice -= PASTED
        if dice < SHAPED:
            return self.shaped(need, random)
        for _ in range(random.choice((0, 1, 1, 1, 2))):
            self.add_part(need, random)
        return self.put(need, random)

    def refine(self, need: Need, random: Random) -> str:
        """The last search with one thing changed; what is typed for the first time where there was none."""
        if not need.parts:
            return self.first(need, random)
        dice, parts = random.random(), need.parts
        if need.whom and dice < 0.3:
            return self.as_gift(need, random)
        extra = [name for name in parts if name != "name"]
        if dice < (0.47, 0.18, 0.04, 0.01)[min(len(extra), 3)]:
            self.add_part(need, random)
        elif dice < 0.66 and extra:
            dropped = random.choice(extra)
            del parts[dropped]
            if random.random() < 0.45:
                self.add_part(need, random, but=dropped)
        elif dice < 0.78 and len(self.names(need.leaf)) > 1:
            parts["name"] = random.choice([name for name in self.names(need.leaf) if name != parts["name"]])
        elif dice < 0.84:
            return self.shaped(need, random)
        elif dice < 0.9:
            return self.usual(need, random)
        elif dice < 0.915:
            return self.paste(random.choice(sorted(need.seen)) if need.seen else need.ideal, random)
        elif dice < 0.95 and (text := self.model_number(need)):
            return text
        elif dice < 0.975:
            kept = parts["name"]
            parts.clear()
            parts["name"] = kept
        elif dice < 0.985:
            parts["cap"] = str(self.cap(need))
        return self.put(need, random)

    def pick_name(self, need: Need, random: Random) -> str:
        """As a rule what the thing in mind is called; else another word for it, or one more or less."""
        dice, names = random.random(), self.names(need.leaf)
        name = need.words.head if dice < 0.6 or not names else random.choice(names)
        if len(name.split()) > 2 and random.random() < 0.6:
            name = " ".join(name.split()[-2:])
        if dice > 0.93:
            name = self.stock.leaves[need.leaf].lower()
        if random.random() < 0.12 and (plural := self.joins["plural"]):
            name = name.removesuffix(plural) if name.endswith(plural) else f"{name}{plural}"
        return name

    def add_part(self, need: Need, random: Random, but: str = "") -> None:
        """One more thing that is asked for."""
        parts, words = need.parts, need.words
        dice = random.random()
        free = [want for want in need.wants or words.details if want not in parts.values()]
        if dice < 0.25 and free:
            name = "with" if random.random() < 0.35 else "detail"
            if name != but:
                parts[name] = random.choice(free)
        elif dice < 0.58 and but != "for":
            parts["for"] = self.purpose(need, random)
        elif dice < 0.7 and (need.color or words.color) and but != "color":
            parts["in" if random.random() < 0.3 else "color"] = need.color or words.color
        elif dice < 0.79 and (need.brand or random.random() < 0.3) and words.brand and but != "brand":
            parts["brand"] = need.brand = need.brand or words.brand
        elif dice < 0.81 and but != "cap":
            parts["cap"] = str(self.cap(need))
        elif dice < 0.87 and (plain := [want for want in free if not want[0].isdigit()]) and but != "without":
            parts["without"] = random.choice(plain)
        elif but != "size":
            some = self.reference["words"]
            parts["size"] = random.choice(some["size"] if random.random() < 0.5 else some["quality"])

    def put(self, need: Need, random: Random) -> str:
        """The parts in words."""
        parts = need.parts
        said = [parts[name] for name in BEFORE if name in parts]
        if "brand" in parts and random.random() < 0.12:
            said = [*said[1:], said[0]]
        said.append(parts["name"])
        if "detail" in parts and random.random() < 0.2:  # behind the name
            said.remove(parts["detail"])
            said.append(parts["detail"])
        for name in BEHIND:
            if name in parts and name != "cap":
                bare = name == "for" and random.random() < 0.12
                said.append(parts[name] if bare else self.joins[name].format(part=parts[name]))
        text = " ".join(said)
        if "cap" in parts:
            text += f" {self.cap_words(parts['cap'], random)}"
        return once(text)

    def cap_words(self, cap: str, random: Random) -> str:
        """A limit, in English with or without the sign of the dollar."""
        signed = random.random() < 0.4
        said: str = self.joins["cap"].format(part=f"{self.joins.get('sign', '') if signed else ''}{cap}")
        return said

    def cap(self, need: Need) -> int:
        return next((cap for cap in CAPS if cap * 100 >= need.most), CAPS[-1])

    def purpose(self, need: Need, random: Random) -> str:
        kind, known = self.kinds.of[need.leaf], self.reference["purposes"]
        if kind.companions and random.random() < 0.1 and (name := self.companion_name(need.leaf, random)):
            return name
        uses = need.words.uses if random.random() < OWN_USE else ()
        found: str = random.choice(uses or kind.purposes or known[kind.who])
        return found

    def usual(self, need: Need, random: Random) -> str:
        """What is typed in this category before one knows what one wants."""
        row = self.rows.get(self.stock.leaves[need.leaf])
        if row is None or not row.texts:
            return self.put(need, random)
        # The first texts are what most people type.
        return row.texts[int(len(row.texts) * random.random() ** 1.6)]

    def companion_name(self, leaf: int, random: Random) -> str:
        """What something is called that goes with it; empty where nothing has a name, as in shops whose titles hold no noun of their category."""
        names = [found[0] for other in self.kinds.of[leaf].companions if (found := self.names(other))]
        return random.choice(names) if names else ""

    def shaped(self, need: Need, random: Random) -> str:
        shape, words = random.choice(SHAPES), need.words
        color = need.color or words.color
        other = self.companion_name(need.leaf, random)
        # Nothing of a shape may fit where a shelf has no color.
        able = {
            each: [
                form
                for form in self.reference["forms"][each]
                if (color or "{c}" not in form) and (other or "{o}" not in form)
            ]
            for each in SHAPES
        }
        form = random.choice(able[shape] or [form for forms in able.values() for form in forms])
        said = {
            "n": need.parts["name"],
            "d": random.choice(need.wants or words.details or (self.joins["detail"],)),
            "f": self.purpose(need, random),
            "b": words.brand,
            "c": color,
            "e": random.choice([each for each in self.joins["second_colors"] if each != color]),
            "o": other,
        }
        return once(form.format(**said))

    def as_gift(self, need: Need, random: Random) -> str:
        known = self.reference
        if need.whom == "gift":
            need.whom = random.choice(known["gifts"]["for"])
        form = random.choice(known["forms"]["gift"]) if random.random() < 0.6 else "{n}"
        return once(form.format(n=need.parts["name"], g=need.whom, o=random.choice(known["gifts"]["occasion"])))

    def model_number(self, need: Need) -> str:
        """Maker and number, where a title has one."""
        title = self.stock.titles[need.ideal].as_py().lower()
        number = next((word for word in title.replace(",", " ").split() if MODEL.fullmatch(word.strip("()"))), "")
        if not number:
            return ""
        need.brand = need.words.brand
        return once(f"{need.words.brand} {number.strip('()')}")

    def paste(self, product: int, random: Random) -> str:
        """The first words of a title that was seen, here or elsewhere."""
        words = self.stock.titles[product].as_py().replace("[", " ").replace("]", " ").split()
        text = " ".join(words[: random.randint(*TITLE_WORDS)]).rstrip(" ,-|(&")
        brand = self.stock.brands[product].as_py()
        return clip(text if random.random() < 0.4 or brand is None else text.lower())


def mistype(text: str, random: Random) -> str:
    """The text as the fingers put it: sometimes with a wrong letter, sometimes cut short."""
    dice = random.random()
    if dice < CUT and len(text) > 8 and " " in text:
        return text[: -random.randint(1, 3)].rstrip()
    if dice > CUT + MISTYPED:
        return text
    words = text.split(" ")
    places = [
        place
        for place, word in enumerate(words)
        if len(word) > 3 and word.isascii() and word.isalpha() and word.lower() not in SMALL
    ]
    if not places:
        return text
    place = random.choice(places)
    for _ in range(4):
        if (wrong := mistype_word(words[place].lower(), 0.25, random)) != words[place]:
            words[place] = wrong
            break
    return clip(" ".join(words))


def once(text: str) -> str:
    """Without a word that stands there twice in a row, and without more words than anybody types.

    >>> once("oak  lamp lamp for kids")
    'oak lamp for kids'
    """
    found: list[str] = []
    for word in SPACES.split(text.strip()):
        if not found or word != found[-1]:
            found.append(word)
    return clip(" ".join(found))


def clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0]


def index_queries_by_category(queries: Dataset[Query]) -> dict[str, Query]:
    """For `queries.once`."""
    return {query.category: query for query in queries}
