"""`shopwright doctor`: what is installed, what each extra adds, and what this machine can do.

It looks at this machine alone: nothing is asked over a network but a Prefect server of this machine's own, and no key is read out.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import urlopen

from shopwright import __version__
from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.commands.output import print_json
from shopwright.pipeline.files import is_here, path_of
from shopwright.pipeline.run import count_cores
from shopwright.pipeline.sandbox.interpreter import ask_missing_means
from shopwright.pipeline.sandbox.kernel import MEANS, find_means_needed, read_waived_means

State = Literal["ok", "look", "none", "bad"]
# There; there, but not as it should be; not there, and only needed for some things; not there, and nothing works without it.
MARKS: dict[State, str] = {"ok": "ok", "look": "look", "none": "-", "bad": "BAD"}
# Letters of what was found before what it is for.
FOUND = 38
ABOUT = {
    "aiohttp": "requests to model servers",
    "babel": "currencies: their names, digits and signs, for prices of a catalog",
    "beautifulsoup4": "descriptions of a catalog that are HTML",
    "charset-normalizer": "catalogs in another encoding than UTF-8",
    "duckdb": "SQL over the datasets, and one of three engines that prove answers",
    "jinja2": "prompts, pages, the report",
    "numpy": "columns of numbers",
    "pandas": "tables for code that agents write",
    "packaging": "compares versions for this command",
    "pyarrow": "the Parquet files",
    "pydantic": "types of the rows",
    "rich": "the bar while a build goes on",
    "rjieba": "the words of Chinese texts",
    "sqlglot": "reads SQL before it runs",
    "universal-pathlib": "folders on s3:// and elsewhere",
}
# What each adds, and how it is installed where that is not by pip.
EXTRAS = {
    "flows": ("builds as Prefect flows: make trajectories, make release", ""),
    "hub": ("publishes to the Hub, reads from it, counts tokens exactly with --tokenizer", ""),
    "search": ("search by vectors", ""),
    "vllm": ("models in this process, on its GPU; not beside flows", "see docs/models.md"),
    "embedders": ("search that understands other words, with --embedder", ""),
    "train": ("TRL: docs/training.md", "make trainers"),
    "learn": ("small learners: python -m benchmarks.learning", ""),
    "openenv": ("serves the environments by OpenEnv: shopwright serve; not beside vllm", ""),
    "mcp": ("serves the environments by MCP; not beside openenv", ""),
    "verifiers": ("the environments as a taskset of verifiers; in an environment of its own", "see docs/serving.md"),
    "nemo-gym": ("the environments for NeMo Gym; Python 3.12, an environment of its own", "see docs/serving.md"),
    "skyrl": ("the environments for SkyRL-gym", ""),
    "inspect": ("the environments as a task of Inspect, for evaluation", ""),
    "lm-eval": ("next actions as a task of lm-eval", ""),
    "metrics": ("what Prometheus reads of shopwright serve", ""),
    "gymnasium": ("the environments as Gymnasium's", ""),
    "dask": ("shards made on a Dask cluster, with --runner dask", ""),
    "ray": ("shards made on a Ray cluster, with --runner ray", ""),
    "s3": ("runs in folders on S3 and compatible stores", ""),
    "play": ("the shop to play in the browser: shopwright play", ""),
    "dev": ("the tests and the linter", "make setup"),
}


@dataclass(frozen=True)
class Finding:
    name: str
    state: State
    found: str
    about: str
    """What it is for."""
    remedy: str = ""
    """What to type, or to look at, where it is not as it should be."""


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    add_listed_command(commands, "doctor", [folder, as_json])


def run(run: str, json: bool) -> int:
    found = {"machine": check_machine(run), "packages": check_packages(), "extras": check_extras()}
    works = not any(each.state == "bad" for each in chain.from_iterable(found.values()))
    if json:
        groups = {name: list(map(asdict, group)) for name, group in found.items()}
        print_json({"shopwright": __version__, "works": works, **groups})
    else:
        print("\n".join(format_findings(found, works)))
    return 0 if works else 1


def format_findings(found: dict[str, list[Finding]], works: bool) -> Iterator[str]:
    wide = max(len(each.name) for each in chain.from_iterable(found.values()))
    for title, group in found.items():
        yield title
        for each in group:
            yield f"  {MARKS[each.state]:4}  {each.name:{wide}}  {each.found:{FOUND}}  {each.about}"
            if each.remedy:
                yield f"  {'':4}  {'':{wide}}  > {each.remedy}"
        yield ""
    yield f"Shopwright {__version__} {'can build here.' if works else 'cannot build here: see what is BAD.'}"


# --- packages ----------------------------------------------------------------------------------------------------------


def check_packages() -> list[Finding]:
    """What the project asks for, each with whether it is there in that range."""
    return [
        check_package(each)
        for each in read_requirements()[""]
        if each.marker is None or each.marker.evaluate({"extra": ""})
    ]


def check_package(asked: Any) -> Finding:
    """asked: a `packaging.requirements.Requirement`."""
    have, name = version_of(asked.name), normalize_package_name(asked.name)
    about = ABOUT.get(name, "")
    if have is None:
        return Finding(name, "bad", "not there", about, f"pip install '{asked}'")
    if not asked.specifier.contains(have, prereleases=True):
        return Finding(name, "look", f"{have}, not {asked.specifier}", about, f"pip install '{asked}'")
    return Finding(name, "ok", have, about)


def check_extras() -> list[Finding]:
    return [check_extra(name, asked) for name, asked in read_requirements().items() if name]


def check_extra(name: str, asked: list[Any]) -> Finding:
    about, install = EXTRAS.get(name, ("", ""))
    parts = [check_package(each) for each in asked if each.marker is None or each.marker.evaluate({"extra": name})]
    if not parts:
        return Finding(name, "none", "not for this Python", about, install)
    lacking = [each for each in parts if each.state != "ok"]
    if not lacking:
        return Finding(name, "ok", ", ".join(f"{each.name} {each.found}" for each in parts[:2]), about)
    there = [each for each in parts if each.found != "not there"]
    said = ", ".join(f"{each.name} {each.found}" for each in lacking[:2]) if there else "not installed"
    return Finding(name, "look" if there else "none", said, about, install or f"pip install 'shopwright[{name}]'")


def read_requirements() -> dict[str, list[Any]]:
    """The requirements of the installed package (under "") and of each extra, but for those that are extras themselves."""
    from packaging.requirements import Requirement

    names = ["", *(metadata("shopwright").get_all("Provides-Extra") or [])]
    found: dict[str, list[Requirement]] = {name: [] for name in names}
    for asked in map(Requirement, requires("shopwright") or []):
        wants = [name for name in names if asked.marker is None or asked.marker.evaluate({"extra": name})]
        for name in wants[:1]:  # what the project itself asks for, each extra would too
            if normalize_package_name(asked.name) != "shopwright":
                found[name].append(asked)
    return found


def version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def normalize_package_name(name: str) -> str:
    """
    >>> normalize_package_name("huggingface_hub")
    'huggingface-hub'
    """
    return name.lower().replace("_", "-")


# --- the machine -------------------------------------------------------------------------------------------------------


def check_machine(run: str) -> list[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    s3_keys = Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials")
    looks: list[Callable[[], Finding]] = [
        check_memory,
        lambda: check_disk(run),
        check_sandbox,
        check_gpu,
        check_chromium,
        check_prefect,
    ]
    return [
        Finding("python", "ok", python, "the language"),
        Finding(
            "cores", "ok", str(count_cores()), "so many processes build at a time, unless --workers says otherwise"
        ),
        *(look() for look in looks),
        check_key("Hub token", "publishes to the Hub: HF_TOKEN, or `hf auth login`", hub_places(), "HF_TOKEN"),
        check_key("S3 keys", "runs on s3://", [s3_keys], "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
        check_key("OPENAI_API_KEY", "model servers that want a key", [], "OPENAI_API_KEY"),
    ]


def check_memory() -> Finding:
    about = "shared by the processes that build: fewer --workers need less"
    with suppress(OSError, ValueError, KeyError):
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        total, free = (int(lines[name].split()[0]) / 2**20 for name in ("MemTotal", "MemAvailable"))
        return Finding(
            "memory", "ok" if free >= 1 else "look", f"{total:.1f} GiB, {free:.1f} free{describe_memory_limit()}", about
        )
    return Finding("memory", "look", "not known", about)


def describe_memory_limit() -> str:
    """That of the container, where it has one."""
    with suppress(OSError, ValueError):
        return f", at most {int(Path('/sys/fs/cgroup/memory.max').read_text()) / 2**30:.1f} here"
    return ""


def check_disk(run: str) -> Finding:
    """Where the run is, or would be."""
    folder, about = path_of(run), f"for {run}"
    if not is_here(folder):
        return Finding("disk", "ok", "elsewhere", about)
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(there).free / 2**30
    if not there.is_dir() or not os.access(there, os.W_OK):
        return Finding("disk", "bad", f"cannot write to {there}", about, "choose another folder, with --run")
    return Finding("disk", "ok" if free >= 1 else "look", f"{free:.1f} GiB free", about)


def check_sandbox() -> Finding:
    """The kernel's means, tried in a process of its own."""
    about = "code that agents write: rollouts, evaluate questions, models' SQL"
    if not (lacking := ask_missing_means()):
        return Finding("sandbox", "ok", ", ".join(MEANS), about)
    said = "; ".join(f"no {name}: {why}" for name, why in lacking.items())
    needed = find_means_needed(lacking, read_waived_means())
    return Finding("sandbox", "none" if needed else "look", said, about, "docs/sandbox.md")


def check_gpu() -> Finding:
    about = "vllm: in this process, and training; a model server may have its own elsewhere"
    with suppress(OSError, subprocess.SubprocessError):
        words = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
        output = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout
        if lines := output.strip().splitlines():
            return Finding("GPU", "ok", f"{len(lines)} x {lines[0]}", about)
    return Finding("GPU", "none", "none", about)


def check_chromium() -> Finding:
    about = "the tests of the pages, in a browser"
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    driver = version_of("playwright")
    said = ", ".join([*([found] if found else []), *([f"playwright {driver}"] if driver else [])])
    return Finding("chromium", "ok" if found and driver else "none", said or "none", about)


def check_prefect() -> Finding:
    """A server of this machine is asked; one elsewhere is only named."""
    url = os.environ.get("PREFECT_API_URL") or "http://127.0.0.1:4200/api"
    about = "flows, seen in the browser; without one they start their own"
    try:
        place = urlsplit(url)
        where = f"{place.hostname}:{place.port or (443 if place.scheme == 'https' else 80)}"  # never the name and password that may stand before it
    except ValueError:
        return Finding("Prefect server", "look", "PREFECT_API_URL is no address", about, "unset PREFECT_API_URL")
    if place.hostname not in ("127.0.0.1", "localhost", "::1"):
        return Finding("Prefect server", "ok", f"{where}, not asked", about)
    try:
        with urlopen(f"{url}/health", timeout=1) as reply:
            answers = reply.status == 200
    except (OSError, ValueError):
        answers = False
    return Finding("Prefect server", "ok" if answers else "none", where if answers else f"none at {where}", about)


def check_key(name: str, about: str, places: list[Path], *variables: str) -> Finding:
    """Whether there is one; never what it is."""
    there = [each for each in variables if os.environ.get(each)] + [str(path) for path in places if path.is_file()]
    return Finding(name, "ok" if there else "none", f"in {there[0]}" if there else "none", about)


def hub_places() -> list[Path]:
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return [Path(os.environ.get("HF_TOKEN_PATH") or home / "token")]
