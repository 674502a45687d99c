"""What the commands are for: all that the help of the whole command line says, without a file of theirs imported."""

from typing import NamedTuple


class Command(NamedTuple):
    file: str
    """In this folder."""
    about: str
    examples: tuple[str, ...]


COMMANDS = {
    "list": Command("listing", "list every dataset: content, inputs, settings", ("shopwright list",)),
    "build": Command(
        "build",
        "make a dataset, and first the datasets it reads that are missing",
        ("shopwright build questions --count 100 --tokens 32k,64k --per-trajectory 10 --run data/runs/mine",),
    ),
    "show": Command("show", "print a dataset's first rows", ("shopwright show personas -n 3",)),
    "browse": Command(
        "browse",
        "look at a run in a web browser: every row, rejected rows with reasons, SQL queries",
        ("shopwright browse data/runs/mine --open",),
    ),
    "report": Command(
        "report",
        "write a run's report.html, one page that needs no network, and print its path",
        ("shopwright report data/runs/demo",),
    ),
    "verify": Command(
        "verify",
        "recompute every check from the Parquet files alone; exit 1 if any fails",
        ("shopwright verify data/runs/demo",),
    ),
    "audit": Command(
        "audit",
        "check that the solver solves every task and that simple baselines do not",
        ("shopwright audit envs --levels 0-12 --episodes 200",),
    ),
    "evaluate": Command(
        "evaluate",
        "measure how well a model or a player without a model does",
        ("shopwright evaluate envs --agent openai:NAME@http://127.0.0.1:8000/v1 --envs C2 --levels 0,6,12",),
    ),
    "publish": Command(
        "publish",
        "publish a run's datasets and training forms on the Hub, or write the same files into a folder",
        (
            "shopwright publish data/runs/mine --to build/hub",
            "shopwright publish data/runs/mine --repo user/name --private --dry-run",
        ),
    ),
    "serve": Command(
        "serve",
        "serve the environments of a run to trainers, by OpenEnv or MCP; it needs: pip install 'shopwright[openenv]', or 'shopwright[mcp]'",
        (
            "shopwright serve --run data/runs/mine --curriculum C4",
            "shopwright serve --run data/runs/mine --space build/space",
        ),
    ),
    "play": Command(
        "play",
        "act as the agent in a web browser; needs: pip install 'shopwright[play]'",
        (
            "shopwright play --open",
            "shopwright play --run data/runs/mine --port 7860",
            "shopwright play --space build/space",
        ),
    ),
    "inspect": Command(
        "inspect",
        "say what a file of products is, how each column is read, and what would be rejected",
        ("shopwright inspect my-shop.csv --write my-shop.toml",),
    ),
    "init": Command(
        "init",
        "write a recipe file to edit: every setting of every dataset, with its meaning and default",
        (
            "shopwright init",
            "shopwright init my-recipe.toml --datasets questions,env_episodes",
        ),
    ),
    "doctor": Command(
        "doctor",
        "print what is installed, what each extra adds, and what this machine can do; exit 1 if nothing can be built",
        (
            "shopwright doctor",
            "shopwright doctor --json",
        ),
    ),
    "completion": Command(
        "completion",
        "print a script that lets your shell complete commands, datasets and settings",
        (
            "shopwright completion bash > ~/.local/share/bash-completion/completions/shopwright",
            "shopwright completion zsh > ~/.zfunc/_shopwright",
            "shopwright completion fish > ~/.config/fish/completions/shopwright.fish",
        ),
    ),
}
