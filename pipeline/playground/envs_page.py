"""The page of the eight situations: a conversation on one side; asking, the tools' forms and the answer on the other."""

import inspect
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.envs import all_envs
from pipeline.playground import shown
from pipeline.playground.forms import ASK, SEVERAL, SUBMIT, Field, Form, forms
from pipeline.playground.game import Game
from pipeline.playground.place import Place

HARDEST = 12
"""Published; any level above can be had in Python."""
FORGOTTEN_AFTER = 4 * 3600
"""Seconds after its last turn."""
FIRST = "catalog_search"
LATEST = (Path(__file__).parent / "log.js").read_text(encoding="utf-8")


def envs_page(gr: Any, place: Place) -> None:
    """Everything of the page, wired."""
    state = gr.State(None, time_to_live=FORGOTTEN_AFTER)
    env, level, seed, begin, begin_fault = beginning(gr)
    with gr.Row():
        with gr.Column(scale=5, min_width=320):
            earned = gr.HTML(visible=False, elem_classes="shown", elem_id="earned")
            log = gr.HTML(shown.game(Game()), elem_classes="shown", elem_id="game", js_on_load=LATEST)
        with gr.Column(scale=3, min_width=320, elem_classes="beside"):
            said, ask, ask_fault = asking(gr)
            panels = tools(gr)
            answer = handing_in(gr)
    faults = {"": begin_fault, ASK: ask_fault, **{name: each[2] for name, each in panels.items()}, SUBMIT: answer[2]}
    ids = [(field, at) for fields, _, _ in (*panels.values(), answer) for field, at in fields if field.ids]
    told = [state, earned, log, *faults.values(), *(at for _, at in ids)]

    def after(game: Game, here: str = "", *, anew: bool = False) -> list[Any]:
        """What is seen then; a fault stands where it happened, and those of before are gone."""
        ending = shown.ended(game)
        wrongs = [wrong(gr, game.fault if name == here else "") for name in faults]
        emptied = {"value": None} if anew else {}
        offered = [gr.update(choices=game.choices(field.ids), **emptied) for field, _ in ids]
        return [game, gr.update(value=ending, visible=bool(ending)), shown.game(game), *wrongs, *offered]

    def reset(game: Game | None, name: str, difficulty: float, number: float | None) -> list[Any]:
        game = game or Game(place.run)
        fault = game.reset(name, min(HARDEST, max(0, int(difficulty))), int(number or 0))
        return after(game, anew=not fault)

    def done(name: str, game: Game | None, *typed: Any) -> list[Any]:
        game = game or Game(place.run)
        game.call(name, typed)
        return after(game, name)

    quiet = {"api_visibility": "private", "show_progress": "minimal"}
    gr.on([begin.click], reset, [state, env, level, seed], told, **quiet)
    asked = gr.on([ask.click, said.submit], partial(done, ASK), [state, said], told, **quiet)
    asked.then(lambda: "", None, said, **quiet)
    for name, (fields, button, _) in (*panels.items(), (SUBMIT, answer)):
        button.click(partial(done, name), [state, *(at for _, at in fields)], told, **quiet)


def wrong(gr: Any, why: str) -> Any:
    """What was wrong, where it happened; nothing where nothing was."""
    return gr.update(value=shown.fault(why), visible=bool(why))


def beginning(gr: Any) -> tuple[Any, ...]:
    """Which situation, how hard, which number."""
    names = [(name.replace("_", " ").capitalize().replace(" qa", " questions"), name) for name in all_envs()]
    with gr.Group():
        env = gr.Radio(names, value=names[0][1], label="Situation", info=about(names[0][1]), elem_id="situation")
        with gr.Row():
            level = gr.Slider(0, HARDEST, value=0, step=1, label="Difficulty", info="0 is the easiest.")
            seed = gr.Number(
                1, precision=0, minimum=0, label="Number", info="The same number is the same task.", elem_id="number"
            )
    begin = gr.Button("Begin", variant="primary", elem_id="begin")
    fault = gr.HTML(visible=False, elem_classes="shown")
    env.change(lambda name: gr.update(info=about(name)), env, env, api_visibility="private", show_progress="hidden")
    return env, level, seed, begin, fault


def about(name: str) -> str:
    """What happens there, as its file says it."""
    return (inspect.getdoc(inspect.getmodule(type(all_envs()[name]))) or "").partition("\n\n")[0]


def asking(gr: Any) -> tuple[Any, Any, Any]:
    said = gr.Textbox(
        label="Ask the shopper", placeholder="One question, in plain words", elem_id="ask", max_length=1_000
    )
    ask = gr.Button("Ask", size="sm", elem_id="ask-button")
    return said, ask, gr.HTML(visible=False, elem_classes="shown")


Panel = tuple[list[tuple[Field, Any]], Any, Any]
"""The fields with their components, the button, and where a fault is shown."""


def tools(gr: Any) -> dict[str, Panel]:
    """A form for each tool, one of which is seen."""
    names = [name for name in forms() if name not in (ASK, SUBMIT)]
    chosen = gr.Dropdown(names, value=FIRST, label="Tool", info="What the shop can do for you.", elem_id="tool")
    groups, panels = [], {}
    for name in names:
        with gr.Column(visible=name == FIRST, elem_id=f"form-{name}") as group:
            panels[name] = panel(gr, forms()[name], f"Call {name}")
        groups.append(group)

    def choose(wanted: str) -> list[Any]:
        return [gr.update(visible=name == wanted) for name in names]

    chosen.change(choose, chosen, groups, api_visibility="private", show_progress="hidden")
    return panels


def handing_in(gr: Any) -> Panel:
    with gr.Accordion("Hand in the answer", open=False, elem_id="hand-in"):
        return panel(gr, forms()[SUBMIT], "Hand in", variant="primary")


def panel(gr: Any, form: Form, button: str, variant: str = "secondary") -> Panel:
    gr.Markdown(form.about)
    needed = [(field, component(gr, field)) for field in form.fields if not is_small(field)]
    with gr.Row(visible=len(needed) < len(form.fields)):
        small = [(field, component(gr, field)) for field in form.fields if is_small(field)]
    by_name = {field.name: (field, made) for field, made in (*needed, *small)}
    fields = [by_name[field.name] for field in form.fields]
    press = gr.Button(button, variant=variant, elem_id=f"call-{form.name}")
    return fields, press, gr.HTML(visible=False, elem_classes="shown", elem_id=f"fault-{form.name}")


def is_small(field: Field) -> bool:
    """Two of them stand side by side."""
    return not field.required and (field.kind in ("number", "integer") or field.name in ("category", "brand"))


def component(gr: Any, field: Field) -> Any:
    """The field as it fits its type; ids can be chosen from what was shown, or typed."""
    told = {"label": field.label, "info": field.about, "min_width": 150}
    if field.ids:
        return gr.Dropdown([], value=None, allow_custom_value=True, multiselect=field.name in SEVERAL or None, **told)
    if field.choices:
        return gr.Dropdown([(name or "(none)", name) for name in field.choices], value="", **told)
    if field.kind == "boolean":
        return gr.Checkbox(bool(field.default), **told)
    if field.kind == "string":
        return gr.Textbox(field.default or "", **told)
    return gr.Number(field.default or None, precision=0 if field.kind == "integer" else None, **told)
