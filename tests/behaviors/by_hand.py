"""Sessions seen page by page, and their steps, made by hand and written as a run has them."""

import json
from datetime import datetime, timedelta

from shopwright.pipeline.dataset import Manifest, Recipe, file_facts
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.tokens import estimate
from shopwright.schemas.behaviors import Behavior, BehaviorStep, NextAction
from shopwright.schemas.rollouts import Message
from tests.rows import write_dataset

MORNING = datetime(2024, 5, 1, 9)
HEAD = '<button name="nav.home">Home</button><input name="search_input"><button name="search_button">Search</button>'
RESULTS = '<h1>Results</h1><a name="steel_lamp.view_product">p1</a><a name="red_lamp.view_product">p2</a>'
PRODUCT = '<h1>Steel lamp &amp; &lt;b&gt;</h1><button name="cart.buy_now">Buy Now</button>'


def page(inside):
    return f"<html>\n<body>\n<div>{HEAD}</div>\n{inside}</body>\n</html>\n"


def seen(number, html, reason, rationale, **action):
    return BehaviorStep(
        at=MORNING + timedelta(minutes=number),
        html=page(html),
        action=json.dumps(action),
        rationale=rationale,
        reason=reason,
        said=[],
        row=None,
    )


def session(number, *, split="test", bought=True):
    """Of a first move, which nobody predicts, and four steps with a purchase, or three without one."""
    query = f"steel lamp {number}"
    first = seen(-1, "", "look around", "I want a lamp.", type="type_and_submit", name="search_input", text="lamp")
    look = seen(0, "", "look around", "I look for a lamp.", type="type_and_submit", name="search_input", text=query)
    if bought:
        rest = [
            seen(1, RESULTS, "opens", "I open the steel one.", type="click", name="steel_lamp.view_product"),
            seen(2, PRODUCT, "buy", "I like it & buy <it>.", type="click", name="cart.buy_now"),
            seen(3, "<h1>Thank you</h1>", "seen enough", "I am done.", type="terminate"),
        ]
    else:
        rest = [
            seen(1, RESULTS, "opens", "I look at the red one.", type="click", name="red_lamp.view_product"),
            seen(2, PRODUCT, "gives up", "I find nothing.", type="terminate"),
        ]
    steps = [first, look, *rest]
    return Behavior(
        id=f"session-{number}",
        persona_id=f"persona-{number // 2}",
        trajectory_id=f"trajectory-{number // 2}",
        persona="Somebody who likes lamps.",
        intent="A lamp of steel.",
        start=first.at,
        end=steps[-1].at,
        rows=[],
        outcome="bought" if bought else "gave up",
        steps=steps,
        tokens=sum(estimate(each.html) for each in steps),
        split=split,
        written_by="code",
    )


def steps_of(behavior):
    """Its steps but the first, as rows to be predicted."""
    for number, step in list(enumerate(behavior.steps))[1:]:
        action = json.loads(step.action)
        before = sum(estimate(each.html) for each in behavior.steps[: number + 1])
        yield NextAction(
            id=f"{behavior.id}-{number}",
            behavior_id=behavior.id,
            persona_id=behavior.persona_id,
            step=number,
            prompt=[Message(role="system", content="Predict."), Message(role="user", content=step.html)],
            action=step.action,
            rationale=step.rationale,
            action_type=action["type"],
            session_tokens=before,
            page_tokens=estimate(step.html),
            in_rl=behavior.split == "train",
            split=behavior.split,
        )


SESSIONS = [session(number, split="test" if number < 6 else "train", bought=number % 2 == 0) for number in range(10)]
"""Six of them to be tested on, which have 21 steps."""


def dataset(folder, name, makes, rows):
    """Two shards of them, whole."""
    middle = len(rows) // 2
    found = write_dataset(folder, name, makes, rows[:middle], rows[middle:])
    write_whole(found.manifest_path, manifest(found).model_dump_json())
    return found


def manifest(found):
    recipe = Recipe(dataset=found.name, settings={}, seed=0, inputs={}, files={}, code="", version="0")
    return Manifest(
        dataset=found.name,
        about="Made by hand.",
        recipe=recipe,
        rows=len(found),
        rejected=0,
        rejects={},
        seconds=1.0,
        workers=1,
        files={path.relative_to(found.run).as_posix(): file_facts(path) for path in found.files},
    )


def written(folder, sessions=SESSIONS):
    """The two datasets."""
    steps = [step for each in sessions for step in steps_of(each)]
    return dataset(folder, "behaviors", Behavior, sessions), dataset(folder, "behavior_steps", NextAction, steps)
