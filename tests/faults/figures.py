"""The figures of a soak, as lines of a table, and in a page between its marks."""

from tests.faults import elsewhere

MARKS = "<!-- soak -->\n", "<!-- /soak -->"


def tabulate(soak, seconds):
    """The figures, as lines of a table."""
    lost = len(soak.wrong)
    rows = [
        ("minutes", f"{seconds / 60:.0f}"),
        ("rounds", f"{soak.figures['rounds']:,}"),
        ("**faults injected**", f"**{soak.counts.total():,}**"),
        *((f"– {kind}", f"{count:,}") for kind, count in soak.counts.most_common()),
        *((kind, f"{count:,}") for kind, count in soak.bad.most_common()),
        *((kind, f"{count:,}") for kind, count in soak.figures.most_common() if kind not in ("rounds", "small disks")),
        ("rounds after which anything differed, or that were not told in one line", f"{lost:,}"),
        ("**rows lost**", "**0**" if not lost else "see below"),
        *(
            (f"no faults with {kind}", f"{', '.join(names)} not installed")
            for kind, names in elsewhere.list_missing().items()
        ),
        *tabulate_memory(soak.memory),
    ]
    return [f"| {name} | {figure} |" for name, figure in rows]


def tabulate_memory(memory):
    """What the process that builds weighed, from half an hour on: by then it has to know all that it keeps.

    >>> tabulate_memory([(0, 1e8), (1_750, 4e8), (1_850, 5e8), (3_000, 5.2e8), (3_600, 5.1e8)])[1:]
    [('the most since then', '520 MB (+4.0 %)'), ('at the end', '510 MB (+2.0 %)')]
    """
    late = (
        [weight for seconds, weight in memory if seconds - memory[0][0] >= 30 * 60] or [memory[-1][1]] if memory else []
    )
    if not late:
        return []
    facts = {"the most since then": max(late), "at the end": late[-1]}
    return [
        ("memory of the process that builds, after 30 minutes or at the end", f"{late[0] / 1e6:,.0f} MB"),
        *((name, f"{bytes / 1e6:,.0f} MB ({100 * bytes / late[0] - 100:+.1f} %)") for name, bytes in facts.items()),
    ]


def put_between_marks(lines, page):
    text = page.read_text(encoding="utf-8")
    first, last = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    table = "\n".join(["| what | figure |", "| --- | --- |", *lines, ""])
    page.write_text(text[:first] + table + text[last:], encoding="utf-8")
