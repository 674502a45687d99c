"""The command line: what it prints for people and for scripts, and that what the README says can be typed."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shopwright.flows import release
from shopwright.pipeline.__main__ import build_dataset, main, make_parser, parse_arguments
from shopwright.pipeline.commands.completion import list_completion_places
from shopwright.pipeline.commands.models import models_given
from shopwright.pipeline.commands.overview import COMMANDS
from shopwright.pipeline.recipe import RecipeFile, read_recipe
from shopwright.pipeline.run import Run, setting_names
from shopwright.pipeline.stages import all_stages, upstream
from tests.folders import checksums

HOME = Path(__file__).parents[1]
README = (HOME / "README.md").read_text(encoding="utf-8")
PYTHON = [sys.executable, "-m", "shopwright"]


# --- list --------------------------------------------------------------------------------------------------------------


def test_list_names_every_dataset_its_inputs_and_settings(small, shopwright):
    code, out, err = shopwright("list", "--run", small.folder)
    assert (code, err) == (0, "")
    for name, stage in all_stages().items():
        lines = out.splitlines()
        (first,) = [place for place, line in enumerate(lines) if line.startswith(f"{name} ")]
        assert f"{small.read(name).manifest.rows:,}" in lines[first]
        assert stage.about in lines[first]
        if stage.reads:
            assert lines[first + 1].endswith(f" reads {', '.join(stage.reads)}")
    assert "--tokens 32k,64k" in out
    assert "--per-category 12" in out  # as it is typed
    assert not re.search(r"--\S+ (None|False)\b", out)


def test_list_tells_scripts_in_json(small, tmp_path, shopwright):
    told = json.loads(shopwright("list", "--json", "--run", small.folder)[1])
    assert [one["dataset"] for one in told] == list(all_stages())
    assert all(one.keys() == {"dataset", "rows", "reads", "settings", "about"} for one in told)
    assert told[0]["rows"] == 1_200
    nothing = json.loads(shopwright("list", "--json", "--run", tmp_path)[1])
    assert [one["rows"] for one in nothing] == [None] * len(told)


# --- build -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path):
    rows = [f"item-{n},Lamp number {n},{10 + n},Lamps" for n in range(40)]
    (tmp_path / "shop.csv").write_text("\n".join(["id,title,price,category", *rows, "item-40,,3,Lamps"]))
    return ("--source", tmp_path / "shop.csv", "--run", tmp_path / "run", "--workers", 1)


def test_build_ends_with_what_there_is_and_where(shopwright, shop, tmp_path):
    code, out, err = shopwright("build", "personas", *shop, "--count", 5)
    assert code == 0
    assert re.search(r"^catalog +40 +- +1 +\S+/run/catalog$", out, re.MULTILINE)
    assert re.search(r"^personas +5 +- +\d +\S+/run/personas$", out, re.MULTILINE)
    assert "catalog: rejected 1: title missing" in out
    for line in out.splitlines()[-3:]:
        if "(none)" not in line:
            assert Path(line.split()[-1]).exists(), line
    assert "\r" not in err
    assert "\x1b" not in err + out


def test_build_tells_scripts_in_json(shopwright, shop):
    code, out, _ = shopwright("build", "personas", *shop, "--count", 5, "--json")
    told = json.loads(out)
    assert code == 0
    assert [one["dataset"] for one in told] == ["catalog", "personas"]
    assert {"rows", "rejected", "rejects", "tokens", "recipe", "files", "seconds"} <= told[0].keys()
    assert told[0]["rejects"] == {"title missing": 1}


def test_a_build_elsewhere_than_on_a_terminal_tells_its_progress_in_lines(shopwright, shop):
    told = shopwright("build", "personas", *shop, "--count", 5)[2].splitlines()
    assert told[0] == "catalog: 1 shard to make"
    assert re.fullmatch(r"catalog: 40 rows, 1 rejected, \d+\.\d s on 1 worker", told[1])
    assert told[2] == "personas: 1 shard to make"
    assert len(told) == 4


def on_a_terminal(*words):
    """What a command writes to a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PYTHON, *map(str, words)], stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # its other end is closed
            break
        if not chunk:
            break
        told += chunk
    os.close(ours)
    return process.wait(), told.decode()


def test_a_build_on_a_terminal_shows_a_bar_and_ends_as_ever(shop, tmp_path):
    code, told = on_a_terminal("build", "personas", *shop, "--count", 5)
    assert code == 0, told
    assert re.search(r"personas .*1 shards|1/1 shards", told)
    assert "rows/s" in told
    assert "personas: 5 rows" in told
    assert Run(tmp_path / "run").read("personas").manifest.rows == 5


def test_the_seed_and_settings_of_the_command_line_reach_the_recipe(shopwright, shop, tmp_path):
    assert shopwright("build", "personas", *shop, "--count", 5, "--seed", 7, "--catalog.promoted", 0.5)[0] == 0
    run = Run(tmp_path / "run")
    assert {run.read(name).manifest.recipe.seed for name in ("catalog", "personas")} == {7}
    assert run.read("catalog").manifest.recipe.settings["promoted"] == 0.5
    assert any(product.promotions for product in run.read("catalog"))


def test_build_writes_a_report_that_needs_no_network(shopwright, shop, tmp_path):
    shopwright("build", "personas", *shop, "--count", 5)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "personas" in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)


def test_where_nothing_is_made_the_report_stays_and_else_it_is_written_again(shopwright, shop, tmp_path):
    report = tmp_path / "run" / "report.html"
    build = ("build", "personas", *shop, "--count", 5)
    shopwright(*build)
    report.write_text("as it was")
    assert shopwright(*build)[0] == 0
    assert report.read_text() == "as it was"
    for words in ((*build, "--rebuild"), ("build", "variants", *shop)):
        assert shopwright(*words)[0] == 0
        assert words[1] in report.read_text()
        report.write_text("as it was")
    report.unlink()
    assert shopwright(*build)[0] == 0
    assert report.exists()


# --- show --------------------------------------------------------------------------------------------------------------


def test_show_prints_the_first_rows(small, shopwright):
    code, out, err = shopwright("show", "personas", "-n", 2, "--run", small.folder)
    assert (code, err) == (0, "")
    assert re.findall(r"^id +(\S+)$", out, re.MULTILINE) == [person.id for person in small.read("personas").head(2)]


def test_show_shortens_what_is_long(small, shopwright):
    out = shopwright("show", "trajectories", "-n", 1, "--run", small.folder)[1]
    assert "more lines" in out
    assert max(map(len, out.splitlines())) < 230


def test_show_tells_scripts_in_json(small, shopwright):
    told = json.loads(shopwright("show", "catalog", "-n", 2, "--json", "--run", small.folder)[1])
    made = all_stages()["catalog"].makes
    assert [made.model_validate(one) for one in told] == small.read("catalog").head(2)


def test_show_rejected_prints_what_is_in_quarantine_and_why(shopwright, shop, tmp_path):
    shopwright("build", "catalog", *shop)
    where = ("--run", tmp_path / "run")
    assert "title missing" in shopwright("show", "catalog", "--rejected", *where)[1]
    told = json.loads(shopwright("show", "catalog", "--rejected", "--json", *where)[1])
    assert [one["reasons"] for one in told] == [["title missing"]]


def test_show_says_when_there_is_nothing_to_show(small, shopwright):
    code, out, _ = shopwright("show", "catalog", "--rejected", "--run", small.folder)
    assert (code, out) == (0, "No rows of catalog are in quarantine.\n")


@pytest.mark.parametrize(("rows", "reader"), [(1_000, "head -n 1"), (1, "true")])
def test_a_reader_that_has_enough_ends_the_command_quietly(small, rows, reader):
    command = shlex.join([*PYTHON, "show", "catalog", "-n", str(rows), "--run", str(small.folder)])
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    words = ["bash", "-c", f"{command} | {reader}; echo ${{PIPESTATUS[0]}}"]
    done = subprocess.run(words, env=buffered, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0\n")
    assert done.stderr == ""


# --- publish, serve ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("publish", "a/run"), "Say where to: --repo user/name, or --to FOLDER."),
        (("serve", "--run", "a/run"), "a/run has no tasks to play. Build some: shopwright build env_tasks --run a/run"),
    ],
)
def test_publish_and_serve_tell_what_they_need(shopwright, words, said):
    assert shopwright(*words) == (2, "", f"shopwright: error: {said}\n")


# --- help --------------------------------------------------------------------------------------------------------------


def help_of(capfd, *words):
    with pytest.raises(SystemExit) as ended:
        parse_arguments([*words, "--help"])
    assert ended.value.code == 0
    return capfd.readouterr().out


def test_bare_words_help_and_no_command_is_imported_for_it(capfd):
    asks = "import sys; from shopwright.pipeline.__main__ import main; main(sys.argv[1:])"
    names = "print(*sys.modules)"
    found = []
    for words in ([], ["--help"], ["-h"]):
        told = f"import atexit, sys; atexit.register(lambda: {names}); {asks}"
        ran = subprocess.run([sys.executable, "-c", told, *words], capture_output=True, check=True, text=True)
        help, modules = ran.stdout.rsplit("\n", 2)[:2]
        assert not re.search(r"pipeline\.(stages|commands\.build)|pydantic|numpy", modules)
        found.append(help)
    assert found[0] == found[1] == found[2]
    assert all(re.search(rf"^    {name}\b", found[0], re.MULTILINE) for name in COMMANDS)


PLACES = {tuple(place.path.split()): place for place in list_completion_places(make_parser())}
WITHOUT_JSON = {"build", "audit", "evaluate", "serve", "browse", "play", "report", "init", "completion"}
"""Those that are followed by another word, go on until they are stopped, or print no more than a place or a script."""


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
def test_help_has_an_example_that_can_be_typed(capfd, words):
    told = help_of(capfd, *words)
    examples = re.findall(r"^  (shopwright .*)$", told, re.MULTILINE)
    assert examples
    for example in examples:
        typed = shlex.split(example.partition(" > ")[0])[1:]
        assert parse_arguments(typed)["command"] in COMMANDS
        assert typed[: len(words)] == list(words)


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
def test_what_is_worth_parsing_can_be_had_as_json(words):
    assert not words or "--json" in PLACES[words].options or (len(words) == 1 and words[0] in WITHOUT_JSON)


@pytest.mark.parametrize("name", list(all_stages()))
def test_help_tells_every_setting_of_a_dataset_and_of_what_it_reads(capfd, name):
    told = " ".join(help_of(capfd, "build", name).split())
    for setting in setting_names(name):
        assert f"--{setting.replace('_', '-')}" in told
    for each in upstream(name):
        for setting in all_stages()[each].settings.values():
            assert setting.about in told.replace("%%", "%")
    for option in ("--run", "--seed", "--workers", "--rebuild", "--json"):
        assert option in told


# --- did you mean -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bulid",), "There is no command bulid. Did you mean build?"),
        (("build", "trajectorys"), "There is no dataset trajectorys. Did you mean trajectories?"),
        (("build", "env-tasks"), "There is no dataset env-tasks. Did you mean env_tasks?"),
        (("show", "Persona"), "There is no dataset Persona. Did you mean personas?"),
        (("audit", "env"), "There is no env to audit. Did you mean envs?"),
        (("evaluate", "everything"), "There is no everything to evaluate. There are: envs, questions, "),
        (("build", "personas", "--cuont=3"), "personas has no setting --cuont=3. Did you mean --count?"),
        (
            ("build", "questions", "--sold-out", "1"),
            "questions has no setting --sold-out 1. It has: --per-trajectory, ",
        ),
        (("build", "personas", "--worker", "3"), "personas has no setting --worker 3. Did you mean --workers?"),
        (("show", "personas", "--reject"), "show does not take --reject. Did you mean --rejected?"),
        (("audit", "envs", "--level", "3"), "audit does not take --level 3. Did you mean --levels?"),
        (("evaluate", "envs", "--envs", "cart_bulding"), "There is no env cart_bulding. Did you mean cart_building?"),
        (("build", "env_tasks", "--envs", "policy"), "There is no env policy. "),
        (("init", "--datasets", "personas,question"), "There is no dataset question. Did you mean questions?"),
    ],
)
def test_what_was_meant_is_told_in_one_line(shopwright, words, said):
    code, out, err = shopwright(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"shopwright: error: {said}")
    assert err.count("\n") == 1


# --- init --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def recipe(tmp_path, shopwright):
    """A recipe as it is written, to build these."""

    def written(datasets):
        path = tmp_path / "my-recipe.toml"
        assert shopwright("init", path, "--datasets", datasets)[0] == 0
        return path

    return written


def test_a_recipe_has_every_setting_with_its_help_and_default(recipe):
    text = recipe("questions").read_text()
    for name, stage in all_stages().items():
        assert re.search(rf'^  (# )?"{name}",  # {re.escape(stage.about)}$', text, re.MULTILINE)
        for setting in stage.settings.values():
            (line,) = re.findall(rf'^(?:# )?"{name}.{setting.name}" = (.*)$', text, re.MULTILINE)
            assert line.endswith(f"  # {setting.about}")


def test_a_recipe_changes_nothing_until_it_is_edited_and_every_line_may_be_taken(recipe, tmp_path):
    text = recipe("questions").read_text()
    whole = tmp_path / "whole.toml"
    whole.write_text(re.sub(r"^( *)# (\"|\w+ = |\[)", r"\1\2", text, flags=re.MULTILINE))
    assert whole.read_text().count("\n# ") < text.count("\n# ") - 40
    asis, full = read_recipe(str(tmp_path / "my-recipe.toml")), read_recipe(str(whole))
    assert asis.datasets == ["questions"]
    assert asis.model_options() == {}
    assert full.datasets == list(all_stages())
    assert {"model", "roles", "at_once", "max_cost", "prices", "sampling", "engine"} <= full.model_options().keys()
    for name, stage in all_stages().items():
        for found in (asis, full):
            for key, value in found.settings_of(name).items():
                owner, _, setting = key.partition(".")
                default = all_stages()[owner].settings[setting].default
                assert default is None or all_stages()[owner].settings[setting].parse(value) == stage_default(
                    owner, setting
                )
        assert {f"{name}.{setting}" for setting in stage.settings} <= full.settings_of(name).keys()


def stage_default(owner, setting):
    found = all_stages()[owner].settings[setting]
    return found.parse(found.default)


def test_build_takes_a_recipe_as_it_is_written(recipe, shopwright, tmp_path):
    few = ("--products", 1_200, "--count", 4, "--tokens", "4k")
    words = ("build", "trajectories", "--recipe", recipe("questions"), *few, "--run", tmp_path / "run", "--workers", 1)
    assert shopwright(*words)[0] == 0
    assert Run(tmp_path / "run").read("trajectories").manifest.rows == 4


@pytest.mark.slow
def test_a_release_takes_a_recipe_as_it_is_written(recipe, tmp_path, capfd):
    words = [recipe("personas"), "--run", tmp_path / "run", "--scale", 0.01, "--workers", 1]
    assert release.main(list(map(str, words)), build_dataset) == 0
    assert Run(tmp_path / "run").read("personas").manifest.rows == 2
    assert "checks passed" in capfd.readouterr().out


def test_a_recipe_that_is_there_is_left_as_it_is(recipe, shopwright, tmp_path):
    path = recipe("questions")
    path.write_text("mine")
    code, out, err = shopwright("init", path)
    assert (code, out, path.read_text()) == (2, "", "mine")
    assert "is there already, and stays as it is" in err
    assert "Cannot write" in shopwright("init", tmp_path / "nowhere" / "r.toml")[2]


# --- the README --------------------------------------------------------------------------------------------------------


def commands(tool):
    """The lines of the README's shell blocks that run a tool."""
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [words[1:] for line in lines if (words := shlex.split(line, comments=True)) and Path(words[0]).name == tool]


def test_the_readmes_commands_can_be_typed():
    assert commands("shopwright")
    for words in commands("shopwright"):
        assert parse_arguments(words)


def test_the_readmes_make_targets_are_there():
    targets = re.findall(r"^([a-z-]+):.*##", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert commands("make")
    for words in commands("make"):
        assert {word for word in words if "=" not in word} <= set(targets)


def test_the_quick_tests_are_there_and_build_no_run(request):
    words = shlex.split(subprocess.check_output(["make", "-n", "test-quick", "SINCE=HEAD"], cwd=HOME, text=True))
    assert "not slow and not built" in words
    folders = [word for word in words if word.startswith("tests/")]
    assert folders
    assert all((HOME / each).exists() for each in folders)
    assert request.node.get_closest_marker("built") is None


def test_what_looks_at_a_built_run_is_marked_so(request, small):
    assert request.node.get_closest_marker("built")


def test_the_table_of_the_docs_is_that_of_the_datasets():
    index = (HOME / "docs" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`(\w+)`\]\(datasets/\1.md\) \|.*\| ([^|]*) \|$", index, re.MULTILINE)
    assert [name for name, _ in rows] == list(all_stages()), "one row a dataset, in the order of `shopwright list`"
    for name, made_from in rows:
        if reads := all_stages()[name].reads:
            assert re.findall(r"`(\w+)`", made_from) == reads, f"{name} is made from {', '.join(reads)}, in this order"


@pytest.mark.parametrize("page", ["README.md", "docs/how-to.md", "docs/papers/shoptrajqa.md"])
def test_a_pages_lines_of_python_work(small, tmp_path, page):
    """From top to bottom, with the small run where the page names the demo."""
    text = (HOME / page).read_text(encoding="utf-8")
    code = "".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    code = code.replace("data/runs/demo", str(small.folder)).replace('"64k"', '"6k"').replace("3-32k", "3-6k")
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, **offline}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if page == "README.md":
        assert small.read("trajectories").head(1)[0].text[:100] in done.stdout


def test_looking_changes_nothing(copy, shopwright):
    before = checksums(copy.folder)
    for words in (("list", "--run"), ("show", "catalog", "--run")):
        assert shopwright(*words, copy.folder)[0] == 0
    assert checksums(copy.folder) == before


def test_a_server_at_which_nobody_listens_is_told_at_once(capsys):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        live = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        assert models_given({"model": f"openai:x@{live}"}, RecipeFile()) is not None
        assert capsys.readouterr().err == ""
    models_given({"model": f"openai:x@{live}"}, RecipeFile())
    assert f"No server listens at {live} now." in capsys.readouterr().err


def test_help_says_what_a_value_is(capsys):
    with pytest.raises(SystemExit):
        main(["build", "questions", "--help"])
    told = capsys.readouterr().out
    assert "--per-trajectory INT" in told
    assert "--bank FOLDER" in told
    assert "--mix paper|life" in told
