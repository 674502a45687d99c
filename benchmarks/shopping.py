"""Shopping tasks a second with the proof that nothing else will do, steps a second, and how long pages are.

    python -m benchmarks.shopping                        # 24,000 products
    python -m benchmarks.shopping --large                # 1,300,000, which are built first: some minutes
    python -m benchmarks.shopping --run data/runs/mine   # a shop that is there
    python -m benchmarks.shopping --agents data/runs/mine # success on its held-out shopping tasks, by scenario and grade

A task is proved twice: where it is drawn, over columns in memory, and by a query over the Parquet files of the whole catalog. The
peer is the plain way: a loop over everything of the category that can be bought. Figures go into benchmarks/README.md.
"""

import argparse
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import mean
from time import perf_counter

from benchmarks.trajectories import best, machine, write
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.checks.shopping import Offers
from shopwright.pipeline.commands.shopping import open_situation
from shopwright.pipeline.envs.load_world import NUMBER_COLUMNS, SHOWN_COLUMNS
from shopwright.pipeline.evaluate.situation import SOLVER, play_offline
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.render import pages
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.browser import Browser
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shopping import wording
from shopwright.pipeline.shopping.draw import GRADES, TaskDraft, draft_task
from shopwright.pipeline.shopping.evaluate import PHRASE_BOOK
from shopwright.pipeline.shopping.expert import EXPERT
from shopwright.pipeline.shopping.facts import VariantTables, is_need_met
from shopwright.pipeline.shopping.play import Play, ShopResources, make_episode
from shopwright.pipeline.shopping.players import play_solver
from shopwright.pipeline.shopping.score import list_product_variants
from shopwright.schemas.shopping import Scenario, ShoppingEpisode, ShoppingTask

USUAL, LARGE = 24_000, 1_300_000
TASKS, LEAVES = 1_000, 20
"""Drawn in so many categories: a stage draws category by category, too."""
LOOPED = 10
"""Tasks that the peer proves."""
PLAYED = 200
SINGLE: Scenario = "single"
AGENTS = (SOLVER, EXPERT, PHRASE_BOOK, "lexical")
GRADE_NAMES = ("up to 3 needs", "4 and 5", "6 and more")


def opened(run: Run, products: int) -> Store:
    """The shop of a run, built where it is not there."""
    if run.read("variants").manifest is None:
        run.build("variants", products=products)
    return Store(run.read("catalog").table([*SHOWN_COLUMNS, *NUMBER_COLUMNS]), run.read("variants").table(), ())


def drawn(counters: VariantTables) -> list[TaskDraft]:
    """Tasks for products all over some categories."""
    store = counters.store
    step = max(1, len(store.leaves) // LEAVES)
    found = []
    for leaf in range(0, len(store.leaves), step):
        rows = store.shelf(leaf).rows
        for row in rows[:: max(1, len(rows) * LEAVES // TASKS)].tolist():
            found.append(draft_task(counters, row, Random(row)))
    return [each for each in found if each is not None]


def is_as_told(each: TaskDraft, satisfied: set[str]) -> bool:
    """Whether its own product meets all needs, alone or with others."""
    return each.thing.item.id in satisfied and (len(satisfied) == 1) == (each.right == "one product")


def proved_by_a_loop(store: Store, rows: list[int], each: TaskDraft) -> bool:
    """The peer, with what it looks at already in memory."""
    ids = (store.ids[row].as_py() for row in rows)
    satisfied = {
        thing.item.id
        for id in ids
        for thing in list_product_variants(store, id)
        if (thing.option is None or thing.option.stock > 0)
        and all(is_need_met(need, thing.item, thing.option) for need in each.needs)
    }
    return is_as_told(each, satisfied)


def as_task(each: TaskDraft) -> ShoppingTask:
    random = Random(each.thing.item.id)
    needs = [need.model_copy(update={"said": wording.phrase_need(need, each.category, random)}) for need in each.needs]
    return ShoppingTask(
        id=each.thing.item.id,
        product_id=each.thing.item.id,
        variant_id=each.thing.option.id if each.thing.option else "",
        category=each.category,
        language="en",
        instruction=wording.phrase_instruction(each.category, needs, random),
        simple_instruction=wording.phrase_vague_opening(each.category, random),
        purpose="",
        options=[],
        attributes=[],
        price_limit=None,
        needs=needs,
        grade=each.grade,
        wording="descriptive",
        phrases=[],
        profile_id="",
        reason_keys=[],
        right=each.right,
        acceptable=each.acceptable,
        nearest_miss=each.nearest_miss,
        title_overlap=0.0,
        split="train",
    )


def episodes(shop: ShopResources, tasks: list[ShoppingTask], scenario: Scenario) -> list[ShoppingEpisode]:
    found = []
    for task in tasks:
        play = Play(shop, task, scenario)
        found.append(make_episode(play_offline(play, play_solver)))
    return found


def browsed(shop: ShopResources, played: list[ShoppingEpisode]) -> Iterator[Browser]:
    """The same clicks again, without an agent, a shopper or a reward; the pages as texts."""
    for episode in played:
        browser = Browser(shop.store, shop.finder)
        for step in episode.steps:
            browser.act(step.action)
            pages.render_page_text(browser.page), pages.list_clickables(browser.page)
        yield browser


def sizes(browsers: list[Browser]) -> list[str]:
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for browser in browsers:
        for step in browser.history:
            found[step.page.kind].append(
                (len(pages.render_page_text(step.page).encode()), len(pages.render_page_html(step.page).encode()))
            )
    return [
        f"| {kind} | {mean(text for text, _ in both):,.0f} | {max(text for text, _ in both):,} | {mean(html for _, html in both):,.0f} | "
        f"{max(html for _, html in both):,} |"
        for kind, both in found.items()
    ]


def table(run: Run, products: int, how: str) -> str:
    store = opened(run, products)
    began = perf_counter()
    counters = VariantTables(store)
    tasks = drawn(counters)
    drawing = (perf_counter() - began) / len(tasks)
    began = perf_counter()
    offers = Offers(run.read("catalog"), run.read("variants"))
    opening = perf_counter() - began
    rows = [{"category": each.category, "needs": [need.model_dump() for need in each.needs]} for each in tasks]
    began = perf_counter()
    met = offers.few(rows, 0)
    asking = (perf_counter() - began) / len(tasks)
    assert all(is_as_told(each, {product for product, _, _ in met[place]}) for place, each in enumerate(tasks))
    some = tasks[:: max(1, len(tasks) // LOOPED)][:LOOPED]
    shelves = [store.shelf(store.place_of_leaf[each.category]).rows.tolist() for each in some]
    began = perf_counter()
    assert all(proved_by_a_loop(store, shelf, each) for each, shelf in zip(some, shelves, strict=True))
    looping = (perf_counter() - began) / len(some)
    counting = best(
        lambda: [counters.of(int(store.leaf_of[store.row(each.thing.item.id)])).where(each.needs) for each in some]
    )
    shop = ShopResources(store, Search(store))
    chosen = [as_task(each) for each in tasks[:: max(1, len(tasks) // PLAYED)][:PLAYED]]
    played = {scenario: episodes(shop, chosen, scenario) for scenario in (SINGLE, "multi")}
    spent = {scenario: best(lambda scenario=scenario: episodes(shop, chosen, scenario)) for scenario in played}
    steps = {scenario: sum(len(each.steps) for each in found) for scenario, found in played.items()}
    alone_spent = best(lambda: list(browsed(shop, played[SINGLE])))
    solved = sum(each.typed.success for found in played.values() for each in found)
    what = f"{len(store):,} products with {len(store.variant_ids):,} variants in {len(store.leaves)} categories"
    lines = [
        f"`{how}`: {what}, {len(tasks):,} tasks in {LEAVES} of them, {len(chosen)} of these played",
        "",
        "| a task | figure |",
        "| --- | --- |",
        f"| tasks a second: drawn, and proved over the whole catalog by a query | {1 / (drawing + asking):,.0f} |",
        f"| drawing it, with the proof over columns and the nearest miss | {1000 * drawing:.2f} ms |",
        f"| the query, a hundred tasks and more at once | {1000 * asking:.2f} ms |",
        f"| seconds to open the catalog for queries, once a process | {opening:.1f} |",
        f"| peer: a plain loop over all that its category sells | {1000 * looping:,.1f} ms |",
        f"| the proof over columns alone | {1000 * counting / len(some):.3f} ms |",
        f"| ratio of the peer to both proofs | {looping / (counting / len(some) + asking):,.0f} |",
        "",
        "| steps a second | figure |",
        "| --- | --- |",
        f"| pages alone: a click or a search, the page as text and its list of clicks | {steps[SINGLE] / alone_spent:,.0f} |",
    ]
    for scenario in played:
        rate = f"{steps[scenario] / spent[scenario]:,.0f} ({len(chosen) / spent[scenario]:,.0f} episodes)"
        lines.append(f"| whole episodes of the solver, {scenario}, with rewards | {rate} |")
    lines += [
        "",
        f"The solver succeeds in {solved:,} of {2 * len(chosen):,} episodes.",
        "",
        "| bytes of a page | text, mean | most | HTML, mean | most |",
        "| --- | --- | --- | --- | --- |",
        *sizes(list(browsed(shop, played[SINGLE]))),
        "",
        machine(),
    ]
    return "\n".join(lines)


def agents_table(run: str) -> str:
    """Who reads right and by rules alone, side by side on the held-out tasks; why the expert fails, by the taxonomy of errors."""
    situation, _ = open_situation(run, "shopping_tasks", None, None, scenarios=None, split="test", limit=None)
    lines = [
        f"`python -m benchmarks.shopping --agents RUN`: {len(situation.chosen):,} held-out tasks, success in percent",
        "",
        f"| agent | scenario | all | {' | '.join(GRADE_NAMES)} |",
        "| --- | --- | --- |" + " --- |" * len(GRADE_NAMES),
    ]
    errors: Counter[str] = Counter()
    for name in AGENTS:
        rows = [
            situation.keep(play_offline(situation.begin(task), situation.players[name], name))
            for task in situation.tasks()
        ]
        for scenario in (*situation.scenarios, "all"):
            mine = [row for row in rows if scenario in (row.scenario, "all")]
            if not mine:
                continue
            grades = [[row.typed.success for row in mine if row.grade == grade] for grade in GRADES]
            cells = [f"{100 * mean(found):.1f} of {len(found)}" if found else "" for found in grades]
            lines.append(
                f"| `{name}` | {scenario} | {measure_share(sum(row.typed.success for row in mine), len(mine)).format_margin()} | {' | '.join(cells)} |"
            )
        if name == EXPERT:
            errors.update(f"{error.area}: {error.name}" for row in rows for error in row.errors)
            errors["nothing was bought"] = sum(not row.bought_product for row in rows)
    failures = ", ".join(f"{name} {count}" for name, count in errors.most_common())
    return "\n".join([*lines, "", f"Labels of the expert's failed episodes: {failures or 'none'}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=USUAL, help=f"of the sample shop (default: {USUAL:,})")
    parser.add_argument("--large", action="store_true", help=f"{LARGE:,} products")
    parser.add_argument("--run", type=Path, help="a shop that is there, or the place where it is built")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument(
        "--agents", metavar="RUN", help="success of agents on the held-out tasks of this run, and nothing else"
    )
    options = parser.parse_args()
    if options.agents:
        text = agents_table(options.agents)
        print(text)
        write("shopping agents", text)
        return
    products = LARGE if options.large else options.products
    how = "python -m benchmarks.shopping" + (" --large" if options.large else "")
    how += f" --products {products}" if products not in (USUAL, LARGE) else ""
    with tempfile.TemporaryDirectory() as place:
        run = Run(options.run or Path(place) / "run", seed=None if options.run else 0, workers=options.workers)
        text = table(run, products, how)
    print(text)
    write("shopping --large" if options.large else "shopping", text)


if __name__ == "__main__":
    main()
