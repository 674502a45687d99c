"""`shopwright play`: you are the agent, in pages of a browser."""

from typing import Any

from shopwright.pipeline.commands.options import Parser, add_listed_command


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "play", [])
    options.add_argument(
        "--run", metavar="FOLDER", help="use shop and tasks of this run (default: a small shop, made at the start)"
    )
    options.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    options.add_argument("--port", type=int, help="the port to listen on (default: 7860, or the next free one)")
    options.add_argument("--open", action="store_true", help="open a browser")
    options.add_argument("--space", metavar="FOLDER", help="write the files of a Hugging Face Space instead of serving")


def run(run: str | None, host: str, port: int | None, open: bool, space: str | None) -> int:
    if space is not None:
        from shopwright.pipeline.playground.space import write_space

        print(f"A Space is in {write_space(space, run)}. Try it: python {space}/app.py")
        return 0
    from shopwright.pipeline.playground.app import launch_playground

    launch_playground(run or "", host=host, port=port, browser=open)
    return 0
