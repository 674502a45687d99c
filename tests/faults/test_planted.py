"""Mistakes planted on purpose, each of which a test must find: in a copy of the code, one at a time.

The slow tests plant each and run what should fail. The fast ones see to it that the list still fits the code.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

HOME = Path(__file__).parents[2]
CODE = ("shopwright", "pipeline", "schemas", "flows", "prompts", "data", "docs", "tests")


class Planted(NamedTuple):
    mistake: str
    file: str
    code: str
    instead: str
    found_by: str
    """The file of tests, and words of their names."""
    hangs: bool = False
    """Whether the test then waits for ever."""


CERTIFICATES = "tests/checks/test_certificates.py"
DAMAGE, KILLS, PROCESSES = (f"tests/faults/test_{name}.py" for name in ("damage", "kills", "processes"))
CONDITIONS = "tests/questions/test_conditions.py"
PLANTED = (
    Planted(
        "a check is left out",
        "pipeline/shards.py",
        "reasons = reasons_against(stage, batch, datasets, records)",
        "reasons = [[] for _ in range(batch.num_rows)]",
        "tests/test_run.py every_row_is_kept_or_held",
    ),
    Planted(
        "what is rejected is thrown away",
        "pipeline/shards.py",
        "        held.commit()\n        if roles:",
        "        held.discard()\n        if roles:",
        "tests/test_run.py every_row_is_kept_or_held",
    ),
    Planted(
        "a shard is written in its place instead of beside it",
        "pipeline/dataset.py",
        "self.beside = temporary_path(path)",
        "self.beside = path",
        "tests/test_dataset.py not_there_before_it_is_whole",
    ),
    Planted(
        "a manifest is written in its place instead of beside it",
        "pipeline/files.py",
        '    first = path.with_name(f".{path.name}.tmp") if is_here(path) else temporary_path(path)\n',
        "    first = path\n",
        "tests/test_dataset.py text_is_there_whole_or_as_it_was",
    ),
    Planted(
        "a dataset counts as whole before it was judged",
        "pipeline/shards.py",
        "    sweep(build)\n    if damaged := build.remove_damaged_shards():",
        "    write_json_model(build.dataset.manifest_path, Manifest(dataset=build.name, about='', recipe=build.recipe, rows=0, rejected=0, rejects={}, seconds=0, workers=1, files={}))\n    sweep(build)\n    if damaged := build.remove_damaged_shards():",
        "tests/test_run.py killed_between_any_two_steps",
    ),
    Planted(
        "a shard that was thinned out counts as whole",
        "pipeline/shards.py",
        "if not found or index in thinned]",
        "if not found]",
        "tests/test_run.py killed_while_rows_are_held_back",
    ),
    Planted(
        "what is finished is made again",
        "pipeline/run.py",
        "        if again or old is None:\n            self.clear(name)",
        "        if True:\n            self.clear(name)",
        "tests/test_run.py rebuild_after_a_kill",
    ),
    Planted(
        "the lock is ignored",
        "pipeline/files.py",
        "            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            pass\n",
        f"{PROCESSES} lock",
    ),
    Planted(
        "the lock does not say whose it is",
        "pipeline/files.py",
        '            lock.write_text(json.dumps(mine), encoding="utf-8")\n',
        "            pass\n",
        f"{PROCESSES} lock",
    ),
    Planted(
        "the bytes of a finished dataset are not looked at",
        "pipeline/run.py",
        "        return find_damaged_files(self.folder, manifest.files)\n",
        "        return {}\n",
        f"{DAMAGE} whichever_file",
    ),
    Planted(
        "only the size of a file is looked at",
        "pipeline/dataset.py",
        '    if not is_here(path):\n        return ""\n    try:\n        found = sha256_of(path)',
        '    if True:\n        return ""\n    try:\n        found = sha256_of(path)',
        f"{DAMAGE} single_bit",
    ),
    Planted(
        "a damaged shard of a half-built dataset is believed",
        "pipeline/run.py",
        "            damaged = build.remove_damaged_shards()\n        write_json_model",
        "            damaged = {}\n        write_json_model",
        f"{DAMAGE} half_built",
    ),
    Planted(
        "damage is not reported",
        "pipeline/run.py",
        "                    progress.report_damage(build.name, build.damaged)\n",
        "                    pass\n",
        f"{DAMAGE} whichever_file",
    ),
    Planted(
        "a manifest of which a bit was flipped is believed",
        "pipeline/dataset.py",
        "        if known not in (None, compute_checksum(facts)):",
        "        if False:",
        f"{DAMAGE} bit_of_a_manifest",
    ),
    Planted(
        "a reply of which a bit was flipped is believed",
        "pipeline/models/replies.py",
        "    if not sign or rest != line_checksum(body) + b'\"}\\n':",
        "    if not sign:",
        "tests/models/test_replies.py flipped",
    ),
    Planted(
        "a price of 1.5k is read as 1.50",
        "pipeline/catalog/repair/money.py",
        'if sign.kind == "K":',
        'if sign.kind == "none":',
        "tests/stages/test_catalog.py every_price_is_the_one_that_is_written",
    ),
    Planted(
        "a price in yen is one in dollars",
        "pipeline/catalog/repair/money.py",
        "    if price.currency != SHOP:\n",
        "    if False:\n",
        "tests/stages/test_catalog.py every_price_is_the_one_that_is_written",
    ),
    Planted(
        "two for a price are one for it",
        "pipeline/catalog/repair/money.py",
        'SEVERAL: r"B*',
        '"one, and more": r"NG(CN)|',
        "tests/stages/test_catalog.py every_price_is_the_one_that_is_written",
    ),
    Planted(
        "a price that cannot be read is drawn",
        "pipeline/catalog/normalize.py",
        "    except ValueError as error:\n        reasons.append(str(error))\n",
        "    except ValueError:\n        pass\n",
        "tests/stages/test_catalog.py every_price_is_the_one_that_is_written",
    ),
    Planted(
        "a search index of which a bit was flipped is believed",
        "pipeline/catalog/search.py",
        "        wrong = [name for name, known in sums.items() if sha256_of(folder / name) != known]",
        "        wrong = []",
        "tests/catalog/test_search.py flipped",
    ),
    Planted(
        "a worker that was killed ends everything",
        "pipeline/run.py",
        "    for again in reversed(range(TRIES)):",
        "    for again in reversed(range(1)):",
        "tests/test_run.py worker_that_is_killed",
    ),
    Planted(
        "a worker that hangs is waited for",
        "pipeline/forks.py",
        "            os.kill(self.pid, signal.SIGKILL)",
        "            pass",
        "tests/test_worker_pool.py does_not_come_back",
        hangs=True,
    ),
    Planted(
        "an origin that does not answer is waited for",
        "pipeline/forks.py",
        "if not self.itself.pipe.poll(TO_ANSWER):",
        "if False:",
        "tests/test_worker_pool.py replaced_where_it_does_not_answer origin",
        hangs=True,
    ),
    Planted(
        "a server of forks that does not answer is waited for",
        "pipeline/forks.py",
        "    threading.Thread(target=watch, daemon=True).start()\n",
        "",
        "tests/test_worker_pool.py before_its_first_step",
        hangs=True,
    ),
    Planted(
        "what was stopped is waited for in the end",
        "pipeline/forks.py",
        "                process.join(2 * TO_END)\n",
        "                process.join()\n",
        "tests/test_worker_pool.py not_waited_for",
        hangs=True,
    ),
    Planted(
        "a worker that ended while it was idle counts against a shard",
        "pipeline/worker_pool.py",
        "if worker.has_ended():",
        "if False:",
        "tests/test_worker_pool.py takes_its_workers_along",
    ),
    Planted(
        "a worker that has ended is killed by its number",
        "pipeline/forks.py",
        "            self.ended = True\n",
        "",
        "tests/test_worker_pool.py by_its_number",
    ),
    Planted(
        "an error that cannot be read back is a traceback",
        "pipeline/forks.py",
        "raise cannot_pass(error) from None",
        "raise",
        "tests/test_worker_pool.py passed_on",
    ),
    Planted(
        "that no process more is allowed is a traceback",
        "pipeline/forks.py",
        "if isinstance(pid, BlockingIOError):",
        "if False:",
        "tests/test_worker_pool.py no_process_more",
    ),
    Planted(
        "what is stopped outlives the command",
        "pipeline/forks.py",
        "        die_with_parent()\n",
        "        pass\n",
        "tests/faults/test_forks.py leaves_nothing",
    ),
    Planted(
        "the server of forks outlives the command while an origin is stopped",
        "pipeline/forks.py",
        "    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]\n",
        "",
        "tests/faults/test_forks.py leaves_nothing",
    ),
    Planted(
        "the length that a request says is not looked at",
        "pipeline/browse/guard.py",
        "if length.isdecimal() and int(length[:20]) > self.most:",
        "if False:",
        "tests/security/test_probes.py too_long_or_too_slow",
    ),
    Planted(
        "a body of a request may be of any length",
        "pipeline/browse/guard.py",
        "            if taken > self.most:",
        "            if False:",
        "tests/security/test_probes.py too_long_or_too_slow",
    ),
    Planted(
        "a body of a request may take for ever",
        "pipeline/browse/guard.py",
        "await asyncio.wait_for(receive(), end - monotonic())",
        "await receive()",
        "tests/security/test_probes.py too_long_or_too_slow",
    ),
    Planted(
        "a connection without a request is held for ever",
        "pipeline/browse/patience.py",
        "        self.loop.call_later(SECONDS, self.end_silent, None)\n",
        "",
        "tests/security/test_probes.py does_not_come",
    ),
    Planted(
        "a connection is not looked at again after its first request",
        "pipeline/browse/patience.py",
        "            self.loop.call_later(SECONDS, self.end_silent, self.cycle)\n",
        "            pass\n",
        "tests/security/test_probes.py does_not_come",
    ),
    Planted(
        "a full disk is a traceback",
        "pipeline/files.py",
        "    if isinstance(error, OSError) and error.errno in WITHOUT_IT:",
        "    if False:",
        f"{PROCESSES} full_disk",
    ),
    Planted(
        "what is half written stays where there was no room for more",
        "pipeline/dataset.py",
        "        with suppress(OSError):  # it writes what is left, for which there may be no room",
        "        if True:",
        "tests/test_dataset.py want_of_room",
    ),
    Planted(
        "asked to stop, it goes on",
        "pipeline/__main__.py",
        "            signal.signal(asks, stop)",
        "            signal.signal(asks, signal.SIG_IGN)",
        f"{PROCESSES} moment or when_it_is_asked",
        hangs=True,
    ),
    Planted(
        "asked to stop, it throws away what is finished",
        "pipeline/run.py",
        "            if not STOPS:\n                self.clear(build.name)",
        "            self.clear(build.name)",
        f"{PROCESSES} library_makes",
    ),
    Planted(
        "a question is not held against what its words mean",
        "pipeline/checks/question_words.py",
        "others = sorted(set(chain.from_iterable(found)))",
        "others: list[str] = []",
        "tests/checks/test_questions.py two categories joined",
    ),
    Planted(
        "what stands behind a question is not read",
        "pipeline/reading/grammar.py",
        "for end, value in self.rule(rule)(sentence, 0) if end == len(text)]",
        "for end, value in self.rule(rule)(sentence, 0)]",
        "tests/reading/test_grammar.py to_the_last_sign",
    ),
    Planted(
        "of two parts of a question that disagree one is believed",
        "pipeline/reading/grammar.py",
        "        return one if type(one) is type(other) and one == other else CLASH\n",
        "        return one\n",
        "tests/reading/test_grammar.py different_things",
    ),
    Planted(
        "a set of ids is taken for a set of names",
        "pipeline/questions/question_parser.py",
        "same = PRODUCT if names.titles_differ and type_of(tree) in COUNTED else {}",
        "same = PRODUCT",
        "tests/questions/test_reading.py field_is_changed",
    ),
    Planted(
        "a certificate lacks one of the right products",
        "pipeline/envs/product_discovery.py",
        "    ends = [End(some_of=get_product_ids(store, best.rows))]",
        "    ends = [End(some_of=get_product_ids(store, best.rows[: max(1, len(best.rows) - 1)]))]",
        f"{CERTIFICATES} outsider_finds product_discovery",
    ),
    Planted(
        "a certificate takes a variant that was not asked for",
        "pipeline/envs/cart_building.py",
        "    return Lines(product_id=line.product_id, variants=line.variants, quantity=line.quantity)",
        "    return Lines(product_id=line.product_id, variants=[*line.variants, 'any'], quantity=line.quantity)",
        f"{CERTIFICATES} outsider_finds cart_building",
    ),
    Planted(
        "a list's certificate forgets the constraints of an item",
        "pipeline/envs/one_of_each.py",
        "            count=int(np.count_nonzero(one.fits)),",
        "            count=int(np.count_nonzero(one.stocked)),",
        f"{CERTIFICATES} outsider_finds bundle_planning",
    ),
    Planted(
        "a seller who has something for each thing is left out of the certificate",
        "pipeline/envs/one_seller.py",
        "            sellers=[list_assortment(store, needs, each) for each in complete],",
        "            sellers=[list_assortment(store, needs, each) for each in complete[:1]],",
        f"{CERTIFICATES} outsider_finds one_seller",
    ),
    Planted(
        "a voucher takes off more than its terms allow",
        "pipeline/envs/voucher.py",
        "    share = np.minimum(voucher.most, counts * voucher.percent // 100)",
        "    share = counts * voucher.percent // 100",
        f"{CERTIFICATES} outsider_finds voucher",
    ),
    Planted(
        "a voucher's terms are read without what they take off at most",
        "pipeline/reading/wishes.py",
        '            ("most", VOUCHER_MOST),',
        '            ("most", VOUCHER_LEAST),',
        "tests/envs/test_words.py what_ships_is_read_back",
    ),
    Planted(
        "a refusal is right where something can be had",
        "pipeline/envs/substitution.py",
        "        gone = [here.at, *np.flatnonzero(unfit).tolist()]",
        "        gone = [here.at, *np.flatnonzero(unfit).tolist()[:-1]]",
        f"{CERTIFICATES} outsider_finds substitution",
    ),
    Planted(
        "the proof that no order fits is about another customer's",
        "pipeline/envs/order_tracking.py",
        "    ids = [each.order.id for each in memories]",
        "    ids = [each.order.id for each in memories][1:] or ['order-0']",
        f"{CERTIFICATES} outsider_finds order_tracking",
    ),
    Planted(
        "a line can be returned a day longer than the rules say",
        "pipeline/shop/policies.py",
        "last = order.delivered.date() + timedelta(days=days)",
        "last = order.delivered.date() + timedelta(days=days + 1)",
        f"{CERTIFICATES} outsider_finds return_replacement",
    ),
    Planted(
        "a rule about policies is gone through in another way than it is written",
        "pipeline/shop/policy_rules.py",
        '    return value + by if change == "plus" else value - by',
        '    return value - by if change == "plus" else value + by',
        f"{CERTIFICATES} outsider_finds policy_qa",
    ),
    Planted(
        "a rule's text says another number than it computes",
        "pipeline/shop/policy_families.py",
        '    return said.format(value=value, of=load_wording()["of"].get(of, ""))',
        '    return said.format(value=value + 1, of=load_wording()["of"].get(of, ""))',
        f"{CERTIFICATES} outsider_finds policy_qa",
    ),
    Planted(
        "a customer says another fact than the case has",
        "pipeline/shop/policy_questions.py",
        '    return f"case {name} {said}", {"value": said}',
        '    return f"case {name} {load_policy_facts()[name].values[-1] if load_policy_facts()[name].values else said}", {"value": said}',
        f"{CERTIFICATES} outsider_finds policy_qa",
    ),
    Planted(
        "a shopping task's certificate lacks a variant",
        "pipeline/shopping/right_products.py",
        "        variants = [store.option(place).id for place in places if place >= 0]",
        "        variants = [store.option(place).id for place in places if place >= 0][:-1]",
        "tests/shopping/test_facts.py certificate_names_every_variant",
    ),
    Planted(
        "a request that nobody answered is gone on from as if it were a reply",
        "pipeline/models/play.py",
        '            lost = isinstance(found, Reply) and found.finish == "unanswered"',
        "            lost = False",
        "tests/models/test_unanswered.py nobody_answers",
    ),
    Planted(
        "a row that nobody answered is not asked for again",
        "pipeline/run.py",
        "    return any(each.startswith(UNANSWERED) for each in chain.from_iterable(reasons))",
        "    return False",
        "tests/models/test_unanswered.py asked_for_again",
    ),
    Planted(
        "an episode that nobody answered counts as one that failed",
        "pipeline/evaluate/progress.py",
        "            if isinstance(each, UnansweredRequest):\n                lost.append(each)",
        "            if False:\n                lost.append(each)",
        "tests/models/test_unanswered.py no_low_score",
    ),
    Planted(
        "an audit in several processes counts the tasks of the last one alone",
        "pipeline/evaluate/audit.py",
        "            sums.setdefault(key, Counter()).update(added)",
        "            sums[key] = added",
        "tests/evaluate/test_situation.py pieces_count",
    ),
    Planted(
        "a purchase is approved while something is untold",
        "pipeline/shopping/approving_user.py",
        "        missing = self.untold\n",
        "        missing = self.untold[:0]\n",
        "tests/shopping/test_approving_user.py purchase_is_refused",
    ),
    Planted(
        "a title does not say what is not varied",
        "pipeline/catalog/variants.py",
        "        if not is_stated_in_title(title, name, values, listed=True):",
        "        if True:",
        "tests/stages/test_variants.py what_a_title_says",
    ),
    Planted(
        "a variant that its title denies ships",
        "pipeline/stages/variants.py",
        "    if find_denied_choice(product.nameless, choices):",
        "    if False:",
        "tests/stages/test_variants.py title_denies",
    ),
    Planted(
        "a substitute need not fit the device",
        "pipeline/catalog/fits.py",
        "    return all(covers(kind, other.get(kind, frozenset()), values) for kind, values in decisive(one).items())",
        "    return True",
        "tests/catalog/test_fits.py does_for_the_other",
    ),
    Planted(
        "a case for every phone covers each",
        "pipeline/catalog/fits.py",
        "        return wanted <= have",
        "        return bool(wanted & have)",
        "tests/catalog/test_fits.py does_for_the_other",
    ),
    Planted(
        "an order names a variant of another color than its log",
        "pipeline/world/orders.py",
        'next(each["id"] for each in variants if each["is_title"])',
        'variants[0]["id"]',
        "tests/stages/test_orders.py what_the_log_names",
    ),
    Planted(
        "a condition that two parts of a question share is moved in one of them",
        "pipeline/questions/draw_values.py",
        "        return map_tree_picks(tree, partial(move_pick, move))\n",
        '        return tree.model_copy(update={"of": move_pick(move, tree.of)}) if isinstance(tree.of, Pick) else tree\n',
        f"{CONDITIONS} elsewhere_in_every_pick",
    ),
    Planted(
        "days without need are asked for",
        "pipeline/questions/conditions.py",
        "    yield from vary_days(tree, log)\n",
        "",
        f"{CONDITIONS} days_are_not_read or both_ways",
    ),
    Planted(
        "the check of idle conditions does not try the days",
        "pipeline/checks/conditions.py",
        '    if said.issuperset(DAYS):\n        yield "days", strip_fields(tree, {*DAYS})\n',
        "",
        f"{CONDITIONS} both_ways",
    ),
    Planted(
        "none is the answer where it is not offered",
        "pipeline/questions/choose_shapes.py",
        "        if found.value is None:\n",
        "        if False:\n",
        f"{CONDITIONS} question_offers_it",
    ),
    Planted(
        "the longest row of no days is no number",
        "pipeline/questions/answers.py",
        "        return 0, []\n",
        "        return None, []\n",
        "tests/questions/test_audit.py worked_out days_in_a_row",
    ),
    Planted(
        "any run of words is what a product is",
        "pipeline/questions/product_nouns.py",
        "        first = [run for run in runs if run.end in mine]\n",
        "        first = runs\n",
        "tests/questions/test_engines.py does_not_tell",
    ),
    Planted(
        "a question that names a category is said to be answerable from the text",
        "pipeline/questions/sources.py",
        "    return TABLE if named or UNSTATED in list_tree_columns(tree) else BOTH\n",
        "    return BOTH\n",
        "tests/checks/test_text_alone.py no_question_is_held_back",
    ),
    Planted(
        "all questions are asked of who has only the text",
        "pipeline/rollouts/evaluate.py",
        '[each for each in asked if "text" in each.answerable_from]',
        "list(asked)",
        "tests/rollouts/test_evaluate.py without_tools_only",
    ),
    Planted(
        "a weak answerer that reads everything",
        "pipeline/questions/weak_answerers.py",
        "log.without(range_of_middle_third(len(log.events)))",
        "log",
        "tests/questions/test_effort.py tree_and_sql",
    ),
    Planted(
        "the label of difficulty knows nothing of weak answerers",
        "pipeline/questions/effort.py",
        "STEP, WRONG = 2, 10",
        "STEP, WRONG = 2, 0",
        "tests/questions/test_effort.py each_weak_answerer",
    ),
    Planted(
        "prices of things of two kinds are compared",
        "pipeline/behaviors/reasons.py",
        "    return one.category == other.category and bool(heads & list_name_words(one) & list_name_words(other))",
        "    return True",
        "tests/behaviors/test_reasons.py one_kind",
    ),
    Planted(
        "a reason is not held against what is done next",
        "pipeline/checks/claims.py",
        "        return self.deeds(at + 1, None, *(verbs",
        "        return self.deeds(at + 1, at + 1, *(verbs",
        "tests/checks/test_claims.py planted_falsehood",
    ),
    Planted(
        "the first move of a session is to be predicted",
        "pipeline/behaviors/steps.py",
        "    return range(1, len(steps))",
        "    return range(len(steps))",
        "tests/behaviors/test_steps.py first_move",
    ),
    Planted(
        "valid JSON with a key more earns nothing",
        "pipeline/rewards/hierarchical.py",
        'not {"rationale", "action"} <= found.keys()',
        '{"rationale", "action"} != found.keys()',
        "tests/rewards/test_shop_r1_paper.py any_pair",
    ),
    Planted(
        "figures of a month are told as those of a quarter",
        "pipeline/shopping/profile.py",
        "    return min(seconds // DAY, acts[-1].second // DAY - acts[0].second // DAY + 1)",
        "    return seconds // DAY",
        "tests/stages/test_profiles.py more_days",
    ),
    Planted(
        "a short word that a task withholds may stand in its profile",
        "pipeline/checks/shopping.py",
        'need.known == "stated" and need.kind != "price" and named',
        'need.known == "stated" and need.kind != "price" and len(need.value) > 3',
        "tests/checks/test_shopping.py any_length",
    ),
    Planted(
        "of a category path the middle is left out",
        "pipeline/shopping/score.py",
        "category_path=item.path",
        "category_path=(item.group, item.category)",
        "tests/shopping/test_score.py two_nodes",
    ),
)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.mistake)
def test_the_place_of_a_planted_mistake_is_still_there(planted):
    text = (HOME / planted.file).read_text(encoding="utf-8")
    assert text.count(planted.code) == 1
    compile(text.replace(planted.code, planted.instead), planted.file, "exec")
    assert (HOME / planted.found_by.split()[0]).exists()


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.mistake)
def test_a_planted_mistake_names_nothing_that_is_not_there(planted):
    """Else what is found is a name that nobody knows, not the mistake."""
    assert set(re.findall(r"\.([a-z_]\w+)", planted.instead)) <= read_known_words()


@cache
def read_known_words():
    files = (HOME / "pipeline").rglob("*.py"), (HOME / "schemas").glob("*.py")
    return {
        word
        for path in (each for found in files for each in found)
        for word in re.findall(r"\w+", path.read_text("utf-8"))
    }


def test_the_page_lists_them():
    page = (HOME / "docs" / "reliability.md").read_text(encoding="utf-8")
    listed = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if "| `tests/" in line]
    assert listed == [planted.mistake for planted in PLANTED]


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.mistake)
def test_a_planted_mistake_is_found(planted, tmp_path):
    for name in CODE:
        shutil.copytree(HOME / name, tmp_path / name, symlinks=True, ignore=leaving_out)
    shutil.copy(HOME / "pyproject.toml", tmp_path)
    place = tmp_path / planted.file
    place.write_text(place.read_text(encoding="utf-8").replace(planted.code, planted.instead), encoding="utf-8")
    file, _, words = planted.found_by.partition(" ")
    chosen = " or ".join(f"({' and '.join(part.split())})" for part in words.split(" or "))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        file,
        "-k",
        chosen,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    tests = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        # Under load a test takes ten times as long; what hangs is waited for in vain.
        said, _ = tests.communicate(timeout=180 if planted.hangs else 1_800)
    except subprocess.TimeoutExpired:  # the test waits for what hangs
        assert planted.hangs
    else:
        assert tests.returncode == 1, said[-3_000:]  # 5: no such test; 2: it could not begin
    finally:
        with suppress(ProcessLookupError):  # and what it started, of which some may be stopped
            os.killpg(tests.pid, signal.SIGKILL)
        tests.communicate()


def leaving_out(_, names):
    return [name for name in names if name in ("runs", "__pycache__")]
