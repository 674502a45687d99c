"""How our instructions compare with those that people wrote for WebShop (arXiv 2207.01206): length, constraints and vocabulary.

A constraint is found by the signs of English: a price, a measure, a size, a color, a word such as `machine washable`, and what
stands behind `with`, `and`, `for` or a comma. It is good enough to count them, not to buy by them: a brand or a pattern that stands
before a noun without any sign is taken for part of its name. Instructions in Chinese cannot be compared with theirs.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles
from typing import Literal, NamedTuple, get_args

from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shopping.facts import load_color_words
from shopwright.pipeline.words import content_words

Kind = Literal["price", "measure", "size", "color", "feature"]
Form = Literal["number", "percent"]
# Among a run's evaluations.
FILE = "human.json"
# Words, at most, of each side whose variety is compared: more words are always less various.
SAMPLE = 20_000
# Letters of an instruction that are read.
LONGEST = 2_000
NUMBER = r"(?:\d{1,12}(?:[.,]\d{1,6})?(?:/\d{1,6})?)"
WORDED = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|single|double)"
MONEY = re.compile(
    rf"(?:(?:at\s+)?(?:a\s+|the\s+)?(?:and\s+)?(?:price[ds]?|cost(?:s|ing)?|budget|for|is|be|under|below|less|lower|cheaper|at)\s+){{0,5}}"
    rf"(?:is\s+|of\s+|be\s+){{0,2}}(?:(?:at\s+most|up\s+to|no\s+more|not\s+more|lower|less|cheaper|under|below|within|maximum|max|around|about)\s+){{0,3}}"
    rf"(?:than\s+|of\s+)?(?:\$\s*(?P<sign>{NUMBER})(?:\s*(?:dollars?|usd|bucks))?|(?P<word>{NUMBER})\s*(?:dollars?|usd|bucks|\$))",
    re.IGNORECASE,
)
UNIT = (
    r"(?:inch(?:es)?|in|millimet(?:er|re)s?|centimet(?:er|re)s?|ft|foot|feet|yards?|yd|mm|cm|meters?|metres?|m|fl\.?\s*oz|fluid\s+ounces?|ounces?|oz|pounds?|lbs?|g|grams?|kg|ml|"
    r"l|liters?|litres?|qt|quarts?|gal|gallons?|gb|gigabytes?|tb|terabytes?|mah|watts?|w|kw|volts?|v|amps?|hz|mp|k|packs?|count|ct|pcs?|"
    r"pieces?|pairs?|boxes|bottles?|bags?|jars?|cans?|cups?|sets?|tier|drawers?|seats?|person|people|days?|hours?|minutes?|min|sec|"
    r"lumens?|lm|dpi|stars?|reviews?|doors?|shelf|shelves|sq\s+(?:ft|in)|degrees?)"
)
MEASURE = re.compile(
    rf"(?:(?:rated\s+|within\s+|with\s+)?(?:at\s+least|at\s+most)\s+{NUMBER}(?:\s+{UNIT}\b)?|rated\s+{NUMBER}|within\s+{NUMBER}\s+days?"
    rf"|{NUMBER}\s*(?:{UNIT})?\s*(?:x|\*|by)\s*{NUMBER}(?:\s*{UNIT}\b)?(?:\s*(?:x|\*|by)\s*{NUMBER}(?:\s*{UNIT}\b)?)?"
    rf"|(?:packs?|set|case|box|bundle|lot)\s+of\s+(?:{NUMBER}|{WORDED})|(?:{NUMBER}|{WORDED})[\s-]*{UNIT}(?![\w/])|{NUMBER}\s*[\"”])",
    re.IGNORECASE,
)
LETTERED = (
    r"(?:\d*x*-?(?:large|small|l|s)|xx*l|xx*s|medium|large|small|king|queen|twin|full|california\s+king|one\s+size)"
)
SIZE = re.compile(
    rf"(?:\b(?:in\s+)?(?:a\s+)?(?:us\s+|uk\s+|eu\s+)?sized?\s+(?:is\s+|of\s+|should\s+be\s+)?(?P<after>{LETTERED}|{WORDED}|{NUMBER}(?:\s+(?:wide|narrow|plus|us|women|men))?)(?![\w.])"
    rf"|\b(?P<before>(?:\d*x+-?(?:large|small)|\d?xx*l|{NUMBER}\s+wide)|(?:king|queen|twin|full|large|medium|small|{NUMBER})[\s-]+sized?)(?![\w-])"
    rf"|\b(?P<bare>x+-?(?:large|small)|\d+x-?large|medium|large|small)(?=\s*(?:$|[,.;]|\band\b|\bin\b|\bwith\b))"
    rf"|\b(?P<waist>\d\d\s*w\s*(?:x|by)?\s*\d\d\s*l)\b)",
    re.IGNORECASE,
)
SHADES = (
    "black white grey gray silver red blue navy teal turquoise green yellow gold orange purple lavender violet pink brown beige tan ivory"
    " khaki charcoal burgundy coral cream multicolor multicolored transparent clear mint olive wine rose walnut espresso bronze"
    " copper nickel chrome blonde auburn mauve lilac peach rainbow"
).split()
FEATURE = re.compile(
    r"\b(?:\w+[\s-](?:free|resistant|proof|friendly|washable|lasting|certified|cancelling|canceling|plated|compatible|based|sided|"
    r"duty|quality|definition|speed|power|fit|sleeved?|sole|waist(?:ed)?|toe|heel|size|wash|clean|setup|grade|style|coated|"
    r"absorbent|powered|drying|fitting|seater|to\s+(?:use|clean|assemble|carry|install|apply|wear|store|open|prepare))|non[\s-](?:\w+)|anti[\s-]?\w+|"
    r"(?:water|leak|fade|stain|wrinkle|dust|shock|rust)proof|wireless|portable|foldable|organic|vegan|handmade|lightweight|"
    r"rechargeable|stainless\s+steel|keto|kosher|wide\s+angle|super\s+soft|ultra\s+hd|mid\s+century)\b",
    re.IGNORECASE,
)
OPENER = re.compile(
    r"^\W*(?:hi|hello|hey)?\W*(?:(?:i\s*(?:am|['’]?m)|im)\s+(?:looking|searching|interested|trying|shopping)(?:\s+(?:for|in|to)\b)*|"
    r"(?:i\s+(?:would\s+like|want|need|wish|['’]d\s+like|could\s+use|am\s+in\s+need\s+of)|id\s+like)|(?:can|could|will|would)\s+you(?:\s+please)?|"
    r"(?:please\s+)?(?:help\s+me|show|get|find|buy|give|search|look|looking|pick|choose|order)\b|please)"
    r"(?:\s+(?:to|me|for|find|buy|purchase|get|have|order|see|a|an|the|some|by|want|looking|in|need)\b)*\s*",
    re.IGNORECASE,
)
BREAK = re.compile(
    r"\s*(?:[,:;!?()]|(?<!\d)\.|\.(?!\d)|\b(?:with|and|also|but|plus|that|which|where|whose|made\s+of|made\s+from|made\s+by|designed|suitable|it|has|have|having|"
    r"comes?|for|in|used|can|should|must|is|are|be)\b)\s*",
    re.IGNORECASE,
)
# What parts the rest of an instruction with a list, whose features stand there.
SOFT = re.compile(r"\s*(?:[,?]|(?<!\d)\.|\.(?!\d)|\b(?:made\s+by|and\s+made\s+by)\b)\s*")
LIST = re.compile(
    r"(?<!color)(?<!colour)(?<!size)(?<!style)(?<!brand)(?<!scent)(?<!flavor):\s+(.+?)(?=[.?!](?:\s+[A-Z]|\s*$)|$)",
    re.DOTALL,
)
EMPTY = frozenset(
    "a an the i me my it its is are be am you your to of in on at by or so this that them they one some any please want need like would"
    " should prefer preferably choose pick find get buy looking look color colors colored colour size sized price priced lower less than"
    " dollars also will make sure must has have come comes available if possible thing kind type here within rated least most not no"
    " from as about only each other another and here please product item detail details matters mind what there".split()
)


class Constraint(NamedTuple):
    """Something that a product has to be, as it is said."""

    kind: Kind
    said: str


@dataclass(frozen=True)
class ParsedInstruction:
    """An instruction as the parser understands it."""

    thing: str
    """What is wanted, without what is said about it."""
    constraints: tuple[Constraint, ...]
    price: float | None
    """The limit in dollars."""


def parse_instruction(instruction: str) -> ParsedInstruction:
    """
    >>> found = parse_instruction("i need gluten free popcorn in a pack of 6, and price lower than 40.00 dollars")
    >>> found.thing, found.price, [each.kind for each in found.constraints]
    ('popcorn', 40.0, ['price', 'measure', 'feature'])
    """
    head, listed, tail = split_off_list(instruction.strip()[:LONGEST])
    head = OPENER.sub("", head.lower(), count=1)
    price = MONEY.search(f"{head} . {tail.lower()}")
    found = [Constraint("price", price[0].strip())] if price else []
    text = MONEY.sub(" , ", f"{head} . {tail.lower()}")
    for kind, pattern in list_sign_patterns()[: -1 if listed else None]:
        found += [Constraint(kind, match[0].strip()) for match in pattern.finditer(text) if match[0].strip()]
        text = pattern.sub(" ", text)
    thing, *rest = [part for part in map(drop_empty_parts, (SOFT if listed else BREAK).split(text)) if part] or [""]
    found += [Constraint("feature", part) for part in rest]
    found += [Constraint(classify_constraint(part), part) for part in listed]
    amount = (price["sign"] or price["word"]) if price else None
    return ParsedInstruction(thing, tuple(found), float(amount.split("/")[0].replace(",", "")) if amount else None)


def split_off_list(text: str) -> tuple[str, list[str], str]:
    """What stands before a list, its members, and what comes after it; a list begins with a colon and ends with its sentence.

    >>> split_off_list("I need a rug. The details: soft; dark gray. And made by Osko, please.")
    ('I need a rug.', ['soft', 'dark gray'], 'And made by Osko, please.')
    """
    found = LIST.search(text)
    if not found:
        return text, [], ""
    head = text[: found.start()]
    sentences = re.split(r"(?<=[.?!])\s+", head)
    kept = " ".join(sentences[:-1]) if len(sentences) > 1 else head  # the last one only says that a list comes
    return kept, [part.strip() for part in found[1].split(";")], text[found.end() :].lstrip(".?! ")


def list_sign_patterns() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    return ("measure", MEASURE), ("size", SIZE), ("feature", FEATURE), ("color", compile_color_pattern())


def classify_constraint(part: str) -> Kind:
    """By the sign that it has."""
    order: tuple[Kind, ...] = ("color", "measure", "size")
    known = dict(list_sign_patterns())
    return next((kind for kind in order if known[kind].search(part)), "feature")


@cache
def compile_color_pattern() -> re.Pattern[str]:
    """A known color, or whatever stands beside the word."""
    known = sorted({*SHADES, *load_color_words()}, key=lambda name: (-len(name), name))
    names = "|".join(re.escape(name).replace("\\ ", r"[\s-]") for name in known)
    adjective = r"(?:(?:dark|light|bright|pale|deep|navy|royal|sky|hot|rose|space|pure|matte|army|forest)[\s-]+)?"
    one = rf"{adjective}(?:{names})(?:[\s-](?:{names}))*"
    return re.compile(
        rf"\b(?:(?:{one})(?:[\s-]+(?:colou?r(?:ed)?))?|colou?r\s+(?:is\s+|of\s+|should\s+be\s+|as\s+|in\s+)?[\w-]+|(?!(?:hair|ink|a|an|the|in|of|is|and|by)\b)[\w-]+[\s-]+colou?r(?:ed)?)\b",
        re.IGNORECASE,
    )


def drop_empty_parts(part: str) -> str:
    """A part without words that say nothing; empty where there are no others."""
    words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", part)
    return " ".join(words) if any(word not in EMPTY for word in words) else ""


# Comparing


class FigurePair(NamedTuple):
    """A figure of our instructions and of theirs."""

    what: str
    ours: float
    theirs: float
    form: Form = "number"


def count_words(text: str) -> int:
    return len(text.split())


def count_constraints(instruction: ParsedInstruction) -> int:
    return len(instruction.constraints)


def compare_instructions(ours: Sequence[str], theirs: Sequence[str]) -> list[FigurePair]:
    """Figures of both, each by the same rules. Raises Problem where either has none."""
    if not ours or not theirs:
        raise Problem(
            "There is nothing to compare: build shopping_tasks in English, and give a file with instructions."
        )
    sides = [list(map(parse_instruction, ours)), list(map(parse_instruction, theirs))]
    lengths = [list(map(count_words, ours)), list(map(count_words, theirs))]
    numbers = [list(map(count_constraints, side)) for side in sides]
    lines = [FigurePair("instructions", len(ours), len(theirs))]
    lines += [build_figure_pair(f"length in words, {name}", map(of, lengths)) for name, of in SPREAD.items()]
    lines += [build_figure_pair(f"constraints, {name}", map(of, numbers)) for name, of in SPREAD.items()]
    for kind in get_args(Kind):
        shares = [compute_constraint_share(side, kind) for side in sides]
        lines.append(build_figure_pair(f"with a {kind}", shares, "percent"))
    return [*lines, *compare_vocabulary(ours, theirs)]


def build_figure_pair(what: str, both: Iterable[float], form: Form = "number") -> FigurePair:
    ours, theirs = both
    return FigurePair(what, ours, theirs, form)


SPREAD: dict[str, Callable[[list[int]], float]] = {
    "mean": mean,
    "10th percentile": lambda each: compute_deciles(each)[0],
    "median": median,
    "90th percentile": lambda each: compute_deciles(each)[8],
}


def compute_deciles(numbers: list[int]) -> list[float]:
    return quantiles(numbers, n=10, method="inclusive") if len(numbers) > 1 else [numbers[0]] * 9


def compute_constraint_share(side: Sequence[ParsedInstruction], kind: str) -> float:
    kinds = [{each.kind for each in one.constraints} for one in side]
    return sum(kind in each for each in kinds) / len(side)


def compare_vocabulary(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[FigurePair]:
    """How various the words are in samples of equal size, and how many of one side's content words the other has at all."""
    known = [" ".join(shuffle_texts(side)).lower().split() for side in (ours, theirs)]
    size = min(SAMPLE, *map(len, known))
    yield build_figure_pair(
        f"different words in {size:,}", (len(set(words[:size])) / size for words in known), "percent"
    )
    mine, other = (list(chain.from_iterable(map(content_words, side))) for side in (ours, theirs))
    pairs = ((mine, set(other)), (other, set(mine)))
    yield build_figure_pair(
        "words that the other side has", (compute_known_word_share(words, have) for words, have in pairs), "percent"
    )
    yield build_figure_pair(
        "the same, each word once",
        (compute_known_word_share(sorted(set(words)), have) for words, have in pairs),
        "percent",
    )


def compute_known_word_share(words: Sequence[str], known: set[str]) -> float:
    return sum(word in known for word in words) / (len(words) or 1)


def shuffle_texts(texts: Sequence[str]) -> list[str]:
    """In an order of chance that is always the same."""
    return Random(len(texts)).sample(list(texts), len(texts))


def tabulate_comparison(lines: Sequence[FigurePair]) -> Table:
    return Table(["instructions", "ours", "people's"], [[each.what, *format_figure_pair(each)] for each in lines])


def format_figure_pair(line: FigurePair) -> tuple[str, str]:
    """
    >>> format_figure_pair(FigurePair("mean", 14.25, 15.0)), format_figure_pair(FigurePair("with a price", 0.5, 0.004, "percent"))
    (('14.2', '15.0'), ('50.0 %', '0.4 %'))
    """
    if line.form == "percent":
        return f"{line.ours:.1%}".replace("%", " %"), f"{line.theirs:.1%}".replace("%", " %")
    whole = line.what == "instructions"
    return (f"{line.ours:,.0f}", f"{line.theirs:,.0f}") if whole else (f"{line.ours:.1f}", f"{line.theirs:.1f}")


def read_instructions(path: Path) -> list[str]:
    """The instructions in a file: JSON, a list of texts or of objects with an `instruction`. Raises Problem for another."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"Cannot read {path}: {error.strerror}.") from None
    except ValueError:
        raise Problem(f"{path} is no JSON. Give a list of instructions.") from None
    rows = found if isinstance(found, list) else []
    texts = [each.get("instruction") if isinstance(each, dict) else each for each in rows]
    told = [each for each in texts if isinstance(each, str) and each.strip()]
    if not told or len(told) < len(texts):
        raise Problem(f"{path} is no list of instructions: texts, or objects with an `instruction`.")
    return told
