"""The pages that one plays in, made with Gradio: forms and buttons around `game`, `visit` and `guess`, which hold all that is so.

Each visitor has a state of its own. Nothing leaves the machine: no analytics, no fonts or scripts from elsewhere.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shopwright.pipeline.browse.guard import BodyLimit, Guard, is_loopback
from shopwright.pipeline.extras import require
from shopwright.pipeline.playground.envs_page import build_envs_page
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.shopping_page import build_shopping_page
from shopwright.pipeline.playground.steps_page import build_steps_page
from shopwright.pipeline.problem import Problem

HERE = Path(__file__).parent
FONTS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace")
QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
# States that are kept; the oldest are forgotten first.
VISITORS = 1_000
ABOUT = """# You are the agent
Play what agents are trained on: **help** a shopper with the shop's tools, **find** one product in the shop's pages, or **predict** what a
customer did next. Every reward is told by its parts, with what would have earned all of it."""


def import_gradio() -> Any:
    """Raises Problem where it is not installed."""
    require("gradio", "shopwright play")
    os.environ.update(QUIET)
    import gradio

    return gradio


def build_playground(place: PlaygroundShop) -> Any:
    """All pages, as Gradio's Blocks."""
    gr = import_gradio()
    with gr.Blocks(title="Shopwright: you are the agent", analytics_enabled=False) as found:
        gr.Markdown(ABOUT)
        with gr.Tab("Help"):
            build_envs_page(gr, place, found)
        with gr.Tab("Find"):
            build_shopping_page(gr, place)
        with gr.Tab("Predict"):
            build_steps_page(gr, place)
    return found


def launch_playground(
    run: str = "",
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = False,
    told: Callable[[str], None] = print,
    wait: bool = True,
) -> Any:
    """Serves the pages until Ctrl-C. Raises Problem where nothing can be played, or the port is taken."""
    gr = import_gradio()
    from shopwright.pipeline.browse.patience import PatientProtocol

    place = PlaygroundShop(run)
    place.open()
    pages = build_playground(place)
    try:
        pages.launch(
            server_name=host,
            server_port=port,
            inbrowser=browser,
            share=False,  # else Gradio opens a tunnel through its own servers
            quiet=True,
            prevent_thread_lock=True,  # the address is printed first, and Ctrl-C is ours to answer
            footer_links=[],
            run_history=False,
            enable_monitoring=False,
            ssr_mode=False,  # it would want Node
            state_session_capacity=VISITORS,
            max_file_size=1,  # nothing here takes a file, but the route is there
            app_kwargs={"middleware": list_request_guards(host)},
            theme=make_theme(gr),
            css=(HERE / "page.css").read_text(encoding="utf-8"),
        )
    except OSError as error:
        raise Problem(f"Port {port} is taken. Give another: shopwright play --port N") from error
    pages.server.config.http_protocol_class = PatientProtocol
    told(f"Play at {pages.local_url} (Ctrl-C ends it)")
    if wait:
        wait_for_interrupt(pages)
    return pages


def list_request_guards(host: str) -> list[Any]:
    """What looks at each request before Gradio does."""
    from starlette.middleware import Middleware

    return [Middleware(BodyLimit), *([Middleware(Guard)] if is_loopback(host) else [])]


def wait_for_interrupt(pages: Any) -> None:
    """Until Ctrl-C."""
    try:
        pages.server.thread.join()
    except KeyboardInterrupt:
        print("\nEnded.")
    finally:
        pages.close(verbose=False)


def make_theme(gr: Any) -> Any:
    return gr.themes.Base(
        primary_hue="teal", secondary_hue="teal", neutral_hue="zinc", font=list(FONTS), font_mono=list(MONO)
    ).set(
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_800",
        button_primary_text_color="white",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_400",
        color_accent="*primary_700",
        link_text_color="*primary_700",
        link_text_color_dark="*primary_300",
    )
