"""From a judge's section of the config to the judge, and the entry of the validation rule."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from helpseek import config
from helpseek.environments.notes import Embed
from helpseek.errors import UserError, nearest
from helpseek.models.chat import ChatClient
from helpseek.oracle.cache import ContentCache
from helpseek.oracle.calibration import Calibration, calibrate
from helpseek.oracle.embedding import Embedder, EmbeddingJudge
from helpseek.oracle.lexical import LexicalJudge, embed_words
from helpseek.oracle.llm import LlmJudge
from helpseek.oracle.validation import expand, labelled_questions, read_human_labels, recall_by_task, validate
from helpseek.oracle.verdict import Judge
from helpseek.progress import Progress
from helpseek.records import write_rows
from helpseek.tasks.store import read_taskset
from helpseek.tasks.task import Task


def build_judge(spec: Mapping[str, Any], embedder: Embedder, cache: Path) -> Judge:
    """The judge that `spec` describes; an LLM judge keeps its verdicts in the folder `cache`."""
    settings = TypeAdapter[config.Judge](config.Judge).validate_python(dict(spec))
    match settings:
        case config.EmbeddingJudge():
            return EmbeddingJudge(embedder, settings.threshold)
        case config.LexicalJudge():
            return LexicalJudge(settings.threshold)
        case config.LlmJudge():
            chat = ChatClient(
                settings.base_url,
                settings.model,
                api_key_env=settings.api_key_env,
                timeout_s=settings.timeout_s,
                max_retries=settings.max_retries,
            )
            return LlmJudge(chat, ContentCache(cache), settings.max_retries)


def note_embedding(kind: Literal["embedding", "lexical"], embedder: Embedder) -> Embed:
    """How `get_business_info` compares a question with notes."""
    return embedder.embed if kind == "embedding" else embed_words


def calibrate_on(tasks: Sequence[Task], kind: str, seed: int, precision_floor: float | None) -> dict[str, Calibration]:
    """The best threshold of an embedding or lexical judge by domain. Raises `UserError` for another judge."""
    judges: dict[str, Judge] = {
        "embedding": EmbeddingJudge(Embedder(), {"sql": -1.0, "swe": -1.0}),
        "lexical": LexicalJudge(-1.0),
    }
    if kind not in judges:
        raise UserError(f"--judge {kind}: expected one of {', '.join(judges)}{nearest(kind, judges)}")
    labelled = labelled_questions(tasks, seed)
    rows = []
    with Progress("judge questions", len(labelled), unit="question") as progress:
        for row in validate(judges[kind], labelled):
            rows.append(row)
            progress.add(1)
    return calibrate(rows, precision_floor)


def validate_judge(params: Mapping[str, Any], inputs: Mapping[str, Any], outputs: Mapping[str, str]) -> None:
    """Judge a judge on the labelled questions of all evaluated task sets; write every verdict and all additions."""
    settings = config.Validation.model_validate(params["validation"])
    tasks = [task for file in inputs["tasks"] for task in read_taskset(Path(file).parent)]
    embedder = Embedder.from_files(inputs["embeddings"])
    judge = build_judge(params["judge"], embedder, Path(outputs["validation"]).parent / "cache")
    human = read_human_labels(settings.human_labels, tasks) if settings.human_labels else []
    labelled = labelled_questions(tasks, params["seed"], human)
    rows: list[dict[str, Any]] = []
    with Progress("validate the judge", len(labelled), unit="question") as progress:
        for row in validate(judge, labelled):
            rows.append(row)
            progress.add(1, int(row["verdict"] != row["label"]))
    later, additions = expand(
        judge,
        labelled,
        rows,
        recall_floor=settings.recall_floor,
        recall_target=settings.recall_target,
        max_rounds=settings.max_rounds,
    )
    final = recall_by_task(rows) | recall_by_task(later)
    for task_id, recall in sorted(final.items()):
        if recall < settings.recall_target:
            sys.stderr.write(f"flagged: the judge's recall on {task_id} is {recall:.2f}\n")
    write_rows(Path(outputs["validation"]), "validation", [*rows, *later])
    write_rows(Path(outputs["additions"]), "additions", [asdict(addition) for addition in additions])
