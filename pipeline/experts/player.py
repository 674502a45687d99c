"""The expert as a player of episodes: one call a turn, as trainers play. Of an episode it reads the opening and the number of calls."""

from collections.abc import Generator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

from shopwright.pipeline.checks.openings import make_vocabulary
from shopwright.pipeline.envs.episode import render_call_result, split_ids
from shopwright.pipeline.experts.play import play
from shopwright.pipeline.reading.wishes import ShopVocabulary
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.tasks import Action, Answer, Call

EXPERT = "expert"


class Opened(Protocol):
    """What of an episode an expert may see before it begins."""

    @property
    def opening(self) -> str: ...

    @property
    def most(self) -> int: ...


@lru_cache(maxsize=4)
def load_lexicon(store: Store) -> ShopVocabulary:
    """How things are called in a shop: categories, nouns, values; of products nothing, not even their titles."""
    return replace(make_vocabulary(store), titles={})


def play_by_expert(episode: Opened, lexicon: ShopVocabulary) -> Generator[Action, dict[str, Any], None]:
    """Plays an episode whose limits are those of one call a turn: all that the expert is given are texts."""
    plan = play(episode.opening, episode.most, lexicon)
    parts: list[Answer] = []
    thoughts: list[str] = []
    text: str | None = None
    while True:
        try:
            step = plan.send(text) if text is not None else next(plan)
        except StopIteration:
            return
        if step.name != "submit":
            call = Call(name=step.name, args=step.arguments)
            text = render_call_result((yield Action(tool_calls=[call], thoughts=[step.thought])))
            continue
        given = dict(step.arguments)
        more = given.pop("more", False)
        ids = split_ids(given.pop("recommended_product_ids", ""))
        parts.append(Answer(recommended_product_ids=ids, **given))
        thoughts.append(step.thought)
        text = f'{{"noted":{len(parts)}}}'
        if not more:
            yield Action(answer=Answer(parts=parts) if len(parts) > 1 else parts[0], thoughts=thoughts)
            return
