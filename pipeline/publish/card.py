"""The dataset's card: what the Hub reads of it, and what a person should know before using it."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.catalog.sources import HUB_ID
from pipeline.dataset import Manifest
from pipeline.files import write_whole
from pipeline.problem import Problem
from pipeline.publish import shopping
from pipeline.publish.layout import Laid
from pipeline.publish.licences import hub_licence
from pipeline.publish.pictures import pictures, visible
from pipeline.publish.report import changed_settings
from pipeline.publish.report_envs import audited
from pipeline.rewards.hierarchical import Payoff
from pipeline.rewards.hierarchical import payoffs as paid
from pipeline.run import Run
from pipeline.stages import all_stages

HERE = "path/to/this/folder"
IMAGES = "images"
SIZES = {
    10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M", 10**8: "10M<n<100M",
    10**9: "100M<n<1B", 10**10: "1B<n<10B", 10**11: "10B<n<100B", 10**12: "100B<n<1T",
}  # fmt: skip
TAGS = ("synthetic", "e-commerce", "shopping", "agents", "tool-use")
PURPOSES = {
    "question-answering": ("questions", "rl_questions"),
    "table-question-answering": ("questions", "rl_questions"),
    "text-generation": ("sft_", "rollouts", "behaviors"),
    "reinforcement-learning": ("rl_", "env_tasks", "shopping_tasks"),
}
"""The Hub's word for a use -> how the names of configs begin that are for it."""
SHOWN = ("questions", "sft_rollouts", "sft_envs", "sft_shopping", "sft_behaviors", "trajectories")
"""The config that the example loads: the first of these that is there, else the first of all."""
ACTIVE = re.compile(r"([\\`*_{}\[\]()#!|~$<>&@^])")
"""What may mean something in Markdown, in HTML or on the Hub."""
CARDS = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def card(run: Run, laid: Laid, repo: str = "") -> str:
    """The text of `README.md`; the pictures that it shows are put into the folder of what is laid, under `images/`.

    What the run does not have is left out. repo: where it will be loaded from, on the Hub.
    """
    from huggingface_hub.utils import yaml_dump

    drawn = pictures(run)
    for name, picture in drawn.items():
        write_whole(laid.folder / IMAGES / f"{name}.svg", picture)
    facts = facts_of(run, laid, repo)
    head = yaml_dump(front(run, laid, facts), sort_keys=False, width=1_000)
    body = CARDS.get_template("card.md.j2").render(facts, pictures=list(drawn), images=IMAGES)
    return f"---\n{head}---\n\n{body}"


# For the Hub.


def front(run: Run, laid: Laid, facts: Mapping[str, Any]) -> dict[str, Any]:
    licences = [licence for _, licence, _ in facts["sources"]]
    return {
        **licence_of(licences),
        "language": languages(run),
        "pretty_name": visible(facts["title"]),
        "size_categories": [size_of(sum(config.rows for config in laid.configs.values()))],
        "task_categories": purposes(laid.configs),
        "tags": list(TAGS),
        "configs": [
            {
                "config_name": config.name,
                "data_files": [
                    {"split": name, "path": f"data/{config.name}/{name}-*.parquet"} for name in config.splits
                ],
            }
            for config in laid.configs.values()
        ],
        "dataset_info": [
            {
                "config_name": config.name,
                "features": config.features._to_yaml_list(),
                "splits": [
                    {"name": split.name, "num_bytes": split.unpacked, "num_examples": split.rows}
                    for split in config.splits.values()
                ],
                "download_size": config.bytes,
                "dataset_size": sum(split.unpacked for split in config.splits.values()),
            }
            for config in laid.configs.values()
        ],
    }


def licence_of(licences: Iterable[str]) -> dict[str, str]:
    """As the Hub wants it: several licences are `other`, with their names.

    >>> licence_of(["Apache-2.0"]), licence_of(["MIT", "Apache-2.0"])
    ({'license': 'apache-2.0'}, {'license': 'other', 'license_name': 'apache-2.0-and-mit'})
    """
    known = sorted(set(licences))
    name = hub_licence(known)
    named = "-and-".join(re.sub(r"[^a-z0-9.]+", "-", each.lower()).strip("-") or "unknown" for each in known)
    return {"license": name, "license_name": named} if name == "other" else {"license": name}


def size_of(rows: int) -> str:
    """As the Hub groups datasets.

    >>> size_of(999), size_of(1_000), size_of(5_000_000_000)
    ('n<1K', '1K<n<10K', '1B<n<10B')
    """
    return next((name for below, name in SIZES.items() if rows < below), "n>1T")


def languages(run: Run) -> list[str]:
    if not run.read("shopping_tasks").manifest:
        return ["en"]
    return sorted({"en"} | {name for (name,) in run.read("shopping_tasks").sql("select distinct language from rows")})


def purposes(configs: Iterable[str]) -> list[str]:
    """
    >>> purposes(["catalog", "rl_envs"])
    ['reinforcement-learning']
    """
    names = list(configs)
    return [purpose for purpose, begins in PURPOSES.items() if any(name.startswith(begins) for name in names)]


# For people.


def facts_of(run: Run, laid: Laid, repo: str) -> dict[str, Any]:
    """What the card's template says."""
    manifests = [found for name in all_stages() if (found := run.read(name).manifest)]
    if not manifests or not laid.configs:
        raise Problem(f"There is no finished dataset in {run.folder}. Build one first: shopwright build --help")
    made = {each.dataset for each in manifests}
    return {
        "title": (repo or run.folder.name).rpartition("/")[2] or "Shopwright",
        "repo": repo or HERE,
        "configs": list(laid.configs.values()),
        "example": example(laid),
        "made": made,
        "manifests": manifests,
        "version": manifests[0].recipe.version,
        "seed": manifests[0].recipe.seed,
        "code": sorted({each.recipe.code for each in manifests}),
        "settings": {each.dataset: settings_of(each) for each in manifests},
        "models": {each.dataset: models_of(each) for each in manifests},
        "rejects": [(each.dataset, why, count) for each in manifests for why, count in each.rejects.items()],
        "sources": sources(run) if "catalog" in made else [],
        "simulated": simulated_prices(run) if "catalog" in made else 0,
        "audit": by_policy(audited(run.folder / "audit.json")) if "env_tasks" in made else None,
        "shopping_audit": shopping.audited(run) if "shopping_tasks" in made else None,
        "payoffs": payoffs(run) if {"behaviors", "behavior_steps"} <= made else [],
        "samples": samples(run, made),
    }


def example(laid: Laid) -> tuple[str, str]:
    """The config and split that the example loads."""
    name = next((each for each in SHOWN if each in laid.configs), next(iter(laid.configs)))
    return name, next(iter(laid.configs[name].splits))


def settings_of(manifest: Manifest) -> str:
    """The settings that are not the stage's defaults, without folders of the machine that it was made on."""
    parts = []
    for name, value in changed_settings(manifest).items():
        values = value if isinstance(value, list) else [value]
        parts.append(f"{name} {', '.join(without_folders(str(each)) for each in values)}")
    return "; ".join(parts)


def models_of(manifest: Manifest) -> str:
    return "; ".join(f"{role}: {without_folders(model)}" for role, model in sorted(manifest.recipe.models.items()))


def without_folders(said: str) -> str:
    """What a setting names, not where it lay.

    >>> without_folders("webshop:/home/me/items.json"), without_folders("vllm:Qwen/Qwen3-8B (0.7)"), without_folders("64k")
    ('webshop:items.json', 'vllm:Qwen/Qwen3-8B (0.7)', '64k')
    """
    said = re.sub(r"@?\w+://\S+", "", said)
    return " ".join(
        head + mark + (rest if HUB_ID.fullmatch(rest) else re.split(r"[/\\]", rest.rstrip("/\\"))[-1])
        for word in said.split()
        for head, mark, rest in [word.partition(":") if ":" in word else ("", "", word)]
    )


def sources(run: Run) -> list[tuple[str, str, int]]:
    """Source, licence and products."""
    return run.read("catalog").sql(
        "select source, coalesce(source_licence, ''), count(*) from rows group by 1, 2 order by 3 desc, 1, 2"
    )


def simulated_prices(run: Run) -> int:
    found = run.read("catalog").sql("select count(*) from rows where price_is_simulated")
    return int(found[0][0]) if found else 0


def by_policy(audit: dict[str, Any] | None) -> dict[str, Any] | None:
    """For each env its policies' mean reward over all levels."""
    if audit is None:
        return None
    policies = list(dict.fromkeys(policy for _, policy, _ in audit["rows"]))
    rows: dict[str, dict[str, float]] = {}
    for env, policy, cells in audit["rows"]:
        known = [cell["reward"] for cell in cells if cell and cell["reward"] is not None]
        if known:
            rows.setdefault(env, {})[policy] = sum(known) / len(known)
    return {"policies": policies, "rows": rows, "episodes": audit["episodes"], "levels": audit["levels"]}


def payoffs(run: Run) -> list[Payoff]:
    """What policies earn on the test steps that answer in the right form and do not look; none without such steps."""
    from pipeline.behaviors.evaluate import chosen, seen

    try:
        steps = chosen(run.read("behavior_steps"), "test")
    except Problem:
        return []
    return paid(list(seen(run.read("behaviors"), steps).values()))


def samples(run: Run, made: set[str]) -> list[tuple[str, str]]:
    """A few lines of some datasets, as they are."""
    found: list[tuple[str, str]] = []
    if "trajectories" in made:
        found += [("trajectories", "\n".join(row.text.split("\n")[:6])) for row in run.read("trajectories").head(1)]
    if "questions" in made:
        found += [("questions", f"{row.question}\n{row.answer}") for row in run.read("questions").head(1)]
    if "shopping_tasks" in made:
        found += [("shopping_tasks", row.instruction) for row in run.read("shopping_tasks").head(1)]
    if "env_tasks" in made:
        found += [("env_tasks", row.opening) for row in run.read("env_tasks").head(1)]
    return found


# What is shown.


def cell(value: object) -> str:
    r"""A text that means nothing but itself, in a line or in a table.

    >>> cell("a|b\n<b>*c*")
    'a\\|b &lt;b\\>\\*c\\*'
    """
    return ACTIVE.sub(r"\\\1", visible(value)).replace(r"\<", "&lt;").replace(r"\&", "&amp;")


def fenced(value: str) -> str:
    """A text as it is, in a fence longer than any that it holds.

    >>> fenced("a ```` b").split("\\n")[0]
    '`````text'
    """
    lines = "\n".join(map(visible, value.split("\n")))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", lines)), default=0))
    return f"{fence}text\n{lines}\n{fence}"


CARDS.filters["cell"] = cell
CARDS.filters["fenced"] = fenced
CARDS.filters["quoted"] = lambda value: '"' + re.sub(r"[^\w./ -]", "", str(value)) + '"'
