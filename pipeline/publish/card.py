"""The dataset's card: what the Hub reads of it, and what a person should know before using it."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shopwright.pipeline.dataset import Dataset, Manifest, digest, list_counted_reasons
from shopwright.pipeline.extras import require
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.hub_files import HUB_ID
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.croissant import describe_in_croissant
from shopwright.pipeline.publish.layout import Laid, LaidConfig
from shopwright.pipeline.publish.learnt import read_learnt
from shopwright.pipeline.publish.licences import hub_licence
from shopwright.pipeline.publish.pictures import clean_for_xml, draw_pictures
from shopwright.pipeline.publish.report import changed_settings
from shopwright.pipeline.publish.report_envs import read_env_audit
from shopwright.pipeline.recipe import as_toml
from shopwright.pipeline.rewards.hierarchical import Payoff
from shopwright.pipeline.rewards.hierarchical import measure_policy_payoffs as paid
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, views_in_place
from shopwright.schemas.behaviors import Behavior, NextAction
from shopwright.schemas.questions import Question, Shortcut
from shopwright.schemas.shop import Product

HERE = "path/to/this/folder"
IMAGES = "images"
SIZES = {
    10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M", 10**8: "10M<n<100M",
    10**9: "100M<n<1B", 10**10: "1B<n<10B", 10**11: "10B<n<100B", 10**12: "100B<n<1T",
}  # fmt: skip
TAGS = ("synthetic", "e-commerce", "shopping", "agents", "tool-use")
# What the forms and sizes follow; the Hub links to them.
PAPERS = ("2606.07995", "2601.18225", "2507.17842")
# The Hub's words for what configs are for, in the order of the card.
PURPOSES = ("question-answering", "table-question-answering", "text-generation", "reinforcement-learning")
LEARNT = {"sft_": "text-generation", "rl_": "reinforcement-learning"}
# Of a sample, at most.
LINES = 6
# What may mean something in Markdown, in HTML or on the Hub.
ACTIVE = re.compile(r"([\\`*_{}\[\]()#!|~$<>&@^])")
CARDS = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render_card(run: Run, laid: Laid, repo: str = "") -> str:
    """The text of `README.md`; the pictures that it shows are put into the folder of what is laid, under `images/`.

    What the run does not have is left out. repo: where it will be loaded from, on the Hub.
    """
    require("huggingface_hub", "A dataset card")
    from huggingface_hub.utils import yaml_dump

    drawn = draw_pictures(run)
    for name, picture in drawn.items():
        write_whole(laid.folder / IMAGES / f"{name}.svg", picture)
    facts = gather_card_facts(run, laid, repo)
    head = yaml_dump(build_front_matter(run, laid, facts), sort_keys=False, width=1_000)
    body = CARDS.get_template("card.md.j2").render(facts, pictures=list(drawn), images=IMAGES)
    return f"---\n{head}---\n\n{body}"


def render_croissant(run: Run, laid: Laid, repo: str = "") -> str:
    """The text of `croissant.json`."""
    facts = gather_card_facts(run, laid, repo)
    licences = [licence for _, licence, _ in facts["sources"] or []]
    url = f"https://huggingface.co/datasets/{repo}" if repo else HERE
    return describe_in_croissant(
        laid,
        {
            "name": facts["title"],
            "description": "One simulated online shop, its customers and tasks for shopping agents. Every row passed its checks.",
            "license": licence_of(licences)["license"],
            "url": url,
            "version": facts["version"],
            "keywords": list(TAGS),
        },
    )


def write_run_recipe(manifests: Sequence[Manifest]) -> str:
    """A recipe that makes these datasets again, as a TOML file: their settings in full, without folders and servers of its machine."""
    lines = [
        "# What these datasets were made with. shopwright build DATASET --recipe THIS_FILE makes them again.",
        f"seed = {manifests[0].recipe.seed}",
        f"datasets = {as_toml([made.dataset for made in manifests])}",
        "",
        "[settings]",
    ]
    for made in manifests:
        known = all_stages()[made.dataset].settings if made.dataset in all_stages() else {}
        for name, value in made.recipe.settings.items():
            if name in known and value is not None:
                value = without_folders(value) if isinstance(value, str) else value
                lines.append(f'"{made.dataset}.{name}" = {as_toml(value)}')
    models = {f"{made.dataset} {role}": model for made in manifests for role, model in made.recipe.models.items()}
    lines += [
        f"# a model wrote: {role}: {without_folders(model)}" for role, model in models.items() if model != "scripted"
    ]
    return "\n".join(lines) + "\n"


# For the Hub.


def build_front_matter(run: Run, laid: Laid, facts: Mapping[str, Any]) -> dict[str, Any]:
    licences = [licence for _, licence, _ in facts["sources"] or []]
    return {
        **licence_of(licences),
        "language": languages(run),
        "pretty_name": clean_for_xml(facts["title"]),
        "size_categories": [choose_size_category(sum(config.rows for config in laid.configs.values()))],
        "task_categories": purposes(laid.configs),
        "tags": [*TAGS, *(f"arxiv:{paper}" for paper in PAPERS)],
        "configs": list(map(describe_config_files, laid.configs.values())),
        "dataset_info": list(map(describe_config_contents, laid.configs.values())),
    }


def describe_config_files(config: LaidConfig) -> dict[str, Any]:
    files = [{"split": name, "path": f"data/{config.name}/{name}-*.parquet"} for name in config.splits]
    return {"config_name": config.name, "data_files": files}


def describe_config_contents(config: LaidConfig) -> dict[str, Any]:
    splits = [
        {"name": split.name, "num_bytes": split.unpacked, "num_examples": split.rows}
        for split in config.splits.values()
    ]
    return {
        "config_name": config.name,
        # Private in `datasets`; `to_dict` has another form, which the Hub's viewer does not read from a card.
        "features": config.features._to_yaml_list(),
        "splits": splits,
        "download_size": config.bytes,
        "dataset_size": sum(split["num_bytes"] for split in splits),
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


def choose_size_category(rows: int) -> str:
    """As the Hub groups datasets.

    >>> choose_size_category(999), choose_size_category(1_000), choose_size_category(5_000_000_000)
    ('n<1K', '1K<n<10K', '1B<n<10B')
    """
    return next((name for below, name in SIZES.items() if rows < below), "n>1T")


def languages(run: Run) -> list[str]:
    spoken = [name for name, stage in all_stages().items() if "language" in stage.makes.model_fields]
    made = [found for found in map(run.read, spoken) if found.manifest]
    rows = chain.from_iterable(found.sql("select distinct language from rows") for found in made)
    return sorted({"en", *(name for (name,) in rows)})


def purposes(configs: Iterable[str]) -> list[str]:
    """
    >>> purposes(["catalog", "rl_envs"])
    ['reinforcement-learning']
    """
    found = set(chain.from_iterable(map(purposes_of, configs)))
    return [purpose for purpose in PURPOSES if purpose in found]


def purposes_of(config: str) -> Collection[str]:
    """What a dataset is for, or a training form."""
    stage = all_stages().get(config)
    return stage.views.purposes if stage else [word for begin, word in LEARNT.items() if config.startswith(begin)]


# For people.


def gather_card_facts(run: Run, laid: Laid, repo: str) -> dict[str, Any]:
    """What the card's template says."""
    manifests = run.manifests()
    if not manifests or not laid.configs:
        raise Problem(f"There is no finished dataset in {run.folder}. Build one first: shopwright build --help")
    made = {each.dataset for each in manifests}
    from_views: dict[str, Any] = {}
    for dataset, views in views_in_place().items():
        for name, facts in views.card.items():
            from_views[name] = run.call(facts) if dataset in made else None
    return {
        "title": repo.rpartition("/")[2] or f"Shopwright: {run.folder.name}".removesuffix(": "),
        "repo": repo or HERE,
        "configs": list(laid.configs.values()),
        "example": example(laid),
        "made": made,
        "manifests": manifests,
        "version": manifests[0].recipe.version,
        "seed": manifests[0].recipe.seed,
        "code": sorted({digest(json.dumps(each.recipe.code, sort_keys=True)) for each in manifests}),
        "settings": {each.dataset: describe_settings(each) for each in manifests},
        "models": {each.dataset: describe_models(each) for each in manifests},
        "rejects": list(list_counted_reasons(manifests)),
        "samples": list(take_sample_lines(run, made)),
        "learnt": read_learnt(run),
        **from_views,
    }


def example(laid: Laid) -> tuple[str, str]:
    """The config and split that the example loads: questions to answer, else conversations, else what was made last."""
    asked = [name for name in laid.configs if PURPOSES[0] in purposes_of(name)]
    said = [name for name in laid.configs if name.startswith("sft_")]
    name = [*asked, *said, list(laid.configs)[-1]][0]
    return name, next(iter(laid.configs[name].splits))


def describe_settings(manifest: Manifest) -> str:
    """The settings that are not the stage's defaults, without folders of the machine that it was made on."""
    parts = []
    for name, value in changed_settings(manifest).items():
        values = value if isinstance(value, list) else [value]
        parts.append(f"{name} {', '.join(without_folders(str(each)) for each in values)}")
    return "; ".join(parts)


def describe_models(manifest: Manifest) -> str:
    return "; ".join(f"{role}: {without_folders(model)}" for role, model in sorted(manifest.recipe.models.items()))


def without_folders(said: str) -> str:
    """What a setting names, not where it lay.

    >>> without_folders("webshop:shops/mine/items.json"), without_folders("vllm:Qwen/Qwen3-8B (0.7)"), without_folders("64k")
    ('webshop:items.json', 'vllm:Qwen/Qwen3-8B (0.7)', '64k')
    """
    said = re.sub(r"@?\w+://\S+", "", said)
    return " ".join(map(drop_folder, said.split()))


def drop_folder(word: str) -> str:
    head, mark, rest = word.partition(":") if ":" in word else ("", "", word)
    return head + mark + (rest if HUB_ID.fullmatch(rest) else re.split(r"[/\\]", rest.rstrip("/\\"))[-1])


def list_sources(catalog: Dataset[Product]) -> list[tuple[str, str, int]]:
    """Source, licence and products."""
    return catalog.sql(
        "select source, coalesce(source_licence, ''), count(*) from rows group by 1, 2 order by 3 desc, 1, 2"
    )


def count_simulated_prices(catalog: Dataset[Product]) -> int:
    found = catalog.sql("select count(*) from rows where price_is_simulated")
    return int(found[0][0]) if found else 0


def average_audit(run: Run) -> dict[str, Any] | None:
    """Of the environments, what `shopwright audit envs` found last."""
    return average_by_policy(read_env_audit(run))


def average_by_policy(audit: dict[str, Any] | None) -> dict[str, Any] | None:
    """For each env its policies' mean reward over all levels."""
    if audit is None:
        return None
    policies = list(dict.fromkeys(policy for _, policy, _ in audit["rows"]))
    rows: dict[str, dict[str, float]] = {}
    for env, policy, cells in audit["rows"]:
        known = [cell.parts["reward"] for cell in cells if cell and cell.episodes]
        if known:
            rows.setdefault(env, {})[policy] = sum(known) / len(known)
    return {"policies": policies, "rows": rows, "episodes": audit["episodes"], "levels": audit["levels"]}


def measure_step_payoffs(behaviors: Dataset[Behavior], behavior_steps: Dataset[NextAction]) -> list[Payoff]:
    """What policies earn on the test steps that answer in the right form and do not look; none without such steps."""
    from shopwright.pipeline.behaviors.evaluate import collect_page_contexts, select_prediction_steps

    if not behaviors.manifest:
        return []
    try:
        steps = select_prediction_steps(behavior_steps, "test")
    except Problem:
        return []
    return paid(list(collect_page_contexts(behaviors, steps).values()))


def measure_answerability(questions: Dataset[Question]) -> dict[str, Any]:
    """How many questions the text answers, and what share of the easy, medium and hard ones weak answerers get right."""
    counts = questions.sql("select count(*) filter (list_contains(answerable_from, 'text')), count(*) from rows")
    if not counts:
        return {}
    rates = questions.sql("select difficulty, avg(len(effort.shortcuts)) from rows group by 1")
    right = {level: share / len(get_args(Shortcut)) for level, share in rates}
    return {"text": counts[0][0], "total": counts[0][1], "weak": len(get_args(Shortcut)), "right": right}


def take_sample_lines(run: Run, made: set[str]) -> Iterator[tuple[str, str]]:
    """A few lines of some datasets, as they are."""
    for name, views in views_in_place().items():
        if name in made and views.sample:
            for row in run.read(name).head(1):
                text = "\n".join(str(getattr(row, field)) for field in views.sample)
                yield name, "\n".join(text.split("\n")[:LINES])


# What is shown.


def escape_cell(value: object) -> str:
    r"""A text that means nothing but itself, in a line or in a table.

    >>> escape_cell("a|b\n<b>*c*")
    'a\\|b &lt;b\\>\\*c\\*'
    """
    return ACTIVE.sub(r"\\\1", clean_for_xml(value)).replace(r"\<", "&lt;").replace(r"\&", "&amp;")


def fence_text(value: str) -> str:
    """A text as it is, in a fence longer than any that it holds.

    >>> fence_text("a ```` b").split("\\n")[0]
    '`````text'
    """
    lines = "\n".join(map(clean_for_xml, value.split("\n")))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", lines)), default=0))
    return f"{fence}text\n{lines}\n{fence}"


CARDS.filters["cell"] = escape_cell
CARDS.filters["fenced"] = fence_text
CARDS.filters["quoted"] = lambda value: '"' + re.sub(r"[^\w./ -]", "", str(value)) + '"'
