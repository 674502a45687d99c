"""Whether just the products of its certificate satisfy each task of a run, in just its variants, and each need is needed: by plain loops.

python -m tests.outside.shopping.uniqueness data/runs/mine
"""

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.outside.shopping.shop import Product, Row, Variant, meets, read_rows, read_shop


@dataclass
class Findings:
    """What came of it."""

    tasks: int = 0
    personal: int = 0
    needs: int = 0
    unique: int = 0
    """Tasks that just the products of their certificate satisfy: the target alone, but where the row says that several are right."""
    several: int = 0
    """Of which several are right."""
    certified: int = 0
    """Of which the certificate has just the variants that satisfy it."""
    smallest: int = 0
    """Of which no need can be dropped: then another product fits."""
    compared: int = 0
    """Pairs of a task and a variant that were looked at."""
    faults: list[str] = field(default_factory=list)

    @property
    def table(self) -> dict[str, str]:
        return {
            "tasks": f"{self.tasks:,}",
            "of these with a profile": f"{self.personal:,}",
            "needs": f"{self.needs:,}",
            "variants held against a task": f"{self.compared:,}",
            "tasks that just the products of their certificate satisfy": f"{self.unique:,}",
            "of these the target alone": f"{self.unique - self.several:,}",
            "tasks whose certificate has exactly the variants that satisfy it": f"{self.certified:,}",
            "tasks of which no need can be dropped": f"{self.smallest:,}",
        }


class Category:
    """What a leaf category sells, and which of it meets a need: a bit for each variant."""

    def __init__(self, products: list[Product]) -> None:
        self.variants = [each for product in products for each in product.variants if each.stock > 0]
        self.known: dict[tuple[str, str, str], int] = {}

    def find(self, need: Row) -> int:
        key = need["fact"], need["op"], need["value"]
        if key not in self.known:
            self.known[key] = sum(1 << place for place, each in enumerate(self.variants) if meets(need, each))
        return self.known[key]

    def list_variants(self, bits: int) -> list[Variant]:
        return [self.variants[place] for place in range(bits.bit_length()) if bits >> place & 1]


def prove(run: Path) -> Findings:
    """Over all tasks of a run."""
    by_category: dict[str, list[Product]] = defaultdict(list)
    for product in read_shop(run).values():
        by_category[product.category].append(product)
    categories = {name: Category(products) for name, products in by_category.items()}
    findings = Findings()
    for task in read_rows(run / "shopping_tasks"):
        check_task(task, categories[task["category"]], findings)
    return findings


def check_task(task: Row, category: Category, findings: Findings) -> None:
    masks = [category.find(need) for need in task["needs"]]
    right = category.list_variants(meet(category, masks))
    products = {each.product for each in right}
    findings.tasks += 1
    findings.personal += bool(task["profile_id"])
    findings.needs += len(masks)
    findings.compared += len(category.variants)
    certificate = read_certificate(task)
    unique = products == certificate.keys() and (len(products) > 1) == (task["right"] == "any of several")
    certified = unique and set().union(*certificate.values()) == {each.id for each in right if each.id}
    idle = [need["fact"] for place, need in enumerate(task["needs"]) if is_idle(products, category, masks, place)]
    findings.unique += unique
    findings.several += unique and len(products) > 1
    findings.certified += certified
    findings.smallest += not idle
    if not unique:
        findings.faults.append(f"{task['id']}: satisfied by {', '.join(sorted(products)) or 'nothing'}")
    elif not certified:
        findings.faults.append(f"{task['id']}: its certificate has other variants")
    if idle:
        findings.faults.append(f"{task['id']}: still the only one without {', '.join(idle)}")


def meet(category: Category, masks: list[int]) -> int:
    bits = (1 << len(category.variants)) - 1
    for mask in masks:
        bits &= mask
    return bits


def is_idle(right: set[str], category: Category, masks: list[int], place: int) -> bool:
    """Whether no other product fits when this need is dropped."""
    left = category.list_variants(meet(category, [*masks[:place], *masks[place + 1 :]]))
    return {each.product for each in left} <= right


def read_certificate(task: Row) -> dict[str, set[str]]:
    """The variants of each product that it names, the target among them."""
    ends = json.loads(task["acceptable"])["ends"]
    found = {line["product_id"]: set(line["variants"]) for end in ends for line in end["bought"]}
    return found if task["product_id"] in found else {}


def main() -> None:
    findings = prove(Path(sys.argv[1]))
    for what, figure in findings.table.items():
        print(f"{what}: {figure}")
    kinds = Counter(each.partition(": ")[2].split()[0] for each in findings.faults)
    print(*findings.faults[:20], kinds or "no faults", sep="\n")


if __name__ == "__main__":
    main()
