"""What people read in Prefect is what the manifests say."""

from shopwright.flows.artifacts import datasets, links, make_artifact_key, rejects


def test_each_dataset_has_a_row_with_its_figures(small):
    made = small.manifests()
    found = {row["dataset"]: row for row in datasets(made)}
    trajectories = small.read("trajectories")
    assert set(found) == {each.dataset for each in made}
    assert found["trajectories"]["rows"] == len(trajectories)
    assert found["trajectories"]["tokens"] == sum(trajectories.table(["tokens"])["tokens"].to_pylist())
    assert found["trajectories"]["bytes"] == sum(path.stat().st_size for path in trajectories.files)
    assert found["catalog"]["tokens"] is None


def test_rejects_are_told_by_reason_the_most_frequent_first(small):
    made = small.manifests()
    found = rejects(made)
    assert sum(row["rows"] for row in found) == sum(sum(each.rejects.values()) for each in made)
    assert [row["rows"] for row in found] == sorted((row["rows"] for row in found), reverse=True)


def test_a_release_that_failed_says_first_why():
    assert links("r", {}, "2 checks fail").splitlines()[0] == "**Failed, nothing was published:** 2 checks fail"
    assert "Failed" not in links("r", {})


def test_a_release_in_a_folder_names_it():
    assert "| laid out in | `hub` |" in links("r", {"folder": "hub"})


def test_time_lines_have_names_that_prefect_takes():
    assert make_artifact_key("Nightly (small)", "datasets") == "nightly-small-datasets"
