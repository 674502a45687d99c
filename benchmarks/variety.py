"""How much of a grid a catalog is: in what the products of a leaf differ, how much a title tells, what a product's variants cost.

    python -m benchmarks.variety data/runs/mine data/runs/amazon    # folders of runs; variants count where they are there

Every figure is a mean over the leaves of 30 products and more, of which the first 120 count. A fact is the maker, the color, or an attribute that is no
option of the page.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import log, prod
from pathlib import Path
from random import Random
from statistics import mean, pstdev
from typing import Any

from shopwright.pipeline.run import Run

FEWEST, MOST = 30, 120
PAIRS = 400
"""Of products of a leaf that are compared."""
COLUMNS = ["id", "category", "title", "brand", "color", "attributes", "options"]
WORD = re.compile(r"[^\W_]+")
Facts = Mapping[str, str]


def collect_facts(row: Mapping[str, Any]) -> dict[str, str]:
    picked = {option["name"] for option in row["options"]}
    found = {"brand": row["brand"], "color": row["color"]} | {each["name"]: each["value"] for each in row["attributes"]}
    return {name: value for name, value in found.items() if value and name not in picked}


def measure_leaf(rows: Sequence[Mapping[str, Any]], random: Random) -> dict[str, float]:
    facts = [collect_facts(row) for row in rows]
    varying = [name for name in dict.fromkeys(name for each in facts for name in each) if count_values(facts, name) > 1]
    pairs = [random.sample(range(len(rows)), 2) for _ in range(PAIRS)]
    titles = [set(WORD.findall(row["title"].lower())) for row in rows]
    return {
        "facts in which its products differ": len(varying),
        "share of the combinations of their values that there are": fill_share(facts, varying),
        "mutual information of two facts, share of the most": mean_information(facts, varying),
        "facts in which two products differ": mean(sum(facts[a].get(n) != facts[b].get(n) for n in varying) for a, b in pairs),
        "share of products with another one fact apart": share_with_neighbor(facts, varying),
        "share of facts that stand in the title": mean(
            is_in_title(row["title"], value) for row, each in zip(rows, facts, strict=True) for value in each.values()
        ),
        "words of two titles that are the same, share": mean(len(titles[a] & titles[b]) / len(titles[a] | titles[b]) for a, b in pairs),
        "words of a title": mean(map(len, titles)),
        "words of a title, deviation": pstdev(map(len, titles)),
    }  # fmt: skip


def count_values(facts: Iterable[Facts], name: str) -> int:
    return len({each.get(name) for each in facts})


def fill_share(facts: Sequence[Facts], names: Sequence[str]) -> float:
    """1 where every combination of the values is there: a full grid.

    >>> fill_share([{"a": x, "b": y} for x in "12" for y in "12"], ["a", "b"]), fill_share([{"a": x, "b": x} for x in "12"], ["a", "b"])
    (1.0, 0.5)
    """
    if not names:
        return 0.0
    there = {tuple(each.get(name) for name in names) for each in facts}
    return len(there) / prod(count_values(facts, name) for name in names)


def mean_information(facts: Sequence[Facts], names: Sequence[str]) -> float:
    """Of all pairs of facts that take turns: mutual information over the smaller entropy, less what chance makes of so few products."""
    values = {name: [each.get(name) for each in facts] for name in names}
    kept = [name for name in names if 1 < len(set(values[name])) <= len(facts) / 4]
    return mean(share_information(values[a], values[b]) for a, b in combinations(kept, 2)) if len(kept) > 1 else 0.0


def share_information(one: Sequence[Any], other: Sequence[Any]) -> float:
    """
    >>> share_information(list("aabb") * 50, list("xxyy") * 50) > 0.98, share_information(list("aabb") * 50, list("xyxy") * 50) <= 0
    (True, True)
    """
    first, second = entropy(one), entropy(other)
    both = entropy(list(zip(one, other, strict=True)))
    chance = (len(set(one)) - 1) * (len(set(other)) - 1) / (2 * len(one))
    return (first + second - both - chance) / min(first, second)


def entropy(values: Sequence[Any]) -> float:
    return -sum(count / len(values) * log(count / len(values)) for count in Counter(values).values())


def share_with_neighbor(facts: Sequence[Facts], names: Sequence[str]) -> float:
    rows = [tuple(each.get(name) for name in names) for each in facts]
    near = [any(sum(x != y for x, y in zip(one, other, strict=True)) == 1 for other in rows) for one in rows]
    return mean(near)


def is_in_title(title: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", title.lower()) is not None


def measure_prices(run: Run) -> dict[str, float]:
    """What the variants of a product cost; nothing where there are none."""
    if not (run.folder / "variants").is_dir():
        return {}
    rows = run.read("variants").sql(
        "select count(distinct price), max(price) / min(price), count(*) from rows group by product_id"
    )
    return {
        "variants of a product": mean(count for _, _, count in rows),
        "share of products whose variants differ in price": mean(prices > 1 for prices, _, _ in rows),
        "dearest variant over the cheapest": float(mean(ratio for _, ratio, _ in rows)),
    }


def measure_catalog(run: Run) -> dict[str, float]:
    leaves = defaultdict[str, list[Mapping[str, Any]]](list)
    for batch in run.read("catalog").batches(COLUMNS):
        for row in batch.to_pylist():
            if len(leaves[row["category"]]) < MOST:
                leaves[row["category"]].append(row)
    found = [measure_leaf(rows, Random(name)) for name, rows in leaves.items() if len(rows) >= FEWEST]
    means = {name: mean(each[name] for each in found) for name in found[0]} if found else {}
    return {"leaves": len(found), **means, **measure_prices(run)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs with a catalog")
    runs = parser.parse_args().runs
    found = [measure_catalog(Run(folder)) for folder in runs]
    print("|  |", " | ".join(folder.name for folder in runs), "|")
    print("| --- |", " | ".join("---:" for _ in runs), "|")
    for name in dict.fromkeys(name for each in found for name in each):
        print(f"| {name} |", " | ".join(f"{each[name]:.3g}" if name in each else "–" for each in found), "|")


if __name__ == "__main__":
    main()
