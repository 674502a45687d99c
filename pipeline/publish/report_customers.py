"""What the report says of the customers: what is done when, and one customer's month."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.publish.chart_shapes import Histogram, bin_values, histogram, time_line
from shopwright.pipeline.publish.report_sample import Sample, sample
from shopwright.pipeline.world.actions import ACTIONS, QUOTA
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Persona

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Trajectories among which the fullest month is looked for.
LOOKED_AT = 1_000
LINES = 14
PEOPLE = 4


def gather_trajectory_facts(trajectories: Dataset[Trajectory]) -> dict[str, Any]:
    """The mix of actions, and when they are."""
    return events_facts(trajectories)


def events_facts(trajectories: Dataset[Trajectory]) -> dict[str, Any]:
    events = "(select unnest(events, recursive := true) from rows)"
    found = trajectories.sql(
        f"select action_type, isodow(timestamp) - 1, hour(timestamp), count(*) from {events} group by all"
    )
    counts, hours = Counter[str](), Counter[tuple[int, int]]()
    for action, day, hour, count in found:
        counts[action] += count
        hours[day, hour] += count
    total = counts.total() or 1
    return {
        "mix": [
            (action, 100 * counts.get(action, 0) / total, wanted) for action, wanted in zip(ACTIONS, QUOTA, strict=True)
        ],
        "hours": hours,
        "busiest": max(hours.values(), default=1),
        "rush": find_rush(hours),
        "total": trajectories.manifest.rows if trajectories.manifest else 0,
    }


def gather_customer_facts(trajectories: Dataset[Trajectory]) -> dict[str, Any] | None:
    """The trajectories in figures, one customer's month, and how another one's log begins."""
    if trajectories.manifest is None or not trajectories.manifest.rows:
        return None
    some = sample(trajectories, ["id", "persona_id", "events"], rows=LOOKED_AT)
    (first,) = sample(trajectories, ["id", "text"], rows=1).table.to_pylist()
    return events_facts(trajectories) | {
        "tokens": tokens_histogram(dict(trajectories.sql("select tokens, count(*) from rows group by 1"))),
        "sizes": trajectories.sql(
            "select budget, count(*), min(tokens), median(tokens)::bigint, max(tokens) from rows group by 1 order by max(tokens)"
        ),
        "month": month(some),
        "sample": first["id"],
        "lines": [(choose_line_color(line), line) for line in first["text"].split("\n", LINES)[:LINES]],
    }


def list_people(personas: Dataset[Persona]) -> list[str]:
    """What a few customers are like."""
    return [person.description for person in personas.head(PEOPLE)]


def find_rush(hours: Mapping[tuple[int, int], int]) -> tuple[str, int, int]:
    """The day and the hour in which most is done, and how much."""
    (day, hour), count = max(
        hours.items(), key=lambda found: (found[1], [-one for one in found[0]]), default=((0, 0), 0)
    )
    return DAYS[day], hour, count


def month(some: Sample) -> dict[str, Any]:
    """Of the customer with the most events."""
    (place,) = some.sql(
        "select row from (select row_number() over () - 1 as row, len(events) as n from rows) order by n desc, row limit 1"
    )[0]
    row = some.table.slice(place, 1).to_pylist()[0]
    return {"persona": row["persona_id"], "line": time_line(row["events"], ACTIONS)}


def tokens_histogram(tokens: Mapping[int, int]) -> Histogram:
    """How many have so many tokens: in equal steps; in ever larger ones where budgets are far apart."""
    if max(tokens) <= 8 * max(min(tokens), 1):
        return histogram(*bin_values(tokens), " tokens")
    edges = [digit * 10**power for power, digit in product(range(10), (1, 2, 5))]
    low = max(place for place, edge in enumerate(edges) if place == 0 or edge <= min(tokens))
    high = next(place for place, edge in enumerate(edges) if edge > max(tokens))
    shown = edges[low : high + 1]
    shown = shown if min(tokens) >= shown[0] else [0, *shown]
    counts = [0] * (len(shown) - 1)
    for one, count in tokens.items():
        counts[bisect_right(shown, one) - 1] += count
    return histogram(shown, counts, " tokens")


def choose_line_color(line: str) -> str:
    """
    >>> choose_line_color("2024-05-01 19:30:25 add to Cart [A || b]")
    'cart'
    """
    return {"add": "cart"}.get(action := line[20:].partition(" ")[0], action)
