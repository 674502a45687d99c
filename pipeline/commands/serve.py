"""`shopwright serve`: the environments of a run for trainers on other machines, by OpenEnv."""

from typing import Any

from shopwright.pipeline.commands.options import Parser, add_command

EXAMPLE = "shopwright serve --run data/runs/mine --port 8000"


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "serve the environments of a run to trainers, by OpenEnv; it needs: pip install 'shopwright[openenv]'"
    options = add_command(commands, "serve", about, [folder], EXAMPLE)
    options.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    options.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
    options.add_argument("--sessions", type=int, default=64, help="most episodes at the same time (default: 64)")


def run(**options: Any) -> int:
    from shopwright.pipeline.trainers import serve

    return serve.serve_environments(**options)
