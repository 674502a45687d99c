"""A question's English read back as a tree, by a grammar of the wordings that knows nothing of how they were made."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.questions.tree import Pick, Tree, list_tree_picks, strip_tree_defaults, tree_adapter
from shopwright.pipeline.reading.grammar import Grammar, Misread, merge_readings
from shopwright.pipeline.reading.words import TERMINALS, Names

# The wordings of questions, and of what they share with other texts that are read back.
GRAMMARS = (*sorted(Path(__file__).parent.glob("*.grammar")), Path(__file__).parents[1] / "reading" / "phrases.grammar")
SYNONYMS = Path(__file__).with_name("synonyms.txt")
NODES = {kind.model_fields["node"].default: kind for kind in get_args(get_args(Tree)[0])}
PRODUCT = {"asin": "product_name"}
# Types of answers in which a product is the same by its id and by its name.
COUNTED = ("integer", "decimal")
NAMED = ("text", "set", "ordered list")
# Fields that have a word or a small number as their value.
CLOSED = (
    *("node", "action", "weekday", "ever", "never"),
    *("n", "k", "rank", "what", "by", "how", "measure", "counted", "days", "side", "since"),
)


QUOTED = re.compile(r'("[^"]*")')
FILLER = re.compile(
    r"(?:^|,? )(?:please|kindly|just|even|actually|exactly|quickly)\b(?:,(?= ))?(?: (?=[,.?]))?", re.IGNORECASE
)


class Unclear(ValueError):
    """Words that mean no tree, or more than one."""


@cache
def load_question_grammar() -> Grammar:
    rules = "\n".join(path.read_text(encoding="utf-8") for path in GRAMMARS)
    return Grammar(rules, TERMINALS, SYNONYMS.read_text(encoding="utf-8"))


def parse_trees(text: str, names: Names) -> list[Any]:
    """Every tree that a question can be read as. Raises Unclear where there is none.

    >>> (found,) = parse_trees("How much money did I spend from 3 May 2024 on?", Names([]))
    >>> found.how, found.of.first_day.day
    ('sum', 3)
    """
    return [tree for _, tree in parse_readings(text, names)]


def parse_readings(text: str, names: Names) -> list[tuple[dict[str, Any], Any]]:
    """All that is said, and the tree that it makes, for each way to read a question. Raises Unclear where there is none."""
    try:
        found = load_question_grammar().readings("question", drop_fillers(text), names)
    except Misread as error:
        raise Unclear(str(error)) from None
    made = [(said, tree) for said in found if (tree := build_tree(said)) is not None and fits_answer_hints(said, tree)]
    if not made:
        raise Unclear("its parts make no question")
    return made


def drop_fillers(text: str) -> str:
    """Without the words that change no meaning wherever they stand; what is quoted stays as it is.

    >>> drop_fillers('Please tell me, just quickly, when I searched for "just please", please?')
    'Tell me when I searched for "just please"?'
    """
    parts = QUOTED.split(text)
    parts[::2] = [FILLER.sub("", part) for part in parts[::2]]
    plain = "".join(parts).strip()
    return plain[:1].upper() + plain[1:]


def build_tree(said: dict[str, Any]) -> Any:
    """The tree that was said, or None where its parts do not make one."""
    fields = NODES[said["node"]].model_fields
    own = {key: value for key, value in said.items() if key in fields}
    loose = {key: value for key, value in said.items() if key in Pick.model_fields and key not in fields}
    if said["node"] == "whether":
        own["picks"] = [merge_readings(loose, {"brand": brand}) for brand in said["brands"]]
    elif "of" in fields:
        own["of"] = merge_readings(own.get("of", {}), loose)
    elif loose:
        return None
    try:
        return tree_adapter().validate_python(own)
    except ValidationError:
        return None


def fits_answer_hints(said: dict[str, Any], tree: Any) -> bool:
    """Whether what is said beside the question is of a question like this: how to answer, what wins a tie, where sessions end."""
    kind = type_of(tree)
    return (
        (said.get("_unit", kind) == kind or (said.get("_unit") == "name" and kind in NAMED))
        and ("_tie" not in said or may_tie(tree))
        and ("_gap" in said) == (tree.node == "sessions")
        and ("_few" not in said or kind == "ordered list")
        and said.get("_having") in (None, said.get("what"), said.get("by"))
        and said.get("_missing") in (None, *(pick.action for pick in list_tree_picks(tree)))
    )


def may_tie(tree: Any) -> bool:
    """Whether one of several equals has to be chosen."""
    match tree.node, getattr(tree, "what", None):
        case ("top" | "extreme", _) | ("pause" | "sessions", "start") | ("journey", "product_name"):
            return True
    return False


def list_tree_differences(one: Any, other: Any, names: Names) -> list[str]:
    """What one tree means instead of the other. Names, days and amounts are not told, so that reasons can be counted.

    >>> from shopwright.pipeline.questions.tree import Count, Pick
    >>> list_tree_differences(Count(of=Pick(action="click", brand="A")), Count(of=Pick(brand="B"), what="brand"), Names([]))
    ['of.action is click instead of nothing', 'of.brand is another', 'what is nothing instead of brand']
    """
    return [
        describe_tree_difference(*found)
        for found in find_unequal_places("", normalize_tree(one, names), normalize_tree(other, names))
    ]


def describe_tree_difference(place: str, one: Any, other: Any) -> str:
    known = place.rpartition(".")[2] in CLOSED
    if not known and one is not None and other is not None:
        return f"{place} is another"
    one, other = ("nothing" if each is None else each if known else "given" for each in (one, other))
    return f"{place} is {one} instead of {other}"


def normalize_tree(tree: Any, names: Names) -> Any:
    """A tree in the one form that all trees of its meaning have."""
    same = PRODUCT if names.titles_differ and type_of(tree) in COUNTED else {}
    found = normalize_tree_value(strip_tree_defaults(tree), names, same)
    if found["node"] == "journey":
        found["of"].pop("action", None)  # it is always a purchase
    return found


def normalize_tree_value(value: Any, names: Names, same: Mapping[str, str]) -> Any:
    if isinstance(value, list | tuple):
        return [normalize_tree_value(each, names, same) for each in value]
    if not isinstance(value, dict):
        return value
    if "parts" in value:
        return names.products(value) or [
            value.get("brand"),
            value.get("category"),
            value.get("color"),
            *sorted(value["parts"]),
        ]
    found = {key: normalize_tree_value(each, names, same) for key, each in value.items()}
    return found | {key: same.get(found[key], found[key]) for key in ("what", "by") if key in found}


def find_unequal_places(place: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """The places at which two trees are not equal, with what stands there."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from find_unequal_places(f"{place}.{key}".strip("."), one.get(key), other.get(key))
    elif one != other:
        yield place, one, other
