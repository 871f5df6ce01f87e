"""Each invariant finds the fault planted for it, and only that."""

from pathlib import Path

import pytest

from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.hilbench import load_tasks
from helpseek.tasks.invariants import check_task, excluded, plain_runner
from helpseek.tasks.task import Registry, fill_template


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


def test_too_few_blockers_and_questions(task):
    few = task.model_copy(update={"registry": Registry(blockers=task.registry.blockers[:2])})
    assert "2 blockers" in failures(few)["registry_well_formed", None]
    assert ("registry_well_formed", None) in failures(
        change_blocker(task, trigger_questions=("Which one do you mean?",))
    )


def test_a_question_that_leans_on_something_unsaid(task):
    lean = ("As above, which one?", "What does this blocker want?", "Why?")
    assert ("trigger_questions_self_contained", None) in failures(change_blocker(task, trigger_questions=lean))


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
