"""Whether an agent used nothing that it had not seen: each word of its actions and thoughts held against all that came before it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from shopwright.pipeline.prompts import FOLDER
from shopwright.pipeline.render.pages import normalize_click_words
from shopwright.pipeline.words import split_words
from shopwright.schemas.shopping import Step

TEMPLATES = "shopping_episodes.offline.j2"


class SeenWords:
    """All words of what was said and shown so far."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.words: set[str] = set()
        # Chinese words may be cut otherwise where they stand among others.
        self.chinese = ""
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        self.words.update(split_words(text))
        if not text.isascii():
            self.chinese += f"\n{text.lower()}"

    def has(self, text: str) -> bool:
        return not self.list_missing(text)

    def list_missing(self, text: str, plain: Collection[str] = ()) -> list[str]:
        """Words of a text that were not there before and are none of the plain ones."""
        return [
            word
            for word in split_words(text)
            if word not in self.words and word not in plain and (word.isascii() or word not in self.chinese)
        ]


def list_unseen(
    texts: Iterable[str], clickables: Sequence[str], steps: Sequence[Step], things: Collection[str]
) -> Iterator[str]:
    """What steps use that was in none of the texts before the first of them, on no page and in no reply since.

    clickables: of the first page. things: words for kinds of things, which anybody knows, for searches; in what is thought and said
    those of the templates are plain, too.
    """
    seen, plain = SeenWords(texts), {*things, *load_template_words()}
    for place, step in enumerate(steps, 1):
        kind, _, content = step.action.removesuffix("]").partition("[")
        if kind == "click" and normalize_click_words(content) not in map(normalize_click_words, clickables):
            yield f"step {place} clicks {content!r}"
        words = seen.list_missing(content, things) if kind == "search" else []
        words += seen.list_missing(content, plain) if kind == "ask" else []
        words += seen.list_missing(step.thought, plain)
        yield from (f"step {place} says {word!r}" for word in dict.fromkeys(words))
        seen.add(step.observation)
        clickables = step.clickables


@cache
def load_template_words() -> frozenset[str]:
    return frozenset(split_words((FOLDER / TEMPLATES).read_text(encoding="utf-8")))
