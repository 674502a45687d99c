"""The page of the environments: a conversation on one side; asking, the tools' forms and the answer on the other."""

import inspect
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.playground import render
from shopwright.pipeline.playground.forms import ASK, SEVERAL, SUBMIT, ToolField, ToolForm, list_tool_forms
from shopwright.pipeline.playground.game import LINK, Game
from shopwright.pipeline.playground.shop import PlaygroundShop

# Published; any level above can be had in Python.
HARDEST = 12
# Seconds after its last turn.
FORGOTTEN_AFTER = 4 * 3600
FIRST = "catalog_search"
LATEST = (Path(__file__).parent / "log.js").read_text(encoding="utf-8")


def build_envs_page(gr: Any, place: PlaygroundShop, pages: Any) -> None:
    """Everything of the page, wired; an address with env, level and seed begins that game."""
    state = gr.State(None, time_to_live=FORGOTTEN_AFTER)
    env, level, seed, begin, begin_fault = build_start_form(gr, place)
    with gr.Row():
        with gr.Column(scale=5, min_width=320):
            earned = gr.HTML(visible=False, elem_classes="shown", elem_id="earned")
            log = gr.HTML(render.render_game(Game()), elem_classes="shown", elem_id="game", js_on_load=LATEST)
        with gr.Column(scale=3, min_width=320, elem_classes="beside"):
            hint = gr.Button("Hint", size="sm", elem_id="hint-button")
            hinted = gr.HTML(visible=False, elem_classes="shown", elem_id="hint")
            said, ask, ask_fault = build_ask_form(gr)
            tool, panels = build_tool_forms(gr)
            with gr.Accordion("Hand in the answer", open=False, elem_id="hand-in"):
                answer = build_form_panel(gr, list_tool_forms()[SUBMIT], "Hand in", variant="primary")
    faults = {"": begin_fault, ASK: ask_fault, **{name: each[2] for name, each in panels.items()}, SUBMIT: answer[2]}
    typed = list(chain.from_iterable(fields for fields, _, _ in (*panels.values(), answer)))
    outputs = [state, earned, log, hinted, said, *faults.values(), *(at for _, at in typed)]

    def after(game: Game, here: str = "", *, anew: bool = False) -> list[Any]:
        """What is seen then; a fault stands where it happened, and those of before are gone."""
        ending = render.render_ending(game)
        wrongs = [show_field_error(gr, game.fault if name == here else "") for name in faults]
        fields = []
        for field, _ in typed:
            # Ids as they can be chosen now; in a new game a field is empty, whatever was typed into it in the last.
            change: dict[str, Any] = {"choices": game.choices(field.ids)} if field.ids else {}
            fields.append(gr.update(**change, **({"value": get_empty_value(field)} if anew else {})))
        asked = gr.update(value="") if anew else gr.update()
        return [
            game,
            gr.update(value=ending, visible=bool(ending)),
            render.render_game(game),
            gr.update(visible=False),
            asked,
            *wrongs,
            *fields,
        ]

    def reset(game: Game | None, name: str, difficulty: float, number: float | None) -> list[Any]:
        game = game or Game(place.run)
        fault = game.reset(name, min(HARDEST, max(0, int(difficulty))), int(number or 0))
        return after(game, anew=not fault)

    def done(name: str, game: Game | None, *typed: Any) -> list[Any]:
        game = game or Game(place.run)
        game.call(name, typed)
        return after(game, name)

    def suggest(game: Game | None) -> list[Any]:
        """The next step, with the form that it wants."""
        game = game or Game(place.run)
        words = game.suggest()
        name = game.next_call()[0] if game.way and not game.over else ""
        chosen = gr.update(value=name) if name in panels else gr.update()
        return [game, gr.update(value=render.render_hint(words), visible=True), chosen]

    def begin_from_link(request: gr.Request) -> list[Any]:
        """What the address names: a game begins at once."""
        asked = dict(request.query_params)
        name, level, seed = (str(asked.get(each, "")) for each in LINK)
        if name not in all_envs() or not (level.isdecimal() and seed.isdecimal() and len(level + seed) < 18):
            return [gr.update() for _ in (*start, *outputs)]
        return [
            gr.update(value=name, info=describe_env(name)),
            int(level),
            int(seed),
            *reset(None, name, int(level), int(seed)),
        ]

    start = [env, level, seed]
    quiet = {"api_visibility": "private", "show_progress": "minimal"}
    hint.click(suggest, state, [state, hinted, tool], **quiet)
    pages.load(begin_from_link, None, [*start, *outputs], **quiet)
    gr.on([begin.click], reset, [state, env, level, seed], outputs, **quiet)
    asked = gr.on([ask.click, said.submit], partial(done, ASK), [state, said], outputs, **quiet)
    asked.then(lambda: "", None, said, **quiet)
    for name, (fields, button, _) in (*panels.items(), (SUBMIT, answer)):
        button.click(partial(done, name), [state, *(at for _, at in fields)], outputs, **quiet)


def get_empty_value(field: ToolField) -> Any:
    """What stands in a field that nothing was typed into."""
    if field.ids:
        return None
    if field.choices:
        return ""
    return bool(field.default) if field.kind == "boolean" else field.default or ("" if field.kind == "string" else None)


def show_field_error(gr: Any, why: str) -> Any:
    """What was wrong, where it happened; nothing where nothing was."""
    return gr.update(value=render.render_fault(why), visible=bool(why))


def build_start_form(gr: Any, place: PlaygroundShop) -> tuple[Any, ...]:
    """Which situation, how hard, which number: at first one that can be done."""
    names = [(name.replace("_", " ").capitalize().replace(" qa", " questions"), name) for name in all_envs()]
    with gr.Group():
        env = gr.Radio(names, value=names[0][1], label="Situation", info=describe_env(names[0][1]), elem_id="situation")
        with gr.Row():
            level = gr.Slider(0, HARDEST, value=0, step=1, label="Difficulty", info="0 is the easiest.")
            seed = gr.Number(
                place.first(names[0][1]),
                precision=0,
                minimum=0,
                label="Number",
                info="The same number is the same task.",
                elem_id="number",
            )
    begin = gr.Button("Begin", variant="primary", elem_id="begin")
    fault = gr.HTML(visible=False, elem_classes="shown")

    def situation(name: str) -> list[Any]:
        return [gr.update(info=describe_env(name)), place.first(name)]

    env.input(situation, env, [env, seed], api_visibility="private", show_progress="hidden")
    return env, level, seed, begin, fault


def describe_env(name: str) -> str:
    """What happens there, as its file says it."""
    return (inspect.getdoc(inspect.getmodule(type(all_envs()[name]))) or "").partition("\n\n")[0]


def build_ask_form(gr: Any) -> tuple[Any, Any, Any]:
    said = gr.Textbox(
        label="Ask the shopper", placeholder="One question, in plain words", elem_id="ask", max_length=1_000
    )
    ask = gr.Button("Ask", size="sm", elem_id="ask-button")
    return said, ask, gr.HTML(visible=False, elem_classes="shown")


# The fields with their components, the button, and where a fault is shown.
Panel = tuple[list[tuple[ToolField, Any]], Any, Any]


def build_tool_forms(gr: Any) -> tuple[Any, dict[str, Panel]]:
    """The list of tools, and a form for each, one of which is seen."""
    names = [name for name in list_tool_forms() if name not in (ASK, SUBMIT)]
    chosen = gr.Dropdown(names, value=FIRST, label="Tool", info="What the shop can do for you.", elem_id="tool")
    groups, panels = [], {}
    for name in names:
        with gr.Column(visible=name == FIRST, elem_id=f"form-{name}") as group:
            panels[name] = build_form_panel(gr, list_tool_forms()[name], f"Call {name}")
        groups.append(group)

    def choose(wanted: str) -> list[Any]:
        return [gr.update(visible=name == wanted) for name in names]

    chosen.change(choose, chosen, groups, api_visibility="private", show_progress="hidden")
    return chosen, panels


def build_form_panel(gr: Any, form: ToolForm, button: str, variant: str = "secondary") -> Panel:
    gr.Markdown(form.about)
    needed = [(field, build_field(gr, field)) for field in form.fields if not is_small_field(field)]
    with gr.Row(visible=len(needed) < len(form.fields)):
        small = [(field, build_field(gr, field)) for field in form.fields if is_small_field(field)]
    by_name = {field.name: (field, made) for field, made in (*needed, *small)}
    fields = [by_name[field.name] for field in form.fields]
    press = gr.Button(button, variant=variant, elem_id=f"call-{form.name}")
    return fields, press, gr.HTML(visible=False, elem_classes="shown", elem_id=f"fault-{form.name}")


def is_small_field(field: ToolField) -> bool:
    """Two of them stand side by side."""
    return not field.required and (field.kind in ("number", "integer") or field.name in ("category", "brand"))


def build_field(gr: Any, field: ToolField) -> Any:
    """The field as it fits its type; ids can be chosen from what was shown, or typed."""
    common = {"label": field.label, "info": field.about, "min_width": 150}
    if field.ids:
        several = field.name in SEVERAL or None
        return gr.Dropdown([], value=get_empty_value(field), allow_custom_value=True, multiselect=several, **common)
    if field.choices:
        return gr.Dropdown([(name or "(none)", name) for name in field.choices], value=get_empty_value(field), **common)
    if field.kind == "boolean":
        return gr.Checkbox(get_empty_value(field), **common)
    if field.kind == "string":
        return gr.Textbox(get_empty_value(field), **common)
    return gr.Number(get_empty_value(field), precision=0 if field.kind == "integer" else None, **common)
