"""Files of phrasings: each meaning with its templates, and the rules that templates share.

    <seen>                                  a rule: what may stand for <seen> in a template, one alternative a line
        looked at
        clicked on
    clicks_on_product                       a meaning: its templates, one a line
        How [often|many times] {have} {I} <seen> {product} {when}?
        (terse) clicks on {product} {when}?

Square brackets hold a choice, in which an alternative may be empty; `<name>` is a rule; `{name}` is a slot, a place for a fact that is
known when the template is used; `(terse)` is the register of a template, `plain` where none is said. A line that begins with `#`
is a comment. Nothing else has a meaning of its own.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product
from math import prod
from pathlib import Path
from random import Random
from typing import get_args

from shopwright.schemas.phrases import Register, Use

REGISTERS: tuple[Register, ...] = get_args(Register)
USES: tuple[Use, ...] = get_args(Use)
# One in so many templates of a meaning is kept for each of the two tests.
ONE_IN = 6
# A rule with fewer alternatives than this is function words, which all splits share.
FEW = 4
# Frames of a pattern that are held against those of the others.
MOST_FRAMES = 2_000

HEAD = re.compile(r"<(?P<rule>[\w -]+)>|(?P<meaning>\w[\w ./+'&,-]*)")
REGISTER = re.compile(r"\(([\w-]+)\) ")
PIECE = re.compile(r"\[[^]]*\]|<[\w -]+>|[^[<]+")
SLOT = re.compile(r"\{([\w:/ ]+)\}")


class Malformed(ValueError):
    """A file of phrasings that does not keep to the notation."""


@dataclass(frozen=True)
class Template:
    """One way to say a meaning."""

    meaning: str
    register: Register
    pattern: str
    """As it stands in the file."""
    pieces: tuple[tuple[str, ...], ...]
    """What it is made of: each piece with its alternatives, in which rules have been resolved."""
    use: Use

    @cached_property
    def id(self) -> str:
        """The meaning and a digest of the pattern: the same wherever the template stands in its file."""
        return f"{self.meaning}#{digest_text(self.pattern):08x}"

    @property
    def size(self) -> int:
        """How many frames it makes."""
        return prod(len(piece) for piece in self.pieces)

    def frames(self) -> Iterator[str]:
        """All its frames: texts in which nothing but slots is open."""
        for parts in product(*self.pieces):
            yield join_pieces(parts)

    def frame(self, random: Random) -> str:
        return join_pieces(piece[int(random.random() * len(piece))] for piece in self.pieces)

    @cached_property
    def slots(self) -> frozenset[str]:
        return frozenset(SLOT.findall(" ".join(piece[0] for piece in self.pieces)))


def digest_text(text: str) -> int:
    """A number of 32 bits, the same in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def join_pieces(parts: Iterable[str]) -> str:
    return " ".join("".join(parts).split())


# What can be said for a meaning: in which register, how, and the file that says so.
Lines = list[tuple[Register, str, Path]]


class Meanings(Mapping[str, list[Template]]):
    """The templates of each meaning, made when they are first asked for: a process says few of hundreds."""

    def __init__(self, lines: Mapping[str, Lines], make: Callable[[str, Lines], list[Template]]) -> None:
        self.lines, self.make = lines, make
        self.made: dict[str, list[Template]] = {}

    def __getitem__(self, meaning: str) -> list[Template]:
        if meaning not in self.made:
            self.made[meaning] = self.make(meaning, self.lines[meaning])
        return self.made[meaning]

    def __contains__(self, meaning: object) -> bool:
        return meaning in self.lines

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)


def parse_phrase_files(
    files: Iterable[Path],
    settle: Callable[[str], str] = str,
    finish: Callable[[list[Template]], list[Template]] = list,
) -> Meanings:
    """The templates of each meaning. Raises Malformed with the file and the line: here, or where the templates of a meaning are asked for.

    settle: gives the same text for all that can be said for a text; patterns that it makes alike are in one use. finish: what becomes of
    the templates of a meaning.
    """
    rules: dict[str, list[str]] = {}
    meanings: dict[str, Lines] = {}
    for file in files:
        section: list[str] | None = None
        meaning = ""
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            where = f"{file.name}, line {number}"
            if not line[0].isspace():
                head = HEAD.fullmatch(text)
                if head is None:
                    raise Malformed(f"{where}: {text!r} is neither a meaning nor a <rule>")
                section = rules.setdefault(head["rule"], []) if head["rule"] else None
                meaning = head["meaning"] or ""
                if meaning:
                    meanings.setdefault(meaning, [])
            elif section is not None:
                section.append("" if text == "<>" else text)
            elif meaning:
                register = REGISTER.match(text)
                pattern = text[register.end() :] if register else text
                meanings[meaning].append((check_register(register, where), pattern, file))
            else:
                raise Malformed(f"{where}: a line that belongs to no meaning")
    said = {meaning: lines for meaning, lines in meanings.items() if lines}
    return Meanings(said, lambda meaning, lines: finish(list(make_templates(meaning, lines, rules, settle))))


def check_register(found: re.Match[str] | None, where: str) -> Register:
    """Raises Malformed for one that is not known."""
    name = found[1] if found else REGISTERS[0]
    known = next((each for each in REGISTERS if each == name), None)
    if known is None:
        raise Malformed(f"{where}: no register {name!r}; there are {', '.join(REGISTERS)}")
    return known


def make_templates(
    meaning: str,
    lines: Lines,
    rules: dict[str, list[str]],
    settle: Callable[[str], str] = str,
) -> Iterator[Template]:
    known = [(register, pattern) for register, pattern, _ in lines]
    if len(set(known)) < len(known):
        twice = next(pattern for register, pattern in known if known.count((register, pattern)) > 1)
        raise Malformed(f"{meaning} says {twice!r} twice")
    leader = join_alike([pattern for _, pattern in known], settle)
    uses = deal_uses_by_register([(register, leader[pattern]) for register, pattern in known])
    for register, pattern, file in lines:
        use = uses[leader[pattern]]
        try:
            pieces = tuple(list_alternatives(piece, rules, use) for piece in PIECE.findall(pattern))
        except KeyError as error:
            raise Malformed(f"{file.name}: {pattern!r} uses the rule <{error.args[0]}>, which no file has") from None
        yield Template(meaning, register, pattern, pieces, use)


def join_alike(patterns: list[str], settle: Callable[[str], str] = str) -> dict[str, str]:
    """Of each pattern the first that it makes a frame in common with, capitals aside, at once or over others: they must be in one use.

    A frame without a word of its own ("{fact}.") says nothing, and joins nothing.

    >>> join_alike(["[Yes|No], {x}", "No, {x}", "Perhaps {x}"])
    {'[Yes|No], {x}': '[Yes|No], {x}', 'No, {x}': '[Yes|No], {x}', 'Perhaps {x}': 'Perhaps {x}'}
    """
    leader = {pattern: pattern for pattern in patterns}
    first: dict[str, str] = {}

    def find(pattern: str) -> str:
        while leader[pattern] != pattern:
            pattern = leader[pattern]
        return pattern

    for pattern in leader:
        for frame in list_frames(settle(pattern)):
            if re.search(r"\w", SLOT.sub("", frame)):
                leader[find(pattern)] = find(first.setdefault(frame.lower(), pattern))
    return {pattern: find(pattern) for pattern in patterns}


def list_frames(pattern: str) -> Iterator[str]:
    """What a pattern's own choices come to, its rules as they stand; of very many the first."""
    pieces = [tuple(piece[1:-1].split("|")) if piece.startswith("[") else (piece,) for piece in PIECE.findall(pattern)]
    for parts in islice(product(*pieces), MOST_FRAMES):
        yield join_pieces(parts)


def deal_uses_by_register(known: Iterable[tuple[Register, str]]) -> dict[str, Use]:
    """The use of each pattern, dealt within its register, else a test might have no words for somebody.

    Registers that have too few of them to share out are dealt together.

    >>> sorted(deal_uses_by_register([("terse", "a"), ("polite", "b"), ("elderly", "c"), ("chatty", "d")]).values())
    ['test', 'test_wording', 'train', 'train']
    """
    own: dict[Register, dict[str, None]] = {}
    for register, pattern in known:
        own.setdefault(register, {})[pattern] = None
    found: dict[str, Use] = {}
    for patterns in own.values():
        if len(patterns) >= FEW:
            found |= deal_rest(list(patterns), found)
    few = [pattern for pattern in chain.from_iterable(own.values()) if pattern not in found]
    few = list(dict.fromkeys(few))
    return found | dict(zip(few, deal_uses(few), strict=True))


def deal_rest(patterns: list[str], known: Mapping[str, Use]) -> dict[str, Use]:
    """The uses of those that have none yet, so that with the others each test has its share.

    >>> deal_rest(["a", "b", "c", "d"], {"a": "test", "b": "train"})
    {'d': 'test_wording', 'c': 'train'}
    """
    kept = max(1, len(patterns) // ONE_IN)
    left = sorted((each for each in patterns if each not in known), key=digest_text)
    found: dict[str, Use] = dict.fromkeys(left, "train")
    for use in USES[1:]:
        lacking = kept - sum(known.get(each) == use for each in patterns)
        for each in left[: max(0, lacking)]:
            found[each] = use
        left = left[max(0, lacking) :]
    return found


def deal_uses(patterns: list[str]) -> list[Use]:
    """Which use each of some alternatives has, by digests of their texts; too few to share out serve all uses as training.

    >>> sorted(deal_uses([str(n) for n in range(12)]))[:5]
    ['test', 'test', 'test_wording', 'test_wording', 'train']
    """
    kept = max(1, len(patterns) // ONE_IN)
    order = sorted(range(len(patterns)), key=lambda place: digest_text(patterns[place]))
    found: list[Use] = ["train"] * len(patterns)
    if len(patterns) >= FEW:
        for place in order[:kept]:
            found[place] = "test"
        for place in order[kept : 2 * kept]:
            found[place] = "test_wording"
    return found


def deal_use(pattern: str) -> Use:
    """The use of a text that stands alone, by its digest: as large a share for each as `deal_uses` gives."""
    return {0: "test", 1: "test_wording"}.get(digest_text(pattern) % ONE_IN, "train")  # type: ignore[return-value]


def list_alternatives(piece: str, rules: dict[str, list[str]], use: Use) -> tuple[str, ...]:
    """The texts that a piece of a pattern can be, for templates of this use. Raises KeyError for an unknown rule."""
    if piece.startswith("["):
        return tuple(piece[1:-1].split("|"))
    if not piece.startswith("<"):
        return (piece,)
    lines = rules[piece[1:-1]]
    found: list[str] = []
    for line, its in zip(lines, deal_uses(lines), strict=True):
        if its == use or len(lines) < FEW:
            inner = [list_alternatives(each, rules, use) for each in PIECE.findall(line)]
            found += ["".join(parts) for parts in product(*inner)] if line else [""]
    return tuple(found)
