"""A grammar over wordings as a text, and every reading that it has of a sentence.

    action                                      # a rule; below it what it can be, each in a line of its own
        clicks [on <thing>]     => action=click
        purchases {of|from} <thing>             => action=purchase
    thing
        the {lamp|rug}                          => a quoted value, a number or a word
        products by <brand:name>                # the value of the rule or terminal `name` is called `brand`

Square brackets hold what may be left out, braces a choice, `<>` nothing at all. Behind `=>` stands what a wording says
beyond the words in it: `key=value`, where `$key` stands for a value already there, or one value alone. What the parts of a
wording say is taken together, and must agree: two parts that say another thing of the same key are no reading. Keys with
dots lie in one another (`start.action`); a value can have several keys (`first_day,last_day`).

Words match exactly (but that the first letter can be small or large), with one space between them and none before `.,;:?!)`; every character of a sentence has to be used.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import Any

# Where something can end, and what it then says.
Found = Sequence[tuple[int, Any]]
# Of a sentence, where to begin, and the names that can be meant.
Terminal = Callable[[str, int, Any], Iterable[tuple[int, Any]]]
Reader = Callable[["Sentence", int], Found]
# Of each of these sets of words a text has one that holds a wording.
Needs = tuple[frozenset[str], ...]
Wordings = list[tuple[Needs, Reader]]

PIECE = re.compile(r"<[^>]*>|[][{}|]|[^][{}|<>]+")
TOKEN = re.compile(r"\w+|.")
CLOSING = ".,;:?!)"


class Misread(ValueError):
    """A sentence that the grammar does not have, with the place up to which it does."""

    def __init__(self, text: str, place: int) -> None:
        super().__init__(f"not understood from {text[place : place + 40].strip()!r} on")
        self.place = place


@dataclass
class Sentence:
    """A text that is being read, and what is known of it so far."""

    text: str
    names: Any
    known: dict[tuple[str | int, int], Found] = field(default_factory=dict)
    """By a rule, or the number of a choice, and a place what is read there."""
    tokens: dict[int, str] = field(default_factory=dict)
    furthest: int = 0
    pruned: bool = True
    """Whether wordings are passed over that need a word which the text does not have."""
    possible: dict[int, list[Reader]] = field(default_factory=dict)
    """By a list of wordings, which of them the words of the text allow."""

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word.lower() for word in TOKEN.findall(self.text))

    def list_possible(self, wordings: "Wordings") -> list[Reader]:
        known = self.possible.get(id(wordings))
        if known is None:
            known = self.possible[id(wordings)] = [
                read for needs, read in wordings if not self.pruned or not any(map(self.words.isdisjoint, needs))
            ]
        return known

    def token(self, place: int) -> str:
        known = self.tokens.get(place)
        if known is None:
            found = TOKEN.match(self.text, place + self.text.startswith(" ", place))
            known = self.tokens[place] = found[0].lower() if found else ""
        return known

    def start(self, place: int) -> int | None:
        """Where a word begins, if one can begin here: after a space, an opening bracket or quote, or at the beginning."""
        if self.text.startswith(" ", place):
            return place + 1
        return place if place == 0 or self.text[place - 1] in '("' else None


# What a pattern is made of


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Ref:
    keys: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Choice:
    options: "tuple[Wording, ...]"


@dataclass(frozen=True)
class Wording:
    parts: tuple[Words | Ref | Choice, ...]
    says: tuple[tuple[str, Any], ...] = ()
    """Keys and values; a value alone has an empty key."""


NOTHING = Wording(())


class Grammar:
    """Rules by name; a terminal is a rule that is written in Python.

    >>> rules = "greeting\\n    {hello|good day}, <who:name> => polite=true\\n"
    >>> Grammar(rules, {"name": make_regex_terminal("[A-Z][a-z]+")}).readings("greeting", "good day, Ada")
    [{'who': 'Ada', 'polite': True}]
    """

    def __init__(self, rules: str, terminals: Mapping[str, Terminal], synonyms: str = "") -> None:
        """synonyms: groups of phrases, one a line; where one stands in a rule, any other may be read."""
        found: dict[str, tuple[Wording, ...]] = {}
        for name, options in parse_grammar(rules, widen_by(synonyms)):  # a rule may go on in another file
            found[name] = (*found.get(name, ()), *options)
        self.rules = {name: Choice(options) for name, options in found.items()}
        self.terminals = terminals
        self.first: dict[Any, tuple[frozenset[str] | None, bool]] = {}
        self.needed: dict[Any, Needs] = {}
        self.inner: dict[str, Reader] = {}
        self.numbers = count()
        for name, choice in self.rules.items():
            for part in list_pattern_parts(choice):
                if isinstance(part, Ref) and part.name not in self.rules and part.name not in terminals:
                    raise ValueError(f"<{part.name}> in {name} is no rule and no terminal")
        self.readers = {name: make_terminal_reader(found) for name, found in terminals.items()}

    def readings(self, rule: str, text: str, names: Any = None) -> list[Any]:
        """All different things that a text can say. Raises Misread where there is none."""
        sentence = Sentence(text, names)
        found = [value for end, value in self.rule(rule)(sentence, 0) if end == len(text)]
        if not found:
            whole = Sentence(text, names, pruned=False)  # which goes as far as any wording does
            self.rule(rule)(whole, 0)
            raise Misread(text, whole.furthest)
        return [value for place, value in enumerate(found) if value not in found[:place]]

    def rule(self, name: str) -> Reader:
        """Of a rule, or a terminal; made when a text may first hold it, as most hold few."""
        if name not in self.readers:
            self.readers[name] = self.choice(self.rules[name])
        return self.readers[name]

    def reader(self, part: Words | Ref | Choice) -> Reader:
        match part:
            case Words():
                return make_word_reader(part.text)
            case Choice():
                key = repr(part)  # one that says 1 is equal to one that says true
                if key not in self.inner:
                    self.inner[key] = self.choice(part, next(self.numbers))
                return self.inner[key]
        return self.memoize_rule(part.name)

    def memoize_rule(self, name: str) -> Reader:
        """Reads a rule at a place once, however many wordings hold it."""

        def read(sentence: Sentence, place: int) -> Found:
            key = name, place
            found = sentence.known.get(key)
            if found is None:
                ways = self.rule(name)(sentence, place)
                if len(ways) > 1:
                    ways = [way for number, way in enumerate(ways) if way not in ways[:number]]
                found = sentence.known[key] = ways
            return found

        return read

    def choice(self, choice: Choice, number: int | None = None) -> Reader:
        """Tries the wordings that can begin with the next word.

        number: of a choice inside a wording, by which it is read at a place once, however many ways lead there.
        """
        wordings = [(self.begins(each), (self.needs(each), self.wording(each))) for each in choice.options]
        tokens = set(chain.from_iterable(first or () for (first, _), _ in wordings))
        others: Wordings = [each for (first, empty), each in wordings if first is None or empty]
        by_token: dict[str, Wordings] = {
            token: [each for (first, empty), each in wordings if first is None or empty or token in first]
            for token in tokens
        }

        def read(sentence: Sentence, place: int) -> Found:
            wordings = by_token.get(sentence.tokens.get(place) or sentence.token(place), others)
            if not wordings:
                return ()
            if number is not None and (known := sentence.known.get((number, place))) is not None:
                return known
            found: list[tuple[int, Any]] = []
            for wording in sentence.list_possible(wordings):
                found += wording(sentence, place)
            if number is not None:
                sentence.known[number, place] = found
            return found

        return read

    def wording(self, wording: Wording) -> Reader:
        """Reads the parts one after the other and takes together what they say."""
        parts = [(each.keys if isinstance(each, Ref) else (), self.reader(each)) for each in wording.parts]
        (keys_of_first, first), *rest = parts or [((), read_nothing)]

        def read(sentence: Sentence, place: int) -> Found:
            states = first(sentence, place)
            if not states:  # so most wordings end
                return ()
            if keys_of_first:
                states = [(end, nest_under_keys(keys_of_first, value)) for end, value in states]
            for keys, part in rest:
                states = [
                    (end, both)
                    for begin, said in states
                    for end, value in part(sentence, begin)
                    if (both := merge_readings(said, nest_under_keys(keys, value))) is not CLASH
                ]
                if not states:
                    return ()
            if not wording.says:
                return states
            full = ((end, add_constant_values(said, wording.says)) for end, said in states)
            return [(end, said) for end, said in full if said is not CLASH]

        return read

    def begins(self, part: Any) -> tuple[frozenset[str] | None, bool]:
        """The words that something can begin with (None: any), and whether it can be nothing at all."""
        if part in self.first:
            return self.first[part]
        self.first[part] = None, True  # while it is being found out; a rule must not begin with itself
        match part:
            case Words():
                found: tuple[frozenset[str] | None, bool] = frozenset([first_token(part.text)]), False
            case Ref():
                found = self.begins(self.rules[part.name]) if part.name in self.rules else (None, False)
            case Choice():
                each = [self.begins(option) for option in part.options]
                found = unite_first_words(first for first, _ in each), any(empty for _, empty in each)
            case Wording():
                found = self.begins_in_turn(part.parts)
        self.first[part] = found
        return found

    def needs(self, part: Any) -> Needs:
        """The words that a text has to hold if something is to be read in it."""
        if part in self.needed:
            return self.needed[part]
        self.needed[part] = ()  # while it is being found out
        match part:
            case Words():
                found: Needs = tuple(frozenset([word.lower()]) for word in TOKEN.findall(part.text) if word != " ")
            case Ref():
                found = self.needs(self.rules[part.name]) if part.name in self.rules else ()
            case Choice():
                each = [self.needs(option) for option in part.options]
                found = (frozenset().union(*(min(needs, key=len) for needs in each)),) if all(each) else ()
            case Wording():
                found = tuple(dict.fromkeys(chain.from_iterable(map(self.needs, part.parts))))
        self.needed[part] = found
        return found

    def begins_in_turn(self, parts: tuple[Any, ...]) -> tuple[frozenset[str] | None, bool]:
        firsts = []
        for part in parts:
            first, empty = self.begins(part)
            firsts.append(first)
            if not empty:
                return unite_first_words(firsts), False
        return unite_first_words(firsts), True


def unite_first_words(firsts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    found: frozenset[str] = frozenset()
    for first in firsts:
        if first is None:
            return None
        found |= first
    return found


def first_token(text: str) -> str:
    found = TOKEN.match(text)
    assert found
    return found[0].lower()


# Reading words


def read_nothing(sentence: Sentence, place: int) -> Found:
    return ((place, None),)


def make_word_reader(text: str) -> Reader:
    """Exactly these words.

    >>> make_word_reader("on sale")(Sentence("lamps on sale", None), 5)
    ((13, None),)
    """
    forms, length = {text[0].lower() + text[1:], text[0].upper() + text[1:]}, len(text)
    closes, is_word = text[0] in CLOSING, text[-1].isalnum()

    def read(sentence: Sentence, place: int) -> Found:
        begin = place if closes else sentence.start(place)
        if begin is None or sentence.text[begin : begin + length] not in forms:
            return ()
        end = begin + length
        if is_word and sentence.text[end : end + 1].isalnum():
            return ()
        sentence.furthest = max(sentence.furthest, end)
        return ((end, None),)

    return read


def make_terminal_reader(read_from: Terminal) -> Reader:
    def read(sentence: Sentence, place: int) -> Found:
        begin = sentence.start(place)
        found = () if begin is None else tuple(read_from(sentence.text, begin, sentence.names))
        sentence.furthest = max([sentence.furthest, *(end for end, _ in found)])
        return found

    return read


def make_regex_terminal(pattern: str, value: Callable[..., Any] = str) -> Terminal:
    """A terminal for what a pattern matches; its groups, or all of it, are made a value. A ValueError is no match."""
    match = re.compile(rf"(?:{pattern})(?!\w)").match

    def read(text: str, place: int, names: Any) -> Iterator[tuple[int, Any]]:
        found = match(text, place)
        if found:
            try:
                yield found.end(), value(*(found.groups() or (found[0],)))
            except ValueError:
                return

    return read


# What is said


# What two parts say that do not agree.
CLASH = object()


def merge_readings(one: Any, other: Any) -> Any:
    """What two parts say: all of both, if they agree.

    >>> merge_readings({"of": {"n": 1}}, {"of": {"what": "day"}})
    {'of': {'n': 1, 'what': 'day'}}
    >>> merge_readings({"n": 1}, {"n": 2}) is CLASH
    True
    """
    if one is None or other is None:
        return other if one is None else one
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one if type(one) is type(other) and one == other else CLASH
    found = dict(one)
    for key, value in other.items():
        both = found[key] = merge_readings(found[key], value) if key in found else value
        if both is CLASH:
            return CLASH
    return found


def nest_under_keys(keys: tuple[str, ...], value: Any) -> Any:
    """A value under its keys.

    >>> nest_under_keys(("of.n", "k"), 1)
    {'of': {'n': 1}, 'k': 1}
    """
    if not keys or value is None:
        return value
    found: Any = None
    for key in keys:
        under = value
        for name in reversed(key.split(".")):
            under = {name: under}
        found = merge_readings(found, under)
    return found


def add_constant_values(said: Any, more: tuple[tuple[str, Any], ...]) -> Any:
    """What a wording says, with what stands behind its `=>`."""
    for key, value in more:
        if isinstance(value, str) and value.startswith("$"):
            value = get_by_path(said, value[1:])
        said = merge_readings(said, nest_under_keys((key,) if key else (), value))
        if said is CLASH:
            return CLASH
    return said


def get_by_path(said: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(said, dict) or name not in said:
            return None
        said = said[name]
    return said


# The notation


def widen_by(synonyms: str) -> Callable[[str], str]:
    """Puts a choice of all phrases of its group for each phrase in a pattern.

    >>> widen_by("how often | how many times\\n")("<who> asked how often [<when>]")
    '<who> asked {how often|how many times} [<when>]'
    """
    lines = (line.partition("# ")[0].strip() for line in synonyms.splitlines())
    found = [line.split(" | ") for line in lines if line]
    groups = {phrase: f"{{{'|'.join(group)}}}" for group in found for phrase in group}
    ordered = sorted(groups, key=len, reverse=True)
    phrases = [rf"(?<![\w'-]){re.escape(each)}(?![\w'-])" for each in ordered]
    pattern = re.compile("|".join([*phrases, "<[^>]*>"]))
    return lambda text: pattern.sub(lambda found: groups.get(found[0], found[0]), text)


def parse_grammar(rules: str, widen: Callable[[str], str] = str) -> Iterator[tuple[str, list[Wording]]]:
    """Each rule with its wordings. A line that begins deeper than a wording goes on with the one before."""
    name, lines = "", list[str]()
    for line in rules.splitlines():
        text = line.partition("# ")[0].rstrip()
        depth = len(text) - len(text.lstrip())
        if not text:
            continue
        if depth == 0:
            yield from [(name, [parse_wording(each, widen) for each in lines])] if name else []
            name, lines = text, []
        elif depth == 4:
            lines.append(text.strip())
        else:
            lines[-1] += " " + text.strip()
    yield name, [parse_wording(each, widen) for each in lines]


def parse_wording(line: str, widen: Callable[[str], str] = str) -> Wording:
    pattern, _, says = line.partition("=>")
    pieces = [each for each in PIECE.findall(widen(pattern)) if each.strip()]
    parts, rest = parse_sequence(pieces)
    if rest:
        raise ValueError(f"a bracket too many in: {line}")
    return Wording(parts, tuple(parse_assignment(each) for each in shlex.split(says)))


def parse_assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        key, value = "", text
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def parse_sequence(pieces: list[str]) -> tuple[tuple[Any, ...], list[str]]:
    """The parts up to the end of a bracket or a choice, and the pieces after them."""
    parts: list[Any] = []
    while pieces and pieces[0] not in ("]", "}", "|"):
        piece, *pieces = pieces
        if piece == "[":
            inner, pieces = parse_sequence(pieces)
            pieces = pieces[1:]
            parts.append(Choice((Wording(inner), NOTHING)))
        elif piece == "{":
            options, pieces = parse_choices(pieces)
            parts.append(Choice(options))
        elif piece.startswith("<"):
            keys, _, name = piece[1:-1].rpartition(":")
            parts += [Ref(tuple(keys.split(",")) if keys else (), name)] if name else []
        else:
            parts.append(Words(" ".join(piece.split())))
    return tuple(parts), pieces


def parse_choices(pieces: list[str]) -> tuple[tuple[Wording, ...], list[str]]:
    options = []
    while True:
        inner, pieces = parse_sequence(pieces)
        options.append(Wording(inner))
        end, *pieces = pieces
        if end == "}":
            return tuple(options), pieces


def list_pattern_parts(part: Any) -> Iterator[Any]:
    yield part
    for inner in getattr(part, "options", ()) or getattr(part, "parts", ()):
        yield from list_pattern_parts(inner)
