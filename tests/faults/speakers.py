"""What a good model says to every prompt that a build asks, and the settings with which each dataset asks."""

import json
import re
from string import ascii_lowercase

from shopwright.pipeline.phrases.grammar import REGISTERS
from tests.models.asking import described
from tests.questions import scribes
from tests.world import writer

SETTINGS = {
    "personas": {},
    "queries": {},
    "trajectories": {"written_by": "model", "tokens": ["2k"]},
    "behaviors": {"written_by": "model", "sessions": 12},
    "env_episodes": {"played_by": "both"},
    "phrases": {"written_by": "model", "families": "behaviors", "per_template": 1, "per_register": 1},
    "questions": {"written_by": "model", "per_trajectory": 2},
    "rl_prompts": {"tries": 2},
    "rollouts": {},
    "shopping_episodes": {"scenarios": ["single"]},
}
"""Of each dataset that asks a model."""
OPENERS = ("So", "Ok", "Well", "Now", "Then", "Anyway", "Right", "Alright")
"""A word for each register."""


def speaker(run, name):
    """Says to each prompt of a dataset what is right, as `says` of a server's plan; `run` has all without a model."""
    if name == "env_episodes":
        return shopping_for({task.opening: json.loads(task.solution) for task in run.read("env_tasks")})
    if name == "shopping_episodes":
        return by_heart(row for row in run.read(name).table().to_pylist() if row["messages"])
    if name == "rollouts":
        return by_heart(run.read(name).table().to_pylist())
    if name == "rl_prompts":
        return boxing({row.prompt[1].content: row.ground_truth for row in run.read(name)})
    own = {"personas": described, "behaviors": rationales, "phrases": phrasings, "questions": scribes.says}
    return own.get(name, writer.says)


def phrasings(body):
    """Says of each meaning what is known of it already, with a word before it: its own in each register, as words twice are rejected."""
    asked = json.loads(body["messages"][1]["content"])
    word = OPENERS[REGISTERS.index(asked["register"])]
    ways = [re.sub(r"\[([^|\]]*)\|[^\]]*\]", r"\1", way) for way in asked["ways that are known already"][:1]]
    return {"content": json.dumps({"phrasings": [f"{word}, {way}" for way in ways]})}


def rationales(body):
    """One for each step, of no page and no product but the step's own."""
    steps = json.loads(body["messages"][1]["content"])["steps"]
    told = [f"I take step {ascii_lowercase[n // 26]}{ascii_lowercase[n % 26]}." for n in range(len(steps))]
    return {"content": json.dumps({"rationales": told})}


def by_heart(rows):
    """Says again what each conversation that is known says, turn by turn."""
    known = {row["messages"][1]["content"]: [each["content"] for each in row["messages"][2::2]] for row in rows}

    def says(body):
        said = known.get(body["messages"][1]["content"], ["I do not know."])
        turn = len(body["messages"]) // 2 - 1
        return {"content": said[min(turn, len(said) - 1)].removesuffix("</code>")}

    return says


def boxing(answers):
    """Answers right every other time."""
    return lambda body: {
        "content": rf"\boxed{{{'nothing' if body['seed'] % 2 else answers[body['messages'][1]['content']]}}}"
    }


def shopping_for(solutions):
    """Plays as the solver does, and repeats the shopper's plain words."""

    def says(body):
        heard = json.loads(body["messages"][1]["content"])
        if "plain words" in heard:
            return {"content": json.dumps({"words": heard["plain words"]})}
        return {"content": json.dumps(solutions[heard["shopper"]][len(body["messages"]) // 2 - 1])}

    return says
