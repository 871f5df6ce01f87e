"""The evaluation rule's entry: from a rule's files and params to the shard's setting, runs and services."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpseek import config
from helpseek.cluster.lock import LostLock
from helpseek.cluster.walltime import Left, exit_for_retry, leave_in_time
from helpseek.condition import Condition
from helpseek.environments.sql_guard import SqlGuard, SqlLimits
from helpseek.episodes.episode import Services, Setting
from helpseek.episodes.sweep import ShardFiles, run_shard, shard_runs
from helpseek.errors import UserError
from helpseek.models.build import model_builder, model_mode, read_model
from helpseek.oracle.build import build_judge, note_embedding
from helpseek.oracle.embedding import Embedder
from helpseek.oracle.oracle import AnswerPolicy
from helpseek.oracle.validation import Addition, with_additions
from helpseek.records import read_rows
from helpseek.scoring.grade import SqlGrader
from helpseek.tasks.invariants import excluded
from helpseek.tasks.store import read_taskset
from helpseek.tasks.task import Task

# Where a model is served, and how patiently it is asked, changes no answer.
SERVING_KEYS = {"base_url", "api_key_env", "timeout_s", "max_retries"}
# Every result an agent sees is resent with each later turn and kept in the journal; no model reads more.
AGENT_OUTPUT_BYTES = 1_000_000


def evaluate_shard(
    ids: Mapping[str, str],
    params: Mapping[str, Any],
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    *,
    concurrency: int,
    sql_workers: int,
) -> None:
    """Run one shard. `ids` are the rule's wildcards; `params` hold the sections of the config that change a result.

    Told to end, or near the job's time limit, it leaves with an exit code that Snakemake retries; what has finished is
    kept. Raises `UserError` when the split holds no usable task.
    """
    # At once: the journal holds what has finished, and waiting for the episodes in flight could take minutes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    evaluation, sql = params["evaluation"], config.Sql.model_validate(params["sql"])
    model = read_model(params["model"])
    setting = Setting(
        taskset=ids["taskset"],
        model=ids["model"],
        model_spec=model.model_dump(mode="json", exclude=SERVING_KEYS),
        mode=model_mode(model),
        condition=Condition(ids["condition"]),
        style=evaluation["instruction_style"],
        policy=AnswerPolicy(params["oracle"]["per_task_cap"], params["oracle"]["per_blocker_cap"]),
        judge=params["oracle"]["judge"],
        judge_spec=params["judge"],
        limits=config.Limits.model_validate(evaluation["limits"]),
        sql_spec=sql.model_dump(mode="json", exclude={"workers"}),
        code_digest=params["code"],
    )
    tasks = usable_tasks(inputs, evaluation["split"])
    runs = shard_runs(tasks, evaluation["attempts"], params["seed"], int(ids["shard"]), evaluation["shards"])
    embedder = Embedder.from_files(inputs["embeddings"])
    agent_limits, grading_limits = sql_limits(sql)
    with SqlGuard(sql_workers, agent_limits) as guard:
        services = Services(
            guard=guard,
            grader=SqlGrader(guard, grading_limits),
            judge=build_judge(params["judge"], embedder, Path(inputs["additions"]).parent / "cache"),
            embed=note_embedding(sql.note_search, embedder),
            build_model=model_builder(model, concurrency),
        )
        files = ShardFiles(*(Path(outputs[table]) for table in ("episodes", "steps", "questions")))
        with leave_in_time() as leave:
            try:
                run_shard(setting, runs, services, files, concurrency, leave)
            except (Left, LostLock) as reason:
                exit_for_retry(str(reason))


def sql_limits(sql: config.Sql) -> tuple[SqlLimits, SqlLimits]:
    """Limits of an agent's query and of a graded one."""
    graded = SqlLimits(timeout_s=sql.timeout_s, memory_mb=sql.memory_mb, max_rows=sql.max_graded_rows)
    return replace(graded, max_rows=sql.max_rows, max_output_bytes=AGENT_OUTPUT_BYTES), graded


def usable_tasks(inputs: Mapping[str, str], split: str) -> list[Task]:
    """Tasks of `split` that pass every check, their registries extended by the oracle's validation."""
    folder = Path(inputs["tasks"]).parent
    left_out = excluded(read_rows(Path(inputs["checks"]), "checks"))
    splits = {row["task_id"]: row["split"] for row in read_rows(Path(inputs["splits"]), "splits")}
    taskset = read_taskset(folder)
    if unsplit := [task.task_id for task in taskset if task.task_id not in splits]:
        raise UserError(
            f"{inputs['splits']}: lacks task `{unsplit[0]}` of tasks.parquet; rerun the rule that made them"
        )
    tasks = [task for task in taskset if task.task_id not in left_out and split in ("all", splits[task.task_id])]
    if not tasks:
        raise UserError(
            f"{folder}: no task of split `{split}` passes its checks; see results/tables/task_checks.md or "
            "`helpseek tasks check`"
        )
    unfetched = [task.task_id for task in tasks if task.sql is None or task.sql.database is None]
    if unfetched:
        raise UserError(
            f"{folder}: {len(unfetched)} of {len(tasks)} tasks have no database, `{unfetched[0]}` for one; fetch them "
            "(`helpseek tasks fetch`) and name their folder in the task set's `databases`"
        )
    additions = [Addition(**row) for row in read_rows(Path(inputs["additions"]), "additions")]
    return with_additions(tasks, additions)
