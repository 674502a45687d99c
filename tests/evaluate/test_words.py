"""`shopwright evaluate words`: frames of each family, what a question copies into its SQL, and people's texts."""

import json

import pytest

from shopwright.pipeline.commands.words import list_question_facts, measure_copied_runs, read_openings, read_questions
from shopwright.pipeline.evaluate.frames import count_frames, mask_facts


def test_all_families_of_a_run_are_counted(shopwright, small):
    code, out, _ = shopwright("evaluate", "words", "--run", small.folder, "--json")
    found = json.loads(out)
    families = {each["name"]: each for each in found["words"] if ":" not in each["name"]}
    assert code == 0
    assert set(families) == {"questions", "openings", "rationales", "thoughts"}
    for name, dataset in (("questions", "questions"), ("openings", "env_tasks")):
        assert families[name]["texts"] == len(small.read(dataset))
    parts = {each["name"]: each["texts"] for each in found["words"]}
    assert families["openings"]["texts"] == sum(n for name, n in parts.items() if name.startswith("openings: "))
    assert found["two_sample"] == {}


def test_a_frame_of_the_test_that_training_has_is_counted():
    texts = [("how many _ ?", "train"), ("which _ ?", "test"), ("how many _ ?", "test")]
    found = count_frames("x", texts)
    assert (found.test, found.unseen) == (2, 1)


def test_what_a_question_names_is_masked():
    tree = {"node": "count", "of": {"action": "click", "brand": "Norrvik", "category": "Desk Lamps"}}
    facts = list_question_facts(json.dumps(tree))
    one, other = "How many desk lamps by Norrvik did I click in May?", "How many Norrvik desk lamps did I click?"
    assert mask_facts(one, facts) == "how many _ by _ did i click in _"
    assert mask_facts(other, facts) == "how many _ did i click"  # the action is no name


def test_openings_have_none_of_their_facts_left(small):
    for text in small.call(read_openings):
        frame = mask_facts(text.words, text.facts)
        assert not any(each.isdigit() for each in frame), frame


def test_the_sides_are_those_of_the_splits(small):
    rows = {row.question: row.split for row in small.read("questions")}
    for text in small.call(read_questions):
        assert (text.side == "train") == (rows[text.words] in ("sft", "rl"))


def test_runs_of_words_are_looked_for_in_the_order_of_the_query():
    class Row:
        question = "Where is the red lamp?"
        sql = "SELECT * WHERE name ILIKE '%red lamp%' AND is the"

    assert measure_copied_runs([Row]) == {1: 5 / 5, 2: 2 / 4, 3: 0.0}


def test_texts_of_people_are_told_from_ours(shopwright, small, tmp_path):
    people = tmp_path / "people.txt"
    people.write_text("".join(f"i need {n} pairs of jeans, and a price lower than {n} dollars\n" for n in range(90)))
    code, out, _ = shopwright("evaluate", "words", "--run", small.folder, "--against", f"questions={people}", "--json")
    assert code == 0
    assert float(json.loads(out)["two_sample"]["questions"]["auc"]) > 0.9


@pytest.mark.parametrize("given", ["openings", "openings=nowhere.txt", "letters=nowhere.txt"])
def test_a_family_or_file_that_is_not_there_is_one_error(shopwright, small, given):
    code, _, err = shopwright("evaluate", "words", "--run", small.folder, "--against", given)
    assert code == 2
    assert err.count("\n") == 1
    assert "FAMILY=FILE" in err


def test_a_run_without_words_is_one_error(shopwright, tmp_path):
    code, _, err = shopwright("evaluate", "words", "--run", tmp_path)
    assert code == 2
    assert "none of questions, rollouts, env_tasks, behaviors" in err
