"""What a text is about: its content words, so that a query can be held against a product."""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from string import ascii_lowercase

import numpy as np
import pyarrow as pa

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.tokens import buffers

WORD = re.compile(r"[a-z0-9\u00c0-\u1fff\u2070-\U0010ffff]+")  # no Latin-1 signs, no dashes and curly quotes
STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "best",
        "better",
        "buy",
        "by",
        "can",
        "cheap",
        "cheaper",
        "cheapest",
        "compare",
        "deal",
        "deals",
        "find",
        "for",
        "free",
        "from",
        "gift",
        "good",
        "great",
        "how",
        "i",
        "in",
        "is",
        "it",
        "like",
        "me",
        "most",
        "my",
        "need",
        "new",
        "nice",
        "of",
        "on",
        "online",
        "or",
        "order",
        "over",
        "quality",
        "rated",
        "review",
        "reviews",
        "sale",
        "shop",
        "small",
        "than",
        "that",
        "the",
        "these",
        "this",
        "those",
        "to",
        "top",
        "under",
        "up",
        "want",
        "what",
        "where",
        "which",
        "with",
        "without",
        "you",
        "your",
        "color",
        "colour",
        "again",
        "same",
        "2023",
        "2024",
        "2025",
        "2026",
        *"的 了 和 与 及 或 我 你 要 想 买 找 个 款 件 好 等 是 在 有 给 用 请 帮 带 一个 一款 推荐 适合 便宜 新款 正品 比较 最好 想要".split(),
    ]
)
# How a search says what it may cost at most: at its end.
PRICE_CAP = r"(?:\bunder \$?(?=\d+$)|(?<!\d)(?=\d+元以内$))(?P<cap>\d+)(?:元以内)?$"
# Chinese letters, and the signs that stand between them.
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
HAN_SIGNS = re.compile(r"[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")
# In UTF-8 such letters begin with one of these bytes.
HAN_BYTES = (0xE3, 0xE9)
LONGEST = 64
# Texts whose words are kept at hand.
REMEMBERED = 500_000
WHOLE = 2**64 - 1
MIX = np.array([pow(0x9E3779B97F4A7C15, n + 1, 2**64) | 1 for n in range(LONGEST)], dtype=np.uint64)


def split_words(text: str) -> list[str]:
    """Lower-case words without a plural's s, in their order.

    >>> split_words("Table Lamps, 12 in; glass")
    ['table', 'lamp', '12', 'in', 'glass']
    >>> split_words("不锈钢保温杯，500ml")
    ['不锈', '不锈钢', '保温', '保温杯', '500ml']
    """
    return [strip_plural(word) for word in WORD.findall(ascii_lower(separate_chinese_words(text)))]


def separate_chinese_words(text: str, *, parts: bool = True) -> str:
    """A text with spaces between its Chinese words; parts: with a long word's parts before it, as people search for both.

    >>> separate_chinese_words("Lamp 台灯"), separate_chinese_words("lamp"), separate_chinese_words("保温杯", parts=False)
    ('Lamp  台灯 ', 'lamp', ' 保温杯 ')
    """
    if text.isascii() or not HAN.search(text):
        return text
    return HAN.sub(lambda found: cut_chinese_run(found[0], parts), HAN_SIGNS.sub(" ", text))


def cut_chinese_run(run: str, parts: bool) -> str:
    """By the dictionary of jieba alone, without guesses from what stands beside: a word is the same word in any text."""
    try:
        import rjieba
    except ImportError:
        raise Problem("Chinese texts need rjieba to tell their words apart: pip install rjieba") from None
    cut = rjieba.cut_for_search if parts else rjieba.cut
    return f" {' '.join(cut(run, False))} "


def ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(LOWER)


LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def strip_plural(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


@lru_cache(maxsize=50_000)
def content_words(text: str) -> tuple[str, ...]:
    """The words that say what is looked for.

    >>> content_words("best lamps under $40")
    ('lamp', '40')
    """
    return tuple(word for word in split_words(text) if word not in STOP)


def list_single_edits(word: str) -> Iterator[str]:
    """What a word becomes by one letter that is left out, swapped with the next, another, or too much; some come twice.

    >>> found = set(list_single_edits("red"))
    >>> found >= {"rd", "erd", "bed", "read"}, "red" in found, len(found)
    (True, True, 182)
    """
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (f"{before}{letter}{after}" for letter in ascii_lowercase)
        if after:
            yield before + after[1:]
            yield from (f"{before}{letter}{after[1:]}" for letter in ascii_lowercase)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


@cache
def byte_kinds() -> tuple[np.ndarray, np.ndarray]:
    lower = np.arange(256, dtype=np.uint8)
    lower[65:91] += 32
    part = np.zeros(256, dtype=bool)
    part[ord("a") : ord("z") + 1] = part[ord("0") : ord("9") + 1] = True
    part[0x80:] = True
    return lower, part


def hashed_words(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """`split_words` of every text of an Arrow array, as (index of the text, 64-bit hash of the word) pairs in order."""
    offsets, data = buffers(texts)
    if ((data >= HAN_BYTES[0]) & (data <= HAN_BYTES[1])).any():
        texts = pa.array([separate_chinese_words(text or "") for text in texts.to_pylist()], pa.string())
        offsets, data = buffers(texts)
    lower, is_part = byte_kinds()
    data = lower[data]
    part = is_part[data]
    part &= ~find_punctuation_bytes(data)
    starts_text = np.zeros(len(data) + 1, dtype=bool)
    starts_text[offsets - offsets[0]] = True
    starts = np.flatnonzero(part & (~np.concatenate([[False], part[:-1]]) | starts_text[:-1]))
    ends = np.flatnonzero(part & (~np.concatenate([part[1:], [False]]) | starts_text[1:])) + 1
    if not len(starts):
        return np.zeros(0, np.int64), np.zeros(0, np.uint64)
    lengths = ends - starts
    plural = (lengths > 3) & (data[ends - 1] == ord("s")) & (data[ends - 2] != ord("s"))
    lengths = lengths - plural
    hashes = hashed_runs(data, starts, lengths)
    text_of = np.searchsorted(offsets - offsets[0], starts, side="right") - 1
    return text_of, hashes


@lru_cache(4096)
def hash_words(text: str) -> np.ndarray:
    """The hash of each word of a text."""
    return hashed_words(pa.array([text]))[1]


def find_punctuation_bytes(data: np.ndarray) -> np.ndarray:
    """The bytes of U+0080 to U+00BF and U+2000 to U+206F, which are in no word."""
    found = np.zeros(len(data) + 2, dtype=bool)
    two = np.flatnonzero(data == 0xC2)
    three = np.flatnonzero(data[:-2] == 0xE2) if len(data) > 2 else two[:0]
    three = three[(data[three + 1] & 0xFE) == 0x80]
    three = three[(data[three + 1] == 0x80) | (data[three + 2] < 0xB0)]
    for start, length in ((two, 2), (three, 3)):
        for ahead in range(length):
            found[start + ahead] = True
    return found[: len(data)]


@cache
def make_mix_table() -> np.ndarray:
    """What each byte adds to a hash at each place of a run; the places begin again after the last."""
    letters, place = np.arange(1, 257, dtype=np.uint64), np.arange(LONGEST)[:, None]
    return (letters * letters * MIX[place] + letters * MIX[(place * 7 + 3) % LONGEST]).ravel()


def hashed_runs(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each run of bytes; none may be empty."""
    ends = np.cumsum(lengths)
    first = ends - lengths
    place = np.arange(int(ends[-1]))
    letters = data.take(np.repeat(starts - first, lengths) + place)
    place -= np.repeat(first, lengths)
    place %= LONGEST
    place *= 256
    place += letters
    hashes = np.add.reduceat(make_mix_table().take(place), first)
    return (hashes ^ (hashes >> np.uint64(29))) * MIX[5]


@cache
def list_mix_table() -> list[int]:
    found: list[int] = make_mix_table().tolist()
    return found


def hash_word(word: str) -> int:
    """`hashed_words` of a single word, for a few at a time: an array of one takes thirty times as long.

    >>> hash_word("lamp") == int(hashed_words(pa.array(["lamp"]))[1][0])
    True
    """
    table = list_mix_table()
    total = sum(table[place % LONGEST * 256 + byte] for place, byte in enumerate(word.encode())) & WHOLE
    return (total ^ total >> 29) * int(MIX[5]) & WHOLE


def hashed_texts(texts: pa.Array) -> np.ndarray:
    """A 64-bit hash of each text, the same on any machine."""
    offsets, data = buffers(texts)
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    hashes = np.zeros(len(texts), np.uint64)
    some = lengths > 0
    if some.any():
        hashes[some] = hashed_runs(data, starts[some], lengths[some])
    return hashes


@cache
def stop_hashes() -> np.ndarray:
    return np.sort(hashed_words(pa.array(sorted(STOP)))[1])


def hashed_content_words(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """`content_words` as pairs, see `hashed_words`."""
    text_of, hashes = hashed_words(texts)
    keep = ~np.isin(hashes, stop_hashes())
    return text_of[keep], hashes[keep]


class WordTable:
    """The words of texts as 64-bit hashes, each text looked at once; 0 where a text has fewer words."""

    def __init__(self, of: Callable[[pa.Array], tuple[np.ndarray, np.ndarray]]) -> None:
        self.of = of
        self.forget()

    def forget(self) -> None:
        self.row: dict[str, int] = {}
        self.table = np.zeros((0, 1), dtype=np.uint64)

    def columns(self, texts: list[str]) -> np.ndarray:
        """The hashes of each text's words: a row for the first words, one for the second, and so on."""
        if not self.row.keys() >= set(texts):
            if len(self.row) + len(texts) > REMEMBERED:
                self.forget()
            self.add(list(dict.fromkeys(text for text in texts if text not in self.row)))
        found = self.table[list(map(self.row.__getitem__, texts))]
        return np.ascontiguousarray(found[:, : int(found.any(axis=0).sum())].T)

    def add(self, new: list[str]) -> None:
        first = len(self.row)
        text_of, hashes = self.of(pa.array(new, pa.string()))
        counts = np.bincount(text_of, minlength=len(new))
        place = np.arange(len(text_of)) - np.repeat(np.cumsum(counts) - counts, counts)
        wide, room = max(self.table.shape[1], int(counts.max(initial=1))), self.table.shape[0]
        if wide > self.table.shape[1] or first + len(new) > room:
            bigger = np.zeros((max(2 * room, first + len(new)), wide), dtype=np.uint64)
            bigger[:room, : self.table.shape[1]] = self.table
            self.table = bigger
        self.table[first + text_of, place] = hashes
        self.row.update(zip(new, range(first, first + len(new)), strict=True))


def in_common(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many of each text's words (`WordTable.columns`) the text beside it has too."""
    count = np.zeros(some.shape[1], dtype=np.int64)
    for word in some:
        found = np.zeros(len(word), dtype=bool)
        for other in others:
            found |= word == other
        count += found & (word != 0)
    return count


def drop_surrogates(text: str) -> str:
    """Without halves of characters, which no file can hold.

    >>> drop_surrogates("a\\ud800b")
    'a?b'
    """
    return text.encode(errors="replace").decode()
