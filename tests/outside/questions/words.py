"""Which words decide what is asked. Each of them is a token; small words are none; any other word is not understood."""

import re
from functools import cache
from itertools import product

# A phrase a line or between semicolons, of which the longest that fits is taken; a/b is one of two words, (a) may be missing.
TOKENS = {
    # what was done
    "CLICK": """
        click/clicks/clicked/clicking; clicks number; look/looks/looked/looking (at); have/had a look at; view/views/viewed/viewing
        open/opens/opened/opening; browse/browsed/browsing; window shop/shopped/shopping
    """,
    "CART": "cart/carts/carted/carting; basket",
    "BUY": """
        buy/buys/bought/buying; purchase/purchases/purchased/purchasing; order/orders/ordered/ordering; paid for
    """,
    "SEARCH": """
        search/searches/searched/searching; search query/queries/text/texts/box; query/queries; type/types/typed/typing; wrote
    """,
    "ACTION": "action/actions; divide my actions; do/did something",
    # to what
    "THING": "product/products/product's; item/items; thing/things; stuff; something; anything; everything; smth",
    "BRAND": "brand/brands",
    "CATEGORY": "category/categories",
    "COLOR": "color/colors",
    "SESSION": "(shopping) session/sessions/session's",
    "HOUR": "hour of (the) day; hour",
    "WEEKDAY": "weekday; day of (the) week",
    "DAY": "day/days/date/dates; days long",
    # how many, how much, when
    "WHICH": "what/which; what's",
    "HOWMANY": "how many/often; how many/much times/time; on how many occasions; (total) number (of); count/counts/counted/counting (of)",
    "HOWMANY ITSELF": "counting itself; counting that (one) too",
    "HOWMANY SEARCH": "how much search/searches",
    "HOWMANY CLICK": "total clicks",
    "HOWMUCH": "how much; how many dollars",
    "HOWLONG": "how long (time); how much time; length of time; (time) span; duration; length; wait",
    "WHEN": "when; when's; moment; at what time; what/which time/moment; (at) what date and time; date and time (of)",
    "TIME": "time",
    "START": "start/starts/started; began/begin/begins/begun; kick/kicked off",
    "PERCENT": "percent/percentage/%; how much/many percent/percentage; share",
    "AVERAGE": "(on) average; mean",
    "RATIO": "ratio; divide/divided",
    "RATIO CLICK": "for/to each/every (one) click (on) (a) (product); per click",
    "SUM": """
        total/totals/sum; running total; up together; together/altogether; all together; overall; in all; all in all; combined
        add/adds/adding/added up; come to
    """,
    "SPEND": "spend/spent/spending; pay/paid; money/cash; damage",
    "PRICE": "go/goes/went for (back); price/prices/priced; looking at prices; cost/costs/costing; (how) pricey; dollars",
    "MORE": "more/minus/less; exceed/exceeds; above; subtract; higher; compared; pricier; difference; differ",
    # which of them
    "DIFFERENT": """
        different/distinct/unique/diff; only once; count/counts/counted (only) once; each counted once; count one time
        same text count/counted once; same text count one time; no double counting; not counting repeats
        leaving repeats aside; without the repeats; repeats count once; repeat clicks on a product don't count
        counting each product (only) once; taking each product once
    """,
    "FIRST": "(very) first (time); earliest",
    "LAST": "(very) last (time); latest; most recent (time); most recently",
    "EVER": "ever; at any time; then or ever; then or at any other time; in the whole history/time; not in any time; of all times",
    "NEVER": "never; without; nothing; not; ignoring all that; leaving out everything",
    "NEVER EVER": "at no time; never once",
    "NEVER BUY": "no purchase/order",
    "SKIP": """
        unbranded (ones/products/items); skip/skipping/without unbranded; (not) counting unbranded; missing brands; not counted
        no brand (ones/products/items/stuff); skip no brand stuff; without a brand; without one; who have no brand
        no brand stuff doesn't count; products/anything without a brand; leaving out products; passing over products; without counting products
        skip anything/products without a brand; skipping products without a brand
    """,
    "MOST": """
        most/top/best; most often; most times; most frequent/frequently; most repeated/typed; more often than on any other
        going by how often; busiest; peak; fullest; biggest; largest
    """,
    "RANK": "rank/ranks/ranked/ranking; sorted",
    "RANK CLICK": "by (number of) (my) clicks; by the number of (my) clicks",
    "DEAR": "most expensive; highest priced; priciest",
    "CHEAP": "least expensive; lowest priced; cheapest",
    "HIGH": "highest (price); largest price",
    "LOW": "lowest (price); smallest (price)",
    "LONG": "longest; most long; most time; (at) (the) max; at most; at the most",
    "LONG PAUSE": "longest time without one; longest time without an action",
    "LONG CONSECUTIVE": "largest number of consecutive; longest run",
    "SHORT": "shortest",
    "EXACT": """
        exact/exactly/identical; exact/same/identical text/texts/words; same exact words; exactly the same words; word for word
    """,
    "ORDER": """
        (in) that/this/same/the order; in order; (in) order of time; (in) time order; in the order they happened; in turn
        click by click; purchase by purchase; one by one; one after the other; by time; going by time; (in) descending (order)
        earliest/oldest/most/highest/biggest first; (the) top one first; most clicked (one) first; (from) most to fewest
        starting/beginning with the earliest (of) (them); from earliest to latest; oldest to newest; from early to late; the latest at the end
        starting/beginning with the most clicked; one product for each click
    """,
    "YESNO": "yes or no",
    "CHANGE": "change/changes/changed; switch/switches/switched; differs",
    "BRAND CHANGE": "another brand; (a) different brand than",
    "NEXT": """
        next; directly/straight/immediately; right after (it); directly/straight/immediately after; after directly
        (as) (the) very next (thing/move); (direct) next action; nothing (in) between; (with) nothing else in between
    """,
    "CONSECUTIVE": "consecutive; in a row; running; streak; unbroken run",
    "DAY CONSECUTIVE": "daily streak/run; day after day; days one after (the) other; days straight; straight days; day streak; run of days",
    "BETWEEN": "between; in between; in the middle",
    "BEFORE": "before; previous; until; till",
    "AFTER": "after; afterwards; after it",
    "LATER": """
        again; later; since; since then; from it on; again from it; from then on; from that day (on); on or after it
        (on) that day or/and later
    """,
    "ITSELF": """
        itself; it too; it counts too; it included; that product included; also this product; including that one; that one counted
        a click on it in between counts too
    """,
    "PAUSE": "range; gap/gaps/break/breaks/pause/pauses/idle/interval/stretch",
    "APART": "apart; jump",
    # phrases that decide nothing, though words in them do
    "": """
        each/every/any day; of each/every/any day; (in) (the) hours of the day; (at) times of day; time of day; each/every time
        counting repeats (too); repeats counted again; repeats are fine; counting every single one; counting each/every
        looking at each/all; looking through; looking only at; look up; going by; add up to; however often
        how big/large; how big a part; how far; at least one; let me ask you something/this; there is something i should/would like to know; too often; was it again; products of a brand count together; order they
    """,
}

# Words that decide nothing.
SMALL = """
    ran cram pairs
    roam should always ate
    dread answer
    a across actually add added adding addition additions ages ago all already also am among an and another any
    anymore are as asap aside at back be been beginning behind being belonged big both box bring broken brought but
    by came can can't case cases come comes coming concerned concerns contain contained containing contains could
    cover curious daily did divide do does done drop during each end ended ends enough even every far fast feels
    fell find follow followed following follows for forgot from get getting give given giving go goes going good got
    grouped grouping guess had happen happened happens has have having here hey hit how's i i've idea if ignored in
    include included includes including inside into is it it's its just keep keeping kept kind kindly know land landed
    large lasted leading leads leaving led left let's lie lies like list list's loads look's looking lost lot made make
    makes making many may me measured might mind mine move my name named names need new no of off ok on once one
    one's ones only or other out over own pass passed per pile place please probably pushed put puts putting quick
    quickly rack reach reached really recall received remember remind repeat repeated repeats row run same saw say see
    separate show showed shown single skipped slips so some somewhere split splits splitting squeeze stands starting
    starts strictly such surely take taken takes taking tell text texts than that the their theirs them then then's
    there these they think this those though through throw throwing time times to too took track u up us use used
    using various very was way we went were whenever where wherever whether whichever while who whole whose with
    wonder wondering word words work would yo you
    ask asking bruh curiosity curious dying excuse forgive fr funny glad hello hi hm hurry idk lol may might now okay oh here's thinking pls plz possible q question want right rn rush
    short sorry thank thanks tho trouble u um umm ur well will
"""

NUMBERS = "two three four five six seven eight nine ten eleven twelve".split()


def number_of(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS.index(text) + 2


def expand(phrase: str) -> list[tuple[str, ...]]:
    """All that a phrase with choices stands for.

    >>> expand("look/looks (back) at")
    [('look', 'back', 'at'), ('look', 'at'), ('looks', 'back', 'at'), ('looks', 'at')]
    """
    choices = [word.strip("()").split("/") + ([""] if word.startswith("(") else []) for word in phrase.split()]
    return [tuple(word for word in words if word) for words in product(*choices)]


@cache
def lexicon() -> dict[tuple[str, ...], str]:
    found = {(word,): "" for word in SMALL.split()}
    for token, phrases in TOKENS.items():
        for phrase in re.split(r"[;\n]", phrases):
            found.update(dict.fromkeys(expand(phrase), token))
    return found


LONGEST = 10


def tokens_of(text: str) -> list[str] | None:
    """The tokens of a text in their order; None where a word is not understood."""
    found: list[str] = []
    for part in re.split(r"[,;:.?()]", text):
        tokens = tokens_of_part(re.findall(r"@[a-z]+|[\w$%'+]+", part))
        if tokens is None:
            return None
        found += tokens
    return found


def decides_nothing(sentence: str) -> bool:
    """Whether no word of a sentence is a token or names something, as in "Quite a few, surely"."""
    words = re.findall(r"[\w'+]+", sentence.lower())
    if any(lexicon().get((word,)) or word in NUMBERS for word in words):
        return False
    return not re.search(r"[@$%\d;]|(?<!^)\b[A-Z]\w", sentence)


def tokens_of_part(words: list[str]) -> list[str] | None:
    found: list[str] = []
    at = 0
    while at < len(words):
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            token = lexicon().get(tuple(words[at : at + length]))
            if token is not None:
                break
        else:
            if not words[at].startswith("@") and words[at] not in NUMBERS:
                return None
            token, length = words[at], 1
        found += token.split()
        at += length
    return found
