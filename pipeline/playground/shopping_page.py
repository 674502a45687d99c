"""The page of shopping tasks: what somebody wants, the shop's pages to click through, and both rewards."""

from pathlib import Path
from typing import Any

from shopwright.pipeline.playground import render
from shopwright.pipeline.playground.envs_page import FORGOTTEN_AFTER, show_field_error
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.visit import Visit

ACTS = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
BUILT = (
    "The first time, a small shop is built here, which takes about half a minute; the Chinese one takes two minutes."
)


def build_shopping_page(gr: Any, place: PlaygroundShop) -> None:
    """Everything of the page, wired."""
    state = gr.State(None, time_to_live=FORGOTTEN_AFTER)
    chinese = PlaygroundShop(place.run, "zh")  # built when it is first wanted
    with gr.Row():
        talk = gr.Radio(
            [("is said at once", False), ("has to be asked for", True)], value=False, label="What is wanted"
        )
        personal = gr.Radio(
            [("a stranger", False), ("a customer with a profile", True)], value=False, label="Who wants it"
        )
        language = gr.Radio(
            [("English", "en"), ("中文", "zh")],
            value="en",
            label="The shop speaks",
            visible=not place.run,
            elem_id="visit-language",
        )
        number = gr.Number(1, precision=0, minimum=0, label="Number", info="The same number is the same task.")
    begin = gr.Button("Begin", variant="primary", elem_id="visit-begin")
    if not place.run:
        gr.Markdown(BUILT)
    fault = gr.HTML(visible=False, elem_classes="shown")
    with gr.Row(visible=False) as asking:
        said = gr.Textbox(
            label="Ask the shopper", placeholder="One question, in plain words", scale=4, elem_id="visit-ask"
        )
        ask = gr.Button("Ask", scale=1, min_width=96, elem_id="visit-ask-button")
    page = gr.HTML(render.render_visit(Visit(place)), elem_classes="shown", elem_id="visit", js_on_load=ACTS)

    def after(visit: Visit) -> list[Any]:
        return [visit, render.render_visit(visit)]

    def reset(visit: Visit | None, talked: bool, known: bool, spoken: str, wanted: float | None) -> list[Any]:
        visit = visit or Visit(place)
        visit.place = chinese if spoken == "zh" else place
        why = visit.reset(int(wanted or 0), talk=talked, personal=known)
        return [show_field_error(gr, why), gr.update() if why else gr.update(visible=talked), *after(visit)]

    def asked(visit: Visit | None, question: str) -> list[Any]:
        visit = visit or Visit(place)
        visit.ask(question)
        return ["", *after(visit)]

    def acted(visit: Visit | None, event: gr.EventData) -> list[Any]:
        visit = visit or Visit(place)
        visit.press(str(event.name), str(event.words or ""))
        return after(visit)

    quiet = {"api_visibility": "private", "show_progress": "minimal"}
    begin.click(reset, [state, talk, personal, language, number], [fault, asking, state, page], **quiet)
    gr.on([ask.click, said.submit], asked, [state, said], [said, state, page], **quiet)
    page.submit(acted, state, [state, page], **quiet)
