"""The workflow as a user runs it: once, again, after a deletion, after a kill, after a change, and with mistakes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ROOT / "configs" / "smoke.yaml"

pytestmark = pytest.mark.slow


def command(folder, *arguments, config=SMOKE):
    configs = ["--configfile", str(config)] if config else []
    return [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        str(ROOT / "Snakefile"),
        "--directory",
        str(folder),
        *arguments,
        *configs,
    ]


def snakemake(folder, *arguments, config=SMOKE):
    return subprocess.run(command(folder, *arguments, config=config), capture_output=True, text=True, check=False)


def jobs(done):
    """Rule -> number of jobs, read off the statistics of a dry run."""
    lines = done.stdout.split("Job stats:")[-1].splitlines()
    return {cells[0]: int(cells[1]) for line in lines if len(cells := line.split()) == 2 and cells[1].isdigit()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smoke")
    done = snakemake(folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A finished run of one's own to spoil; modification times are kept."""
    shutil.copytree(finished, tmp_path / "run", symlinks=True)
    return tmp_path / "run"


def test_the_tables_hold_the_known_values(finished):
    main = pd.read_csv(finished / "results/tables/main_results.csv").set_index(["model", "condition"])["pass_at_2"]
    assert main["oracle_asker", "tool"] == main["oracle_asker", "full_info"] == main["never_ask", "full_info"] == 1.0
    assert main["never_ask", "tool"] == main["never_ask", "blocked"] == main["oracle_asker", "blocked"] == 0.0
    ask = pd.read_csv(finished / "results/tables/ask_quality.csv").set_index("model")
    assert ask.loc["oracle_asker", "ask_f1"] == 1.0
    assert ask.loc["never_ask", "recall"] == 0.0
    for name in ("judgment_gap", "precision_recall"):
        assert "<svg" in (finished / f"results/figures/{name}.svg").read_text()


def test_the_second_run_has_nothing_to_do(finished):
    done = snakemake(finished)
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr


def test_a_deleted_shard_reruns_with_what_follows_and_nothing_else(run):
    before = pd.read_csv(run / "results/tables/main_results.csv")
    (run / "results/episodes/never_ask/smoke_sql/tool/1.parquet").unlink()
    planned = jobs(snakemake(run, "-n"))
    assert planned.pop("evaluate") == 1
    assert set(planned) <= {"all", "select_tasks", "make_tables", "make_figures", "write_manifest", "total"}
    assert snakemake(run).returncode == 0
    assert before.equals(pd.read_csv(run / "results/tables/main_results.csv"))


def test_why_sums_up_reasons(run):
    (run / "results/episodes/never_ask/smoke_sql/tool/1.parquet").unlink()
    arguments = ["-s", str(ROOT / "Snakefile"), "--directory", str(run), "--configfile", str(SMOKE)]
    program = [sys.executable, "-m", "helpseek.cli", "why", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1  evaluate" in done.stdout
    assert "output missing" in done.stdout


def test_a_changed_parameter_reruns_what_depends_on_it(run, tmp_path):
    overlay = tmp_path / "more.yaml"
    overlay.write_text(SMOKE.read_text().replace("bootstrap: 200", "bootstrap: 300"))
    planned = jobs(snakemake(run, "-n", config=overlay))
    assert "evaluate" not in planned
    assert planned["make_tables"] == 1
    overlay.write_text(SMOKE.read_text().replace("attempts: 2", "attempts: 3"))
    planned = jobs(snakemake(run, "-n", config=overlay))
    assert planned["evaluate"] == 12
    assert "generate_tasks" not in planned


def test_a_killed_run_resumes(tmp_path):
    process = subprocess.Popen(
        command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("results/episodes/**/*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    snakemake(tmp_path, "--unlock")
    done = snakemake(tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    episodes = pd.concat(pd.read_parquet(p) for p in tmp_path.glob("results/episodes/*/*/*/?.parquet"))
    assert len(episodes) == 2 * 6 * 3 * 2
    assert episodes.episode_id.is_unique


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("evaluate: {attemps: 2}", ["`evaluate.attemps` is not a known key", "did you mean `attempts`"]),
        ("models: {m: {backend: endpoint, model: x}}", ["`models.m.base_url` is missing"]),
        ("evaluate: {models: [nobody]}", ["`evaluate.models.0` names `nobody`", "known: "]),
    ],
)
def test_a_mistake_in_the_configuration_is_one_paragraph(tmp_path, text, expected):
    overlay = tmp_path / "wrong.yaml"
    overlay.write_text(text)
    done = snakemake(tmp_path, "-n", config=overlay)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert all(part in said for part in [*expected, "wrong.yaml"]), said
    assert "Traceback" not in said


def test_a_missing_task_folder_is_one_paragraph_and_leaves_nothing(tmp_path):
    overlay = tmp_path / "absent.yaml"
    overlay.write_text(
        "tasksets: {mine: {kind: files, domain: sql, path: no/such/folder}}\n"
        "evaluate: {tasksets: [mine], models: [never_ask]}\noracle: {judge: lexical}\nsql: {note_search: lexical}\n"
    )
    done = snakemake(tmp_path, "tasks", config=overlay)
    assert done.returncode != 0
    assert "error: no/such/folder: no such file or folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("results/tasks/**/*.parquet"))


def test_a_dot_in_an_id_stands_for_itself(tmp_path):
    """As a pattern, `a.b` would claim the files of `aXb`, which another rule makes."""
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(
        "tasksets:\n  a.b: {kind: generated}\n  aXb: {kind: files, domain: sql, path: x.jsonl}\n"
        "evaluate: {tasksets: [a.b, aXb]}\n"
    )
    done = snakemake(tmp_path, "--dry-run", config=overlay)
    assert done.returncode == 0, done.stderr[-3000:]
    assert jobs(done)["import_tasks"] == jobs(done)["generate_tasks"] == 1
