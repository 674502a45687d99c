"""The leak guard: what it finds in laid files, and what it lets pass."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.exporters.forms import configs
from shopwright.pipeline.publish.layout import lay
from shopwright.pipeline.publish.leaks import find_leaks
from shopwright.pipeline.run import Run

SAID = "I am looking for a red lamp with a brass foot for the desk in my study, with a long cable"
PASSAGE = "the quick brown fox jumps over the lazy dog while seven tired sailors watch quietly"
PLAIN = [
    f"Please find me {thing} made of {stuff}" for thing in ("a chair", "a cup", "a bag") for stuff in ("oak", "tin")
]
MESSAGES = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
JSON = pa.list_(pa.json_(pa.string()))


@pytest.fixture
def found(tmp_path):
    """What leaks of rows that are laid: `found(questions={"train": [{"id": "a"}]})`."""

    def looked(*, against=(), schema=None, **given):
        for config, splits in given.items():
            folder = tmp_path / "laid" / "data" / config
            folder.mkdir(parents=True, exist_ok=True)
            for split, rows in splits.items():
                table = pa.Table.from_pylist(rows)
                table = table.cast(schema) if schema else table
                pq.write_table(table, folder / f"{split}-00000-of-00001.parquet")
        return [str(leak) for leak in find_leaks(Run(tmp_path), tmp_path / "laid", against)]

    return looked


def rows(column, texts, name="r"):
    return [{"id": f"{name}{number}", column: text} for number, text in enumerate(texts)]


def test_a_run_as_it_is_made_has_no_leaks(small, tmp_path):
    some = [each for each in configs(small) if not each.name.endswith("_text")]  # the same said once more
    laid = lay(some, tmp_path / "laid")
    assert [str(leak) for leak in find_leaks(small, laid.folder)] == []


# What splits share.


@pytest.mark.parametrize(
    ("config", "column", "some", "other", "what"),
    [
        ("questions", "trajectory_id", "persona-1-32k", "persona-1-64k", "1 customer"),
        ("questions", "sql", "SELECT 1\nFROM events", "SELECT 1  FROM events", "1 SQL"),
        ("questions", "question", "How many?", "how many", "1 wording"),
        ("rollouts", "question_id", "q1", "q1", "1 question"),
        ("shopping_tasks", "product_id", "B01", "B01", "1 product"),
        ("shopping_tasks", "instruction", "Find: a lamp!", "find a lamp", "1 instruction"),
        ("shopping_episodes", "task_id", "t1", "t1", "1 task"),
        ("behaviors", "persona_id", "persona-1", "persona-1", "1 customer"),
        ("behavior_steps", "behavior_id", "b1", "b1", "1 session"),
        ("env_tasks", "goal", '{"a": 1}', '{"a": 1}', "1 goal"),
        ("rl_shopping", "group", "B01", "B01", "1 product"),
        ("anything", "group", "B01", "B01", "1 group"),
    ],
)
def test_what_two_splits_may_not_share_is_found(found, config, column, some, other, what):
    leak, *_ = found(**{config: {"train": rows(column, ["zero", some], "a"), "test": rows(column, [other], "b")}})
    assert leak.startswith(f"{config}: its splits test and train share {what} ({column})\n")
    assert leak.endswith("test-00000-of-00001.parquet row 0, train-00000-of-00001.parquet row 1")


def test_the_same_row_in_two_splits_is_found(found):
    (leak,) = found(catalog={"train": [{"id": "a"}, {"id": "b"}], "test": [{"id": "b"}]})
    assert "share 1 row (id)" in leak


def test_what_splits_may_share_and_what_is_empty_is_no_leak(found):
    some = [{"id": "a", "profile_id": "p1", "product_id": "", "persona_id": None, "category": "Lamps"}]
    others = [{"id": "b", "profile_id": "p1", "product_id": "", "persona_id": None, "category": "Lamps"}]
    assert found(shopping_tasks={"train": some, "test": others}) == []


def test_each_two_of_three_splits_are_compared_and_five_places_are_told_of_all(found):
    ids = [f"q{number}" for number in range(7)]
    splits = {
        "sft": rows("question_id", ids, "a"),
        "rl": rows("question_id", ids[:2], "b"),
        "test": rows("question_id", ids[1:], "c"),
    }
    told = [leak.split("\n") for leak in found(rollouts=splits)]
    assert [lines[0].partition(" share ")[0] for lines in told] == [
        "rollouts: its splits rl and sft",
        "rollouts: its splits rl and test",
        "rollouts: its splits sft and test",
    ]
    assert "share 6 questions" in told[2][0]
    assert [len(lines) for lines in told] == [3, 2, 6]


def test_what_another_config_of_the_same_tasks_holds_out_is_not_trained_on(found):
    tasks = {"train": [{"id": "t1", "product_id": "B01"}], "test": [{"id": "t2", "product_id": "B02"}]}
    episodes = [{"id": f"e{number}", "task_id": f"t{number}"} for number in (1, 2)]
    (leak,) = found(shopping_tasks=tasks, shopping_episodes={"train": episodes})
    assert leak.startswith(
        "shopping_episodes: its split train has 1 task that shopping_tasks holds out in test\n  t2: "
    )


def test_a_form_is_held_against_the_datasets_by_its_group(found):
    trained = [{"id": "r1", "trajectory_id": "persona-2-64k"}]
    (leak,) = found(rollouts={"sft": trained}, rl_questions={"test": [{"id": "q1", "group": "persona-2"}]})
    assert leak.startswith("rollouts: its split sft has 1 customer that rl_questions holds out in test\n")


def test_configs_of_other_tasks_may_hold_out_other_customers(found):
    behaviors = {"test": [{"id": "b1", "persona_id": "persona-1"}]}
    questions = {"train": [{"id": "q1", "trajectory_id": "persona-1-64k"}]}
    assert found(behaviors=behaviors, questions=questions, trajectories={"train": [{"id": "persona-1-64k"}]}) == []


# What is nearly the same.


def near(found, some, other, column="instruction", **given):
    train = rows(column, [*PLAIN, some], "a")
    test = rows(column, [f"{text} for once" for text in PLAIN[:2]] + [other], "b")
    return [leak for leak in found(tasks={"train": train, "test": test}, **given) if "nearly the same" in leak]


@pytest.mark.parametrize("other", [SAID, SAID.upper().replace(",", " –"), f"{SAID} please"])
@pytest.mark.parametrize("column", ["instruction", "question"])
def test_a_row_that_is_nearly_one_of_another_split_is_found(found, other, column):
    (leak,) = near(found, SAID, other, column)
    assert leak.startswith("tasks: its split test has 1 row nearly the same as of train\n")
    assert "test-00000-of-00001.parquet row 2 and train-00000-of-00001.parquet row 6: " in leak


@pytest.mark.parametrize(
    "other",
    [
        SAID.replace("red lamp", "blue chair"),
        SAID.replace("a long cable", "2 long cables"),
        " ".join(reversed(SAID.split())),
        "Please find me a jug made of lead",
    ],
)
def test_another_task_in_the_same_form_is_no_near_duplicate(found, other):
    assert near(found, SAID, other) == []


def test_another_number_is_another_task(found):
    long = f"{SAID} where I write letters to friends of mine who moved across several oceans and rarely visit any more"
    assert near(found, f"{long} for at most $40", f"{long} for at most $45") == []
    assert near(found, f"{long} for at most $40", f"{long} for at most $40!")


def test_chinese_is_compared_by_its_characters(found):
    said = "我想买一个放在书桌上的红色台灯,底座要黄铜的,电线要长一点"
    assert near(found, said, f"{said}!")
    assert near(found, said, said.replace("红色台灯", "木头椅子")) == []


def test_what_several_customers_say_in_both_splits_is_a_commonplace(found):
    def said(split, count):
        return [{"id": f"{split}{n}", "group": f"{split}{n}", "instruction": SAID} for n in range(count)]

    def others(split):
        return [
            {"id": f"{split}-{n}", "group": f"{split}-{n}", "instruction": f"{split} {text}"}
            for n, text in enumerate(PLAIN)
        ]

    def leaking(train, test):
        splits = {"train": said("a", train) + others("chairs"), "test": said("b", test) + others("cups")}
        return [leak for leak in found(tasks=splits) if "nearly the same" in leak]

    assert leaking(3, 3) == []
    assert leaking(4, 1)
    assert leaking(1, 3)


def make_messages(system, said):
    return [{"role": "system", "content": system}, {"role": "user", "content": said}]


def test_what_a_system_message_says_makes_no_rows_alike(found):
    schema = pa.schema({"id": pa.string(), "prompt": MESSAGES})
    system = " ".join(f"rule{number}" for number in "abcdefghij") + SAID
    train = [{"id": f"a{n}", "prompt": make_messages(f"{n} {text}", text)} for n, text in enumerate(PLAIN)]

    def leaking(said, other):
        some = [*train, {"id": "a", "prompt": make_messages(system, said)}]
        return found(
            tasks={"train": some, "test": [{"id": "b", "prompt": make_messages(system, other)}]}, schema=schema
        )

    assert leaking("Show me a red lamp with a foot of brass", "Where is my parcel that I ordered in May?") == []
    assert leaking(SAID, SAID)


def test_conversations_in_json_are_compared_whole(found):
    schema = pa.schema({"id": pa.string(), "messages": JSON})
    rules = " ".join(f"rule{one}{other}" for one in "abcdefghij" for other in "klmnopqrst")

    def row(id, said, answer):
        turns = [*make_messages(rules if len(id) == 1 else id, said), {"role": "assistant", "content": answer}]
        return {"id": id, "messages": [json.dumps(turn) for turn in turns]}

    train = [row(f"a{n}", text, text[::-1]) for n, text in enumerate(PLAIN)] + [
        row("a", SAID, "Here is a lamp of brass and red glass."),
        row("c", "Where is that?", "With a neighbour."),
    ]
    same = [row("b", SAID, "Here is a lamp of brass and red glass!")]
    other = [row("b", "Where is it?", "With your neighbour.")]
    assert found(tasks={"train": train, "test": same}, schema=schema)
    assert found(tasks={"train": train, "test": other}, schema=schema) == []


def test_steps_of_a_session_are_compared_as_what_they_come_to(found):
    schema = pa.schema({"id": pa.string(), "group": pa.string(), "prompt": MESSAGES, "action": pa.string()})

    def session(group, *pages):
        turns = [{"role": "user", "content": page} for page in pages]
        steps = [turns[: count + 1] for count in range(len(turns))]
        return [{"id": f"{group}{len(step)}", "group": group, "prompt": step, "action": "click"} for step in steps]

    def leaking(train, test):
        others = [step for number, text in enumerate(PLAIN) for step in session(f"o{number}", text, text[::-1])]
        return found(tasks={"train": others + train, "test": test}, schema=schema)

    ends = "They cost too much for me, so I leave the shop", "This bottle is what I came for: into the cart it goes"
    assert leaking(session("a", SAID, ends[0]), session("b", SAID, ends[1])) == []
    (leak,) = leaking(session("a", SAID, *ends), session("b", SAID, *ends))
    assert "1 row nearly the same" in leak
    assert "test-00000-of-00001.parquet row 2 and train-00000-of-00001.parquet row 14" in leak
    assert leaking(session("a", SAID) + session("c", f"{SAID} and a shade"), session("b", SAID))


def test_a_prompt_with_another_true_answer_is_another_task(found):
    def split(name, answer):
        return [{"id": name, "prompt": "What did I buy last?", "answer": answer, "question_id": name}]

    assert found(tasks={"train": split("a", "a garden hose"), "test": split("b", "two wooden spoons")}) == []
    assert found(tasks={"train": split("a", "a garden hose"), "test": split("b", "a garden hose")})


def test_long_rows_are_told_apart_and_found_by_their_sketch(found):
    def story(first, count=3_000):
        return " ".join(
            f"word{'abcdefghij'[(first + n * n) % 10]}{chr(97 + (first * 7 + n) % 26)}{'xyz' * (n % 40)}"
            for n in range(count)
        )

    assert near(found, story(1), f"{story(1)} and so it ended")
    assert near(found, story(1), story(5)) == []


# Public test sets.


def saved(path, texts):
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"asked": [{"text": text} for text in texts]}), path)
    elif path.suffix == ".csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["number", "question"], *enumerate(texts)])
    elif path.suffix == ".json":
        path.write_text(json.dumps([{"question": text} for text in texts]), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"a": [text]}) + "\n\n" for text in texts), encoding="utf-8")
    else:
        path.write_text("\n".join(texts), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "jsonl", "txt"])
def test_thirteen_words_of_a_public_test_set_are_found(found, tmp_path, kind):
    ours = ["A lamp.", f"We read: {PASSAGE.upper()}!"]
    (leak,) = found(
        catalog={"train": rows("text", ours)}, against=[saved(tmp_path / f"public.{kind}", ["Hello", PASSAGE])]
    )
    assert leak.split("\n") == [
        f"catalog: 1 times a text of public.{kind} in text",
        f"  “{' '.join(PASSAGE.split()[:13])}”: train-00000-of-00001.parquet row 1",
    ]


def test_twelve_words_in_a_row_are_no_overlap(found, tmp_path):
    twelve = " ".join(PASSAGE.split()[:12])
    public = saved(tmp_path / "public.txt", [PASSAGE])
    assert found(catalog={"train": rows("text", [f"{twelve} and {twelve}"])}, against=[public]) == []


def test_a_short_question_of_a_public_test_set_is_found_as_a_whole(found, tmp_path):
    public = saved(tmp_path / "public.txt", ["How many lamps did I buy in May?", "How many lamps?"])
    assert (
        found(
            catalog={"train": rows("text", ["How many lamps did I buy in June?", "How many lamps?"])}, against=[public]
        )
        == []
    )
    assert found(catalog={"train": rows("text", ["how many lamps did I buy in may"])}, against=[public])


def test_words_of_a_form_that_a_test_set_repeats_are_no_overlap(found, tmp_path):
    form = [f"{PASSAGE} {word}" for word in "abcdefghijk"]
    train = {"train": rows("text", [PASSAGE])}
    assert found(catalog=train, against=[saved(tmp_path / "often.txt", form)]) == []
    assert found(catalog=train, against=[saved(tmp_path / "seldom.txt", form[:10])])


@pytest.mark.parametrize("name", ["missing.txt", "broken.parquet", "broken.jsonl", "broken.csv", "broken.json"])
def test_a_test_set_that_cannot_be_read_is_said_in_one_line(found, tmp_path, name):
    if not name.startswith("missing"):
        (tmp_path / name).write_bytes(b'"a,b\n{')
    with pytest.raises(Problem, match=f"{name} cannot be read as a test set") as told:
        found(catalog={"train": [{"id": "a"}]}, against=[tmp_path / name])
    assert "\n" not in str(told.value)


# Personal data.


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Write to <jane.doe+x@mail.co.uk>.", "a mail address"),
        ("Call (212) 664-7665 now", "a telephone number"),
        ("tel 212-664-7665", "a telephone number"),
        ("+49 30 9018 2020", "a telephone number"),
        ("card 4539 1488 0343 6467", "a card number"),
        ("card 4539148803436467.", "a card number"),
        ("amex 3782-822463-10005", "a card number"),
        ("to DE89370400440532013000", "a bank account"),
        ("to GB82 WEST 1234 5698 7654 32", "a bank account"),
        ("12 Elm Tree Road, Springfield, IL 62704", "a street address"),
        ("221 Baker Street, London NW1 6XE", "a street address"),
        ("742 Evergreen Terrace, Apt 3", "a street address"),
        ("Lindenstraße 12, 10969 Berlin", "a street address"),
    ],
)
def test_personal_data_is_found_wherever_it_stands(found, said, kind):
    deep = [{"id": "a", "turns": [{"said": ["Hello."]}]}, {"id": "b", "turns": [{"said": []}, {"said": ["Hm.", said]}]}]
    (leak,) = found(catalog={"train": deep})
    assert leak.startswith(f"catalog: 1 times {kind} in turns.said\n")
    assert leak.endswith("train-00000-of-00001.parquet row 1")


@pytest.mark.parametrize(
    "said",
    [
        "2024-05-01 19:30:25 click [B0WWISX717 || Mirrelo lamp, 18 in] (price: 56.99)",
        "support@shop.com, jane@example.com, a@b, @handle, node_modules/a@1.2.3",
        "9007199254740993 0.4539148803436467 4539148803436468 4539148803436462 B4539148803436467 v4539148803436467-2",
        "1-800-664-7665 or 212-555-0123; 2024-05-01; 100-200-3000; 555-1234; #212-664-7665; id=212-664-7665",
        "3 Pack Running Road Shoes, Size 62704; 12 Drive Socket Set; 100 Cotton Court Dress, XL",
        "DE88370400440532013000 AB12CDEF3456GHIJ78 FR1420041010050500013M026",
        "persona-0000003-16k-q004 B0PPBLPZRG-4 sha256 4539148803436467abcdef",
    ],
)
def test_what_the_shop_invents_and_what_is_nobodys_is_no_personal_data(found, said):
    assert found(catalog={"train": rows("text", [said])}) == []


def test_all_are_counted_and_five_are_shown(found):
    (leak,) = found(catalog={"train": rows("text", [f"jane{number}@mail.org" for number in range(2_100)])})
    assert leak.startswith("catalog: 2,100 times a mail address in text\n")
    assert len(leak.split("\n")) == 6
    assert "row 4" in leak


# Licences.


@pytest.mark.parametrize(
    ("licence", "why"),
    [
        ("unknown", "its licence is unknown"),
        ("", "its licence is unknown"),
        ("CC-BY-ND-4.0", "forbids publishing"),
        ("All rights reserved", "forbids publishing"),
        ("Research only, no redistribution", "forbids publishing"),
        ("Shop Terms 3", "none that is known to allow"),
    ],
)
def test_a_source_whose_licence_does_not_allow_it_is_not_published(copy, found, tmp_path, licence, why):
    (leak,) = [str(leak) for leak in find_leaks(licensed(copy, licence), tmp_path / "nothing")]
    assert leak.startswith("catalog: of the source 'sample': ")
    assert why in leak


@pytest.mark.parametrize(
    "licence", ["Apache-2.0", "MIT License", "CC BY 4.0", "cc-by-sa-4.0", "CC0 1.0", "ODbL", "CC-BY-NC-4.0"]
)
def test_a_licence_that_lets_it_be_passed_on_is_no_leak(copy, tmp_path, licence):
    assert find_leaks(licensed(copy, licence), tmp_path / "nothing") == []


def licensed(run, licence):
    """The run with a catalog under another licence."""
    for path in run.read("catalog").files:
        table = pq.read_table(path)
        column = pa.array([licence] * len(table))
        pq.write_table(table.set_column(table.schema.get_field_index("source_licence"), "source_licence", column), path)
    return run
