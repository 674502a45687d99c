"""The first rows of a dataset with all that a model was asked for them, and what the whole would take."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import Any

from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run, settings_by_stage
from shopwright.pipeline.shards import Build, run_stage
from shopwright.pipeline.stage import Shard, reasons_against
from shopwright.pipeline.stages import all_stages, upstream


@dataclass(frozen=True)
class FirstUnits(Shard):
    """The first so many units of the work."""

    most: int = 1

    def of(self, units: int) -> range:
        return range(min(self.most, units))


@dataclass(frozen=True)
class PreviewRow:
    """A row as it would be made."""

    row: dict[str, Any]
    reasons: list[str]
    """Why it would go to quarantine; empty where it would ship."""


@dataclass(frozen=True)
class Projection:
    """What the whole dataset would take, as far as its first rows tell."""

    rows: int | None
    prompts: int
    prompt_tokens: int
    tokens: int
    dollars: float | None
    """None where no price is known."""
    seconds: float
    """With a server that answers as fast when it is busy as it did now."""


@dataclass(frozen=True)
class Preview:
    rows: list[PreviewRow]
    conversations: list[tuple[str, list[tuple[Prompt, Reply]]]]
    """The role that was played, and what was asked and replied, turn by turn."""
    projection: Projection


def preview(run: Run, name: str, count: int, /, **settings: Any) -> Preview:
    """Makes the first `count` rows (all of a unit of work together) and keeps none of them, only the replies.

    Builds what the dataset reads where that takes no model. Raises Problem where it does.
    """
    run.read(name)
    given, models = settings_by_stage(name, settings), run.models or Models()
    stage = all_stages()[name]
    for each in upstream(name)[:-1]:
        if run.read(each).manifest is None and models.asks(all_stages()[each].asks(given[each])):
            raise Problem(f"{name} is made from {each}, which a model writes: preview or build {each} first.")
    for each in stage.reads:
        if run.read(each).manifest is None:
            own: dict[str, Any] = {}
            for owner in upstream(each):
                own |= {f"{owner}.{key}": value for key, value in given[owner].items()}
            run.build(each, **own)
    recipe = run.recipe_for(name, given[name], rebuild=True)
    plan = stage.plan({read: run.read(read) for read in stage.reads}, recipe.settings)
    units = ceil(count * plan.units / plan.rows) if plan.rows else count
    build = Build(run.folder, recipe, 1, plan, replace(models, at_once=min(models.at_once, max(1, units))))
    return first_rows(build, min(units, plan.units), models.at_once, run.workers)


def first_rows(build: Build, units: int, at_once: int, workers: int) -> Preview:
    began = perf_counter()
    roles = {role: build.role(role, 0) for role in build.stage.roles}
    for role in roles.values():
        role.heard = []
    rows: list[PreviewRow] = []
    for batch, records, rejected in run_stage(build, FirstUnits(0, 1, build.recipe.seed, units), roles):
        rows += [PreviewRow(json.loads(held.record), held.reasons) for held in rejected]
        reasons = reasons_against(build.stage, batch, build.datasets, records)
        rows += [PreviewRow(row, found) for row, found in zip(batch.to_pylist(), reasons, strict=True)]
    heard = [(role.name, said) for role in roles.values() for said in role.heard or []]
    asked = list(chain.from_iterable(role.asked.values() for role in roles.values() if role.asks))
    more = build.plan.units / max(1, units)
    waited = sum(reply.seconds for _, reply in chain.from_iterable(said for _, said in heard))
    spent = waited / at_once if asked else (perf_counter() - began) / workers
    projection = Projection(
        rows=build.plan.rows,
        prompts=round(more * sum(sum(found.times) for found in asked)),
        prompt_tokens=round(more * sum(found.prompt_tokens for found in asked)),
        tokens=round(more * sum(found.tokens for found in asked)),
        dollars=more * sum(found.dollars for found in asked) if build.models.prices else None,
        seconds=more * spent,
    )
    return Preview(rows, heard if asked else [], projection)


def preview_to_json(found: Preview) -> dict[str, Any]:
    """For scripts."""
    talks = []
    for role, said in found.conversations:
        turns = [{"prompt": prompt.messages, "reply": asdict(reply)} for prompt, reply in said]
        talks.append({"role": role, "turns": turns})
    return {**asdict(replace(found, conversations=[])), "conversations": talks}


def preview_to_text(found: Preview, run: Path) -> Iterator[str]:
    """For people: every conversation, then every row, then the projection."""
    for number, (role, said) in enumerate(found.conversations, 1):
        for turn, (prompt, reply) in enumerate(said, 1):
            yield f"\n=== conversation {number}, turn {turn}: {prompt.name}, asked of the {role}"
            for place, message in enumerate(prompt.messages):
                if place == 0 and number > 1 and message == found.conversations[0][1][0][0].messages[0]:
                    yield "[system] as above"
                elif turn == 1 or place >= len(prompt.messages) - 2:
                    yield f"[{message['role']}] {message['content']}"
            thought = f"\n[thought] {reply.reasoning}" if reply.reasoning else ""
            fault = f"\n[fault] {reply.fault}" if reply.fault else ""
            yield f"[reply] {reply.text}{thought}{fault}"
            kept = " (kept from before)" if reply.kept else ""
            yield f"        {reply.prompt_tokens:,} + {reply.tokens:,} tokens, {reply.seconds:.2f} s{kept}"
    for number, seen in enumerate(found.rows, 1):
        yield f"\n=== row {number}: {'rejected: ' + '; '.join(seen.reasons) if seen.reasons else 'passes its checks'}"
        yield "\n".join(f"{name:18} {shorten_preview_value(value)}" for name, value in seen.row.items())
    whole = found.projection
    yield "\n=== the whole dataset, projected from these rows"
    yield f"rows       {'as many as there are' if whole.rows is None else format(whole.rows, ',')}"
    if found.conversations:
        yield f"prompts    {whole.prompts:,}, with {whole.prompt_tokens:,} tokens, and {whole.tokens:,} in replies"
        cost = "unknown: give prices in a --recipe" if whole.dollars is None else f"${whole.dollars:,.2f}"
        yield f"cost       {cost}"
    else:
        yield "prompts    none: no model is asked"
    yield f"time       {whole.seconds:,.0f} s"
    yield f"\nNothing was added to {run}" + (
        "; the replies are kept, and not paid for twice." if found.conversations else "."
    )


def shorten_preview_value(value: Any, most: int = 300) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
