"""helpseek: tasks -> evaluate -> tables, and BFCL outputs -> decisions; one stage a file in rules/."""

from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/common.smk"
include: "rules/tasks.smk"
include: "rules/oracle.smk"
include: "rules/evaluate.smk"
include: "rules/tables.smk"
include: "rules/bfcl.smk"
include: "workflow/cluster.smk"


wildcard_constraints:
    taskset=ID,
    model=ID,
    judge=ID,
    behaviour="|".join(CONFIG.bfcl.references) or "(?!)",
    condition="|".join(CONDITIONS),
    shard=r"\d+",


onstart:
    # So that `helpseek jobs` tells this run's jobs from those of one that was killed.
    record_master(Path.cwd())


localrules:
    all,
    tasks,
    oracle,
    eval,
    tables,
    bfcl,
    rulegraph,
    draw_rulegraph,


rule all:
    default_target: True
    input:
        table_files(),
        figure_files(),
        oracle_files(),
        # Named here although the tables need them: a deleted shard would not be missed otherwise.
        task_files(),
        shard_files(),
        bfcl_files(),
        "results/manifest.json",


rule tasks:
    input:
        task_files(),


rule oracle:
    input:
        oracle_files(),


rule eval:
    input:
        shard_files(),


rule tables:
    input:
        table_files(),
        figure_files(),


rule bfcl:
    input:
        bfcl_files(),


rule rulegraph:
    input:
        "results/figures/rulegraph.svg",
