"""Small phrases that say the same (`data/reference/synonyms.txt`): whichever of a group stands in a template, another may stand there."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from random import Random

FILE = Path(__file__).parents[2] / "data" / "reference" / "synonyms.txt"


class Synonyms:
    """Groups of phrases, the first of each the one that stands for all."""

    def __init__(self, groups: Iterable[tuple[str, ...]]) -> None:
        self.groups = {phrase.lower(): group for group in groups for phrase in reversed(group)}
        ordered = sorted(self.groups, key=lambda phrase: (phrase[0], -len(phrase)))
        # By the first character, as a pattern of hundreds of phrases is tried at every place of a text.
        alike = (
            f"(?={re.escape(first)})(?:{'|'.join(map(bound_phrase, all))})"
            for first, all in groupby(ordered, itemgetter(0))
        )
        self.pattern = re.compile("|".join([*alike, r"\{[^}]*\}"]), re.IGNORECASE)

    def exchange(self, frame: str, random: Random) -> str:
        """The frame with each of its phrases as one of its group.

        >>> Synonyms([("how often did", "on how many occasions did")]).exchange("How often did {I} buy?", Random(1))
        'How often did {I} buy?'
        """

        def draw(found: re.Match[str]) -> str:
            group = self.groups.get(found[0].lower())
            return keep_capital(found[0], group[int(random.random() * len(group))]) if group else found[0]

        return self.pattern.sub(draw, frame)

    def settle(self, text: str) -> str:
        """The text with the first phrase of each group: the same for all that can be exchanged for each other.

        >>> Synonyms([("how often did", "on how many occasions did")]).settle("On how many occasions did {I} buy?")
        'How often did {I} buy?'
        """

        def first(found: re.Match[str]) -> str:
            return keep_capital(found[0], self.groups.get(found[0].lower(), (found[0],))[0])

        return self.pattern.sub(first, text)


def bound_phrase(phrase: str) -> str:
    """A pattern for the phrase as words of their own."""
    before = r"(?<![\w'-])" if phrase[0].isalnum() else ""
    after = r"(?![\w'-])" if phrase[-1].isalnum() else ""
    return f"{before}{re.escape(phrase)}{after}"


def keep_capital(before: str, after: str) -> str:
    return after[:1].upper() + after[1:] if before[:1].isupper() else after


@cache
def load_synonyms() -> Synonyms:
    lines = (line.strip() for line in FILE.read_text(encoding="utf-8").splitlines())
    return Synonyms(tuple(line.split(" | ")) for line in lines if line and not line.startswith("#"))
