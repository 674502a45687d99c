"""`shopwright browse`: a run as local web pages."""

import threading
from typing import Any

from shopwright.pipeline.commands.options import RUN, Parser, add_listed_command
from shopwright.pipeline.problem import Problem


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "browse", [])
    options.add_argument("folder", nargs="?", default=RUN, help=f"the run's folder (default: {RUN})")
    options.add_argument("--against", metavar="RUN", help="another run, to see what differs")
    options.add_argument("--port", type=int, default=0, help="the port to listen at (default: a free one)")
    options.add_argument("--open", action="store_true", help="open it in your web browser")


def run(folder: str, port: int, open: bool, against: str | None = None) -> int:
    """Serves until it is stopped."""
    from shopwright.pipeline.browse.server import Server

    found, other = open_run(folder), open_run(against) if against else None
    try:
        with Server(found, port, other) as server:
            print(f"{folder} is at {server.url} – Ctrl-C ends it.", flush=True)
            if open:
                threading.Thread(target=show, args=(server.url,), daemon=True).start()
            server.serve_forever()
    except KeyboardInterrupt:
        print("\rEnded.")
    return 0


def open_run(folder: str) -> Any:
    """A run that has something to show. Raises Problem for another."""
    from shopwright.pipeline.run import Run
    from shopwright.pipeline.stages import all_stages

    found = Run(folder)
    found.stands_alone()
    if not any((found.folder / "manifests" / f"{name}.json").exists() for name in all_stages()):
        raise Problem(f"There is no finished dataset in {folder}. Build one: shopwright build catalog --run {folder}")
    return found


def show(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
