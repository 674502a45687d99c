"""Plain templates as other registers write them (`data/reference/register_wording.toml`): for splits in which a register has no template of its own."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from shopwright.pipeline.phrases.grammar import REGISTERS, USES, Template, deal_uses, digest_text
from shopwright.schemas.phrases import Register, Use

FILE = Path(__file__).parents[2] / "data" / "reference" / "register_wording.toml"
CONTRACTION = re.compile(
    r"\{[^}]*\}|(?<=n)'(?=t\b)|(?<=\w)'(?=(?:m|re|ve|ll|d)\b)|(?:(?<=[Ii]t)|(?<=hat)|(?<=ere))'(?=s\b)"
)
ARTICLE = re.compile(r"\{[^}]*\}|\b(?:a|an|the|The|A|An) ")
IMPERATIVE = re.compile(r"(?:Add up|Count|Find|Give|List|Name|Rank|Report|Show|Tell|Total|Work out)\b")
INNER_END = re.compile(r"[.?!;:] \S")
# What is polite, elderly or foreign is written without contractions.
LIKE: dict[str, str] = {"elderly": "polite"}

Pieces = tuple[tuple[str, ...], ...]


@cache
def load_registers() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def fill_registers(templates: Sequence[Template], settle: Callable[[str], str] = str) -> list[Template]:
    """The templates of a meaning, and for each split and register that none is of, its plain ones as this register writes them.

    A meaning that is only said plainly, such as the name of a thing, has no tone. What would be a frame of another split is left out.
    """
    if len({each.register for each in templates}) < 2 or templates[0].meaning.startswith("note/"):
        return list(templates)
    frames: dict[Use, set[str]] = {use: set() for use in USES}
    for each in templates:
        frames[each.use].update(list_plain_frames(each, settle))
    added = []
    for use in reversed(USES):  # the tests have fewer templates, and lose none to training
        here = [each for each in templates if each.use == use]
        elsewhere = [found for other, found in frames.items() if other != use]
        for register in list_missing(here):
            for plain in (each for each in here if each.register == "plain"):
                new = write_template(plain, register)
                own = set(list_plain_frames(new, settle))
                if new.pieces != plain.pieces and all(map(own.isdisjoint, elsewhere)):
                    added.append(new)
                    frames[use] |= own
    return [*templates, *added]


def list_missing(templates: Iterable[Template]) -> list[Register]:
    known = {each.register for each in templates}
    return [each for each in REGISTERS if each not in known] if known else []


def list_plain_frames(template: Template, settle: Callable[[str], str] = str) -> Iterator[str]:
    pieces = change_all(template.pieces, settle)
    return (frame.lower().rstrip(".?!") for frame in replace(template, pieces=pieces).frames())


def write_template(plain: Template, register: Register) -> Template:
    """A plain template as a register writes it.

    >>> plain = Template("case opened yes", "plain", "", (("I'm sure that I've opened it",),), "train")
    >>> write_template(plain, "teenager").pieces, write_template(plain, "elderly").pieces
    ((('im sure that ive opened it',),), (('I am sure that I have opened it',),))
    """
    pieces = plain.pieces
    text = "".join(piece[0] for piece in pieces)
    words = load_registers()["words"].get(LIKE.get(register, register), {})
    pieces = change_all(pieces, lambda part: replace_words(part, words))
    if register == "non-native" and text[-1:] not in ".?":  # a whole sentence without articles is hard to read
        pieces = change_all(pieces, drop_articles)
    if register == "teenager":
        pieces = change_all(pieces, drop_apostrophes)
    pieces = change_first(pieces, lambda part: drop_beginning(part, load_registers()["beginnings"].get(register, {})))
    return replace(plain, register=register, pieces=add_around(pieces, text, register, plain))


def add_around(pieces: Pieces, text: str, register: Register, plain: Template) -> Pieces:
    """With what this register says before or behind a question, or behind a request; several sentences begin as they are."""
    several = INNER_END.search(text) is not None
    if text.endswith("?"):
        before = list_ways("before", register, plain.use)
        if before and not several and digest_text(plain.pattern) % 2:
            return put_before(pieces, before)
        pieces = put_behind(pieces, list_ways("after", register, plain.use), "?")
    elif text.endswith(".") and IMPERATIVE.match(text):
        pieces = put_behind(pieces, list_ways("request", register, plain.use), ".")
    small = register == "teenager" or (register == "hurried" and pieces != plain.pieces)
    return change_first(pieces, lower_first) if small else pieces


def list_ways(where: str, register: Register, use: Use) -> tuple[str, ...]:
    ways = load_registers()[where].get(register, {}).get("ways", [])
    return tuple(way for way, its in zip(ways, deal_uses(ways), strict=True) if its == use)


def put_before(pieces: Pieces, ways: tuple[str, ...]) -> Pieces:
    return (tuple(f"{way} " for way in ways), *change_first(pieces, lower_first))


def put_behind(pieces: Pieces, ways: tuple[str, ...], sign: str) -> Pieces:
    if not ways:
        return pieces
    ends = tuple(f"{sign} {way}" if way[0].isupper() else f"{way}{sign}" for way in ways)
    return (*pieces[:-1], tuple(part.removesuffix(sign) for part in pieces[-1]), ends)


def change_all(pieces: Pieces, change: Callable[[str], str]) -> Pieces:
    return tuple(tuple(map(change, piece)) for piece in pieces)


def change_first(pieces: Pieces, change: Callable[[str], str]) -> Pieces:
    return (tuple(change(part) for part in pieces[0]), *pieces[1:])


def replace_words(text: str, table: Mapping[str, str]) -> str:
    """
    >>> replace_words("I want {I} to, I", {"I": "i"})
    'i want {I} to, i'
    """
    if not table:
        return text
    return match_words(tuple(table)).sub(lambda found: table.get(found[0], found[0]), text)


@lru_cache(4_096)
def match_words(words: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these words, and any slot."""
    either = "|".join(re.escape(each) for each in sorted(words, key=len, reverse=True))
    return re.compile(rf"\{{[^}}]*\}}|(?<![\w'])(?:{either})(?![\w'])")


def drop_apostrophes(text: str) -> str:
    return CONTRACTION.sub(lambda found: found[0] if found[0] != "'" else "", text)


def drop_articles(text: str) -> str:
    """
    >>> drop_articles("the box is in a bag {a value}")
    'box is in bag {a value}'
    """
    return ARTICLE.sub(lambda found: found[0] if found[0].startswith("{") else "", text)


def drop_beginning(text: str, table: Mapping[str, str]) -> str:
    found = next((each for each in table if text.startswith(each)), None)
    return text if found is None else table[found] + text[len(found) :]


def lower_first(text: str) -> str:
    """With a small letter, but for the word I and for names in slots."""
    return text if re.match(r"I\b", text) else text[:1].lower() + text[1:]
