"""Builds whose words a model writes: what is counted, what it may cost, what is seen before, what is asked again."""

import json
from dataclasses import replace

import pytest

from shopwright.pipeline.__main__ import main
from shopwright.pipeline.models.base import Price, Sampling
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.preview import preview
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.recipe import read_recipe
from shopwright.pipeline.run import Run
from shopwright.schemas.record import Rejected
from tests.models.server import Plan, Server, drawn

COUNT = 40


def facts_of(body):
    return json.loads(body["messages"][1]["content"])


def writes(body):
    """A description as it is asked for."""
    facts = facts_of(body)
    words = f"Looks for {facts['looks for'][0]} and pays at most ${facts['pays at most for one thing, in dollars']}."
    return {"content": json.dumps({"description": words})}


def babbles(body):
    """Some never write a description that tells the facts, unless they are drawn anew."""
    if drawn({"who": facts_of(body)}) < 0.25 and body["seed"] < 1_000_000:
        return {"content": json.dumps({"description": "Somebody who shops."})}
    return writes(body)


def errs_once(body):
    first = len(body["messages"]) == 2
    return {"content": "Sure! Here it is:"} if first and drawn({"who": facts_of(body)}) < 0.5 else writes(body)


@pytest.fixture
def folder(tmp_path):
    """A run with a catalog, and no more."""
    Run(tmp_path / "run", seed=5, workers=1).build("catalog", products=1_200)
    return tmp_path / "run"


def models(server, **options):
    return Models(model=f"openai:toy@{server.url}", at_once=8, **options)


def command(folder, server, *more):
    model = ("--model", f"openai:toy@{server.url}") if server else ()
    words = ["build", "personas", "--run", folder, "--count", COUNT, *model, *more]
    return main([str(word) for word in words])


# What is counted


def test_what_was_asked_stands_in_the_manifest(folder):
    with Server(Plan(says=errs_once)) as server:
        manifest = Run(folder, models=models(server)).build("personas", count=COUNT)
        count = server.count
    asked = manifest.usage["personas"]
    first, again = asked["times"]
    assert (first, first + again) == (COUNT, count)
    assert again > 5
    assert (asked["role"], asked["model"], asked["faults"]) == ("writer", "openai:toy", 0)
    assert (asked["prompt_tokens"], asked["tokens"], asked["dollars"]) == (7 * count, 3 * count, 0)
    assert (manifest.requested, manifest.rows, manifest.rejected) == (COUNT, COUNT, 0)
    assert manifest.recipe.models == {"writer": f"openai:toy ({Sampling()})"}


def test_it_counts_every_shard_and_what_was_kept_too(folder):
    with Server(Plan(says=writes)) as server:
        run = Run(folder, models=models(server))
        first = run.build("personas", count=COUNT)
        again = run.build("personas", count=COUNT, rebuild=True)
        assert server.count == COUNT
    assert again.usage == first.usage


def test_without_a_model_nothing_was_asked(folder):
    assert Run(folder).build("personas", count=COUNT).usage == {}


def test_the_command_tells_rates_and_that_nothing_is_missing(folder, capfd):
    with Server(Plan(says=babbles)) as server:
        assert command(folder, server) == 0
    told = capfd.readouterr().out
    rejected = len(Run(folder).read("personas").quarantine)
    assert 2 < rejected < 20
    assert f"prompt personas: {COUNT} asked of openai:toy, {rejected / COUNT:.1%} sent back" in told
    sums = f"{COUNT} requested = {COUNT - rejected} accepted + {rejected} rejected + 0 pending"
    assert sums in told
    report = " ".join((folder / "report.html").read_text().split())
    assert f"{100 * (COUNT - rejected) / COUNT:.1f} %" in report
    assert "writer: openai:toy" in report
    assert f"rejected {rejected}: description: a description without taste or budget." in told


def test_rows_that_get_lost_are_told_and_the_exit_code_says_so(tmp_path, shopwright, toys, monkeypatch):
    from shopwright.pipeline.stages import all_stages

    toy = all_stages()["toys"]
    losing = replace(toy, planner=lambda **_: replace(toy.plan({}, {"count": 3}), rows=5))
    monkeypatch.setitem(all_stages(), "toys", losing)
    code, out, _ = shopwright("build", "toys", "--run", tmp_path / "run", "--count", 3, "--workers", 1)
    assert code == 1
    assert "5 requested = 1 accepted + 2 rejected + 2 pending" in out


# What it may cost


def test_it_stops_at_its_cost_and_goes_on_with_the_next_command(folder, tmp_path, capfd):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[prices.toy]\nprompt = 100_000.0\nreply = 100_000.0\n")  # a dollar for a reply of ten tokens
    with Server(Plan(says=writes)) as server:
        stop = ("--recipe", recipe, "--max-cost", 25, "--at-once", 4)
        assert command(folder, server, *stop) == 3
        told = capfd.readouterr().err
        assert "--max-cost 25 is used up. What is done is kept" in told
        assert 25 <= server.count < 25 + 4
        assert f"personas: {COUNT} requested = 0 accepted + 0 rejected + {COUNT} pending" in told
        assert f"({server.count} replies are kept)" in told
        assert command(folder, server, *stop) == 0
        assert server.count == COUNT
    assert Run(folder).read("personas").manifest.usage["personas"]["dollars"] == COUNT


def test_a_cost_without_a_price_is_told_before_anything_is_asked(folder, capfd):
    with Server(Plan(says=writes)) as server:
        assert command(folder, server, "--max-cost", 1) == 2
        assert server.count == 0
    assert '[prices."toy"]' in capfd.readouterr().err


def test_there_is_one_budget_for_all_that_a_command_builds(folder):
    with Server(Plan(says=writes)) as server:
        bounded = models(server, max_tokens=10 * COUNT)
        Run(folder, models=bounded).build("personas", count=COUNT)
        assert bounded.limits.spent_tokens == 10 * COUNT
        with pytest.raises(Problem, match="are used up"):
            Run(folder, models=replace(bounded, fresh=True)).build("personas", count=COUNT, rebuild=True)
        assert server.count == COUNT


# The recipe file


def test_sampling_and_settings_come_from_the_recipe_and_the_command_line_goes_before(folder, tmp_path):
    recipe = tmp_path / "recipe.toml"
    with Server(Plan(says=writes)) as server:
        recipe.write_text(
            f'seed = 5\n[settings]\ncount = 3\nper_trajectory = 9\n[models]\nwriter = "openai:toy@{server.url}"\nat_once = 2\n'
            "[sampling.writer]\ntemperature = 0.25\nmax_tokens = 77\n[sampling.judge]\ntemperature = 0.0\n"
        )
        assert main(["build", "personas", "--run", str(folder), "--recipe", str(recipe), "--count", "4"]) == 0
        assert server.count == 4
        assert {(body["temperature"], body["max_tokens"], body["top_p"]) for body in server.bodies} == {(0.25, 77, 1.0)}
    made = Run(folder).read("personas").manifest.recipe
    assert made.settings["count"] == 4
    assert "temperature 0.25" in made.models["writer"]


def test_another_sampling_is_another_recipe(folder):
    with Server(Plan(says=writes)) as server:
        Run(folder, models=models(server)).build("personas", count=3)
        warm = models(server, sampling={"writer": Sampling(temperature=1.0)})
        with pytest.raises(Problem, match=r"writer .*temperature 0\.7.* -> .*temperature 1"):
            Run(folder, models=warm).build("personas", count=3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[modles]\n", "modles: Extra inputs are not permitted."),
        ("[models]\nat_once = 0\n", "models.at_once: Input should be greater than or equal to 1."),
        ("[sampling.cook]\ntop_p = 1.0\n", "sampling.cook"),
        ("[sampling.writer]\ntemperature = 'hot'\n", "sampling.writer.temperature"),
        ("[prices.toy]\nprompt = -1.0\nreply = 1.0\n", "prices.toy.prompt"),
        ("[prices.toy]\nprompt = 1.0\n", "prices.toy.reply: Field required."),
        ("[settings]\ncuont = 3\n", "[settings] cuont: no dataset has it."),
        ("[settings]\n'nothing.count' = 3\n", "[settings] nothing.count: no dataset has it."),
        ("count = ", "is not TOML"),
        ("[models]\nmodel = 'gpt'\n", "There is no model 'gpt'."),
    ],
)
def test_what_is_wrong_in_a_recipe_is_told_with_its_place(tmp_path, shopwright, text, said):
    (tmp_path / "recipe.toml").write_text(text)
    code, _, err = shopwright("build", "personas", "--run", tmp_path / "run", "--recipe", tmp_path / "recipe.toml")
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_recipe_that_is_not_there_is_told(tmp_path, shopwright):
    code, _, err = shopwright("build", "personas", "--run", tmp_path / "run", "--recipe", tmp_path / "none.toml")
    assert (code, "No such file" in err) == (2, True)


def test_a_recipe_serves_several_datasets(tmp_path):
    (tmp_path / "recipe.toml").write_text('[settings]\ncount = 3\nper_trajectory = 9\n"catalog.products" = 1_300\n')
    found = read_recipe(str(tmp_path / "recipe.toml"))
    assert found.settings_of("catalog") == {"catalog.products": 1_300}
    assert found.settings_of("personas") == {"personas.count": 3, "catalog.products": 1_300}
    assert found.settings_of("questions")["questions.per_trajectory"] == 9


# Before money is spent


def test_a_preview_shows_rows_prompts_and_replies_and_adds_nothing(folder, capfd):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with Server(Plan(says=babbles)) as server:
        assert command(folder, server, "--preview", 5) == 0
        assert server.count >= 5
        assert len({json.dumps(facts_of(body)) for body in server.bodies}) == 5
    told = capfd.readouterr().out
    assert told.count("=== conversation") == server.count
    assert told.count("=== row") == 5
    assert "You write short, plain descriptions" in told
    assert '"description": "' in told
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before
    assert {path.parent.name for path in after if path not in before} == {"replies"}


def test_what_a_preview_paid_for_is_not_paid_for_again(folder):
    with Server(Plan(says=writes)) as server:
        run = Run(folder, models=models(server))
        seen = preview(run, "personas", 5, count=COUNT)
        preview(run, "personas", 5, count=COUNT)
        assert server.count == 5
        run.build("personas", count=COUNT)
        assert server.count == COUNT
    rows = [row.model_dump(mode="json") for row in run.read("personas").head(5)]
    assert [seen_row.row["description"] for seen_row in seen.rows] == [row["description"] for row in rows]
    assert [seen_row.reasons for seen_row in seen.rows] == [[]] * 5


def test_a_preview_says_why_a_row_would_be_turned_away(folder):
    with Server(Plan(says=lambda body: {"content": '{"description": "No."}'})) as server:
        seen = preview(Run(folder, models=models(server)), "personas", 2, count=COUNT)
    assert [row.reasons for row in seen.rows] == [["description: a description without taste or budget."]] * 2
    assert [len(said) for _, said in seen.conversations] == [3, 3]


def test_the_projection_is_what_the_whole_then_takes(folder):
    with Server(Plan(says=writes, latency=lambda _: 0.1)) as server:
        prices = {"toy": Price(prompt=2.0, reply=4.0)}
        run = Run(folder, models=models(server, prices=prices))
        told = preview(run, "personas", 5, count=COUNT).projection
        made = run.build("personas", count=COUNT).usage["personas"]
    assert (told.rows, told.prompts) == (COUNT, sum(made["times"]))
    assert (told.prompt_tokens, told.tokens) == (made["prompt_tokens"], made["tokens"])
    assert told.dollars == pytest.approx(made["dollars"])
    assert told.seconds >= 0.1 * COUNT / 8  # so long it takes at the least, eight at a time


def test_a_preview_without_a_model_asks_nothing(folder, capfd):
    assert command(folder, None, "--preview", 2) == 0
    told = capfd.readouterr().out
    assert told.count("=== row") == 2
    assert "prompts    none" in told
    assert not (folder / "personas").exists()


def test_a_preview_does_not_have_a_model_write_what_comes_before(folder):
    with Server(Plan(says=writes)) as server:
        with pytest.raises(Problem, match="preview or build personas first"):
            preview(Run(folder, models=models(server)), "trajectories", 1)
        assert server.count == 0


def test_a_preview_for_scripts_is_json(folder, capfd):
    with Server(Plan(says=writes)) as server:
        assert command(folder, server, "--preview", 2, "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert len(found["rows"]) == len(found["conversations"]) == 2
    assert found["conversations"][0]["turns"][0]["reply"]["tokens"] == 3


# Asked again


def test_rows_turned_away_are_asked_for_again_and_the_others_stay(folder, capfd):
    with Server(Plan(says=babbles)) as server:
        assert command(folder, server) == 0
        held = {row.id for row in Run(folder).read("personas").quarantine}
        before = {row.id: row for row in Run(folder).read("personas")}
        asked = server.count
        assert command(folder, server, "--requeue", "without taste") == 0
        assert f"{len(held)} rows of personas are asked for again" in capfd.readouterr().err
        assert server.count == asked + len(held)
    after = {row.id: row for row in Run(folder).read("personas")}
    assert len(Run(folder).read("personas").quarantine) == 0
    assert {id: after[id] for id in before} == before
    assert after.keys() == before.keys() | held


def test_what_was_asked_anew_is_kept_too(folder):
    with Server(Plan(says=babbles)) as server:
        run = Run(folder, models=models(server))
        run.build("personas", count=COUNT)
        run.requeue("personas", "taste or budget")
        fingerprint = run.build("personas", count=COUNT).fingerprint
        asked = server.count
        assert run.build("personas", count=COUNT, rebuild=True).fingerprint == fingerprint
        assert server.count == asked


def test_a_reason_that_no_row_has_is_told_with_those_there_are(folder):
    with Server(Plan(says=babbles)) as server:
        run = Run(folder, models=models(server))
        run.build("personas", count=COUNT)
        before = run.read("personas").manifest
        with pytest.raises(Problem, match=r"for 'rain'\. Reasons there: description: a description without taste"):
            run.requeue("personas", "rain")
        assert run.read("personas").manifest == before


@pytest.mark.parametrize("more", [(), ("--writer", "openai:another@http://127.0.0.1:1/v1"), ("--count", COUNT + 1)])
def test_what_would_be_made_differently_is_not_asked_for_again_and_stays(folder, capfd, more):
    with Server(Plan(says=babbles)) as server:
        assert command(folder, server) == 0
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        model = server if "--count" in more else None
        assert command(folder, model, "--requeue", "taste", *more) == 2
    assert "was made differently: " in capfd.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_rows_that_no_model_wrote_cannot_be_asked_for_again(folder):
    run = Run(folder)
    with pytest.raises(Problem, match="build it first"):
        run.requeue("personas", "anything")
    run.build("personas", count=COUNT)
    with pytest.raises(Problem, match="No row of personas that a model wrote"):
        run.requeue("personas", "anything")


def test_every_reject_has_its_tries_and_raw_replies(folder):
    with Server(Plan(says=lambda body: {"content": f"no {body['seed']}"})) as server:
        Run(folder, models=models(server)).build("personas", count=3)
    for held in Run(folder).read("personas").quarantine:
        assert isinstance(held, Rejected)
        number = int(held.id[-7:])
        tries = json.loads(held.record)["tries"]
        assert [one["reply"] for one in tries] == [f"no {number + more}" for more in (0, 1, 2)]
        assert {one["wrong"] for one in tries} == {"the reply is not JSON."}
        assert all(one["key"] for one in tries)
