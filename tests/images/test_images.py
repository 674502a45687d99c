"""What images are made of, read as text: no daemon is asked. Where hadolint is there, it reads them, too."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from shopwright.pipeline.__main__ import parse_arguments
from shopwright.pipeline.playground.space import write_openenv_space
from shopwright.pipeline.problem import Problem

HOME = Path(__file__).parents[2]
NAMED = re.compile(r"[\w./-]+:(?!latest\b)[\w.-]+")


def read_instructions(path):
    """Each instruction and its words."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


def list_copied(instructions):
    """What is copied from the folder itself."""
    for name, words in instructions:
        if name == "COPY" and "--from" not in words:
            yield from [word for word in words.split()[:-1] if not word.startswith("--")]


def judge_file(path):
    """What is true of every image."""
    instructions = read_instructions(path)
    bases = [words.split()[0] for name, words in instructions if name == "FROM"]
    assert bases
    assert all(NAMED.fullmatch(base) for base in bases), bases
    users = [words for name, words in instructions if name == "USER"]
    assert users[-1].isdecimal()
    assert int(users[-1]) > 0
    for source in list_copied(instructions):
        assert (path.parent / source).exists(), source
    assert not [words for name, words in instructions if name in ("ADD", "MAINTAINER")]
    return instructions


def read_served(instructions):
    """What the image's command is to `shopwright`, with the ports that are open."""
    told = dict(instructions)
    words = json.loads(told["CMD"])
    options = parse_arguments(words[words.index("serve") :])
    assert str(options["port"]) in told["EXPOSE"].split()
    return options


@pytest.fixture
def space(small, tmp_path):
    return write_openenv_space(tmp_path / "space", str(small.folder))


def test_the_image_serves_its_own_shop_to_others_as_nobody_in_particular():
    instructions = judge_file(HOME / "Dockerfile")
    served = read_served(instructions)
    assert (served["host"], served["run"]) == ("0.0.0.0", "/shop")
    assert any(f"--chown=10001:10001 {served['run']}" in words for _, words in instructions)
    assert "SHOPWRIGHT_TOKEN=" not in (HOME / "Dockerfile").read_text()


def test_what_is_copied_is_not_ignored_and_nothing_else_is_sent():
    lines = (HOME / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert kept == set(list_copied(read_instructions(HOME / "Dockerfile")))


def test_the_package_that_is_installed_is_whole():
    """A build from what is copied has all that pyproject.toml packs."""
    import tomllib

    packed = tomllib.loads((HOME / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = set(list_copied(read_instructions(HOME / "Dockerfile")))
    assert all(any(each == one or each.startswith(f"{one}/") for one in copied) for each in packed["only-include"])


def test_the_services_have_pinned_images_open_to_this_machine_alone():
    services = yaml.safe_load((HOME / "compose.yaml").read_text())["services"]
    assert services.keys() == {"shop", "vllm", "evaluate"}
    for service in services.values():
        assert (
            NAMED.fullmatch(service["image"])
            if "image" in service
            else (HOME / service["build"] / "Dockerfile").exists()
        )
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        assert set(service.get("depends_on", {})) <= services.keys()
    asked = parse_arguments([each.replace("${MODEL}", "m") for each in services["evaluate"]["command"]])
    assert asked["run"] == "/shop"


def test_a_space_of_openenv_has_what_it_serves(space, small):
    served = read_served(judge_file(space / "Dockerfile"))
    assert (space / served["run"] / "env_tasks").is_dir()
    header = yaml.safe_load((space / "README.md").read_text().split("---\n")[1])
    assert (header["sdk"], header["app_port"]) == ("docker", served["port"])
    assert len(header["short_description"]) <= 60
    manifest = yaml.safe_load((space / "openenv.yaml").read_text())
    assert (manifest["spec_version"], manifest["port"]) == (1, served["port"])
    assert (space / Path(*manifest["app"].partition(":")[0].split("."))).with_suffix(".py").exists()
    wanted = (space / "requirements.txt").read_text().splitlines()
    assert {"openenv", "duckdb"} <= {re.match(r"[\w-]+", line)[0] for line in wanted}
    assert not any("extra" in line for line in wanted)
    assert not any(path.is_symlink() for path in space.rglob("*"))
    with pytest.raises(Problem, match="holds something already"):
        write_openenv_space(space, str(small.folder))


def test_a_space_of_a_run_without_tasks_is_refused(tmp_path):
    with pytest.raises(Problem, match="shopwright build env_tasks"):
        write_openenv_space(tmp_path / "space", str(tmp_path / "run"))


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not there")
def test_hadolint_finds_nothing(space):
    subprocess.run(["hadolint", HOME / "Dockerfile", space / "Dockerfile"], check=True)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("python:3.12-slim-bookworm", "python:latest"),
        ("USER 1000", "USER root"),
        ("requirements.txt .", "nothing.txt ."),
    ],
)
def test_a_file_with_a_fault_is_found(space, good, bad):
    path = space / "Dockerfile"
    path.write_text(path.read_text().replace(good, bad))
    with pytest.raises(AssertionError):
        judge_file(path)
