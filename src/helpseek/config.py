"""The configuration as frozen records: the one source of its schema, its docs and its error messages.

`config.yaml` is the default experiment; files in `configs/` are overlays that Snakemake merges over it. A key that no
record knows is refused, with its path and the nearest valid key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from helpseek.condition import Condition
from helpseek.errors import UserError, nearest

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]
Share = Annotated[float, Field(ge=0, le=1)]
SECRET_KEY = re.compile(r"^(api_?key|token|password|secret|authorization)$", re.IGNORECASE)
SECRET_VALUE = re.compile(r"^(sk-|hf_|ghp_|xox[bp]-|Bearer )\S{8,}")


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused, each field documented by the string under it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class GeneratedTasks(Section):
    """Own SQL task families, made from a seed: no download, train and held-out schemas disjoint."""

    kind: Literal["generated"]
    domain: Literal["sql"] = "sql"
    train: int = Field(40, ge=0)
    """Training tasks."""
    held_out: int = Field(20, ge=1)
    """Held-out tasks, over other schemas and terms."""
    tasks_per_database: int = Field(10, ge=1)
    """Tasks that share one generated database."""


class HilBenchTasks(Section):
    """Task files in a public HiL-Bench form: a folder of Harbor tasks, or rows as JSON, JSONL or Parquet."""

    kind: Literal["hilbench"]
    domain: Literal["sql", "swe"]
    path: Path
    """Folder or file with the tasks (`helpseek tasks fetch` makes one)."""
    databases: Path | None = None
    """Folder of fetched databases, when they do not lie beside the tasks."""
    held_out_share: Share = 0.2
    """Share of databases (or repositories) whose tasks are held out; the paper holds out 30 of 150 tasks."""


Taskset = Annotated[GeneratedTasks | HilBenchTasks, Field(discriminator="kind")]


class ReferencePolicy(Section):
    """A policy with a known answer in every table; it reads the task's solution and checks the pipeline."""

    backend: Literal["reference"]
    policy: Literal["oracle_asker", "never_ask", "always_ask", "guesser"]
    """oracle_asker asks exactly what is needed; never_ask takes a wrong reading; always_ask also asks the needless;
    guesser takes a random reading."""


class Sampling(Section):
    """Sampling parameters, sent as they are; null leaves the server's default."""

    temperature: float | None = Field(1.0, ge=0)
    """Sampling temperature; the paper's harness uses 1.0 for every model."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling."""
    max_tokens: int | None = Field(4096, ge=1)
    """Generated tokens per call."""


class RemoteModel(Section):
    """What every model behind an API shares."""

    model: str
    """Model name as the server knows it."""
    mode: Literal["text", "tool_call"] = "tool_call"
    """tool_call: the API's native tools; text: one command in a fenced block."""
    api_key_env: str | None = None
    """Environment variable that holds the key; keys are never written in a config."""
    sampling: Sampling = Sampling()
    timeout_s: float = Field(300, gt=0)
    """Longest wait for one reply, in seconds."""
    max_retries: int = Field(8, ge=0)
    """Retries of one call on 429, 5xx and broken connections, with growing pauses."""


class EndpointModel(RemoteModel):
    """A model behind an OpenAI-compatible server (vLLM, llama.cpp, a provider), called directly."""

    backend: Literal["endpoint"]
    base_url: str
    """Address up to and including `/v1`."""


class LitellmModel(RemoteModel):
    """A model of any other provider, called through LiteLLM."""

    backend: Literal["litellm"]


Model = Annotated[ReferencePolicy | EndpointModel | LitellmModel, Field(discriminator="backend")]


class EmbeddingJudge(Section):
    """Nearest blocker by sentence embedding (all-MiniLM-L6-v2)."""

    kind: Literal["embedding"]
    threshold: dict[Literal["sql", "swe"], float] = {"sql": 0.60, "swe": 0.50}
    """Least cosine of a match, by domain; calibrated on the public registries."""


class LexicalJudge(Section):
    """Nearest blocker by TF-IDF word 1-2-grams."""

    kind: Literal["lexical"]
    threshold: float = 0.15
    """Least cosine of a match."""


class LlmJudge(Section):
    """An LLM behind an OpenAI-compatible server, as in the paper (Llama-3.3-70B-Instruct)."""

    kind: Literal["llm"]
    base_url: str
    """Address up to and including `/v1`."""
    model: str
    """Model name as the server knows it."""
    api_key_env: str | None = None
    """Environment variable that holds the key."""
    timeout_s: float = Field(180, gt=0)
    """Longest wait for one verdict, in seconds."""
    max_retries: int = Field(5, ge=0)
    """Retries of one call, and of one unreadable verdict."""


Judge = Annotated[EmbeddingJudge | LexicalJudge | LlmJudge, Field(discriminator="kind")]


class Validation(Section):
    """The paper's validation of a judge on labelled questions (Appendix D)."""

    human_labels: Path | None = None
    """CSV of human labels: task_id, question, blocker_id (empty: none)."""
    recall_floor: Share = 0.80
    """Tasks under this recall get their missed labelled questions added as trigger questions."""
    recall_target: Share = 0.85
    """Recall they must reach afterwards; others are flagged."""
    max_rounds: int = Field(3, ge=0)
    """Rounds of that loop."""


class Oracle(Section):
    """Who answers `ask_human`, and how often."""

    judge: Id = "embedding"
    """A key of `judges`."""
    per_task_cap: int | None = Field(None, ge=1)
    """Answered questions per episode; null: none. The reference harness stops at 3, which the paper does not mention."""
    per_blocker_cap: int | None = Field(None, ge=1)
    """Answers per blocker; null: none."""
    validation: Validation = Validation()


class Limits(Section):
    """What ends an episode that does not submit."""

    steps: int = Field(30, ge=1)
    """Model calls."""
    wall_time_s: int = Field(1800, ge=1)
    """Seconds of wall time."""
    format_errors: int = Field(3, ge=1)
    """Unreadable replies in a row."""


class Evaluate(Section):
    """The sweep: every model on every task set under every condition."""

    models: tuple[Id, ...]
    """Keys of `models`."""
    tasksets: tuple[Id, ...]
    """Keys of `tasksets`."""
    conditions: tuple[Condition, ...] = (Condition.FULL_INFO, Condition.BLOCKED, Condition.TOOL)
    """full_info: resolutions given; blocked: not given; tool: blocked + ask_human;
    spec_only: ask_human without exploration."""
    split: Literal["held_out", "train", "all"] = "held_out"
    """Which tasks to run."""
    attempts: int = Field(3, ge=1)
    """Attempts per task; pass@k is told for k up to this."""
    shards: int = Field(1, ge=1)
    """Jobs per model, task set and condition; a shard should take minutes."""
    concurrency: int = Field(8, ge=1)
    """Episodes at once within a shard."""
    instruction_style: Literal["helpseek", "harbor"] = "helpseek"
    """harbor: the release's own wording; helpseek: ours, shorter."""
    limits: Limits = Limits()


class Sql(Section):
    """The guarded SQLite: every query runs in a child process under these limits."""

    workers: int = Field(2, ge=1)
    """Child processes of a shard."""
    timeout_s: float = Field(30, gt=0)
    """Longest query, in seconds."""
    memory_mb: int = Field(1024, ge=64)
    """Address space of a child, in MB."""
    max_rows: int = Field(200, ge=1)
    """Rows shown to an agent; more are cut with a notice."""
    max_graded_rows: int = Field(100_000, ge=1)
    """Rows compared when grading."""
    note_search: Literal["embedding", "lexical"] = "embedding"
    """How `get_business_info` ranks notes."""


class Selection(Section):
    """The paper's task filter over finished sweeps (Section 3)."""

    apply: bool = False
    """Keep only selected tasks in the main tables."""
    max_blocked_pass_rate: Share = 0.05
    """No model may pass a kept task without the tool in more than this share of attempts."""
    min_full_info_pass_rate: Share = 0.85
    """At least one model must pass a kept task with full information in this share of attempts."""


class Tables(Section):
    """How intervals are made."""

    confidence: float = Field(0.95, gt=0, lt=1)
    """Level of every interval."""
    bootstrap: int = Field(2000, ge=100)
    """Resamples of the cluster bootstrap by task."""
    max_infra_error_rate: Share = 0.05
    """A table whose share of infrastructure errors is above this is refused: rerun the failed shards first."""


class Config(Section):
    """One experiment."""

    experiment: Id
    """Name of the experiment, printed in tables."""
    seed: int = 0
    """Seed of task generation, splits, sampling and bootstrap."""
    tasksets: dict[Id, Taskset]
    """Task sets by id."""
    models: dict[Id, Model]
    """Models by id."""
    judges: dict[Id, Judge]
    """Judges by id."""
    oracle: Oracle = Oracle()
    evaluate: Evaluate
    sql: Sql = Sql()
    selection: Selection = Selection()
    tables: Tables = Tables()


def parse_config(raw: Mapping[str, Any], files: Sequence[Path] = ()) -> Config:
    """Validate a merged configuration; `files` are searched to name the one that holds a mistake.

    Raises `UserError` with the file, the key path, what was expected and the nearest valid key.
    """
    _refuse_secrets(raw, files)
    try:
        config = Config.model_validate(dict(raw))
    except ValidationError as error:
        raise UserError(_explain(error, raw, files)) from None
    _check_references(config, files)
    return config


def load_config(*files: Path) -> Config:
    """Read YAML `files`, later ones merged over earlier ones as Snakemake does, and validate the result."""
    merged: dict[str, Any] = {}
    for file in files:
        _merge(merged, read_yaml(file))
    return parse_config(merged, files)


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML file whose top level is a mapping. Raises `UserError` when it cannot be read as one."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise UserError(f"{file}: not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise UserError(f"{file}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: expected a mapping of keys at the top level, found {type(content).__name__}")
    return content


def _merge(target: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


def _explain(error: ValidationError, raw: Mapping[str, Any], files: Sequence[Path]) -> str:
    """One sentence for each mistake that pydantic found."""
    sentences = []
    for mistake in error.errors():
        path = _yaml_path(mistake["loc"], raw)
        name = ".".join(str(part) for part in path)
        where = f"{_origin(path, files)}: `{name}`"
        if mistake["type"] == "extra_forbidden":
            siblings = sorted(_known_keys(mistake["loc"][:-1]))
            hint = nearest(str(path[-1]), siblings) or f" (known here: {', '.join(siblings)})"
            sentences.append(f"{where} is not a known key{hint}")
        elif mistake["type"] == "missing":
            sentences.append(f"{where} is missing")
        elif mistake["type"] in ("literal_error", "enum"):
            choices = re.findall(r"'([^']+)'", str(mistake.get("ctx", {}).get("expected", "")))
            sentences.append(f"{where} must be one of {', '.join(choices)}{nearest(str(mistake['input']), choices)}")
        else:
            sentences.append(f"{where}: {mistake['msg']}, found {mistake['input']!r:.80}")
    return "; ".join(sentences)


def _yaml_path(location: tuple[int | str, ...], raw: Mapping[str, Any]) -> tuple[int | str, ...]:
    """The key path of `location` in the file: without the union tags that pydantic puts in."""
    path: list[int | str] = []
    node: Any = raw
    for number, part in enumerate(location):
        last = number == len(location) - 1
        if isinstance(node, Mapping) and part not in node and not last:
            continue
        path.append(part)
        if isinstance(node, Mapping):
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
    return tuple(path)


def _known_keys(location: Sequence[int | str]) -> set[str]:
    """Keys allowed at `location`, read off the records themselves."""
    schema = Config.model_json_schema()
    node: dict[str, Any] = schema
    for part in location:
        node = _resolve(node, schema)
        if "discriminator" in node:
            node = _resolve({"$ref": node["discriminator"]["mapping"][str(part)]}, schema)
        elif str(part) in node.get("properties", {}):
            node = node["properties"][str(part)]
        else:
            node = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), {})
    return set(_resolve(node, schema).get("properties", {}))


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _origin(path: Sequence[int | str], files: Sequence[Path]) -> str:
    """The last of `files` that holds the longest part of `path`."""
    best, depth = "config", 0
    for file in files:
        node: Any = read_yaml(file)
        for number, part in enumerate(path, start=1):
            if isinstance(node, Mapping) and part in node:
                node = node[part]
            elif isinstance(node, list) and isinstance(part, int) and part < len(node):
                node = node[part]
            else:
                break
            if number >= depth:
                best, depth = str(file), number
    return best if depth or not files else str(files[-1])


def _refuse_secrets(raw: Mapping[str, Any], files: Sequence[Path]) -> None:
    for path, value in _leaves(raw):
        if SECRET_KEY.match(str(path[-1])) or (isinstance(value, str) and SECRET_VALUE.match(value)):
            name = ".".join(str(part) for part in path)
            raise UserError(
                f"{_origin(path, files)}: `{name}` holds a secret; put it in an environment variable and name that "
                "variable in `api_key_env`"
            )


def _leaves(node: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], Any]]:
    children = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        if isinstance(child, Mapping | list):
            yield from _leaves(child, (*path, key))
        else:
            yield (*path, key), child


def _check_references(config: Config, files: Sequence[Path]) -> None:
    """Ids that name an entry of another section must exist there."""
    evaluate = config.evaluate
    named: list[tuple[str, str, Iterable[str]]] = [
        *((f"evaluate.models.{n}", name, config.models) for n, name in enumerate(evaluate.models)),
        *((f"evaluate.tasksets.{n}", name, config.tasksets) for n, name in enumerate(evaluate.tasksets)),
        ("oracle.judge", config.oracle.judge, config.judges),
    ]
    for key, name, section in named:
        if name not in section:
            known = ", ".join(section)
            where = _origin(key.split("."), files)
            raise UserError(
                f"{where}: `{key}` names `{name}`, which is not defined{nearest(name, section)}; known: {known}"
            )
    for key in ("models", "tasksets", "conditions"):
        listed = getattr(evaluate, key)
        if not listed or len(set(listed)) < len(listed):
            where = _origin(("evaluate", key), files)
            raise UserError(f"{where}: `evaluate.{key}` needs at least one entry, none of them twice")
