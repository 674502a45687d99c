"""What the data teaches: small learners, trained from nothing, of all that a run has.

    pip install -e '.[learn]'
    python -m benchmarks.learning                         # all parts, over a run that is built once: an hour of one core
    python -m benchmarks.learning --quick                 # whether it runs: minutes, and no figures are kept
    python -m benchmarks.learning --run data/runs/mine    # a run that is there, with questions, behaviors and shopping_episodes
    python -m benchmarks.taught_rows                      # one part alone, with the same options

The tables go into `benchmarks/learning.md`. A part that fails is named at the end, and the others go on. The command ends with 1 where a part failed or a
dataset is solved without its input.
"""

from importlib import import_module

from benchmarks.learning_parts import Part, run_command

NAMES = (
    "taught_rows",
    "paid_queries",
    "next_actions",
    "ceiling",
    "shortcuts",
    "levels",
    "shopping_policy",
    "tool_against_text",
)


def list_parts() -> list[Part]:
    parts: list[Part] = [import_module(f"benchmarks.{name}").PART for name in NAMES]
    return parts


if __name__ == "__main__":
    run_command("learning", __doc__, list_parts())
