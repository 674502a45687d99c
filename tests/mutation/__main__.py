"""Mutation tests: one small mistake at a time in a function, and the tests that reach its line; a mistake that none notices is a survivor.

    python -m tests.mutation --count 500 --seed 1
    python -m tests.mutation --only pipeline/catalog/prices.py --lines 70-73

A process imports everything and collects the tests once. For each mutant it forks: the child puts the changed code into the functions
that are there, and runs the tests whose lines in the baseline include the mutant's, the quickest first. No file is changed, so mistakes
in what is computed on import, and in processes that tests start anew, are not made. Exits with 1 where the baseline fails.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.mutation.operators import Mutant, list_mutants

HOME = Path(__file__).parents[2]
# Tests of each part, by the folder or file of what they are about.
GROUPS: dict[str, tuple[list[str], list[str]]] = {
    "prices": (
        ["pipeline/catalog/prices.py", "pipeline/checks/prices.py"],
        ["tests/catalog/test_prices.py", "tests/catalog/test_money.py"],
    ),
    "policies": (
        [
            "pipeline/shop/policies.py",
            "pipeline/shop/policy_families.py",
            "pipeline/shop/policy_rules.py",
            "pipeline/shop/policy_questions.py",
            "pipeline/checks/policy_texts.py",
        ],
        ["tests/shop/test_policies.py", "tests/envs/test_policy_qa.py", "tests/checks/test_certificates.py"],
    ),
    "answers": (
        ["pipeline/questions/answers.py", "pipeline/checks/questions.py", "pipeline/checks/question_words.py"],
        [
            "tests/checks/test_questions.py",
            "tests/checks/test_text_alone.py",
            "tests/questions/test_answers.py",
            "tests/questions/test_conditions.py",
            "tests/questions/test_audit.py",
            "tests/fuzz/test_answers.py",
        ],
    ),
    "rewards": (
        [
            "pipeline/rewards/ecomrlve.py",
            "pipeline/rewards/hierarchical.py",
            "pipeline/rewards/matching.py",
            "pipeline/rewards/shopsimulator.py",
            "pipeline/rewards/tool_use.py",
            "pipeline/rewards/trl.py",
            "pipeline/rewards/verl.py",
        ],
        ["tests/rewards", "tests/fuzz/test_replies.py"],
    ),
    "checks": (
        [
            "pipeline/checks/behaviors.py",
            "pipeline/checks/certificates.py",
            "pipeline/checks/certified_lists.py",
            "pipeline/checks/claims.py",
            "pipeline/checks/devices.py",
            "pipeline/checks/near_duplicates.py",
            "pipeline/checks/people.py",
            "pipeline/checks/remarks.py",
            "pipeline/checks/shopping.py",
            "pipeline/checks/tasks.py",
            "pipeline/checks/thoughts.py",
            "pipeline/checks/trajectories.py",
            "pipeline/checks/unique.py",
        ],
        [
            "tests/checks",
            "tests/envs/test_contract.py",
            "tests/shopping/test_draw.py",
            "tests/shopping/test_facts.py",
            "tests/shopping/test_short_wording.py",
            "tests/stages/test_env_tasks.py",
            "tests/stages/test_shopping_episodes.py",
            "tests/stages/test_shopping_tasks.py",
        ],
    ),
    "leaks": (["pipeline/publish/leaks.py"], ["tests/publish/test_leaks.py"]),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", help=f"default: all of {', '.join(GROUPS)}")
    parser.add_argument("--count", type=int, default=500, help="mutants, in all groups together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="a file of the groups: all of its mutants")
    parser.add_argument("--lines", help="of that file: FIRST-LAST")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for one mutant, as the baseline took them")
    parser.add_argument("--out", type=Path, default=HOME / "build" / "mutants.jsonl")
    options = parser.parse_args()
    chosen = choose_mutants(options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("")
    for group, mutants in chosen.items():
        asked = {"files": GROUPS[group][0], "mutants": mutants, "seconds": options.seconds, "out": str(options.out)}
        tests = [*GROUPS[group][1], *(f"shopwright/{path}" for path in GROUPS[group][0])]
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tests.mutation.plugin", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, "-m", "not slow", *tests], cwd=HOME, input=json.dumps(asked), text=True, check=False
        )
        if done.returncode:
            return 1
    return show(options.out)


def choose_mutants(options: argparse.Namespace) -> dict[str, dict[str, list[int]]]:
    """Group -> file -> the numbers of its mutants. Each file has the same share of its own, drawn by the seed."""
    known = {path: list_mutants((HOME / path).read_text("utf-8")) for files, _ in GROUPS.values() for path in files}
    chosen: dict[str, dict[str, list[int]]] = {}
    groups = {name: GROUPS[name] for name in options.groups or GROUPS}
    total = sum(len(known[path]) for files, _ in groups.values() for path in files)
    for name, (files, _) in groups.items():
        for path in files:
            if options.only and path == options.only:
                chosen[name] = {path: [each.number for each in known[path] if is_inside(each, options.lines)]}
            elif not options.only:
                count = min(len(known[path]), round(len(known[path]) * options.count / total))
                drawn = Random(f"{options.seed} {path}").sample(range(len(known[path])), count)
                chosen.setdefault(name, {})[path] = sorted(drawn)
    return chosen


def is_inside(mutant: Mutant, lines: str | None) -> bool:
    first, _, last = (lines or "1-1000000").partition("-")
    return int(first) <= mutant.line <= int(last or first)


def show(out: Path) -> int:
    found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    outcomes = {
        name: [each for each in found if each["outcome"] == name]
        for name in ("killed", "survived", "not reached", "not made")
    }
    for each in (*outcomes["survived"], *outcomes["not reached"]):
        print(f"{each['outcome']}: {each['file']}:{each['line']}  {each['old']}  ->  {each['new']}")
    made = len(found) - len(outcomes["not made"])
    print(f"{made} mutants: " + ", ".join(f"{len(each)} {name}" for name, each in outcomes.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
