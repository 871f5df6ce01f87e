"""One shard of a sweep: its tasks x attempts, concurrent, journalled, resumed, then written as Parquet."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from helpseek.cluster.lock import FileLock
from helpseek.cluster.walltime import GRACE_S, Left
from helpseek.episodes.episode import Run, Services, Setting, attempt_seed, episode_key, run_episode
from helpseek.episodes.journal import Journal
from helpseek.episodes.outcome import EpisodeRows, Outcome
from helpseek.progress import Progress
from helpseek.records import table_writer
from helpseek.tasks.task import Task

EPISODES_PER_ROW_GROUP = 500
# How soon a request to leave is seen while long episodes run.
LOOK_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """Files of one shard: three tables, and the journal they are written from."""

    episodes: Path
    steps: Path
    questions: Path

    @property
    def journal(self) -> Path:
        return self.episodes.with_suffix(".journal.jsonl")

    @property
    def lock(self) -> Path:
        """Names the process and job that writes this shard."""
        return self.episodes.with_suffix(".lock")


def shard_runs(tasks: Sequence[Task], attempts: int, seed: int, shard: int, shards: int) -> list[Run]:
    """The runs of shard number `shard` of `shards`: every `shards`-th task, with all its attempts."""
    mine = sorted(tasks, key=lambda task: task.task_id)[shard::shards]
    return [
        Run(task, attempt, attempt_seed(seed, task.task_id, attempt)) for task in mine for attempt in range(attempts)
    ]


def run_shard(
    setting: Setting,
    runs: Sequence[Run],
    services: Services,
    files: ShardFiles,
    concurrency: int,
    leave: threading.Event | None = None,
) -> None:
    """Run every episode that the shard's journal does not hold yet, then write its tables, each at once.

    Killed at any moment and started again, it loses no finished episode and repeats none. Raises `Left` when `leave`
    was set before the end, and `LostLock` when another process has taken the shard over.
    """
    keys = {episode_key(setting, run): run for run in runs}
    label = f"{setting.model} {setting.taskset} {setting.condition}"
    with FileLock(files.lock) as lock, Journal(files.journal) as journal:
        finished = journal.finished()
        waiting = [run for key, run in keys.items() if key not in finished]
        with Progress(label, total=len(keys), done=len(keys) - len(waiting)) as progress:
            for batch in _concurrently(setting, waiting, services, concurrency, leave or threading.Event()):
                lock.check()
                journal.append(batch)
                progress.add(len(batch), sum(rows.episode["outcome"] == Outcome.INFRA_ERROR for rows in batch))
        if progress.done < len(keys):
            raise Left(f"{label}: {progress.done} of {len(keys)} episodes are saved; a retry runs the others")
        lock.check()
        _write(files, journal.read(keys))


def _concurrently(
    setting: Setting, runs: Sequence[Run], services: Services, concurrency: int, leave: threading.Event
) -> Iterator[list[EpisodeRows]]:
    """Run episodes on `concurrency` threads; yield what has finished as soon as anything has.

    Once `leave` is set nothing new starts, and what runs has a grace period to end.
    """
    queue = iter(runs)
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="episode")
    try:
        pending: set[Future[EpisodeRows]] = set()
        while not leave.is_set():
            pending |= {
                pool.submit(run_episode, setting, run, services) for run in islice(queue, concurrency - len(pending))
            }
            if not pending:
                return
            # The time-out lets a set `leave` be seen while long episodes run.
            done, pending = wait(pending, timeout=LOOK_EVERY_S, return_when=FIRST_COMPLETED)
            if done:
                yield from _settled(done)
        done, pending = wait(pending, timeout=GRACE_S)
        yield from _settled(done)
    finally:
        # An episode that outlives the grace period cannot be stopped, only left behind.
        pool.shutdown(wait=not leave.is_set(), cancel_futures=True)


def _settled(done: set[Future[EpisodeRows]]) -> Iterator[list[EpisodeRows]]:
    """Yield what has finished; then raise what stopped one, now that its neighbours are safe."""
    yield [future.result() for future in done if future.exception() is None]
    for future in done:
        future.result()


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
