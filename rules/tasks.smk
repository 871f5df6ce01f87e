"""Tasks: generated or imported, then split, checked and embedded. Outputs: results/tasks/{taskset}/."""


rule generate_tasks:
    output:
        tasks="results/tasks/{taskset}/tasks.parquet",
        blockers="results/tasks/{taskset}/blockers.parquet",
        splits="results/tasks/{taskset}/splits.parquet",
        databases=directory("results/tasks/{taskset}/databases"),
    log:
        "results/logs/generate_tasks/{taskset}.log",
    benchmark:
        "results/benchmarks/generate_tasks/{taskset}.tsv"
    wildcard_constraints:
        taskset=tasksets_of_kind("generated"),
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(20),
    params:
        spec=taskset_of,
        seed=CONFIG.seed,
        code=digest("tasks"),
    message:
        "Generate the tasks of {wildcards.taskset}"
    script:
        "../scripts/generate_tasks.py"


rule import_tasks:
    output:
        tasks="results/tasks/{taskset}/tasks.parquet",
        blockers="results/tasks/{taskset}/blockers.parquet",
        splits="results/tasks/{taskset}/splits.parquet",
    log:
        "results/logs/import_tasks/{taskset}.log",
    benchmark:
        "results/benchmarks/import_tasks/{taskset}.tsv"
    wildcard_constraints:
        taskset=tasksets_of_kind("files"),
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(20),
    params:
        spec=taskset_of,
        seed=CONFIG.seed,
        code=digest("tasks"),
    message:
        "Import the task files of {wildcards.taskset}"
    script:
        "../scripts/import_tasks.py"


rule check_tasks:
    input:
        tasks="results/tasks/{taskset}/tasks.parquet",
        blockers="results/tasks/{taskset}/blockers.parquet",
        databases=databases_of,
    output:
        checks="results/tasks/{taskset}/checks.parquet",
    log:
        "results/logs/check_tasks/{taskset}.log",
    benchmark:
        "results/benchmarks/check_tasks/{taskset}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(30),
    params:
        sql=CONFIG.sql.model_dump(mode="json", exclude={"workers"}),
        code=digest("tasks", "environments", "scoring/sql_match"),
    message:
        "Check the invariants of {wildcards.taskset}"
    script:
        "../scripts/check_tasks.py"


rule embed_texts:
    input:
        tasks="results/tasks/{taskset}/tasks.parquet",
        blockers="results/tasks/{taskset}/blockers.parquet",
    output:
        embeddings="results/tasks/{taskset}/embeddings.parquet",
    log:
        "results/logs/embed_texts/{taskset}.log",
    benchmark:
        "results/benchmarks/embed_texts/{taskset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(30),
    params:
        code=digest("oracle/embedding", "models/reference"),
    message:
        "Embed questions and notes of {wildcards.taskset}"
    script:
        "../scripts/embed_texts.py"


rule select_tasks:
    input:
        tasks="results/tasks/{taskset}/tasks.parquet",
        episodes=lambda wildcards: episode_files(wildcards.taskset),
    output:
        selection="results/tasks/{taskset}/selection.parquet",
    log:
        "results/logs/select_tasks/{taskset}.log",
    benchmark:
        "results/benchmarks/select_tasks/{taskset}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        max_blocked_pass_rate=CONFIG.selection.max_blocked_pass_rate,
        min_full_info_pass_rate=CONFIG.selection.min_full_info_pass_rate,
        code=digest("tasks/selection"),
    message:
        "Select tasks of {wildcards.taskset} by the paper's filter"
    script:
        "../scripts/select_tasks.py"
