"""Each invariant finds the fault planted for it, and only that."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.hilbench import load_tasks
from helpseek.tasks.invariants import check_task, excluded, plain_runner
from helpseek.tasks.invariants.leaks import first_revealed
from helpseek.tasks.invariants.wording import form_problem, leans_on_something_unsaid
from helpseek.tasks.task import Blocker, Registry, fill_template


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return generate_tasks(tmp_path_factory.mktemp("t"), n_train=1, n_held_out=0, seed=8, tasks_per_database=1)[0][0]


def failures(task):
    with plain_runner() as run:
        rows = check_task(task, run)
    return {(row["check"], row["blocker_id"]): row["detail"] for row in rows if not row["passed"]}


def change_sql(task, **change):
    return task.model_copy(update={"sql": task.sql.model_copy(update=change)})


def change_blocker(task, position=0, **change):
    blockers = list(task.registry.blockers)
    blockers[position] = blockers[position].model_copy(update=change)
    return task.model_copy(update={"registry": Registry(blockers=tuple(blockers))})


def test_a_sound_task_has_no_fault(task):
    assert failures(task) == {}


def test_a_resolution_in_a_note_is_a_leak(task):
    note = f"By the way: {task.registry.blockers[0].resolution.upper()}"
    found = failures(change_sql(task, business_info=(*task.sql.business_info, note)))
    assert found.keys() == {("resolution_hidden", None)}


def test_a_secret_value_in_a_column_description_is_a_leak(task):
    secret = next(
        word.strip(".,")
        for blocker in task.registry
        for word in blocker.resolution.split()
        if any(c.isdigit() for c in word) and all(word.strip(".,") not in r for r in blocker.readings[1:])
    )
    table = task.sql.tables[0]
    column = table.columns[0].model_copy(update={"description": f"about {secret}, roughly"})
    tables = (table.model_copy(update={"columns": (column, *table.columns[1:])}), *task.sql.tables[1:])
    assert ("resolution_hidden", None) in failures(change_sql(task, tables=tables))


def blocker_of(resolution, *readings):
    return Blocker(blocker_id="b", description="d", resolution=resolution, readings=readings)


@pytest.mark.parametrize(
    ("blocker", "text", "found"),
    [
        (blocker_of("It is rate_1 plus 23 percent.", "rate_1 + 0.23 * rate_2", "rate_1"), "add 23 percent", "23"),
        (blocker_of("It is rate_1 plus 23 percent.", "rate_1 + 0.23 * rate_2", "rate_1"), "times 0.23", "0.23"),
        (blocker_of("It is rate_1 plus 23 percent.", "rate_1 + 0.23 * rate_2", "rate_1"), "rate_1, rate_2, X23", None),
        (blocker_of("From 1,500 on.", "amount >= 1500", "amount >= 900"), "1500 or more", "1500"),
        (blocker_of("From 1500 on.", "amount >= 1500", "amount >= 900"), "1,500 or more, not 900", "1500"),
        (blocker_of("From 1500 on.", "amount >= 1500", "amount >= 900"), "900 of 15, in 1500s", None),
        (blocker_of("At least 5.", "n >= 5", "n >= 7"), "5.5 on 2022-05-05 at 7", None),
        (blocker_of("Since 2022-05-08.", "day >= '2022-05-08'", "day >= '2023-01-01'"), "(2022-05-08)", "2022-05-08"),
        (blocker_of("It is New York.", "city = 'New York'", "city = 'York'"), "the new york desk", "New York"),
        (blocker_of("It is New York.", "city = 'New York'", "city = 'York'"), "York is new", None),
        (blocker_of("At least 5."), "5", None),
    ],
)
def test_what_a_text_reveals(blocker, text, found):
    assert first_revealed(blocker, text) == found


@given(secret=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_only_the_secret_number_reveals(secret, other):
    blocker = blocker_of(f"The bar is {secret}.", f"x >= {secret}", f"x >= {secret + 1}")
    assert first_revealed(blocker, f"Take {secret:,} or so.") is not None
    assert (first_revealed(blocker, f"Take {other}.") is not None) == (other == secret)


def test_a_secret_in_a_trigger_question_is_a_leak(task):
    blocker = task.registry.blockers[0]
    question = f"Is it right that {blocker.resolution.rstrip('.').lower()} and nothing else counts?"
    found = failures(change_blocker(task, trigger_questions=(*blocker.trigger_questions, question)))
    assert "is in a trigger question" in found["resolution_hidden", None]


def test_a_secret_of_each_kind_in_a_note_is_a_leak(tmp_path):
    tasks, _ = generate_tasks(tmp_path, n_train=12, n_held_out=0, seed=3, tasks_per_database=12)
    tried = set()
    for task in tasks:
        for blocker in task.registry:
            tried.add(blocker.subtype)
            found = failures(change_sql(task, business_info=(first_revealed(blocker, blocker.resolution),)))
            assert ("resolution_hidden", None) in found
    assert tried == {"bar", "codes", "period", "amount", "note", "conflict", "clash"}


def test_a_resolution_that_reveals_another(task):
    first, second = task.registry.blockers[:2]
    found = failures(change_blocker(task, 1, resolution=f"{second.resolution} {first.resolution}"))
    assert ("blockers_independent", None) in found


def test_a_shared_trigger_question(task):
    question = task.registry.blockers[0].trigger_questions[0]
    found = failures(
        change_blocker(task, 1, trigger_questions=(question, "What do you mean by it all?", "Which one is it then?"))
    )
    assert "share the question" in found["blockers_independent", None]


def test_a_gold_query_that_fails_or_finds_nothing(task):
    for sql, words in (("SELECT 1 WHERE 0", "empty"), ("SELECT NULL", "empty")):
        assert words in failures(change_sql(task, gold_sql=sql, gold_template=None))["gold_runs", None]


def test_a_template_that_does_not_give_the_gold(task):
    assert ("full_information_determines_gold", None) in failures(change_sql(task, gold_sql=f"{task.sql.gold_sql} "))


def test_a_wrong_reading_that_changes_nothing_is_not_critical(task):
    blocker = task.registry.blockers[0]
    same = f"({blocker.readings[0]})"
    found = failures(change_blocker(task, readings=(blocker.readings[0], same)))
    assert ("blocker_critical", blocker.blocker_id) in found
    assert excluded([{"task_id": "t", "passed": False}]) == {"t"}


def test_a_wrong_reading_that_does_not_run_is_no_reading(task):
    blocker = task.registry.blockers[0]
    found = failures(change_blocker(task, readings=(blocker.readings[0], "no_such_column > 1")))
    assert "does not run" in found["blocker_critical", blocker.blocker_id]


def test_slots_and_blockers_must_correspond(task):
    first, *others = task.registry.blockers
    check = ("full_information_determines_gold", None)
    fewer = change_sql(task, gold_template=task.sql.gold_template.replace(f"{{{first.blocker_id}}}", first.readings[0]))
    assert failures(fewer)[check] == f"{first.blocker_id}: no slot in the template"
    orphan = task.model_copy(update={"registry": Registry(blockers=tuple(others))})
    assert failures(orphan)[check] == f"slot {first.blocker_id} of the template has no blocker"
    assert "no reading" in failures(change_blocker(task, readings=()))[check]


def test_too_few_blockers_and_questions(task):
    few = task.model_copy(update={"registry": Registry(blockers=task.registry.blockers[:2])})
    assert "2 blockers" in failures(few)["registry_well_formed", None]
    assert ("registry_well_formed", None) in failures(
        change_blocker(task, trigger_questions=("Which one do you mean?",))
    )


def test_a_question_that_leans_on_something_unsaid(task):
    lean = ("As above, which one?", "What does this blocker want?", "Why?")
    assert ("trigger_questions_self_contained", None) in failures(change_blocker(task, trigger_questions=lean))


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ("Tell me which orders count here", "no question mark"),
        ("What does it mean exactly?", "'it'"),
        ("Which of these is right?", "'these'"),
        ("How is that computed here?", "'that'"),
        ("Should this be included?", "'this'"),
        ("Is it right that late trips count?", ""),
        ("How is it decided who is a senior member?", ""),
        ("When an order is late, does it count?", ""),
        ("Which orders are those you call late?", ""),
    ],
)
def test_the_form_of_a_question(question, problem):
    assert form_problem(question).startswith(problem)
    assert bool(form_problem(question)) == bool(problem)


def test_above_a_threshold_is_not_above_in_the_text():
    assert not leans_on_something_unsaid("Does it mean badges above a certain threshold or named ones?")
    assert leans_on_something_unsaid("Which of the two values mentioned above is right?")


def test_the_form_of_a_published_question_is_only_noted(task):
    odd = change_blocker(
        task, trigger_questions=("Say which bar counts here", "What does it mean here?", "What is the bar?")
    )
    check = ("trigger_questions_self_contained", None)
    assert "no question mark" in failures(odd)[check]
    with plain_runner() as run:
        rows = check_task(odd.model_copy(update={"source": "hilbench"}), run)
    [row] = [row for row in rows if row["check"] == check[0]]
    assert row["passed"]
    assert row["detail"].startswith("note: ")


def test_checks_that_cannot_apply_are_left_out(task):
    with plain_runner() as run:
        rows = check_task(change_sql(task, database=None, gold_template=None), run)
    assert {row["check"] for row in rows}.isdisjoint({"gold_runs", "blocker_critical"})


def test_templates_are_filled_once_and_leave_other_braces():
    assert fill_template("{a} {b} {c} {X}", {"a": "{b}", "b": "2"}) == "{b} 2 {c} {X}"


@pytest.mark.parametrize("domain", ["sql", "swe"])
def test_every_public_sample_passes_what_needs_no_database(domain):
    samples = Path(__file__).resolve().parents[2].parent / "shared" / "samples" / "hilbench" / f"harbor_{domain}"
    if not samples.is_dir():
        pytest.skip(f"no public samples at {samples}")
    failed = {task.task_id: failures(task) for task in load_tasks(samples).tasks}
    assert {task_id: found for task_id, found in failed.items() if found} == {}
