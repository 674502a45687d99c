"""Words live in `prompts/`, as text: `name.offline.j2` says a thing when there is no model to say it."""

import json
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

FOLDER = Path(__file__).parents[1] / "prompts"
FROM = FileSystemLoader(FOLDER)
TEMPLATES = Environment(loader=FROM, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
MONTHS = "January February March April May June July August September October November December".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
TEMPLATES.filters["month"] = lambda day: MONTHS[day.month - 1]


def to_prompt_json(value: object) -> str:
    r"""On one line, in letters that a model can read; what cannot be seen, and what would end a line, is escaped.

    >>> to_prompt_json({"title": "茶 & <b>\u2028x"})
    '{"title": "茶 & <b>\\u2028x"}'
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if text.isprintable() else "".join(map(escape_invisible, text))


def escape_invisible(letter: str) -> str:
    return letter if letter.isprintable() else json.dumps(letter)[1:-1]


TEMPLATES.filters["tojson"] = to_prompt_json


def name_ordinal(n: int) -> str:
    """
    >>> name_ordinal(2), name_ordinal(-1), name_ordinal(-3)
    ('second', 'last', 'third-to-last')
    """
    return "last" if n == -1 else f"{ORDINALS[-n - 1]}-to-last" if n < 0 else ORDINALS[n - 1]


TEMPLATES.filters["ordinal"] = name_ordinal


@cache
def template(name: str) -> Template:
    return TEMPLATES.get_template(f"{name}.j2")


def render_offline(name: str, **facts: object) -> str:
    """The facts in words, as the template's offline form says them."""
    return template(f"{name}.offline").render(facts).strip()


def render_messages(name: str, **facts: object) -> list[dict[str, str]]:
    """The template's text for a model: what stands before `=== user` is the system's, and the same for every row.

    Facts reach it as they are; a template quotes with `tojson` whatever others wrote, so that it stays data.
    """
    system, user = (half.render(facts).strip() for half in split_template(name))
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


@cache
def split_template(name: str) -> tuple[Template, Template]:
    """The system's half and the user's, told apart before any fact is in it: a fact can hold a line that looks like the border."""
    source, _, _ = FROM.get_source(TEMPLATES, f"{name}.j2")
    system, _, user = source.partition("=== user")
    return TEMPLATES.from_string(system), TEMPLATES.from_string(user)


def render_phrases(name: str, macro: str, *facts: object) -> list[str]:
    """The lines of a macro of the template's offline form, each a way to say the same."""
    said = getattr(template(f"{name}.offline").module, macro)(*facts)
    return [" ".join(line.split()) for line in said.splitlines() if line.strip()]
