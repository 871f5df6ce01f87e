"""One shard of a sweep: its tasks x attempts, concurrent, journalled, resumed, then written as Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from helpseek.episodes.episode import Run, Services, Setting, attempt_seed, episode_key, run_episode
from helpseek.episodes.journal import Journal
from helpseek.episodes.outcome import EpisodeRows, Outcome
from helpseek.progress import Progress
from helpseek.records import table_writer
from helpseek.tasks.task import Task

EPISODES_PER_ROW_GROUP = 500


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """Files of one shard: three tables, and the journal they are written from."""

    episodes: Path
    steps: Path
    questions: Path

    @property
    def journal(self) -> Path:
        return self.episodes.with_suffix(".journal.jsonl")


def shard_runs(tasks: Sequence[Task], attempts: int, seed: int, shard: int, shards: int) -> list[Run]:
    """The runs of shard number `shard` of `shards`: every `shards`-th task, with all its attempts."""
    mine = sorted(tasks, key=lambda task: task.task_id)[shard::shards]
    return [
        Run(task, attempt, attempt_seed(seed, task.task_id, attempt)) for task in mine for attempt in range(attempts)
    ]


def run_shard(setting: Setting, runs: Sequence[Run], services: Services, files: ShardFiles, concurrency: int) -> None:
    """Run every episode that the shard's journal does not hold yet, then write its tables, each at once.

    Killed at any moment and started again, it loses no finished episode and repeats none.
    """
    keys = {episode_key(setting, run): run for run in runs}
    label = f"{setting.model} {setting.taskset} {setting.condition}"
    with Journal(files.journal) as journal:
        finished = journal.finished()
        waiting = [run for key, run in keys.items() if key not in finished]
        with Progress(label, total=len(keys), done=len(keys) - len(waiting)) as progress:
            for batch in _concurrently(setting, waiting, services, concurrency):
                journal.append(batch)
                progress.add(len(batch), sum(rows.episode["outcome"] == Outcome.INFRA_ERROR for rows in batch))
        _write(files, journal.read(keys))


def _concurrently(
    setting: Setting, runs: Sequence[Run], services: Services, concurrency: int
) -> Iterator[list[EpisodeRows]]:
    """Run episodes on `concurrency` threads; yield what has finished as soon as anything has."""
    queue = iter(runs)
    with ThreadPoolExecutor(concurrency, thread_name_prefix="episode") as pool:
        pending: set[Future[EpisodeRows]] = set()
        while True:
            pending |= {
                pool.submit(run_episode, setting, run, services) for run in islice(queue, concurrency - len(pending))
            }
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield [future.result() for future in done if future.exception() is None]
            for failed in done:
                failed.result()  # raises what stopped it, now that its finished neighbours are safe


def _write(files: ShardFiles, episodes: Iterator[EpisodeRows]) -> None:
    """Write the three tables in one pass over the journal, a row group at a time, so that memory stays flat."""
    with (
        table_writer(files.episodes, "episodes") as write_episodes,
        table_writer(files.steps, "steps") as write_steps,
        table_writer(files.questions, "questions") as write_questions,
    ):
        while batch := list(islice(episodes, EPISODES_PER_ROW_GROUP)):
            write_episodes([rows.episode for rows in batch])
            write_steps([step for rows in batch for step in rows.steps])
            write_questions([question for rows in batch for question in rows.questions])
