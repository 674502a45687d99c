"""What is said of a question beside its answer: where its evidence lies, which split it belongs to, what it is like."""

import hashlib
import re
from collections import defaultdict
from itertools import accumulate

from shopwright.schemas.questions import Split, Third

SPLITS: tuple[Split, ...] = ("sft", "rl", "test", "test_wording")
# Splits that nothing is trained on.
HELD_OUT: tuple[Split, ...] = ("test", "test_wording")
# So many of a hundred trees belong to each split, so that no two splits ask the same, however many questions there are:
# about the shares that the splits have of the questions.
OF_HUNDRED = {"sft": 25, "rl": 57, "test": 12, "test_wording": 6}
THIRDS: tuple[Third, ...] = ("early", "middle", "late")
WORD = re.compile(r"[^\W_]+(?:[.:/'-][^\W_]+)*")
# What follows a word that is not whole: a letter, a digit, a hyphen, decimals.
GOES_ON = re.compile(r"[\w-]|\.\d")
LITTLE = frozenset("a an the of on in to at and or i my me did was were is it its".split())


def locate_evidence(evidence: list[int], events: int) -> Third | None:
    """
    >>> locate_evidence([1, 2, 80], 90), locate_evidence([], 90)
    ('early', None)
    """
    if not evidence:
        return None
    return THIRDS[min(2, 3 * sorted(evidence)[len(evidence) // 2] // max(1, events))]


def assign_split(tree: str) -> Split:
    """The one split in which this may be asked."""
    digest = int.from_bytes(hashlib.sha256(tree.encode()).digest()[:4], "big") % 100
    return next(split for split, upto in zip(SPLITS, accumulate(OF_HUNDRED.values()), strict=True) if digest < upto)


def extract_question_words(question: str) -> tuple[str, ...]:
    """The words that tell a question from others, in their order: without case, signs and little words.

    >>> extract_question_words("How much did I pay on May 3, 2024?")
    ('how', 'much', 'pay', 'may', '3', '2024')
    """
    return tuple(word for word in WORD.findall(question.lower()) if word not in LITTLE)


def collect_bag_of_words(question: str) -> frozenset[str]:
    return frozenset(extract_question_words(question))


def are_near_duplicate_questions(one: frozenset[str], other: frozenset[str]) -> bool:
    """Near-duplicates: of all their words more than nine in ten are in both."""
    return 10 * len(one & other) > 9 * len(one | other)


class DistinctBags:
    """Bags of words of which none is nearly another; not all are looked at to tell.

    Two of which more than nine words in ten are the same have one in common among their first, in whatever order: a tenth of each, rounded up. Long words
    come first here, as few bags have them.
    """

    def __init__(self) -> None:
        self.by_word: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def add(self, bag: frozenset[str]) -> bool:
        """Whether it is none of these; then it is one of them."""
        first = sorted(bag, key=lambda word: (-len(word), word))[: len(bag) - 9 * len(bag) // 10]
        if any(are_near_duplicate_questions(bag, other) for word in first for other in self.by_word.get(word, ())):
            return False
        for word in first:
            self.by_word[word].append(bag)
        return True


def gives_away(question: str, answer: str) -> bool:
    """Whether the answer stands in the question, as words of their own. Yes, no and none may: they are offered there.

    >>> gives_away("How many clicks on May 2, 2024?", "2"), gives_away("Which brand, or none?", "none")
    (True, False)
    """
    parts = [part.strip().lower() for part in answer.split(";")]
    if {"yes", "no", "none"}.issuperset(parts):
        return False
    text = question.lower()
    return all(stands_in(part, text) for part in parts if part)


def stands_in(part: str, text: str) -> bool:
    """Whether it is there as words of its own: no letter or digit goes on before or after it.

    >>> stands_in("8 in", "pan, 8 in"), stands_in("8 in", "pan, 18 in"), stands_in("1", "1.5 in")
    (True, False, False)
    """
    place = text.find(part)
    while place >= 0:
        before, after = text[:place][-1:], text[place + len(part) :][:2]
        if not (before.isalnum() or (before in "-_." and before)) and not GOES_ON.match(after):
            return True
        place = text.find(part, place + 1)
    return False
