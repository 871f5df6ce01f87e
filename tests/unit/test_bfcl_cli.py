"""`helpseek bfcl` as a person runs it."""

import json
import subprocess
import sys

import pytest

from helpseek.records import read_rows
from tests.unit.bfcl_builders import write_model


@pytest.fixture
def home(bfcl_package):
    return bfcl_package.parent


def run(*arguments, home):
    command = [sys.executable, "-m", "helpseek.cli", "bfcl", *map(str, arguments), "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_score_as_a_table_as_json_and_as_parquet(bfcl_dataset, tmp_path, home):
    write_model(tmp_path / "m", bfcl_dataset)
    table = run("score", tmp_path / "m", "--sensitivity", home=home)
    assert table.returncode == 0, table.stderr
    assert "100.0 [100.0, 100.0]" in table.stdout
    assert "name_suffix=strip" in table.stdout
    done = run("score", tmp_path / "m", "--json", "--out", tmp_path / "d.parquet", "--bootstrap", 0, home=home)
    content = json.loads(done.stdout)
    expected = {"model": "m", "n_pairs": 223, "unreached_base": 0, "unreached_miss": 0, "partial": False}
    assert {key: content[key] for key in expected} == expected
    rates = ("act_rate", "hold_rate", "decision_accuracy", "both_rate")
    assert [content[name] for name in rates] == [1, 1, 1, 1]
    rows = read_rows(tmp_path / "d.parquet", "bfcl_decisions")
    assert len(rows) == 400
    evidence = next(row for row in rows if not row["failed_filters"])
    assert evidence["base_acted"]
    assert "(" in evidence["base_call"]
    assert "world-changing call" in evidence["base_reason"]
    assert evidence["miss_acted"] is False


def test_mistakes_end_in_one_paragraph(bfcl_dataset, bfcl_samples, tmp_path, home):
    write_model(tmp_path / "good", bfcl_dataset)
    partial = bfcl_samples / "glyphh_full-eval_partial20"
    done = run("score", tmp_path / "good", partial, tmp_path / "absent", "--json", "--bootstrap", 0, home=home)
    assert done.returncode == 1
    assert json.loads(done.stdout)["model"] == "good"
    assert "only 17 of 223 pairs" in done.stderr
    assert "no such directory" in done.stderr
    assert "Traceback" not in done.stderr
    assert "* partial" in run("score", partial, "--allow-partial", "--bootstrap", 0, home=home).stdout


def test_show_a_pair(bfcl_dataset, tmp_path, home):
    write_model(tmp_path / "m", bfcl_dataset)
    shown = {name: run("show", name, "--model", tmp_path / "m", home=home).stdout for name in ("F37", "miss_func_37")}
    assert shown["F37"] == shown["miss_func_37"]
    assert "COMPLETE" in shown["F37"]
    assert "acted (right)" in shown["F37"]
    assert "held back (right)" in shown["F37"]
    done = run("show", "F999", "--model", tmp_path / "m", home=home)
    assert done.returncode == 1
    assert "no such pair (did you mean `multi_turn_miss_func_" in done.stderr


def test_data_says_how_the_pairs_come_about(home):
    done = run("data", home=home)
    assert done.returncode == 0, done.stderr
    assert "41 world, 7 session, 80 read" in done.stdout
    assert "223" in next(line for line in done.stdout.splitlines() if line.startswith("construction_error"))


def test_references_score_as_known(tmp_path, home):
    assert run("reference", tmp_path / "r", home=home).returncode == 0
    done = run("score", tmp_path / "r", "--json", "--bootstrap", 0, home=home)
    scores = {row["model"]: row["decision_accuracy"] for row in map(json.loads, done.stdout.splitlines())}
    assert scores == {"act_always": 0.5, "ask_always": 0.5, "gold": 1.0, "guess_then_read": 0.5}
