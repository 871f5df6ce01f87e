"""A sweep killed a hundred times ends as one that was left alone."""

import itertools
import multiprocessing
import random
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from helpseek import config
from helpseek.condition import Condition
from helpseek.environments.sql_guard import SqlGuard
from helpseek.episodes.episode import Services, Setting
from helpseek.episodes.sweep import ShardFiles, run_shard, shard_runs
from helpseek.errors import InfraError
from helpseek.models.reference import ReferenceModel
from helpseek.oracle.lexical import LexicalJudge, embed_words
from helpseek.oracle.oracle import AnswerPolicy
from helpseek.scoring.grade import SqlGrader
from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.store import read_taskset, write_taskset

ATTEMPTS, TASKS, KILLS = 10, 20, 100
UNTIMED = {"duration_s", "model_s", "environment_s"}


@pytest.fixture(scope="module")
def taskset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    tasks, _ = generate_tasks(folder, n_train=0, n_held_out=TASKS, seed=1, tasks_per_database=5)
    write_taskset(folder, tasks)
    return folder


class Unhurried(ReferenceModel):
    """A policy that takes its time, so that kills fall into episodes."""

    def query(self, messages, **options):
        time.sleep(0.01)
        return super().query(messages, **options)


def setting(condition=Condition.TOOL, judge="lexical"):
    return Setting(
        taskset="t",
        model="oracle_asker",
        model_spec={"backend": "reference"},
        mode="text",
        condition=condition,
        style="helpseek",
        policy=AnswerPolicy(),
        judge=judge,
        judge_spec={},
        limits=config.Limits(),
        sql_spec={},
        code_digest="0",
    )


def files(folder: Path) -> ShardFiles:
    return ShardFiles(folder / "0.parquet", folder / "0.steps.parquet", folder / "0.questions.parquet")


def run(tasks_folder: Path, output: Path, policy="oracle_asker", judge=None, model=Unhurried, **change):
    tasks = read_taskset(tasks_folder)
    with SqlGuard(2) as guard:
        services = Services(
            guard=guard,
            grader=SqlGrader(guard, guard.limits),
            judge=judge or LexicalJudge(0.15),
            embed=embed_words,
            build_model=lambda task, offered, seed: model(policy, task, offered, seed),
        )
        runs = shard_runs(tasks, ATTEMPTS, seed=0, shard=0, shards=1)
        run_shard(setting(**change), runs, services, files(output), concurrency=4)


def table(path: Path):
    frame = pq.read_table(path).to_pandas()
    return frame.drop(columns=[column for column in frame.columns if column in UNTIMED])


@pytest.mark.slow
def test_a_hundred_kills_lose_and_repeat_nothing(taskset, tmp_path):
    quiet, killed = tmp_path / "quiet", tmp_path / "killed"
    run(taskset, quiet)
    rng = random.Random(5)
    # Forked from this warm process: a fresh interpreter would spend its life importing.
    fork = multiprocessing.get_context("fork")
    journal, finished, kills = files(killed).journal, [], 0
    while kills < KILLS:
        process = fork.Process(target=run, args=(taskset, killed))
        process.start()
        # The journal must grow a little between kills, or a hundred of them would never see the end.
        target = rng.randrange(3) + (finished[-1] if finished else 0)
        deadline = time.monotonic() + 60
        while process.is_alive() and lines(journal) < target and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        finished.append(lines(journal))
        if files(killed).episodes.exists():
            for path in killed.glob("*.parquet"):
                path.unlink()
    assert finished == sorted(finished), "a finished episode was lost"
    run(taskset, killed)
    episodes = table(files(killed).episodes)
    assert len(episodes) == TASKS * ATTEMPTS
    assert episodes.episode_id.is_unique
    for name in ("episodes", "steps", "questions"):
        left, right = table(getattr(files(quiet), name)), table(getattr(files(killed), name))
        assert left.equals(right), name
    assert lines(journal) == TASKS * ATTEMPTS, "a finished episode ran again"


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


class DeadJudge:
    name = "dead"

    def match(self, question, registry, domain):
        raise InfraError("the judge is down")


def test_a_dead_judge_is_no_answer_and_is_tried_again(taskset, tmp_path):
    run(taskset, tmp_path, judge=DeadJudge(), model=ReferenceModel)
    episodes = table(files(tmp_path).episodes)
    assert set(episodes.outcome) == {"infra_error"}
    assert episodes.resolved.isna().all()
    assert set(episodes.error) == {"the judge is down"}
    assert len(table(files(tmp_path).questions)) == 0
    run(taskset, tmp_path, model=ReferenceModel)
    episodes = table(files(tmp_path).episodes)
    assert set(episodes.outcome) == {"ok"}
    assert episodes.resolved.all()


class Crashing(ReferenceModel):
    """A bug in our own code, once some episodes have surely finished."""

    queries = itertools.count()

    def query(self, messages, **options):
        if next(self.queries) > 60:
            raise ZeroDivisionError("a bug")
        return super().query(messages, **options)


def test_a_bug_stops_the_shard_and_keeps_what_had_finished(taskset, tmp_path):
    with pytest.raises(ZeroDivisionError):
        run(taskset, tmp_path, model=Crashing)
    assert not files(tmp_path).episodes.exists()
    assert 0 < lines(files(tmp_path).journal) < TASKS * ATTEMPTS


class Babbling(ReferenceModel):
    """Never submits."""

    def query(self, messages, **options):
        action = {"command_line": "get_database_info x"}
        return {"role": "assistant", "content": "hm", "extra": {"actions": [action], "cost": 0.0}}


def test_the_step_limit_is_an_outcome_of_its_own(taskset, tmp_path):
    run(taskset, tmp_path, model=Babbling)
    episodes = table(files(tmp_path).episodes)
    assert set(episodes.outcome) == {"limit"}
    assert set(episodes.n_steps) == {config.Limits().steps}
    assert not episodes.resolved.any()
