"""The page of a customer's session: see a page, say what the customer did there and why, be told, go on."""

from typing import Any

from shopwright.pipeline.playground import render
from shopwright.pipeline.playground.envs_page import FORGOTTEN_AFTER, show_field_error
from shopwright.pipeline.playground.guess import Guess
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.shopping_page import ACTS, BUILT
from shopwright.pipeline.render.pages import SEARCH_INPUT

KINDS = [("clicks something", "click"), ("searches", "type_and_submit"), ("leaves the shop", "terminate")]


def build_steps_page(gr: Any, place: PlaygroundShop) -> None:
    """Everything of the page, wired."""
    state = gr.State(None, time_to_live=FORGOTTEN_AFTER)
    number = gr.Number(1, precision=0, minimum=0, label="Number", info="The same number is the same session.")
    begin = gr.Button("Begin", variant="primary", elem_id="guess-begin")
    if not place.run:
        gr.Markdown(BUILT)
    begin_fault = gr.HTML(visible=False, elem_classes="shown")
    with gr.Row():
        with gr.Column(scale=3, min_width=320):
            page = gr.HTML(render.render_guess(Guess(place)), elem_classes="shown", elem_id="guess", js_on_load=ACTS)
        with gr.Column(scale=2, min_width=320, elem_classes="beside"):
            kind = gr.Radio(KINDS, value="click", label="The customer next", elem_id="guess-kind")
            name = gr.Dropdown(
                [], value=None, label="what is clicked", info="By its name on the page; a click on the page chooses it."
            )
            text = gr.Textbox(label="what is typed", visible=False)
            why = gr.Textbox(label="why, in the customer's words", info="Not needed. A person's is not paid for.")
            predict = gr.Button("Predict", variant="primary", elem_id="predict")
            fault = gr.HTML(visible=False, elem_classes="shown")
            forward = gr.Button("Next page", elem_id="forward", interactive=False)
    outputs = [state, page, predict, forward]

    def after(guess: Guess) -> list[Any]:
        waits = guess.is_solved or guess.over or guess.session is None
        return [
            guess,
            render.render_guess(guess),
            gr.update(interactive=not waits),
            gr.update(interactive=guess.is_solved and not guess.over),
        ]

    def offered(guess: Guess) -> list[Any]:
        """The form for a new page."""
        return [gr.update(choices=guess.names, value=None), "", ""]

    def reset(guess: Guess | None, wanted: float | None) -> list[Any]:
        guess = guess or Guess(place)
        why_not = guess.reset(int(wanted or 0))
        return [show_field_error(gr, why_not), *(keep_form(gr) if why_not else offered(guess)), *after(guess)]

    def predicted(guess: Guess | None, how: str, what: str | None, typed: str, because: str) -> list[Any]:
        guess = guess or Guess(place)
        return [show_field_error(gr, guess.predict(how, what or "", typed, because)), *after(guess)]

    def gone_on(guess: Guess | None) -> list[Any]:
        guess = guess or Guess(place)
        why_not = guess.forward()
        return [show_field_error(gr, why_not), *(keep_form(gr) if why_not else offered(guess)), *after(guess)]

    def chosen(event: gr.EventData) -> list[Any]:
        """Something on the page was clicked or typed into."""
        typed = event.name == SEARCH_INPUT
        return ["type_and_submit", gr.update(), event.words] if typed else ["click", event.name, gr.update()]

    quiet = {"api_visibility": "private", "show_progress": "minimal"}
    kind.change(
        lambda how: [gr.update(visible=how == "click"), gr.update(visible=how == "type_and_submit")],
        kind,
        [name, text],
        api_visibility="private",
        show_progress="hidden",
    )
    begin.click(reset, [state, number], [begin_fault, name, text, why, *outputs], **quiet)
    predict.click(predicted, [state, kind, name, text, why], [fault, *outputs], **quiet)
    forward.click(gone_on, state, [fault, name, text, why, *outputs], **quiet)
    page.submit(chosen, None, [kind, name, text], **quiet)


def keep_form(gr: Any) -> list[Any]:
    """The form as it is."""
    return [gr.update(), gr.update(), gr.update()]
