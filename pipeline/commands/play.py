"""`shopwright play`: you are the agent, in pages of a browser."""

from typing import Any

from pipeline.commands.options import Parser, add_command

EXAMPLES = (
    "shopwright play --open",
    "shopwright play --run data/runs/mine --port 7860",
    "shopwright play --space build/space",
)


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "play the shop in a browser, as the agent; it needs: pip install 'shopwright[play]'"
    options = add_command(commands, "play", about, [], *EXAMPLES)
    options.add_argument(
        "--run", metavar="FOLDER", help="the shop and tasks of a run (default: a small shop made for it)"
    )
    options.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: this machine's own)")
    options.add_argument("--port", type=int, help="the port to listen at (default: 7860, or the next that is free)")
    options.add_argument("--open", action="store_true", help="open a browser")
    options.add_argument(
        "--space", metavar="FOLDER", help="serve nothing, but write the files of a Hugging Face Space that does"
    )


def run(run: str | None, host: str, port: int | None, open: bool, space: str | None) -> int:
    if space is not None:
        from pipeline.playground.space import write_space

        print(f"A Space is in {write_space(space, run)}. Try it: python {space}/app.py")
        return 0
    from pipeline.playground.app import launch

    launch(run or "", host=host, port=port, browser=open)
    return 0
