"""Seconds and memory to score one model's stored BFCL outputs: helpseek against BFCL's own `bfcl evaluate`.

Whole processes, started one after the other in turn, each first run once untimed. The two answer different questions
about the same files: helpseek reads one turn of each item, BFCL replays every call and compares states.

    python benchmarks/bfcl_scoring.py RESULT_DIR --official-python PATH/bin/python

PATH: an environment with `bfcl-eval` and what it imports; without it, only helpseek is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Only light modules here: the kernel counts this process's memory, at the moment it starts a child, as the child's.
from helpseek.bfcl.official import score_files
from helpseek.bfcl.output_files import ModelFiles, find_models
from helpseek.errors import UserError, reported

ROOT = Path(__file__).resolve().parents[1]
SCORE = [sys.executable, "-m", "helpseek.cli", "bfcl", "score", "--json"]
OFFICIAL_MODULE = "bfcl_eval.__main__"


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process: wall seconds, peak resident megabytes, what it printed."""

    seconds: float
    peak_mb: float
    output: str


@dataclass(frozen=True, slots=True)
class Contestant:
    """One line of the table: `run` starts the process and waits, `answer` says what it found."""

    name: str
    run: Callable[[], Run]
    answer: Callable[[Run], str]


def run_process(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run `command` to its end. `environment` is added to this process's.

    Raises `UserError` with the end of its standard error when it cannot start or exits with another code than 0.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **(environment or {})}
            )
        except OSError as error:
            raise UserError(f"{command[0]}: cannot be started ({error.strerror}); expected a program") from None
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            err.seek(0)
            last = (err.read().strip().splitlines() or ["nothing on standard error"])[-1]
            raise UserError(f"`{' '.join(command)}` exited with {process.returncode}: {last}")
        out.seek(0)
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return Run(seconds, usage.ru_maxrss / unit, out.read())


def helpseek_contestant(name: str, directory: Path, options: Sequence[str]) -> Contestant:
    return Contestant(name, lambda: run_process([*SCORE, *options, str(directory)]), _decision_accuracy)


def _decision_accuracy(run: Run) -> str:
    return f"decision accuracy {100 * json.loads(run.output)['decision_accuracy']:.1f}"


def official_contestant(python: Path, files: ModelFiles, name: str, project: Path) -> Contestant:
    """`bfcl evaluate` on copies of the result files in `project`, under the registered model name `name`."""
    folder = project / "result" / name.replace("/", "_") / "multi_turn"
    folder.mkdir(parents=True)
    for category, path in files.categories.items():
        # The only file name that it reads, whatever the outputs are called.
        shutil.copyfile(path, folder / f"BFCL_v4_multi_turn_{category}_result.json")
    categories = ",".join(f"multi_turn_{category}" for category in files.categories)
    command = [str(python), "-m", OFFICIAL_MODULE, "evaluate", "--model", name, "--test-category", categories]
    scores = project / "score" / name.replace("/", "_")
    # It makes a client that needs a key to exist, and calls nobody.
    environment = {"BFCL_PROJECT_ROOT": str(project), "OPENAI_API_KEY": "dummy"}

    def run() -> Run:
        shutil.rmtree(scores, ignore_errors=True)
        return run_process(command, environment)

    def answer(_: Run) -> str:
        written = score_files(scores)
        if len(written) != len(files.categories):
            raise UserError(f"`{' '.join(command)}` wrote {len(written)} of {len(files.categories)} score files")
        heads = [json.loads(path.open(encoding="utf-8").readline()) for path in written]
        return "accuracy " + "/".join(f"{100 * head['accuracy']:.1f}" for head in heads)

    return Contestant("`bfcl evaluate`", run, answer)


def why_not_official(python: Path | None, project: Path) -> str | None:
    """Why BFCL's evaluator cannot run with `python`; None when it can."""
    if python is None:
        return "no --official-python given"
    try:
        # Importing it already makes folders, and it makes them in the project.
        run_process([str(python), "-c", f"import {OFFICIAL_MODULE}"], {"BFCL_PROJECT_ROOT": str(project)})
    except UserError as error:
        return str(error)
    return None


def compare(contestants: Sequence[Contestant], repeat: int, reference: str | None) -> str:
    """Time everybody `repeat` times in turn, so that a busy moment of the machine falls on all; a Markdown table.

    `reference`: the contestant whose median the others' medians are compared with; None leaves that column out.
    """
    answers = [contestant.answer(contestant.run()) for contestant in contestants]
    rounds = [[contestant.run() for contestant in contestants] for _ in range(repeat)]
    names = [contestant.name for contestant in contestants]
    return markdown(names, list(zip(*rounds, strict=True)), answers, reference)


def markdown(names: Sequence[str], runs: Sequence[Sequence[Run]], answers: Sequence[str], reference: str | None) -> str:
    """One line a name; `runs`: one sequence a name."""
    medians = {name: statistics.median(run.seconds for run in own) for name, own in zip(names, runs, strict=True)}
    head = ["what", f"median of {len(runs[0])} (s)", "range (s)", "peak memory (MB)", "answer"]
    rows = []
    for name, own, answer in zip(names, runs, answers, strict=True):
        seconds = [run.seconds for run in own]
        peak = statistics.median(run.peak_mb for run in own)
        span = f"{min(seconds):.3f} to {max(seconds):.3f}"
        rows.append([name, f"{medians[name]:.3f}", span, f"{peak:.0f}", answer])
    if reference is not None:
        head.append(f"times as fast as {reference}")
        for row in rows:
            row.append(f"{medians[reference] / medians[row[0]]:.1f}")
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def _model(directory: Path) -> ModelFiles:
    models = find_models(directory)
    if len(models) > 1:
        names = ", ".join(files.model for files in models)
        raise UserError(f"{directory}: holds {len(models)} models ({names}); expected the folder of one of them")
    return models[0]


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text}")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result_dir", metavar="RESULT_DIR", type=Path, help="one model's outputs, all items")
    parser.add_argument("--official-python", type=Path, metavar="PATH", help="a Python that can import bfcl_eval")
    parser.add_argument(
        "--official-model",
        default="gpt-4o-2024-11-20-FC",
        metavar="NAME",
        help="a name that bfcl_eval knows, of a model whose outputs look like these (default: %(default)s)",
    )
    parser.add_argument("--repeat", type=_positive, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--home", type=Path, default=ROOT / "results" / "bfcl", help="where BFCL's data is kept")
    parser.add_argument("--wheel", type=Path, help="BFCL's wheel as a file, where no package index can be reached")
    arguments = parser.parse_args()
    with reported(), tempfile.TemporaryDirectory() as name:
        project, files = Path(name), _model(arguments.result_dir)
        options = ["--home", str(arguments.home)] + (["--wheel", str(arguments.wheel)] if arguments.wheel else [])
        contestants = [
            helpseek_contestant("`helpseek bfcl score --bootstrap 0`", files.folder, [*options, "--bootstrap", "0"]),
            helpseek_contestant("`helpseek bfcl score`", files.folder, options),
        ]
        python, reference = arguments.official_python, None
        reason = why_not_official(python, project)
        if reason is None:
            contestants.append(official_contestant(python, files, arguments.official_model, project))
            reference = contestants[-1].name
        size = sum(path.stat().st_size for path in files.categories.values()) / 10**6
        print(f"{files.model}: {size:.1f} MB, categories {', '.join(files.categories)}\n", flush=True)
        print(compare(contestants, arguments.repeat, reference))
        if reason is not None:
            print(f"\n`bfcl evaluate` was not timed: {reason}")


if __name__ == "__main__":
    main()
