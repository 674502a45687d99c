"""Blocks of code a second in the sandbox, against a fresh interpreter for each of them, and how long one waits.

    python -m benchmarks.sandbox                # a trajectory of 2,000 events
    python -m benchmarks.sandbox --events 30000

Both do the same block with the same imports at the same parallelism in the same run, in turns, and each figure is the best of
its turns, so that it tells of the code and not of what else the machine does. Figures go into benchmarks/README.md.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.trajectories import machine, write
from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.sandbox.interpreter import Sandbox
from shopwright.schemas.samples import Event

TURNS = 3
FRESH, WARM, ASKED = 8, 200, 200
BEGIN = "from data_loader import load_trajectory\nconn, df = load_trajectory('one')\n"
BLOCKS = {
    "nothing": "1",
    "rows": BEGIN + "len(df)",
    "SQL in Python": BEGIN
    + "conn.execute('SELECT brand, SUM(price) FROM events GROUP BY brand ORDER BY 2 DESC').fetchmany(3)",
    "pandas": BEGIN
    + "df[df['action_type'] == 'purchase'].groupby('brand')['price'].sum().sort_values(ascending=False).head(3)",
    "SQL": "```sql\nSELECT brand, SUM(price) AS paid FROM events GROUP BY brand ORDER BY paid DESC LIMIT 3\n```",
    "a wide table": BEGIN + "df.head()",
}
ALONE = """
import duckdb, pandas as pd, pyarrow as pa
events = pa.ipc.open_file(pa.memory_map({file!r})).read_all()
df = events.to_pandas(types_mapper=lambda kind: pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else None)
print(df[df['action_type'] == 'purchase'].groupby('brand')['price'].sum().sort_values(ascending=False).head(3))
"""


def events(count: int) -> Any:
    """A trajectory's table, of products made up."""
    import pyarrow as pa

    random, begin, rows = Random(1), datetime(2026, 1, 2), []
    for number in range(count):
        product = random.randrange(500)
        row: dict[str, Any] = dict.fromkeys(arrow_schema(Event).names)
        row |= {
            "row_id": number,
            "timestamp": begin + timedelta(minutes=number),
            "search_query": f"blue shoes {product}",
        }
        row |= {"action_type": random.choice(["search", "click", "purchase"]), "brand": f"Brand {product % 40}"}
        row |= {"asin": f"B{product:09}", "product_name": f"Running shoes for the road, number {product}"}
        rows.append(row | {"product_types": "Shoes", "price": Decimal(random.randrange(500, 20_000)) / 100})
    return pa.Table.from_pylist(rows, schema=arrow_schema(Event))


def fresh(file: str) -> str:
    done = subprocess.run([sys.executable, "-c", ALONE.format(file=file)], capture_output=True, text=True, check=True)
    return done.stdout.rstrip()


def a_second(act: Callable[[], str], count: int, at_once: int) -> float:
    with ThreadPoolExecutor(at_once) as pool:
        started = perf_counter()
        found = {future.result() for future in [pool.submit(act) for _ in range(count)]}
        seconds = perf_counter() - started
    assert len(found) == 1, found
    return count / seconds


def waits(box: Sandbox, code: str, at_once: int) -> np.ndarray:
    """Milliseconds from asking to answer, of many."""

    def ask(_: int) -> float:
        started = perf_counter()
        assert box.run("one", code).ok
        return 1_000 * (perf_counter() - started)

    with ThreadPoolExecutor(at_once) as pool:
        return np.array(list(pool.map(ask, range(ASKED))))


def table(count: int) -> str:
    import pyarrow as pa

    held = events(count)
    with tempfile.TemporaryDirectory() as place, Sandbox(lambda _: held, at_once=8) as box:
        file = str(Path(place) / "events.arrow")
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, held.schema) as writer:
            writer.write_table(held)
        started = perf_counter()
        box.run("one", "1")
        ready = perf_counter() - started
        warm = partial(box.run, "one", BLOCKS["pandas"])
        assert warm().text == fresh(file)
        lines = [
            f"`python -m benchmarks.sandbox --events {count}`: the same block of pandas, {TURNS} turns",
            "",
            "| at once | blocks a second, warm | fresh `python -c` | times |",
            "| --- | --- | --- | --- |",
        ]
        for at_once in (1, 2, 8):
            found = [
                (a_second(lambda: warm().text, WARM, at_once), a_second(lambda: fresh(file), FRESH, at_once))
                for _ in range(TURNS)
            ]
            one, other = (max(each) for each in zip(*found, strict=True))
            lines.append(f"| {at_once} | {one:.0f} | {other:.2f} | {one / other:.0f} |")
        lines += [
            "",
            "| block | 1 at once: median ms | 95 % | 8 at once: median ms | 95 % |",
            "| --- | --- | --- | --- | --- |",
        ]
        for name, code in BLOCKS.items():
            times = [waits(box, code, at_once) for at_once in (1, 8)]
            figures = [f"{np.quantile(each, at):.1f}" for each in times for at in (0.5, 0.95)]
            lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join([*lines, "", f"The first block, with the start of the processes: {ready:.1f} s", "", machine()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000, help="default: 2,000")
    parser.add_argument("--dry", action="store_true", help="prints only")
    options = parser.parse_args()
    text = table(options.events)
    print(text)
    if not options.dry:
        write(f"sandbox --events {options.events}", text)


if __name__ == "__main__":
    main()
