"""The configuration as frozen records: the one source of its schema, its docs and its error messages.

Read and checked by `config_file`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from helpseek.condition import Condition

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]
Share = Annotated[float, Field(ge=0, le=1)]


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


class TaskFiles(Section):
    """Task files: HiL-Bench in a public form (Harbor folders, or rows as JSON, JSONL or Parquet), or injected tasks."""

    kind: Literal["files"]
    domain: Literal["sql", "swe"]
    path: Path
    """Folder or file with the tasks (`helpseek tasks fetch` and `helpseek tasks inject` make one)."""
    databases: Path | None = None
    """Folder of fetched databases, when they do not lie beside the tasks."""
    held_out_share: Share = 0.2
    """Share of databases (or repositories) whose tasks are held out; the paper holds out 30 of 150 tasks."""


Taskset = Annotated[GeneratedTasks | TaskFiles, Field(discriminator="kind")]


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
    """Answered questions per episode; null: no cap. The reference harness stops at 3; the paper mentions none."""
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


class RewardWeights(Section):
    """What an episode earns (HiL-Bench, Equations 3 and 4); the defaults are the paper's."""

    relevant: float = 0.3
    """A question that targets a registered blocker not resolved before."""
    irrelevant: float = -0.1
    """Any other question."""
    coverage: float = 1.0
    """Times the share of blockers discovered, at the end."""
    success: float = 0.0
    """A right submission; the paper's reward never pays for one."""
    max_questions: int | None = Field(None, ge=1)
    """Questions after these pay nothing and cost as irrelevant ones; null: no cap."""


class Tables(Section):
    """How intervals are made."""

    confidence: float = Field(0.95, gt=0, lt=1)
    """Level of every interval."""
    bootstrap: int = Field(2000, ge=100)
    """Resamples of the cluster bootstrap by task."""
    max_infra_error_rate: Share = 0.05
    """A table whose share of infrastructure errors is above this is refused: rerun the failed shards first."""


class BfclOutputs(Section):
    """Stored outputs of one model: a directory that `bfcl generate` wrote."""

    path: Path
    """The model's result directory."""
    scores: Path | None = None
    """BFCL's score folder of it; found beside `result/` when not given."""
    group: str | None = None
    """Models of one group are one model under different prompts: the push table compares them."""
    prompt: str = "plain"
    """Which prompt the model got; `plain` is the one that the others of its group are compared with."""


class BfclWorld(Section):
    """Judgement calls on what counts as acting, over what is derived from the code of the API classes."""

    session: bool = False
    """Logging in and out counts."""
    also: tuple[str, ...] = ()
    """Functions that count although they change no compared state, such as contact_customer_support or cd."""
    never: tuple[str, ...] = ()
    """Functions that do not count."""


class BfclRules(Section):
    """How ambiguous outputs count; the defaults are the paper's choices."""

    non_json_arguments: Literal["attempt", "ignore"] = "attempt"
    """A call whose arguments are not JSON, so that it was never executed."""
    name_suffix: Literal["keep", "strip"] = "keep"
    """Markup leaked into a function's name: kept, the name is on no tool list; stripped, the call counts."""
    proposals: Literal["ignore", "attempt"] = "ignore"
    """Calls that prose mentions without making them."""
    unreached: Literal["no_call", "exclude"] = "no_call"
    """A trajectory that ended before the scored turn made no call there, or its pair is left out."""


class Bfcl(Section):
    """Scoring the decision to ask or act in stored BFCL multi-turn outputs."""

    results: dict[Id, BfclOutputs] = {}
    """Stored outputs by model id."""
    references: tuple[Literal["act_always", "ask_always", "gold", "guess_then_read"], ...] = (
        "act_always",
        "ask_always",
        "gold",
        "guess_then_read",
    )
    """Behaviours with known scores, scored beside the models."""
    pairs: Literal["certified", "judgement-free", "uncertified", "login", "comparable", "no-compound"] = "certified"
    """Which pairs the main table scores: the 223 certified ones, or the 238 that need no person's judgement."""
    allow_partial: bool = False
    """Score outputs that reach too few of the pairs, and mark them in every table."""
    world: BfclWorld = BfclWorld()
    rules: BfclRules = BfclRules()
    bootstrap: int = Field(10_000, ge=100)
    """Resamples of the cluster bootstrap over base twins."""
    wheel: Path | None = None
    """BFCL's wheel as a file, where no package index can be reached."""


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
    bfcl: Bfcl = Bfcl()
    tables: Tables = Tables()
