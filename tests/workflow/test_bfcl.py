"""The BFCL branch as a user runs it: references, own outputs, changed outputs, refusal."""

import os
import time

import pandas as pd
import pytest

from tests.unit.bfcl_builders import write_model
from tests.workflow.test_smoke import jobs, snakemake

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory, bfcl_dataset):
    """A finished run over a model that follows gold, beside the references."""
    folder = tmp_path_factory.mktemp("bfcl")
    write_model(folder / "result" / "m", bfcl_dataset)
    (folder / "mine.yaml").write_text("bfcl:\n  results:\n    mine: {path: result/m}\n  bootstrap: 200\n")
    done = snakemake(folder, "bfcl", config=folder / "mine.yaml")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_known_scores_and_nothing_to_do_the_second_time(folder):
    table = pd.read_csv(folder / "results/tables/bfcl_scores.csv").set_index("model")
    expected = {"mine": 1.0, "gold": 1.0, "act_always": 0.5, "ask_always": 0.5, "guess_then_read": 0.5}
    assert table["decision_accuracy"].to_dict() == expected
    assert (table["n_scored"] == 223).all()
    assert "<svg" in (folder / "results/figures/bfcl_ranks.svg").read_text()
    again = snakemake(folder, "bfcl", config=folder / "mine.yaml")
    assert "Nothing to be done" in again.stdout + again.stderr


def test_changed_outputs_are_scored_anew_and_nothing_else(folder):
    file = folder / "result/m/multi_turn/BFCL_v4_multi_turn_miss_func_result.json"
    later = time.time() + 5
    file.write_text(file.read_text() + "\n")
    os.utime(file, (later, later))
    planned = jobs(snakemake(folder, "-n", "bfcl", config=folder / "mine.yaml"))
    assert {name: n for name, n in planned.items() if name not in ("bfcl", "total")} == {
        "score_bfcl": 1,
        "make_bfcl_tables": 1,
    }


def test_a_rule_of_counting_reruns_scores_only(folder):
    overlay = folder / "strip.yaml"
    overlay.write_text((folder / "mine.yaml").read_text() + "  rules: {name_suffix: strip}\n")
    planned = jobs(snakemake(folder, "-n", "bfcl", config=overlay))
    assert planned["score_bfcl"] == 5
    assert "make_bfcl_pairs" not in planned


def test_mistakes_are_one_paragraph(folder, tmp_path, bfcl_dataset):
    overlay = tmp_path / "wrong.yaml"
    overlay.write_text("bfcl: {results: {mine: {path: no/such}}}\n")
    done = snakemake(tmp_path, "-n", "bfcl", config=overlay)
    assert done.returncode != 0
    assert "`bfcl.results.mine.path`: no/such: no such directory" in done.stdout + done.stderr
    write_model(tmp_path / "few", bfcl_dataset, lambda category, rows: rows[:20])
    overlay.write_text("bfcl: {results: {few: {path: few}}, references: []}\n")
    done = snakemake(tmp_path, "bfcl", config=overlay)
    assert done.returncode != 0
    assert "pairs reach the scored turn on both sides" in done.stderr
    assert "Traceback" not in done.stderr
    overlay.write_text("bfcl: {results: {few: {path: few}}, references: [], allow_partial: true, bootstrap: 200}\n")
    done = snakemake(tmp_path, "bfcl", config=overlay)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "few (partial)" in (tmp_path / "results/tables/bfcl_scores.md").read_text()
    overlay.write_text("bfcl: {world: {also: [mkdri]}}\n")
    done = snakemake(tmp_path, "bfcl", config=overlay)
    assert "`bfcl.world.also` names `mkdri`, no BFCL function (did you mean `mkdir`?)" in done.stderr
