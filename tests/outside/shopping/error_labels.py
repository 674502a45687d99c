"""Whether the error taxonomy labels what hand-written players do on purpose: no error missing, none that was not made.

python -m tests.outside.shopping.error_labels data/runs/mine 10
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.evaluate.situation import play_offline
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.play import Play, ShopResources, list_scenarios, make_episode
from shopwright.schemas.shopping import Profile, Scenario, ShoppingTask
from tests.outside.shopping.mistakes import CONTROLS, MISTAKES, Mistake
from tests.outside.shopping.player import CannotMake, Player
from tests.outside.shopping.shop import Product, read_shop

Labels = dict[tuple[str, str], int]


@dataclass(frozen=True)
class LabelledEpisode:
    """An episode, what was done in it, and what the taxonomy says."""

    script: str
    scenario: Scenario
    task: str
    made: Labels
    """Each error, and its step."""
    labels: Labels
    actions: tuple[str, ...] = field(repr=False)

    @property
    def right(self) -> bool:
        return self.made == self.labels


@dataclass(frozen=True)
class Audit:
    """Of a run: its shop in two readings, and its tasks."""

    resources: ShopResources
    shop: dict[str, Product]
    tasks: list[ShoppingTask]
    profiles: dict[str, Profile]
    categories: dict[str, list[Product]]

    @classmethod
    def of_run(cls, run: Run) -> "Audit":
        profiles = {each.id: each for each in run.read("profiles")}
        shop, categories = read_shop(run.folder), defaultdict(list)
        for product in shop.values():
            categories[product.category].append(product)
        tasks = list(run.read("shopping_tasks"))
        return cls(shop_of(run.read("catalog")), shop, tasks, profiles, dict(categories))

    def plays(self, count: int) -> Iterator[LabelledEpisode]:
        """So many episodes of each script and scenario, of different tasks; fewer where no more can make it."""
        for script, scenarios in {**CONTROLS, **MISTAKES}.items():
            for scenario in scenarios:
                yield from islice(self.play_script(script, scenario), count)

    def play_script(self, script: Mistake, scenario: str) -> Iterator[LabelledEpisode]:
        random = Random(f"{script.__name__}/{scenario}")
        for task in random.sample(self.tasks, len(self.tasks)):
            if scenario in list_scenarios(task) and (found := self.play_task(script, task, scenario)):
                yield found

    def play_task(self, script: Mistake, task: ShoppingTask, scenario: str) -> LabelledEpisode | None:
        """None where the task gives no occasion for it."""
        play = Play(self.resources, task, scenario, self.profiles.get(task.profile_id))
        player = Player(
            play, self.shop, self.categories[task.category], Random(f"{script.__name__}/{scenario}/{task.id}")
        )
        try:
            trace = play_offline(play, lambda _: script(player))
        except CannotMake:
            return None
        episode = make_episode(trace)
        assert not episode.typed.success, "a success has no errors"
        labels = {(each.area, each.name): each.step for each in episode.errors}
        actions = tuple(step.action for step in episode.steps)
        return LabelledEpisode(script.__name__, scenario, task.id, player.list_errors(), labels, actions)


def describe(episode: LabelledEpisode) -> str:
    wrong = {each for each in {**episode.made, **episode.labels} if episode.made.get(each) != episode.labels.get(each)}
    lines = [f"{episode.script}, {episode.scenario}, {episode.task}"]
    for each in sorted(wrong):
        lines.append(f"  {': '.join(each)}: made at {episode.made.get(each)}, labelled at {episode.labels.get(each)}")
    return "\n".join([*lines, *(f"    {place} {action[:110]}" for place, action in enumerate(episode.actions[:16]))])


def tabulate(episodes: list[LabelledEpisode]) -> list[str]:
    """Of each error: the episodes that make it, those that are labelled so at the right step, and labels that nobody earned."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for episode in episodes:
        for each in {**episode.made, **episode.labels}:
            made, label = episode.made.get(each), episode.labels.get(each)
            counts[each].update(made=made is not None, right=made is not None and made == label, extra=made is None)
    lines = [
        "| error | made | labelled, at the right step | labelled where it was not made |",
        "| --- | --- | --- | --- |",
    ]
    for (area, name), found in sorted(counts.items()):
        lines.append(f"| {area}: {name} | {found['made']} | {found['right']} | {found['extra']} |")
    return lines


def main() -> None:
    episodes = list(Audit.of_run(Run(Path(sys.argv[1]))).plays(int(sys.argv[2])))
    wrong = [describe(each) for each in episodes if not each.right]
    print(*tabulate(episodes), *wrong[:20], f"{len(episodes)} episodes, {len(wrong)} labelled wrongly", sep="\n")


if __name__ == "__main__":
    main()
