"""What a visitor sees, as HTML: results of tools as tables, conversations, the shop's pages, rewards by their parts.

Others wrote the titles, queries and reasons in it. They are escaped, and so are the signs with which the page's own templates begin.
"""

from collections.abc import Mapping, Sequence
from html import escape
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shopwright.pipeline.playground.game import Game
from shopwright.pipeline.playground.guess import Guess, describe_action
from shopwright.pipeline.playground.visit import Visit

# Of a shop's page; headings stand below those of the page around it.
TAGS = ("h1", "ul", "li", "div", "p", "span", "button", "a")
AS = {"h1": "h3", "a": "button"}
ACTING = ("button", "a")
TEMPLATE_SIGNS = str.maketrans({sign: f"&#{ord(sign)};" for sign in "{}$`\\"})


def humanize_name(name: str) -> str:
    return str(name).replace("_", " ")


def format_plain_value(value: Any) -> str:
    """
    >>> format_plain_value(True), format_plain_value(None), format_plain_value(9.5)
    ('yes', '', '9.5')
    """
    return {"True": "yes", "False": "no", "None": ""}.get(str(value), str(value))


def format_part_amount(value: float) -> str:
    """
    >>> format_part_amount(1.0), format_part_amount(0.7714285), format_part_amount(-0.0), format_part_amount(1000.5)
    ('1', '0.771', '0', '1,000.5')
    """
    return f"{round(value, 3) + 0.0:,.3f}".rstrip("0").rstrip(".")


def make_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def is_rows(value: Sequence[Any]) -> bool:
    return all(isinstance(each, Mapping) for each in value)


def is_scalars(value: Sequence[Any]) -> bool:
    return not any(isinstance(each, Mapping | list) for each in value)


def list_row_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """
    >>> list_row_columns([{"a": 1}, {"a": 2, "b": 3}])
    ['a', 'b']
    """
    return list(dict.fromkeys(chain.from_iterable(rows)))


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "named": humanize_name,
    "plainly": format_plain_value,
    "amount": format_part_amount,
    "sentence": make_sentence,
}
TEMPLATES.filters |= {"rows": is_rows, "scalars": is_scalars, "columns": list_row_columns}


def render_macro(macro: str, *values: Any) -> str:
    module = TEMPLATES.get_template("shown.j2").module
    return str(getattr(module, macro)(*values)).translate(TEMPLATE_SIGNS)


def render_game(it: Game) -> str:
    """The conversation."""
    return render_macro("game", it)


def render_ending(it: Game) -> str:
    """What it earned, and why; empty until it is over."""
    ending = it.ending()
    return render_macro("ended", ending) if ending else ""


def render_hint(words: str) -> str:
    """What can be done next."""
    return f'<p class="hint" role="status">{escape(words)}</p>'.translate(TEMPLATE_SIGNS)


def render_visit(it: Visit) -> str:
    """What is wanted, the shop's page, and at the end both rewards."""
    return render_macro("visit", it, sanitize_page(it.html) if it.play else "", it.ending())


def render_guess(it: Guess) -> str:
    """The page of a session, and once it is guessed what was done there."""
    return render_macro(
        "guess", it, sanitize_page(it.step.html, live=not it.is_solved) if it.session else "", describe_action
    )


def render_fault(why: str) -> str:
    """Beside the form that it is about."""
    return f'<p class="wrong" role="alert">{escape(why)}</p>'.translate(TEMPLATE_SIGNS) if why else ""


def sanitize_page(html: str, *, live: bool = True) -> Markup:
    """A page's simplified HTML as it is safe to show: known tags, no attribute but the names of what can be acted on.

    live: whether that can be done.
    """
    reader = PageSanitizer(live)
    reader.feed(html)
    reader.close()
    return Markup("".join(reader.out))


class PageSanitizer(HTMLParser):
    def __init__(self, live: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.live = "" if live else " disabled"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = escape(dict(attrs).get("name") or "")
        if tag == "input":
            label = 'type="search" aria-label="Search the shop" placeholder="Search the shop"'
            self.out.append(f'<input {label} data-name="{name}"{self.live}>')
        elif tag in ACTING:
            self.out.append(f'<button type="button" class="{tag}" data-name="{name}" title="{name}"{self.live}>')
        elif tag in TAGS:
            self.out.append(f"<{AS.get(tag, tag)}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in TAGS:
            self.out.append(f"</{AS.get(tag, tag)}>")

    def handle_data(self, data: str) -> None:
        self.out.append(escape(data))
