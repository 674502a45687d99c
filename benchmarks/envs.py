"""Resets and steps a second in each env, and the memory of a shop, at 10,000 and at 1,000,000 products.

    python -m benchmarks.envs                                  # 10,000 products
    python -m benchmarks.envs --products 1000000               # builds them first, some minutes
    python -m benchmarks.envs --run data/runs/mine             # a shop that is there

A step is timed with the shopper's answer and all that an agent is shown. Figures go into benchmarks/README.md.
"""

import argparse
import gc
import os
import tempfile
from collections.abc import Callable
from math import isnan
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pyarrow as pa

from benchmarks.trajectories import machine, write
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.episode import Episode, draw_task, play_solution
from shopwright.pipeline.envs.load_world import NEEDS, NUMBER_COLUMNS, SHOWN_COLUMNS, load_customers
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Store

CUSTOMERS, LEVEL, TASKS, ROUNDS = 60, 6, 60, 5
PUBLIC = {1_000: (0.6, 0.2), 10_000: (30.0, 0.7), 100_000: (550.0, 2.6)}
"""Reset and step of EcomRLVE-GYM's release on two such cores, in ms: the middle of what was measured, and the slowest."""
CALLS: dict[str, dict[str, Any]] = {
    "datetime_now": {},
    "cart_view": {},
    "catalog_get_product": {"product_id": ""},
    "catalog_get_variants": {"product_id": ""},
    "order_list": {},
    "user_get_visit_history": {},
    "policy_search": {"query": "return window of opened electronics"},
    "catalog_search": {"query": ""},
}
"""What is called once a step; the ids and words are those of products all over the shop."""


def shop(folder: str, products: int, workers: int) -> str:
    """A run with so many products, built where it is not there."""
    run = Run(folder, seed=1, workers=workers)
    if run.read("orders").manifest is None:
        run.build("orders", products=products, tokens="64k", **{"personas.count": CUSTOMERS})
    return folder


def resident() -> int:
    """Bytes of this process in memory, without what it could give back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def per_call(work: Callable[[], int]) -> float:
    """Milliseconds of one of the things that `work` does, the median of some rounds."""
    found = []
    for _ in range(ROUNDS):
        gc.collect()
        began = perf_counter()
        times = work()
        found.append(1000 * (perf_counter() - began) / times)
    return median(found)


def resets(episodes: list[Episode]) -> int:
    for episode in episodes:
        episode.reset()
    return len(episodes)


def of_solver(episodes: list[Episode], only: bool | None) -> float:
    """Milliseconds of a step that the solver makes; only those with a search, or only those without."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        for episode in episodes:
            observation, done = episode.reset(), False
            agent = play_solution(episode)
            action = next(agent)
            while not done:
                began = perf_counter()
                observation, _, done, _ = episode.step(action)
                took = perf_counter() - began
                searches = any(call.name == "catalog_search" for call in action.tool_calls)
                if only is None or only == searches:
                    spent.append(1000 * took)
                if not done:
                    action = agent.send(observation)
    return median(spent) if spent else float("nan")


def calls(found: World, name: str, args: dict[str, Any]) -> float:
    """Milliseconds of a step with one call of this tool, each with another product of the shop."""
    env, store = get_env("product_discovery"), found.store
    episodes = [Episode(env, found, draw_task(env, found, LEVEL, seed)) for seed in range(TASKS)]
    rows = [number * 7_919 % len(store) for number in range(ROUNDS * TASKS)]
    titles = [" ".join(store.titles[row].as_py().split()[:4]) for row in rows]
    ids = [store.ids[row].as_py() for row in rows]
    place = iter(range(len(rows)))

    def work() -> int:
        for episode in episodes:
            number = next(place)
            given = {
                key: (ids if key == "product_id" else titles)[number] if value == "" else value
                for key, value in args.items()
            }
            episode.step({"tool_calls": [{"name": name, "args": given}]})
        return len(episodes)

    def anew() -> int:
        resets(episodes)
        return work()

    both = per_call(anew)
    return max(0.0, both - per_call(lambda: resets(episodes)))


def opened(folder: str) -> tuple[World, int, int]:
    """The world of a run, and the bytes of memory that its store (customers apart) and its search take."""
    have = {name: Run(folder).read(name) for name in NEEDS}
    people = tuple(load_customers(have, CUSTOMERS))
    begun = resident()
    store = Store(have["catalog"].table([*SHOWN_COLUMNS, *NUMBER_COLUMNS]), have["variants"].table(), people)
    stored = resident()
    finder = Search(store)
    return World(store, finder), stored - begun, resident() - stored


def table(folder: str, how: str) -> str:
    found, stored, searched = opened(folder)
    products = len(found.store)
    near = min(PUBLIC, key=lambda count: abs(count - products))
    what = (
        f"{products:,} products with {len(found.store.variant_ids):,} variants, {len(found.store.customers)} customers"
    )
    lines = [
        f"`{how}`: {what}, level {LEVEL}, {TASKS} tasks of each env",
        "",
        "| env | draw a task | reset | resets a second | step, no search | step with a search |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, env in all_envs().items():
        began = perf_counter()
        episodes = [Episode(env, found, draw_task(env, found, LEVEL, seed)) for seed in range(TASKS)]
        drawn = 1000 * (perf_counter() - began) / TASKS
        reset = per_call(lambda episodes=episodes: resets(episodes))
        plain, searching = of_solver(episodes, False), of_solver(episodes, True)
        shown = "" if isnan(searching) else f"{searching:.3f} ms"
        lines.append(f"| `{name}` | {drawn:.2f} ms | {reset:.4f} ms | {1000 / reset:,.0f} | {plain:.3f} ms | {shown} |")
    lines += ["", "| a step with one call of | |", "| --- | --- |"]
    lines += [f"| `{name}` | {calls(found, name, args):.3f} ms |" for name, args in CALLS.items()]
    reset_there, step_there = PUBLIC[near]
    lines += [
        "",
        f"Memory: {stored / products:,.0f} bytes a product for the store without its customers, {searched / products:,.0f} for the search.",
        f"The public release: 8,300 bytes a product, {reset_there} ms a reset and up to {step_there} ms a step at {near:,} products.",
        "",
        machine(),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=10_000, help="of the sample shop (default: 10,000)")
    parser.add_argument("--run", help="a shop that is there, or the place where it is built")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    options = parser.parse_args()
    section = f"envs {options.products}"
    how = "python -m benchmarks.envs" + (f" --products {options.products}" if options.products != 10_000 else "")
    with tempfile.TemporaryDirectory() as place:
        folder = shop(options.run or place, options.products, options.workers)
        text = table(folder, how)
    print(text)
    write(section, text)


if __name__ == "__main__":
    main()
