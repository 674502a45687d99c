"""What cheap players can pass is not published, unless it is asked for."""

import pytest

from shopwright.pipeline.envs.evaluate import EnvTasks
from shopwright.pipeline.evaluate.audit import AuditCell, write_audit
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.publish import audited

EPISODES = 200


@pytest.fixture
def keep_audit(copy):
    """Leaves an audit in the run, in which a player succeeds in so many of 200 tasks of each environment."""

    def keep(successes, *, made="", level=3, envs=()):
        envs = sorted(envs or audited.list_envs(copy))
        share, parts = measure_share(successes, EPISODES), {"reward": -0.5}
        cells = [AuditCell({"env": env, "level": level}, "lexical", share, parts) for env in envs]
        verdict = EnvTasks(None, envs, [level], range(1)).judge(cells)
        facts = {"made": made or audited.fingerprint_shop(copy), **verdict.to_json()}
        write_audit(copy.folder, EnvTasks.name, facts | {"cells": [cell.to_json() for cell in cells]})

    return keep


def publish_tasks(shopwright, copy, to, *more):
    return shopwright("publish", copy.folder, "--to", to, "--unverified", "--only", "env_tasks", *more)


def test_a_run_in_which_a_cheap_player_passes_is_not_published(shopwright, copy, keep_audit, tmp_path):
    keep_audit(100)
    code, _, err = publish_tasks(shopwright, copy, tmp_path / "hub")
    assert code == 1
    assert "lexical succeeds in" in err
    assert not (tmp_path / "hub").exists()
    assert publish_tasks(shopwright, copy, tmp_path / "hub", "--unaudited")[0] == 0


def test_a_run_that_passes_is_published(shopwright, copy, keep_audit, tmp_path):
    keep_audit(10)
    assert publish_tasks(shopwright, copy, tmp_path / "hub")[0] == 0


@pytest.mark.parametrize("other", [{"made": "another shop"}, {"level": 0}])
def test_an_audit_of_another_shop_or_of_levels_without_bounds_does_not_count(copy, keep_audit, other):
    keep_audit(10)
    assert not audited.read_verdict(copy).failed
    keep_audit(10, **other)
    assert audited.read_verdict(copy) is None


def test_an_audit_of_some_environments_counts_where_it_fails(copy, keep_audit):
    some = sorted(audited.list_envs(copy))[:1]
    keep_audit(100, envs=some)
    assert audited.read_verdict(copy).failed
    keep_audit(10, envs=some)
    assert audited.read_verdict(copy) is None


def test_a_run_without_a_current_audit_is_audited_first(shopwright, copy, tmp_path, monkeypatch):
    monkeypatch.setattr(audited, "LEVELS", (3,))
    monkeypatch.setattr(audited, "EPISODES", 1)
    monkeypatch.setattr("shopwright.pipeline.envs.learnt_words.TASKS", 2)
    _, _, err = publish_tasks(shopwright, copy, tmp_path / "hub")
    assert "a small audit" in err  # of one episode it may find anything
    assert audited.read_verdict(copy) is not None


def test_only_what_is_made_from_environments_asks_for_an_audit(small):
    assert not audited.has_environments(small, ["catalog", "questions"])
    assert audited.has_environments(small, ["catalog", "env_tasks"])
    assert audited.has_environments(small, ["rl_envs"])
