"""What the profiles of a run's tasks say, counted again from the customers' logs, and whether a task's words keep it to themselves.

Of each customer's longest log a purchase weighs 5, a cart 3 and a click 1. A liking is high from a quarter of all weights on, and medium
from a tenth. The price range is the middle half of what was put in the cart.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.outside.shopping.shop import Row, read_quantity, read_rows

WEIGHTS = {"purchase": 5, "add to Cart": 3, "click": 1}
# The attributes that are a style or a function, as the profile's documentation lists them.
KINDS = {
    "styles": """style pattern print theme motif cut fit finish shape neckline collar sleeve sleeve_type rise design palette weave stitch
        finish_type fit_type item_shape closure format texture""".split(),
    "functions": """feature features special_feature special_features function functions benefit benefits control protection waterproofing
        noise_control sound_mode technology connectivity connectivity_technology connection goal active claim absorbency setup formula
        navigation focus""".split(),
}
GROUPS = ("categories", "price range", "styles", "functions")
WORD = re.compile(r"[a-z0-9]+(?:[.'’-][a-z0-9]+)*|[一-鿿]")
# Words of a colour that say how it looks, not which one it is; and of other values.
PLAIN = {
    "light",
    "dark",
    "deep",
    "soft",
    "pale",
    "bright",
    "matte",
    "warm",
    "cool",
    "with",
    "from",
    "size",
    "natural",
    "clear",
    "classic",
}


@dataclass
class PersonalFindings:
    tasks: int = 0
    customers: int = 0
    """That have a task."""
    known: int = 0
    """Profiles of the run."""
    most: int = 0
    """Tasks of one customer."""
    recounted: Counter[str] = field(default_factory=Counter)
    """Profiles that have such a thing, counted again with the same result."""
    told: int = 0
    """Tasks whose words hold something that the profile carries."""
    faults: list[str] = field(default_factory=list)

    @property
    def table(self) -> dict[str, str]:
        counted = {f"profiles whose {name} are those of the log": f"{self.recounted[name]:,}" for name in GROUPS}
        return {
            "tasks with a profile": f"{self.tasks:,}",
            "customers of these tasks": f"{self.customers:,}",
            "most tasks of one customer": f"{self.most:,}",
            "profiles": f"{self.known:,}",
            **counted,
            "tasks whose words tell something that the profile carries": f"{self.told:,}",
        }


def check_personal_tasks(run: Path) -> PersonalFindings:
    findings, by_customer = PersonalFindings(), Counter[str]()
    for task in read_rows(run / "shopping_tasks"):
        if task["profile_id"]:
            by_customer[task["profile_id"]] += 1
            if words := list_told_words(task):
                findings.told += 1
                findings.faults.append(f"{task['id']}: its words tell {', '.join(words)}: {task['instruction']}")
    findings.tasks, findings.customers = by_customer.total(), len(by_customer)
    findings.most = max(by_customer.values(), default=0)
    values = {row["id"]: list_kinds(row) for row in read_rows(run / "catalog", ["id", "attributes"])}
    logs = read_longest_logs(run)
    for profile in read_rows(run / "profiles"):
        findings.known += 1
        for name, right in recount(profile, logs[profile["id"]], values).items():
            findings.recounted[name] += right
            if not right:
                findings.faults.append(f"{profile['id']}: its {name} are not those of its log")
    return findings


# Words


def list_words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def list_told_words(task: Row) -> list[str]:
    """Of what the profile carries, the words, numbers and amounts that the instruction or the opening has.

    A word that a stated need, the category or the thing's name has too tells nothing.
    """
    own = [task["category"], task["simple_instruction"]]
    own += [text for need in task["needs"] if need["known"] == "stated" for text in (need["said"], need["value"])]
    innocent = {word for text in own for word in list_words(text)}
    words = set(list_words(f"{task['instruction']} {task['simple_instruction']}")) - innocent
    carried = [need for need in task["needs"] if need["known"] == "profile"]
    return sorted({word for need in carried for word in list_telling_words(need)} & words)


def list_telling_words(need: Row) -> Iterator[str]:
    """The words of its value, the number alone of an amount or a measure."""
    if need["fact"] == "price":
        yield str(int(float(need["value"])))
    elif quantity := re.match(r"\d+(?:\.\d+)?", need["value"]) if read_quantity(need["value"]) else None:
        yield quantity[0]
    else:
        yield from (word for word in list_words(need["value"]) if word not in PLAIN)


# Logs


def read_longest_logs(run: Path) -> dict[str, list[dict[str, Any]]]:
    """The events of each customer's longest log; the first of several."""
    longest: dict[str, Row] = {}
    for row in read_rows(run / "trajectories", ["persona_id", "tokens", "events"]):
        if row["persona_id"] not in longest or row["tokens"] > longest[row["persona_id"]]["tokens"]:
            longest[row["persona_id"]] = row
    return {person: row["events"] for person, row in longest.items()}


def list_kinds(row: Row) -> list[tuple[str, str]]:
    """The styles and functions of a product, each with its kind; numbers are none."""
    names = {name.replace("_", " "): kind for kind, group in KINDS.items() for name in group}
    facts = [(each["name"].replace("_", " ").lower(), each) for each in row["attributes"]]
    return [(names[name], each["value"]) for name, each in facts if name in names and each["number"] is None]


def recount(profile: Row, events: list[dict[str, Any]], values: Mapping[str, list[tuple[str, str]]]) -> dict[str, bool]:
    interests = profile["interests"]
    categories, facts = Counter[str](), {kind: Counter[str]() for kind in KINDS}
    for event in events:
        weight = WEIGHTS.get(event["action_type"], 0) if event["asin"] else 0
        if weight and event["product_types"]:
            categories[event["product_types"]] += weight
        for kind, value in values.get(event["asin"], ()) if weight else ():
            facts[kind][value] += weight
    ranked = sorted(categories, key=lambda name: (-categories[name], name))[:5]
    expected = [{"name": name, "level": find_level(categories[name], categories.total())} for name in ranked]
    carts = sorted(float(event["price"]) for event in events if event["action_type"] == "add to Cart")
    return {
        "categories": bool(ranked) and interests["categories"] == expected,
        "price range": interests["price_range"] == write_middle_half(carts),
        **{kind: is_ranked(interests[kind], weights) for kind, weights in facts.items()},
    }


def find_level(weight: int, total: int) -> str:
    return "high" if 4 * weight >= total else "medium" if 10 * weight >= total else "low"


def is_ranked(liked: list[Row], weights: Mapping[str, int]) -> bool:
    """Whether all that is liked is of products that the customer looked at, what was looked at more before what was less.

    Nothing is liked only where there was nothing of the kind.
    """
    found = [weights.get(each["name"], 0) for each in liked]
    return bool(found) == bool(weights) and 0 not in found and found == sorted(found, reverse=True)


def write_middle_half(prices: list[float]) -> str:
    """From the price that a quarter is not above to the one that a quarter is not below; of less than four, the middle one."""
    if not prices:
        return ""
    if len(prices) < 4:
        return str(math.ceil(prices[(len(prices) - 1) // 2]))
    low, high = prices[math.ceil(len(prices) / 4) - 1], prices[math.ceil(3 * len(prices) / 4) - 1]
    return f"{math.floor(low)}-{math.ceil(high)}"
