"""Counts, in the files of a release, rows of kinds of tasks that are kept for tests alone, in training and in tests.

    python -m tests.outside.kinds FOLDER        # Parquet of the datasets and training forms below it

It reads the published files and `data/reference/held_out.toml`, and shares no code with the program that wrote them: a product's tree stands
in the `catalog` config, what was bought, put into a cart or named in an answer in the calls of a conversation, and what a policy is about in the opening.
"""

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

KEPT = tomllib.loads((Path(__file__).parents[2] / "data" / "reference" / "held_out.toml").read_text(encoding="utf-8"))
TRAINING = ("train", "validation", "sft", "rl")
# Calls that do something with a product, and what an answer may name; looking at one is no part of the task.
DEEDS = ("cart_add", "return_initiate", "return_exchange", "submit")
PRODUCT, ORDER = re.compile(r"\bB0[0-9A-Z]{8}\b"), re.compile(r"\border-\d+-\d+\b")
TOPIC = re.compile(r"\b(?:repair (?:time|fee)|loan device)\b", re.IGNORECASE)

Rows = Iterator[tuple[str, Mapping[str, Any]]]


def read_config(folder: Path, name: str) -> Rows:
    """The rows of a config with their split, from `data/NAME/SPLIT-*.parquet`."""
    import pyarrow.parquet as pq

    for path in sorted(folder.rglob("*.parquet")):
        if path.parent.name == name:
            for row in pq.read_table(path).to_pylist():
                yield path.name.split("-")[0], row


def find_kept_products(folder: Path) -> set[str]:
    return {
        row["id"] for _, row in read_config(folder, "catalog") if set(row["category_path"]) & set(KEPT["categories"])
    }


def list_deeds(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Arguments of calls that do something; those of an answer part by part."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            if call["function"]["name"] in DEEDS:
                given = call["function"]["arguments"]
                given = json.loads(given) if isinstance(given, str) else given
                yield from given.get("parts") or [given]


def list_orders(messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """The id and the products of every order that a tool has shown."""
    for message in messages:
        if message["role"] == "tool":
            for order in find_orders(json.loads(message["content"])):
                yield order["order_id"], [line["product_id"] for line in order["lines"]]


def find_orders(found: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, Mapping):
        if "order_id" in found and "lines" in found:
            yield found
        else:
            yield from (order for each in found.values() for order in find_orders(each))
    elif isinstance(found, list):
        yield from (order for each in found for order in find_orders(each))


def is_environment_kept(row: Mapping[str, Any], products: set[str]) -> bool:
    told = [json.loads(message) for message in row["messages"]]
    bought = dict(list_orders(told))
    named = set[str]()
    for deed in list_deeds(told):
        said = json.dumps(deed)
        named.update(PRODUCT.findall(said))
        # A line of an order is one product; an order alone is all that was bought in it.
        for order in ORDER.findall(said) if not (deed.get("line_id") or deed.get("selected_line_id")) else ():
            named.update(bought.get(order, []))
    asked = " ".join(message["content"] for message in told if message["role"] == "user")
    return bool(products & named) or bool(TOPIC.search(asked))


def count_kept(folder: Path) -> Counter[tuple[str, str, bool]]:
    """Rows by config, by training or test, and by whether they are of a kind that is kept for tests."""
    products, found = find_kept_products(folder), Counter[tuple[str, str, bool]]()
    checks = {
        "sft_envs": lambda row: is_environment_kept(row, products),
        "shopping_tasks": lambda row: row["product_id"] in products,
        "sft_shopping": lambda row: row["id"].split("-")[0] in products,
        "rl_shopping": lambda row: row["id"].split("-")[0] in products,
        "questions": lambda row: row["shape"] in KEPT["shapes"],
    }
    for name, check in checks.items():
        for split, row in read_config(folder, name):
            found[name, "training" if split in TRAINING else "test", check(row)] += 1
    return found


def main(folder: Path) -> int:
    found = count_kept(folder)
    for (name, side, kept), count in sorted(found.items()):
        print(f"{count:8,} {name}, {side}: {'of kinds for tests alone' if kept else 'of other kinds'}")
    return int(any(kept and side == "training" for _, side, kept in found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
