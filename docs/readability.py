"""How easily the README and the docs are read: `python -m docs.readability` prints a line for each page, and fails for those that miss the goal.

Flesch's reading ease (Flesch 1948) is 206.8 - 1.015 x words a sentence - 84.6 x syllables a word: 60 to 70 is plain English. Code, tables,
headings and pages that a program makes do not count.
"""

import re
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

HOME = Path(__file__).parents[1]
EASE, WORDS = 55.0, 22
# Fewer sentences say nothing of a page.
ENOUGH = 5
CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
# Lines that hold no sentence: tables, headings, comments, settings at the top of a page, snippets.
APART = re.compile(r"^\s*(\||#|<!--|---|!\[|:|\{).*$", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
# What stands for a name is read as one short word.
NAME = re.compile(r"`[^`]*`|https?://\S+|[\w.-]*[_/@][\w./@-]*|--[\w-]+")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+|\n\s*\n|\n\s*(?:[*-]|\d+\.)\s+")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*|\d[\d,.]*")
VOWELS = re.compile(r"[aeiouy]+")


class Reading(NamedTuple):
    sentences: int
    ease: float
    words: float
    """Of the middle sentence."""

    @property
    def is_easy(self) -> bool:
        return self.sentences < ENOUGH or (self.ease >= EASE and self.words <= WORDS)


def count_syllables(word: str) -> int:
    """
    >>> [count_syllables(word) for word in ("cat", "table", "made", "shopping", "1,200", "simulated")]
    [1, 2, 1, 2, 1, 4]
    """
    word = word.lower()
    count = len(VOWELS.findall(word))
    silent = word.endswith(("e", "es", "ed")) and not word.endswith(
        ("le", "ted", "ded", "ses", "ces", "ges", "ches", "shes", "xes", "zes")
    )
    return max(1, count - (silent and count > 1))


def extract_sentences(page: str) -> list[list[str]]:
    """The words of each sentence of a page in Markdown.

    >>> extract_sentences("# Title\\n\\nIt has `a_b`. See [the docs](x.md) now.")
    [['It', 'has', 'it'], ['See', 'the', 'docs', 'now']]
    """
    text = APART.sub("\n", CODE.sub("\n", page))
    text = NAME.sub("it", LINK.sub(r"\1", text)).replace("**", "")
    found = [WORD.findall(each) for each in END.split(text)]
    return [words for words in found if len(words) > 2]


def measure_page(page: str) -> Reading:
    sentences = extract_sentences(page)
    if not sentences:
        return Reading(0, 100.0, 0)
    words = [word for sentence in sentences for word in sentence]
    syllables = sum(map(count_syllables, words))
    ease = 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)
    return Reading(len(sentences), ease, median(map(len, sentences)))


def list_pages() -> list[Path]:
    """Those that people write: not the pages of datasets, which are made from code, nor decisions, which are a record."""
    written = [path for path in (HOME / "docs").rglob("*.md") if path.parent.name not in ("datasets", "decisions")]
    return [HOME / "README.md", HOME / "CONTRIBUTING.md", HOME / "SECURITY.md", *sorted(written)]


def main() -> int:
    found = {path.relative_to(HOME).as_posix(): measure_page(path.read_text(encoding="utf-8")) for path in list_pages()}
    for name, each in sorted(found.items(), key=lambda item: item[1].ease):
        print(
            f"{name:40} {each.sentences:5} sentences, ease {each.ease:5.1f}, middle sentence {each.words:4.0f} words{'' if each.is_easy else '  MISSED'}"
        )
    return 0 if all(each.is_easy for each in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
