"""What the report says of the phrase bank: how many phrasings each family has, and what share of those that were tried is proved."""

import json
from collections import Counter
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.schemas.phrases import Phrase

# Meanings of which most was thrown away.
WORST = 20
UNKNOWN = "unknown"
Row = tuple[Any, ...]


def gather_phrase_facts(phrases: Dataset[Phrase]) -> dict[str, list[Row]] | None:
    """None where there are none."""
    if phrases.manifest is None or not phrases.manifest.rows:
        return None
    sizes = phrases.sql(
        "select family, count(distinct meaning), count(distinct template), count(*) from rows group by 1 order by 1"
    )
    kept = Counter[Row]()
    for *key, count in phrases.sql("select family, written_by, meaning, count(*) from rows group by 1, 2, 3"):
        kept[tuple(key)] = count
    lost = Counter[Row]()
    for row in phrases.quarantine:
        record = json.loads(row.record)
        lost[tuple(record.get(name, UNKNOWN) for name in ("family", "written_by", "meaning"))] += 1
    families = list_shares(sum_by_writer(kept), sum_by_writer(lost))
    found = {
        "Phrasings of each family": [("family", "meanings", "templates", "phrasings"), *sizes],
        "Share that is proved": [("family", "written by", "tried", "proved", "share"), *families],
    }
    if lost:
        worst = list_shares(kept, Counter(dict(lost.most_common(WORST))))
        head = ("family", "written by", "meaning", "tried", "proved", "share")
        found["Meanings of which most is not proved"] = [head, *(row for row in worst if row[-1] != "100 %")]
    return found


def sum_by_writer(counts: Counter[Row]) -> Counter[Row]:
    found = Counter[Row]()
    for (family, writer, _), count in counts.items():
        found[family, writer] += count
    return found


def list_shares(kept: Counter[Row], lost: Counter[Row]) -> list[Row]:
    """
    >>> list_shares(Counter({("a",): 3}), Counter({("a",): 1}))
    [('a', 4, 3, '75 %')]
    """
    shares: list[Row] = []
    for key in sorted({*kept, *lost}):
        proved, tried = kept[key], kept[key] + lost[key]
        shares.append((*key, tried, proved, f"{100 * proved / tried:.0f} %"))
    return shares
