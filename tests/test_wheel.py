"""The wheel, made from the sdist, in an environment of its own outside the repo, in a folder whose files have names like ours."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from shopwright import __version__
from shopwright.pipeline.extras import EXTRA_OF

HOME = Path(__file__).parents[1]
NAME = f"shopwright-{__version__}"
OURS = ("pipeline", "schemas", "flows", "prompts", "data/reference")
BLOCKED = "import sys\nsys.modules.update(dict.fromkeys({names}))\n"
"""A `sitecustomize`: as if no extra were installed."""
pytestmark = pytest.mark.slow


def run(*command, cwd, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PREFECT", "VIRTUAL"))}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Made from what the sdist holds, as `uv build` does it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=HOME)
    with tarfile.open(folder / f"{NAME}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=folder / NAME)
    return folder / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """Site-packages of an empty environment that holds the wheel alone; what it needs is found where these tests find it."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, symlinks=True, with_pip=False)
    (found,) = folder.glob("lib/python*/site-packages")
    words = ["install", "--quiet", "--no-deps", "--no-index", "--target", found, wheel]
    run(sys.executable, "-m", "pip", *words, cwd=folder)
    return found


@pytest.fixture
def python(site, tmp_path):
    """Runs the environment's Python in a folder with files that are called as ours are."""
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")  # lines of .pth files there are not followed
    for name in ("schemas.py", "pipeline.py", "flows.py", "prompts.py"):
        (tmp_path / name).write_text("raise AssertionError('a stray file was imported')\n")
    (tmp_path / "data" / "reference").mkdir(parents=True)
    (tmp_path / "prefect.toml").write_text("home = './stray'\n")
    binary = site.parents[2] / "bin" / "python"
    return lambda *words, **given: run(binary, *words, cwd=tmp_path, **given)


@pytest.fixture
def light(python, tmp_path):
    """The same without the packages of any extra."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text(BLOCKED.format(names=sorted(EXTRA_OF)))
    return lambda *words: python(*words, PYTHONPATH=str(tmp_path / "without"))


def test_the_installed_package_is_one_folder_and_its_facts(site):
    folders = {path.name for path in site.iterdir()} - {"bin", "needed.pth"}
    assert folders == {"shopwright", f"{NAME}.dist-info"}


def test_the_wheel_holds_every_file_of_the_code_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as packed:
        held = {name for name in packed.namelist() if not name.startswith(f"{NAME}.dist-info/")}
    tracked = run("git", "ls-files", *OURS, cwd=HOME).splitlines()
    assert held == {f"shopwright/{name}" for name in [*tracked, "__init__.py", "__main__.py", "py.typed"]}
    kinds = {Path(name).suffix for name in held}
    assert {".py", ".j2", ".grammar", ".toml", ".js", ".jinja", ".yaml", ".typed"} <= kinds


def test_it_is_imported_from_there_whatever_lies_in_the_folder(light, site):
    told = light("-c", "import shopwright; from shopwright import make, build; print(shopwright.__file__)")
    assert told == f"{site}/shopwright/__init__.py\n"
    assert light("-m", "shopwright", "--version") == f"shopwright {__version__}\n"


def test_it_builds_verifies_and_shows_without_any_extra(light, tmp_path):
    words = ("build", "personas", "--count", "20", "--products", "1200", "--run", "run", "--workers", "2")
    assert "report     run/report.html" in light("-m", "shopwright.pipeline", *words)
    assert "checks passed in run" in light("-m", "shopwright.pipeline", "verify", "run")
    assert "can build here." in light("-m", "shopwright.pipeline", "doctor")
    script = "from shopwright import make; print(make('cart_building', difficulty=6, seed=7).reset()['user'])"
    assert light("-c", script).strip()


def test_flows_run_from_it_with_settings_from_its_code(python, tmp_path):
    assert "everything" in python("-m", "shopwright.flows.release", "--help")
    words = ("catalog", "--products", "300", "--run", "run", "--workers", "1")
    python("-m", "shopwright.flows.build", *words)
    assert (tmp_path / "run" / "manifests" / "catalog.json").exists()
    assert (tmp_path / ".prefect").is_dir()
    assert not (tmp_path / "stray").exists()
