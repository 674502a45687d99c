"""What tests of several situations do with a task."""

from shopwright.pipeline.envs.base import ask_about, list_untold
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.shop.user_simulator import TOPICS
from shopwright.schemas.tasks import Answer


def ask_all(shopper, task):
    """What a shopper says that is asked for all it left out, in as many turns as it has patience for."""
    heard, left = [], list_untold(task.slots)
    for turn, first in enumerate(range(0, len(left), TOPICS), 1):
        heard.append(shopper.answer(ask_about(left[first : first + TOPICS])))
        shopper.hear("", [], turn=turn, worked=True)
    return " ".join(heard)


def open_shop(env, world, task, gone=()):
    """The shop as an episode of a task begins, with these sold out."""
    shop = env.shop(world, parse_goal(env, task), compute_axes(task.difficulty), task.id)
    shop.gone |= set(gone)
    return shop


def parse_goal(env, task):
    return env.Goal.model_validate_json(task.goal)


def score_answer(env, world, task, *named, refusal="", gone=()):
    """What an answer earns that names these products, or refuses."""
    answer = Answer(recommended_product_ids=list(named), refusal=refusal)
    return env.score(parse_goal(env, task), open_shop(env, world, task, gone), answer)
