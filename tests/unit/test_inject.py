"""Blockers for a user's own tasks: proposed by a model, checked, reviewed by a human, read back."""

import csv
import json
import sqlite3

import pytest

from helpseek.errors import InfraError, UserError
from helpseek.models.chat import ChatClient
from helpseek.tasks.inject import COLUMNS, accept, propose, read_own_tasks
from helpseek.tasks.store import read_taskset, write_taskset
from tests.endpoint_server import EndpointServer, Reply

GOLD = "SELECT count(*) FROM orders WHERE amount >= 37 AND day >= '2023-02-05' AND region = 'Elm'"


def proposed(name, kind, place, resolution, right, *wrong):
    return {
        "blocker_id": name,
        "type": kind,
        "place": place,
        "description": f"The {name} of the question is open.",
        "resolution": resolution,
        "trigger_questions": [
            f"Which {name} do you mean here?",
            f"What is the {name} to use?",
            f"How is {name} defined here?",
        ],
        "readings": [right, *wrong],
    }


PROPOSAL = {
    "question": "How many big recent orders are there in the main region?",
    "blockers": [
        proposed(
            "bigness", "missing", "question", "Big is at least 37.", "amount >= 37", "amount >= 10", "amount >= 90"
        ),
        proposed("recency", "ambiguous", "question", "Since 2023-02-05.", "day >= '2023-02-05'", "day >= '2023-09-01'"),
        proposed("region", "contradictory", "business_info", "It is Elm.", "region = 'Elm'", "region = 'Dune'"),
    ],
}


@pytest.fixture
def own(tmp_path):
    with sqlite3.connect(tmp_path / "shop.sqlite") as connection:
        connection.execute("CREATE TABLE orders (amount INTEGER, day TEXT, region TEXT)")
        rows = [(n % 100, f"2023-{n % 12 + 1:02}-{n % 28 + 1:02}", ("Elm", "Dune", "Fern")[n % 3]) for n in range(900)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    connection.close()
    path = tmp_path / "tasks.jsonl"
    path.write_text(
        json.dumps({"task_id": "t1", "question": "…", "gold_sql": GOLD, "database": "shop.sqlite"}) + "\n\n"
    )
    return path


def propose_with(path, *replies):
    rest = list(replies)
    sheet = path.with_name("sheet.csv")
    with EndpointServer(lambda request: Reply(rest.pop(0) if len(rest) > 1 else rest[0])) as server:
        propose(read_own_tasks(path), ChatClient(server.base_url, "m"), sheet)
        return sheet, server.requests


def rows_of(sheet):
    with sheet.open(newline="") as file:
        return list(csv.DictReader(file))


def review(sheet, **change):
    rows = [{**row, "decision": "accept", **change} for row in rows_of(sheet)]
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def test_from_proposal_to_task_set(own, tmp_path):
    sheet, requests = propose_with(own, "not json", f"Here it is:\n```json\n{json.dumps(PROPOSAL)}\n```")
    assert len(requests) == 2
    assert "orders" in requests[0]["messages"][0]["content"]
    rows = rows_of(sheet)
    assert [row["failed_checks"] for row in rows] == [""] * 3
    assert {row["decision"] for row in rows} == {""}
    review(sheet)
    tasks, faults = accept(read_own_tasks(own), sheet)
    assert faults == []
    write_taskset(tmp_path / "made", tasks)
    [task] = read_taskset(tmp_path / "made")
    assert task.source == "injected"
    assert task.sql.gold_template.count("{") == 3
    assert task.registry.get("recency").resolution == "Since 2023-02-05."


def test_a_weak_proposal_is_told_on_the_sheet(own):
    weak = json.loads(json.dumps(PROPOSAL))
    weak["question"] += " Big is at least 37, by the way."
    weak["blockers"][1]["readings"] = ["day >= '2023-02-05'", "date(day) >= '2023-02-05'"]
    rows = rows_of(propose_with(own, json.dumps(weak))[0])
    assert "resolution_hidden" in rows[0]["failed_checks"]
    assert "blocker_critical" in rows[1]["failed_checks"]
    assert "blocker_critical" not in rows[0]["failed_checks"]


def test_a_human_can_drop_and_edit_and_hears_of_what_still_fails(own):
    sheet, _ = propose_with(own, json.dumps(PROPOSAL))
    review(sheet, resolution="Edited.")
    tasks, faults = accept(read_own_tasks(own), sheet)
    assert {blocker.resolution for blocker in tasks[0].registry} == {"Edited."}
    review(sheet)
    rows = rows_of(sheet)
    rows[0]["decision"] = "reject"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    tasks, faults = accept(read_own_tasks(own), sheet)
    assert len(tasks[0].registry) == 2
    assert any("2 blockers" in fault for fault in faults)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decision": ""}, "line 2: `decision` is ''"),
        ({"decision": "maybe"}, "accept or reject"),
        ({"task_id": "t2"}, "unknown task `t2`.*did you mean `t1`"),
        ({"type": "odd"}, "`type` is 'odd'; expected one of missing, ambiguous, contradictory"),
        ({"resolution": " "}, "`resolution` is empty"),
    ],
)
def test_mistakes_on_the_sheet_name_the_line(own, change, message):
    sheet, _ = propose_with(own, json.dumps(PROPOSAL))
    review(sheet, **change)
    with pytest.raises(UserError, match=message):
        accept(read_own_tasks(own), sheet)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1"),
        ('{"task_id": "a"}', "`question`: Field required"),
        ('{"task_id": "a", "question": "q", "gold_sql": "s", "databse": "x"}', "line 1"),
        ('{"task_id": "a", "question": "q", "gold_sql": "s", "database": "none.sqlite"}', "no such file"),
        ("", "holds no task"),
    ],
)
def test_mistakes_in_own_tasks_name_the_line(tmp_path, line, message):
    path = tmp_path / "tasks.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError, match=message):
        read_own_tasks(path)


def test_a_model_that_proposes_nothing_readable(own):
    with pytest.raises(InfraError, match="no readable proposal in 3 tries"):
        propose_with(own, "I would rather not")
    assert not own.with_name("sheet.csv").exists()
