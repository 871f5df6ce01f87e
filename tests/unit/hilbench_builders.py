"""Small own tasks in HiL-Bench's public forms, to load whole or to break."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[2] / "../shared/samples/hilbench"

QUESTION = "How many large orders are recent? "
INSTRUCTION = (
    "# Instructions\nYou are working in the `shop` database.\n\nAnswer the following question:\n"
    f"{QUESTION}\n\n# Available Commands\n"
)


def blocker(number: int, **changes: Any) -> dict[str, Any]:
    fields = {
        "id": f"gap_{number}",
        "description": f"Term {number} is not defined.",
        "example_questions": [f"What does term {number} mean?", f"How is term {number} measured?"],
        "resolution": f"Term {number} means column c{number} is 1. ",
        "subtype": "timeframe_ambiguity",
        "type": "question",
    }
    return {key: value for key, value in (fields | changes).items() if value is not ...}


def registry(*changes: dict[str, Any]) -> dict[str, Any]:
    return {"blockers": [blocker(number, **change) for number, change in enumerate(changes or ({}, {}, {}))]}


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def sql_task(parent: Path, name: str = "sql_7") -> Path:
    folder, shared = parent / name, parent / name / "shared"
    write_json(shared / "metadata.json", {"dataset_name": name, "database_name": "shop", "num_blockers": 3})
    write_json(shared / "data" / "business_info.json", {"database_name": "shop", "business_info": ["A note.", "More."]})
    write_json(shared / "ask-human-data" / "blocker_registry.json", registry())
    (shared / "ground_truth.sql").write_text("SELECT count(*) FROM orders", encoding="utf-8")
    (folder / "baseline").mkdir()
    (folder / "baseline" / "instruction.md").write_text(INSTRUCTION, encoding="utf-8")
    return folder


def swe_task(parent: Path, name: str = "swe_7") -> Path:
    folder, shared = parent / name, parent / name / "shared"
    metadata = {
        "dataset_name": name,
        "instance_id": "instance_acme__tool-1",
        "repo_name": "app",
        "repo_name_source": "acme/tool",
        "base_commit": "HEAD",
        "image_name": "tool:1",
        "log_parser": "sweap_json",
        "language": "Go",
        "blocker_stats": {"total": 3, "missing_parameter": 0},
        "swe_bench_metadata": {"FAIL_TO_PASS": ["TestA"], "PASS_TO_PASS": []},
        "test_cmd": "bash run.sh",
        "test_patch": "diff --git a/x b/x\n",
        "test_files": [],
    }
    write_json(shared / "metadata.json", metadata)
    types = [["missing parameters"], "ambiguous requirement", "Contradictory_Requirements"]
    changes = [{"type": kind, "subtype": ..., "example_questions": ["-  What now?"]} for kind in types]
    write_json(shared / "ask-human-data" / "blocker_registry.json", registry(*changes))
    (shared / "problem_statement.txt").write_text("# PROBLEM STATEMENT\nDo it.\n", encoding="utf-8")
    return folder


def sql_row(number: int = 1, **changes: Any) -> dict[str, Any]:
    bucket = f"hf://buckets/owner/bucket/public_sql_{number}"
    fields = {
        "task_id": f"public_sql_{number}",
        "uid": "0" * 24,
        "task_type": "SQL",
        "problem": QUESTION,
        "repo_or_db_name": "shop",
        "repo_or_db_download_link": f"{bucket}/shop.sqlite",
        "schema_descriptions_download_links": [f"{bucket}/table_descriptions.csv", f"{bucket}/orders.csv"],
        "business_info": ["A note."],
        "blocker_registry": registry(),
        "ground_truth_answer": "SELECT 1",
    }
    return {key: value for key, value in (fields | changes).items() if value is not ...}


def swe_row(number: int = 1, **changes: Any) -> dict[str, Any]:
    fields = {
        "task_id": f"public_swe_{number}",
        "uid": "1" * 24,
        "task_type": "swe",
        "problem": "# PROBLEM STATEMENT\nDo it.\n",
        "repo_or_db_name": "acme/tool",
        "repo_or_db_download_link": "hf://buckets/owner/images/1.tar.zst",
        "blocker_registry": json.dumps(registry()["blockers"]),
        "ground_truth_answer": "diff --git a/y b/y\n",
        "tests_to_pass": "tests/test_x.py::T::test_a",
        "test_files": "[]",
        "test_patch": "diff --git a/x b/x\n",
    }
    return {key: value for key, value in (fields | changes).items() if value is not ...}


def write_database(folder: Path) -> Path:
    """A database named shop with its schema descriptions, `orders` written as the release writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("CREATE TABLE Orders (id INTEGER, total REAL)")
    connection.commit()
    connection.close()
    (folder / "table_descriptions.csv").write_text(
        "table_name,table_description\nOrders,All orders\n", encoding="utf-8"
    )
    columns = 'original_column_name,combined_description,data_format\nid,"Number, unique",integer\ntotal,Price,real\n'
    (folder / "orders.csv").write_text(columns, encoding="utf-8")
    return folder / "shop.sqlite"
