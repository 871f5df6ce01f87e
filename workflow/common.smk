"""What the rules share: the checked configuration and functions of it. No rules here."""

import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from helpseek.bfcl.official import find_scores, score_files
from helpseek.bfcl.output_files import SCORED_CATEGORIES as BFCL_CATEGORIES
from helpseek.bfcl.output_files import find_models
from helpseek.cluster.master import record_master
from helpseek.config_file import parse_config
from helpseek.errors import UserError
from helpseek.provenance import digest, make_importable

# Jobs find the package of this checkout, in whatever environment they run.
make_importable()

# Snakemake lists overlays before the file they overlay.
BASE = Path(workflow.basedir) / "config.yaml"
OVERLAYS = [path for path in map(Path, workflow.configfiles) if path != BASE]
try:
    CONFIG = parse_config(config, [BASE, *OVERLAYS])
except UserError as error:
    raise WorkflowError(f"{error}")

ID = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
CONDITIONS = ("full_info", "blocked", "tool", "spec_only")
TABLES = (
    "main_results",
    "judgment_gap",
    "ask_quality",
    "complementary",
    "task_statistics",
    "task_checks",
    "selection",
    "oracle_validation",
    "oracle_by_task",
)
# Named stages, which a user asks for.
TARGETS = ("all", "tasks", "oracle", "eval", "tables", "bfcl", "rulegraph")
FORMATS = ("parquet", "csv", "md", "tex")
FIGURES = ("judgment_gap", "precision_recall")
BFCL_TABLES = (
    "bfcl_scores",
    "bfcl_readings",
    "bfcl_differences",
    "bfcl_ranks",
    "bfcl_push",
    "bfcl_pairs",
    "bfcl_world_calls",
    "bfcl_audit",
)
BFCL_FIGURES = ("bfcl_decisions", "bfcl_ranks")
BFCL_SCORE_CODE = tuple(
    f"bfcl/{name}"
    for name in ("calls", "steps", "output_files", "outputs", "index", "decisions", "scores", "official", "scorecard")
)
BFCL_MODELS = (*CONFIG.bfcl.results, *CONFIG.bfcl.references)
# What an episode depends on; a change in the tables must not rerun a sweep.
EPISODE_CODE = (
    "episodes",
    "environments",
    "oracle",
    "models",
    "scoring/grade",
    "scoring/sql_match",
    "tasks/instructions",
    "tasks/task",
)


def scaled(amount):
    """A resource that grows with each attempt: a job that ran out of it gets more."""
    return lambda wildcards, attempt: amount * attempt


def section(name, key):
    """One entry of a section of the config as plain values, for a rule's params."""
    return getattr(CONFIG, name)[key].model_dump(mode="json")


def tasksets_of_kind(kind):
    """A wildcard pattern of the task sets of one kind; one that matches nothing when there are none."""
    return "|".join(re.escape(name) for name, spec in CONFIG.tasksets.items() if spec.kind == kind) or "(?!)"


def taskset_file(name):
    """`results/tasks/{taskset}/NAME.parquet` of every evaluated task set."""
    return expand(f"results/tasks/{{taskset}}/{name}.parquet", taskset=CONFIG.evaluate.tasksets)


def databases_of(wildcards):
    """The generated databases of a task set; those of task files lie wherever the user keeps them."""
    generated = CONFIG.tasksets[wildcards.taskset].kind == "generated"
    return f"results/tasks/{wildcards.taskset}/databases" if generated else []


def embeddings_of(*tasksets):
    """The embeddings of `tasksets`, or nothing when neither the judge nor the note search uses them."""
    judge = CONFIG.judges[CONFIG.oracle.judge]
    needed = "embedding" in (judge.kind, CONFIG.sql.note_search)
    return expand("results/tasks/{taskset}/embeddings.parquet", taskset=tasksets) if needed else []


def task_files():
    return [file for name in ("tasks", "blockers", "splits", "checks") for file in taskset_file(name)]


def oracle_files():
    return [f"results/oracle/{CONFIG.oracle.judge}/{name}.parquet" for name in ("validation", "additions")]


def episode_files(taskset=None, table=""):
    """Shards of one table (`` for episodes, `.steps`, `.questions`), of one task set or of all."""
    return expand(
        f"results/episodes/{{model}}/{{taskset}}/{{condition}}/{{shard}}{table}.parquet",
        model=CONFIG.evaluate.models,
        taskset=[taskset] if taskset else CONFIG.evaluate.tasksets,
        condition=[str(condition) for condition in CONFIG.evaluate.conditions],
        shard=range(CONFIG.evaluate.shards),
    )


def shard_files():
    """All three tables of every shard."""
    return [file for table in ("", ".steps", ".questions") for file in episode_files(table=table)]


def table_files():
    return expand("results/tables/{table}.{format}", table=TABLES, format=FORMATS)


def figure_files():
    return expand("results/figures/{figure}.svg", figure=FIGURES)


def model_of(wildcards):
    return section("models", wildcards.model)


def taskset_of(wildcards):
    return section("tasksets", wildcards.taskset)


def judge_of(wildcards):
    return section("judges", wildcards.judge)


def bfcl_files():
    """Everything the target `bfcl` makes."""
    return [
        *expand("results/tables/{table}.{format}", table=BFCL_TABLES, format=FORMATS),
        *expand("results/figures/{figure}.svg", figure=BFCL_FIGURES),
        *expand("results/bfcl/{model}/{name}.parquet", model=BFCL_MODELS, name=("decisions", "readings")),
    ]


def bfcl_directory_of(wildcards):
    """Where the outputs of a model lie: those of a reference behaviour are made here."""
    spec = CONFIG.bfcl.results.get(wildcards.model)
    return str(spec.path) if spec else f"results/bfcl/reference/{wildcards.model}"


def bfcl_outputs_of(wildcards):
    """The result files of a model, so that new ones are scored anew."""
    spec = CONFIG.bfcl.results.get(wildcards.model)
    if spec is None:
        folder = f"results/bfcl/reference/{wildcards.model}/multi_turn"
        return [f"{folder}/BFCL_v4_multi_turn_{category}_result.json" for category in BFCL_CATEGORIES]
    return [str(path) for path in bfcl_model_files(wildcards.model).categories.values()]


def bfcl_model_files(model):
    try:
        found = find_models(CONFIG.bfcl.results[model].path)
    except UserError as error:
        raise WorkflowError(f"`bfcl.results.{model}.path`: {error}")
    if len(found) > 1:
        names = ", ".join(files.model for files in found)
        raise WorkflowError(f"`bfcl.results.{model}.path` holds several models ({names}); give each an entry")
    return found[0]


def bfcl_score_folder(model):
    """BFCL's own scores of a model, or `` where there are none."""
    spec = CONFIG.bfcl.results.get(model)
    return str(find_scores(bfcl_model_files(model), spec.scores) or spec.scores or "") if spec else ""


def bfcl_scores_of(wildcards):
    folder = bfcl_score_folder(wildcards.model)
    return [str(path) for path in score_files(Path(folder))] if folder else []


def bfcl_groups():
    """Model -> group and prompt of every model that has a group."""
    return {name: (spec.group, spec.prompt) for name, spec in CONFIG.bfcl.results.items() if spec.group}
