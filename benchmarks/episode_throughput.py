"""Episodes a second with an endpoint that answers at once: helpseek against bare mini-swe-agent with LiteLLM.

Four-step SQL episodes over generated tasks; the endpoint is a process of its own on the same machine. helpseek runs
with everything on (guarded SQL in child processes, journal with fsync, grading, Parquet); the peer runs
mini-swe-agent's own agent and LiteLLM model with a plain sqlite3 call, no journal and no grading.

    python benchmarks/episode_throughput.py --episodes 500 --peer 200
    python benchmarks/episode_throughput.py --episodes 5000 --peer 0      # memory over a long sweep
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from helpseek import config
from helpseek.condition import Condition
from helpseek.environments.sql_guard import SqlGuard
from helpseek.episodes import sweep
from helpseek.episodes.episode import Services, Setting
from helpseek.models.build import model_builder
from helpseek.oracle.lexical import LexicalJudge, embed_words
from helpseek.oracle.oracle import AnswerPolicy
from helpseek.records import read_table
from helpseek.scoring.grade import SqlGrader
from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.task import Task

ROOT = Path(__file__).resolve().parents[1]
TASKS, THREADS, STEPS = 20, 8, 4


@contextlib.contextmanager
def endpoint() -> Iterator[str]:
    """The address of a server that answers at once."""
    command = [sys.executable, str(ROOT / "tests" / "endpoint_server.py")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def run_helpseek(base_url: str, tasks: list[Task], episodes: int, folder: Path) -> tuple[float, list[float]]:
    """Wall seconds of a shard of `episodes`, and the resident megabytes seen every tenth of it."""
    model = config.EndpointModel(backend="endpoint", base_url=base_url, model="m", mode="text")
    setting = Setting(
        taskset="benchmark",
        model="m",
        model_spec={},
        mode="text",
        condition=Condition.BLOCKED,
        style="helpseek",
        policy=AnswerPolicy(),
        judge="lexical",
        judge_spec={},
        limits=config.Limits(),
        sql_spec={},
        code_digest="",
    )
    files = sweep.ShardFiles(*(folder / f"{name}.parquet" for name in ("episodes", "steps", "questions")))
    runs = sweep.shard_runs(tasks, episodes // len(tasks), seed=0, shard=0, shards=1)
    memory: list[float] = []
    with SqlGuard(2) as guard:
        services = Services(
            guard=guard,
            grader=SqlGrader(guard, guard.limits),
            judge=LexicalJudge(0.15),
            embed=embed_words,
            build_model=_watched(model_builder(model, THREADS), len(runs), memory),
        )
        start = time.perf_counter()
        sweep.run_shard(setting, runs, services, files, concurrency=THREADS)
        elapsed = time.perf_counter() - start
    steps = read_table(files.steps, "steps")
    assert steps.num_rows == STEPS * len(runs), "the script did not run as written"
    return elapsed, memory


def _watched(build: Any, total: int, memory: list[float]) -> Any:
    """`build`, noting the process's memory at every tenth of `total` episodes."""
    started = 0

    def watched(*arguments: Any) -> Any:
        nonlocal started
        started += 1
        if started % max(1, total // 10) == 0:
            memory.append(resident_mb())
        return build(*arguments)

    return watched


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run_peer(base_url: str, tasks: list[Task], episodes: int) -> float:
    """Wall seconds of the same episodes with mini-swe-agent's own agent and LiteLLM."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm
    from minisweagent.agents.default import DefaultAgent
    from minisweagent.exceptions import Submitted
    from minisweagent.models.litellm_textbased_model import LitellmTextbasedModel

    litellm.suppress_debug_info = True

    class PlainSql:
        config: Any = None

        def __init__(self, path: Path) -> None:
            self.path = path

        def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
            name, _, argument = action["command"].partition(" ")
            if name == "submit_sql":
                exit_ = {"exit_status": "Submitted", "submission": argument}
                raise Submitted({"role": "exit", "content": argument, "extra": exit_})
            if name != "execute_sql":
                return {"output": "tables", "returncode": 0, "exception_info": ""}
            address = f"{self.path.absolute().as_uri()}?mode=ro"
            with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
                rows = connection.execute(argument.strip('"')).fetchmany(200)
            return {"output": str(rows), "returncode": 0, "exception_info": ""}

        def get_template_vars(self, **_: Any) -> dict[str, Any]:
            return {}

        def serialize(self) -> dict[str, Any]:
            return {}

    def episode(number: int) -> None:
        task = tasks[number % len(tasks)]
        assert task.sql is not None and task.sql.database is not None
        model = LitellmTextbasedModel(
            model_name="openai/m",
            model_kwargs={"api_base": base_url, "api_key": "none"},
            cost_tracking="ignore_errors",
            action_regex=r"```\n(.*?)\n```",
        )
        agent = DefaultAgent(model, PlainSql(task.sql.database), system_template="s", instance_template="{{task}}")
        agent.run(f"Database: {task.sql.database_name}")
        assert agent.n_calls == STEPS

    episode(0)  # LiteLLM imports half of itself at the first call
    start = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(episode, range(episodes)))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=500, help="episodes of helpseek")
    parser.add_argument("--peer", type=int, default=200, help="episodes of the peer; 0: none")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, endpoint() as base_url:
        folder = Path(name)
        tasks, _ = generate_tasks(folder, n_train=0, n_held_out=TASKS, seed=0, tasks_per_database=10)
        elapsed, memory = run_helpseek(base_url, tasks, arguments.episodes, folder)
        rate = arguments.episodes / elapsed
        print(f"helpseek: {rate:.1f} episodes/s, {1000 * elapsed / arguments.episodes / STEPS:.2f} ms a step")
        print(f"memory: {' '.join(f'{mb:.0f}' for mb in memory)} MB at each tenth; peak", end=" ")
        print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
        if arguments.peer:
            peer = arguments.peer / run_peer(base_url, tasks, arguments.peer)
            print(f"mini-swe-agent with LiteLLM: {peer:.1f} episodes/s; ratio {rate / peer:.1f}")


if __name__ == "__main__":
    main()
