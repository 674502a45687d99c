"""Figures of what was typed: its shape, its brands, its spelling, and where on the page of a search the clicks are."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from string import ascii_lowercase

import numpy as np

from shopwright.pipeline.evaluate.realism.figures import Curve, Figure, make_figure
from shopwright.pipeline.evaluate.realism.logs import CLICK, SEARCH, Logs
from shopwright.pipeline.evaluate.statistics import measure_clustered_share, measure_share
from shopwright.pipeline.render.pages import PAGE

# The ids of the best products of a search, as many as asked for at most: the shop's engine.
Rank = Callable[[str, int], Sequence[str]]
SMALL = frozenset(
    """a an the and or of for with without w/ w/o in on at to from by as into no not non nor my your our his her their its
    me i im i'm it this that these those is are be can do does who where which what how when between off out only than""".split()
)
PAGES = 2
# Clicks whose search the engine is asked for, of customers spread evenly.
MOST_CLICKS = 20_000
# A word that one of so many searches has, and three at least, is no typing error.
COMMON = 2_000
LONGEST_BRAND = 4
# Common words that a shop's titles may lack, so that they are not taken for errors.
EVERYDAY = frozenset(
    """about above after again along among animal around arrow aunt baker basic beach beads beard beast beats being below better bible
    birds blade blank blend blind block blood board boats bones boots bored bound brain brand brave bread break brick bride brief
    bring broke brush build built bunch camel canal candy canoe cards carry catch cause chain chair charm chart chase cheek chest
    chief child choir civil clean clear clerk climb clock close cloth cloud coach coast color combo cones couch could count court
    cover cozy craft cream crime cross crowd crown curls curve daily dance death denim depth diary diver dozen draft drain dream
    dress dried drill drink drive eager eagle early earth eight empty enemy enjoy enter equal error event every exact faith
    faucet favor fence fever fiber field fight final first flags flame flash fleet flops floor flour fluid focus force forks forms
    found frame fresh front frost fruit funny ghost giant girls gloss glove going grade grain grand grape grass great group grown
    guard guest guide habit hands happy heart heavy helps hinge hobby honey horse hotel house human humor ideal image indoor inner
    issue joint judge juice keeps kitty knife known label laces large laser laugh layer leads learn least leave level lever light
    likes limit linen lists liver local loose lover lower loyal lucky lunch magic major maker march match maybe medal metal might
    minor money month motor mount mouse mouth movie music needs nerve never newer night noise north novel nurse ocean offer older
    onion order other outer owner paint panel paper party paste patch peace phase phone photo piano piece pilot pitch place plain
    plane plate point pound power press price pride prime print prize proof proud queen quick quiet quite radio raise range reach
    ready rider right river robot rocks roman rough round route royal rural salad scale scene scent score sense serve seven shade
    shake shape share sharp sheet shelf shell shift shine shirt shock shoot shore short shown sight signs silly since skill skirt
    skirts sleep slide slope smart smell smile smoke solar solid solve sound south space spare spark speak speed spell spend spice
    split spoon sport spray stack staff stage stain stair stamp stand stars start state steam steel steep stick still stock stone
    store storm story stove strip study stuff style sugar suite sunny super sweet swing table taste teach teams teeth thank their
    theme there thick thing think third those three throw tight tired title today tools topic total touch tough tower track trade
    trail train treat trend trial tribe trick truck truly trunk trust truth twice uncle under union until upper urban usual value
    video visit voice waste watch water waves wheel where which while white whole whose witch woman world worry worth would wound
    wrist write wrong years young youth zebra behind better bottom bright camera circle coffee corner couple dinner doctor family
    father finger flower friend garden ground guitar health heater holder kitchen ladies leather letter little living mother nature
    number office people person planet pocket quality repair school season second shadow shower silver simple single sister stable
    street summer switch ticket travel window winter wooden writer without between brother chicken country morning picture problem
    program station support teacher weather whiter adults another because birthday building business children computer friends
    hospital important language material mountain natural outdoor projection resistant sensitive special strong summer together
    toddler vacation vintage warm wedding weekend yellow""".split()
)
WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
# Letters of a word that is looked at: a short one is a letter away from another one anyway.
SHORTEST = 5
# Titles that have a word which an error may be of.
OFTEN = 3
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "y", "ly", "'s", "less")


def measure_searching(
    logs: Logs, rank: Rank | None, more_titles: Iterable[str] = (), why: str = ""
) -> Iterator[Figure | Curve]:
    """All of them; `why` says why there is no engine, `more_titles` are those of the shop, beside the log's own."""
    searches = logs.find(SEARCH)
    owners, codes = logs.owners[searches], logs.queries[searches]
    words = [text.lower().split() for text in logs.query_texts]
    lengths = np.array([len(each) for each in words] or [0])
    named = [*logs.brand_names, *logs.kind_names]
    known = collect_known_words([*logs.titles, *more_titles], [*named, *count_words(words, codes)])
    has = {
        "one_word": lengths == 1,
        "six_words": lengths >= 6,
        "small_words": np.array([not SMALL.isdisjoint(each) for each in words] or [False]),
        "misspelt": np.array([known.doubts(each) for each in words] or [False]),
    }
    for key, mask in has.items():
        yield share_by_customer(key, logs, owners, mask[codes] if len(codes) else np.zeros(0, bool), "no searches")
    most = int(min(lengths.max(), 15))  # words; longer searches count there
    counts = np.bincount(np.minimum(lengths[codes], most), minlength=most + 1)[1:] if len(codes) else np.zeros(0)
    yield Curve(key="lengths", x=list(range(1, len(counts) + 1)), y=(counts / max(len(codes), 1)).tolist())
    yield measure_brands(logs, words)
    yield from measure_places(logs, rank, why)


def share_by_customer(key: str, logs: Logs, owners: np.ndarray, right: np.ndarray, why: str) -> Figure:
    size = len(logs.names)
    return make_figure(
        key,
        measure_clustered_share(
            np.bincount(owners, right, size).tolist(), np.bincount(owners, minlength=size).tolist()
        ),
        "" if len(owners) else why,
    )


def measure_strings(texts: Sequence[str], titles: Iterable[str], named: Iterable[str]) -> list[Figure]:
    """What can be measured of people's strings: their shape. Where the titles lack their words, fewer count as misspelt."""
    words = [text.lower().split() for text in texts]
    counts = Counter(chain.from_iterable(map(set, words)))
    known = collect_known_words(titles, [*named, *(word for word, count in counts.items() if count >= 3)])
    found = {
        "one_word": [len(each) == 1 for each in words],
        "six_words": [len(each) >= 6 for each in words],
        "small_words": [not SMALL.isdisjoint(each) for each in words],
        "misspelt": [known.doubts(each) for each in words],
    }
    return [make_figure(key, measure_share(sum(right), len(words))) for key, right in found.items()]


def count_words(words: Sequence[Sequence[str]], codes: np.ndarray) -> dict[str, int]:
    """The words that are typed too often to be errors."""
    times = np.bincount(codes, minlength=len(words)) if len(codes) else np.zeros(len(words), int)
    counts: Counter[str] = Counter()
    for each, count in zip(words, times.tolist(), strict=True):
        for word in set(each):
            counts[word] += count
    least = max(3, len(codes) / COMMON)
    return {word: count for word, count in counts.items() if count >= least}


class KnownWords:
    """Tells a word that may be misspelt or cut from one that is only new."""

    def __init__(self, titles: Counter[str], others: Iterable[str]) -> None:
        self.aims = frozenset(word for word, count in titles.items() if count >= OFTEN)
        self.all = frozenset(titles) | frozenset(others) | SMALL | EVERYDAY
        self.ordered = sorted(word for word in self.aims if len(word) > SHORTEST)
        self.kept: dict[str, bool] = {}

    def doubts(self, words: Sequence[str]) -> bool:
        """Whether a search has a word that seems misspelt, or ends with one that seems cut."""
        parts = list(chain.from_iterable(WORD.findall(word) for word in words if "'" not in word))
        if any(self.misspells(part) for part in parts):
            return True
        return bool(parts) and words[-1].endswith(parts[-1]) and self.cuts(parts[-1])

    def misspells(self, word: str) -> bool:
        if word not in self.kept:
            near = len(word) >= SHORTEST and not self.knows(word) and not self.aims.isdisjoint(list_edits(word))
            self.kept[word] = near
        return self.kept[word]

    def knows(self, word: str) -> bool:
        """As it is, or with another ending."""
        stems = {word, *(word.removesuffix(end) for end in ENDINGS)}
        # running, runn, run; parties, parti, party.
        stems |= {stem[:-1] for stem in stems if stem[-1:] == stem[-2:-1]} | {
            stem[:-1] + "y" for stem in stems if stem.endswith("i")
        }
        ends = ("", "e", "y", "s", "es", "ed", "er", "ing")
        whole = [stem for stem in stems if len(stem) >= 3]
        pairs = product(whole, ends)
        forms = {stem + end for stem, end in pairs if not (end == "s" and stem.endswith("s"))}
        forms |= {stem + stem[-1] + "ing" for stem in whole}  # run, running
        return not self.all.isdisjoint(forms)

    def cuts(self, word: str) -> bool:
        """Whether a longer word of the titles begins so; where it is cut after its first letters, nobody can know."""
        if len(word) < SHORTEST - 1 or self.knows(word):
            return False
        place = bisect_left(self.ordered, word)
        return any(len(other) >= len(word) + 2 for other in self.ordered[place : place + 3] if other.startswith(word))


def collect_known_words(titles: Iterable[str], common: Iterable[str]) -> KnownWords:
    """Of titles, each counted once, and of texts that are no errors whatever they are."""
    counts = Counter[str]()
    for title in {title.lower() for title in titles}:
        counts.update(set(WORD.findall(title)))
    return KnownWords(counts, set(chain.from_iterable(WORD.findall(word.lower()) for word in common)))


def list_edits(word: str) -> Iterator[str]:
    """All texts that are one letter away; the first letter, which people seldom miss, stays.

    >>> "kettle" in set(list_edits("ketlte")), "vest" in set(list_edits("best"))
    (True, False)
    """
    for place in range(1, len(word) + 1):
        head, tail = word[:place], word[place:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in ascii_lowercase:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def measure_brands(logs: Logs, words: Sequence[Sequence[str]]) -> Figure:
    """The brand is the longest of the log's brands that the search begins with, up to four words."""
    lower = [" ".join(name.lower().split()) for name in logs.brand_names]
    # The first spelling wins.
    number = {name: place for place, name in reversed([*enumerate(lower)]) if name and name not in SMALL}
    # Two spellings of a brand are one; the last is for none.
    same = np.array([number.get(name, -1) for name in lower] + [-1])
    typed = np.array([find_first_brand(each, number) for each in words] or [-1])
    searches = logs.find(SEARCH)
    searches = searches[searches + 1 < len(logs)]
    owners = logs.owners
    follow = searches[(logs.actions[searches + 1] == CLICK) & (owners[searches] == owners[searches + 1])]
    begins = follow[typed[logs.queries[follow]] >= 0]
    other = same[logs.brands[begins + 1]] != typed[logs.queries[begins]]
    return share_by_customer(
        "brand_broken", logs, owners[begins], other, "no search begins with a brand and is followed by a click"
    )


def find_first_brand(words: Sequence[str], number: dict[str, int]) -> int:
    """
    >>> find_first_brand(["black", "decker", "drill"], {"black decker": 4, "black": 2}), find_first_brand(["drill"], {"makita": 1})
    (4, -1)
    """
    for length in range(min(LONGEST_BRAND, len(words)), 0, -1):
        if (found := number.get(" ".join(words[:length]), -1)) >= 0:
            return found
    return -1


def measure_places(logs: Logs, rank: Rank | None, why: str) -> Iterator[Figure | Curve]:
    """Where the clicks stand in what the engine gives for the last search of the customer."""
    if rank is None:
        why = why or "needs the shop's engine"
        yield from (Figure(key=key, value=None, note=why) for key in ("off_page", "top_three"))
        return
    owners = logs.owners
    clicks = choose_clicks(logs, owners)
    last = np.maximum.accumulate(np.where(logs.actions == SEARCH, np.arange(len(logs)), -1))[clicks]
    answered = (last >= 0) & (owners[np.maximum(last, 0)] == owners[clicks])
    clicks, last = clicks[answered], last[answered]
    places = np.full(len(clicks), -1)
    shown: dict[int, dict[str, int]] = {}
    for each, (click, search) in enumerate(zip(clicks.tolist(), last.tolist(), strict=True)):
        code = int(logs.queries[search])
        if code not in shown:
            shown[code] = {id: place for place, id in enumerate(rank(logs.query_texts[code], PAGES * PAGE), 1)}
        places[each] = shown[code].get(logs.product_ids[logs.products[click]], -1)
    yield share_by_customer("off_page", logs, owners[clicks], places < 0, "no click follows a search")
    first = (places > 0) & (places <= PAGE)
    yield share_by_customer("top_three", logs, owners[clicks[first]], places[first] <= 3, "no click on a first page")
    counts = np.bincount(places[places > 0], minlength=PAGES * PAGE + 1)[1:]
    if counts.sum():
        law = 1 / np.arange(1, PAGES * PAGE + 1)
        yield Curve(
            key="places",
            x=list(range(1, len(counts) + 1)),
            y=(counts / counts.sum()).tolist(),
            reference=tuple((law / law.sum()).tolist()),
        )


def choose_clicks(logs: Logs, owners: np.ndarray) -> np.ndarray:
    """All, or those of customers spread evenly that make at most so many; at least one customer's."""
    clicks = logs.find(CLICK)
    if len(clicks) <= MOST_CLICKS:
        return clicks
    step = -(-len(clicks) // MOST_CLICKS)
    return clicks[owners[clicks] % step == 0]
